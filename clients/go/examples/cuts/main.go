// Watches a turn and runs a tool over a WebSocket that is cut repeatedly: nothing is lost. Usage: cuts ADDRESS TOKENFILE   (`thinkd serve` prints both)
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	thinkd "github.com/thinkd/thinkd/clients/go"
	"github.com/thinkd/thinkd/clients/go/websocket"
)

func main() {
	if err := watch(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// fragile is a transport that remembers its connection, so that it can be cut.
type fragile struct {
	thinkd.Transport
	mu   sync.Mutex
	line thinkd.Line
	next chan struct{} // closed when it is connected again; nil: it is
}

func (f *fragile) Open(ctx context.Context) (thinkd.Line, error) {
	line, err := f.Transport.Open(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.line = line
	if err == nil && f.next != nil {
		close(f.next)
		f.next = nil
	}
	return line, err
}

// cut closes the connection. again is closed when there is another one.
func (f *fragile) cut() (again <-chan struct{}) {
	f.mu.Lock()
	line := f.line
	if f.next == nil {
		f.next = make(chan struct{})
	}
	again = f.next
	f.mu.Unlock()
	if line != nil {
		line.Close()
	}
	return again
}

type place struct {
	message string
	block   int64
}

func watch(ctx context.Context, address, tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	real, err := websocket.Dial(address, string(token))
	if err != nil {
		return err
	}
	transport := &fragile{Transport: real}
	client, err := thinkd.Connect(ctx, transport, thinkd.Settings{LongestPause: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{}, thinkd.Follow{})
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, "Count the letters. [[sim: thinking=200 text=200 pace=300]]")
	if err != nil {
		return err
	}
	watched, ended, seen := make(map[place]string), make(map[place]string), 0
	grow := func(at place, delta string) {
		watched[at] += delta
		if seen++; seen%5 == 0 {
			transport.cut()
		}
	}
	for event, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *thinkd.ThinkingDeltaEvent:
			grow(place{e.MessageID, e.Block}, e.Delta)
		case *thinkd.MessageDeltaEvent:
			grow(place{e.MessageID, e.Block}, e.Delta)
		case *thinkd.ThinkingEndEvent:
			ended[place{e.MessageID, e.Block}] = e.Text
		case *thinkd.TextEndEvent:
			ended[place{e.MessageID, e.Block}] = e.Text
		case *thinkd.Snapshot: // the turn may have ended meanwhile: then it is among the older messages
			messages := e.State.Messages
			if e.State.Open != nil {
				messages = append(messages, e.State.Open.Messages...)
			}
			for _, m := range messages {
				for i, b := range m.Content {
					at := place{m.ID, int64(i)}
					if b.Block != nil {
						at.block = *b.Block
					}
					if m.Role != "assistant" {
						continue
					}
					watched[at] = b.Text
					if b.Open == nil || !*b.Open {
						ended[at] = b.Text
					}
				}
			}
		}
	}
	for at, text := range ended {
		if watched[at] != text {
			return fmt.Errorf("block %v: %q, want %q", at, watched[at], text)
		}
	}
	if len(ended) < 2 {
		return fmt.Errorf("%d blocks have ended", len(ended))
	}
	if err := host(ctx, client, transport); err != nil {
		return err
	}
	fmt.Printf("%d blocks and a tool call, nothing lost\n", len(ended))
	return nil
}

// host approves and runs a call. The connection is cut before the approval, while the tool runs, and before its result is sent.
func host(ctx context.Context, client *thinkd.Client, transport *fragile) error {
	runs := make(chan string, 10)
	lookup := thinkd.Tool{Name: "lookup", Description: "Looks up a word.", InputSchema: map[string]any{"type": "object"},
		Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
			runs <- string(arguments)
			<-transport.cut()
			transport.cut()
			return "date: 2026-03-01", nil
		}}
	approve := func(context.Context, thinkd.Confirm) thinkd.ConfirmAction {
		transport.cut()
		return thinkd.ConfirmActionAllow
	}
	session, err := client.NewSession(ctx, thinkd.SessionNewParams{ToolPolicy: &thinkd.ToolPolicy{Names: map[string]thinkd.ToolRule{"lookup": "ask"}}},
		thinkd.Follow{Tools: []thinkd.Tool{lookup}, Approve: approve})
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, `Look. [[sim: tool=lookup args={"word":"date"}]] [[sim: thinking=0 text=8 pace=0]]`)
	if err != nil {
		return err
	}
	for _, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
	}
	history, err := client.SessionHistory(ctx, thinkd.SessionHistoryParams{SessionID: session.ID})
	if err != nil {
		return err
	}
	var results []string
	for _, m := range history.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				for _, part := range b.Content {
					results = append(results, part.Text)
				}
			}
		}
	}
	if len(runs) != 1 || !slices.Equal(results, []string{"date: 2026-03-01"}) {
		return fmt.Errorf("the tool ran %d times, with %q", len(runs), results)
	}
	return nil
}
