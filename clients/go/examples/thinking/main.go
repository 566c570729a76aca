// Streams thinking and the answer, and says which level is in effect. Usage: thinking THINKD QUESTION
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
	if err := think(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func think(ctx context.Context, program, question string) error {
	client, err := thinkd.Connect(ctx, thinkd.Stdio(append(strings.Fields(program), "stdio")...), thinkd.Settings{})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{ModelID: "sim/claude", ThinkingLevel: "minimal"}, thinkd.Follow{})
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
		switch e := event.(type) {
		case *thinkd.TurnStartEvent:
			fmt.Printf("%s gives %s: %s\n", e.Reasoning.RequestedEffort, e.Reasoning.EffectiveEffort, e.Reasoning.Reason)
		case *thinkd.ThinkingDeltaEvent:
			fmt.Print(e.Delta)
		case *thinkd.ThinkingEndEvent:
			fmt.Print("\n---\n")
		case *thinkd.MessageDeltaEvent:
			fmt.Print(e.Delta)
		case *thinkd.TurnEndEvent:
			fmt.Printf("\n%s\n", e.StopReason)
		}
	}
	return nil
}
