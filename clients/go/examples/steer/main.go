// Queues prompts while a turn runs, edits and moves them, and steers. Usage: steer THINKD
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
	if err := steer(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func steer(ctx context.Context, program string) error {
	client, err := thinkd.Connect(ctx, thinkd.Stdio(append(strings.Fields(program), "stdio")...), thinkd.Settings{})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{}, thinkd.Follow{})
	if err != nil {
		return err
	}
	say := func(text string) *thinkd.Turn {
		var turn *thinkd.Turn
		if err == nil {
			turn, err = session.Say(ctx, text)
		}
		return turn
	}
	first := say("One. [[sim: thinking=3000 pace=10]]")
	if err != nil {
		return err
	}
	for event, err := range first.Events(ctx) {
		if err != nil {
			return err
		}
		if _, ok := event.(*thinkd.ThinkingDeltaEvent); ok {
			break
		}
	}
	second, third := say("Two."), say("Three. [[sim: pace=0]]")
	if err != nil {
		return err
	}
	if err := second.Edit(ctx, "Two, edited. [[sim: pace=0]]"); err != nil {
		return err
	}
	if err := third.Move(ctx, second); err != nil {
		return err
	}
	steering, err := session.Steer(ctx, "Be quick. [[sim: pace=0]]")
	if err != nil {
		return err
	}
	fmt.Println(first.Disposition, second.Disposition, third.Disposition, steering.Disposition)
	queue, err := session.Queue(ctx)
	if err != nil {
		return err
	}
	for _, waiting := range queue {
		fmt.Println(waiting.Text)
	}
	for _, turn := range []*thinkd.Turn{third, first} {
		cancelled, err := turn.Cancel(ctx)
		if err != nil {
			return err
		}
		fmt.Println("cancelled", cancelled)
	}
	for _, turn := range []*thinkd.Turn{first, steering, second, third} {
		end, err := turn.Wait(ctx)
		if err != nil {
			return err
		}
		fmt.Println(end.StopReason)
	}
	return nil
}
