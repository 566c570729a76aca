// Follows a turn over a kill of the daemon: kill -9 the daemon after "thinking". Usage: resume THINKD
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
	if err := resume(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func resume(ctx context.Context, program string) error {
	client, err := thinkd.Connect(ctx, thinkd.Stdio(append(strings.Fields(program), "stdio")...), thinkd.Settings{})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{}, thinkd.Follow{})
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, "Take your time. [[sim: thinking=3000 pace=10]]")
	if err != nil {
		return err
	}
	thinking := false
	for event, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *thinkd.ThinkingDeltaEvent:
			if !thinking {
				thinking = true
				fmt.Println("thinking")
			}
		case *thinkd.Snapshot:
			fmt.Println("snapshot", e.State.Session.Status)
		}
	}
	end, err := turn.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(end.StopReason) // all that was published is kept
	again, err := session.Say(ctx, "And now? [[sim: pace=0]]")
	if err != nil {
		return err
	}
	end, err = again.Wait(ctx)
	fmt.Println(end.StopReason)
	return err
}
