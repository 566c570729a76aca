// Asks a question and prints the answer. Usage: ask THINKD QUESTION   (THINKD is the program, with its flags)
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	thinkd "github.com/thinkd/thinkd/clients/go"
)

func main() {
	if err := ask(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func ask(ctx context.Context, program, question string) error {
	client, err := thinkd.Connect(ctx, thinkd.Stdio(append(strings.Fields(program), "stdio")...), thinkd.Settings{})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{}, thinkd.Follow{})
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, question)
	if err != nil {
		return err
	}
	for event, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
		if delta, ok := event.(*thinkd.MessageDeltaEvent); ok {
			fmt.Print(delta.Delta)
		}
	}
	end, err := turn.Wait(ctx)
	fmt.Printf("\n%s\n", end.StopReason)
	return err
}
