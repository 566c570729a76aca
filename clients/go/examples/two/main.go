// Two clients follow one session: both get the same answer. Usage: two THINKD QUESTION
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
	if err := two(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// collect returns the text of the next turn. Any client may have sent its prompt.
func collect(session *thinkd.Session) <-chan string {
	var text strings.Builder
	done := make(chan string, 1)
	session.Listen(func(event thinkd.Event) {
		switch e := event.(type) {
		case *thinkd.MessageDeltaEvent:
			text.WriteString(e.Delta)
		case *thinkd.TurnEndEvent:
			done <- text.String()
		}
	})
	return done
}

func two(ctx context.Context, program, question string) error {
	transport := thinkd.Stdio(append(strings.Fields(program), "stdio")...)
	first, err := thinkd.Connect(ctx, transport, thinkd.Settings{Name: "first"})
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := thinkd.Connect(ctx, transport, thinkd.Settings{Name: "second"})
	if err != nil {
		return err
	}
	defer second.Close()
	asking, err := first.NewSession(ctx, thinkd.SessionNewParams{}, thinkd.Follow{})
	if err != nil {
		return err
	}
	watching, err := second.Attach(ctx, asking.ID, thinkd.Follow{})
	if err != nil {
		return err
	}
	one, other := collect(asking), collect(watching)
	if _, err := asking.Say(ctx, question); err != nil {
		return err
	}
	text := <-one
	fmt.Println(text)
	if text == <-other {
		fmt.Println("the same")
	} else {
		fmt.Println("different")
	}
	return nil
}
