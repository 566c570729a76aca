package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// waitingIn publishes events to a subscriber that does not read.
func waitingIn(list ...Event) (*Subscription, error) {
	f, sub := New("s", 0), NewSubscription()
	f.Add(sub)
	for _, e := range list {
		f.Publish("", 0, e)
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub, sub.err
}

func repeat(n int, e func(i int) Event) (list []Event) {
	for i := range n {
		list = append(list, e(i))
	}
	return list
}

func TestSubscriberBounds(t *testing.T) {
	large := strings.Repeat("x", 20<<20)
	text := func(n int) provider.Blocks { return provider.Blocks{provider.Text{Text: large[:n]}} }
	for _, test := range []struct {
		name  string
		list  []Event
		stale bool
	}{
		{"1,024 updates", repeat(1024, func(i int) Event { return TurnEnd{} }), false},
		{"one more", repeat(1025, func(i int) Event { return TurnEnd{} }), true},
		{"growth of one block merges", repeat(5000, func(i int) Event { return MessageDelta{"m", 0, large[:200]} }), false},
		{"up to 1 MiB", repeat(6000, func(i int) Event { return MessageDelta{"m", 0, large[:200]} }), true},
		{"alternating growth of two blocks does not", repeat(1025, func(i int) Event { return MessageDelta{"m", i % 2, "x"} }), true},
		{"growth and its end", append(repeat(1000, func(i int) Event { return ThinkingDelta{"m", 0, large[:1000]} }), ThinkingEnd{Text: large[:1000_000]}), true},
		{"a large end", []Event{MessageDelta{"m", 0, "x"}, TextEnd{"m", 0, large, nil, nil}, MessageEnd{}, TurnEnd{}}, false},
		{"a large piece of growth", []Event{MessageDelta{"m", 0, large}, MessageDelta{"m", 0, "x"}, MessageDelta{"m", 0, "x"}}, false},
		{"five large ends", repeat(5, func(i int) Event { return ThinkingEnd{Text: large} }), true},
		{"five large prompts", repeat(5, func(i int) Event { return PromptStored{Content: text(8 << 20)} }), true},
		{"many prompts", repeat(200, func(i int) Event { return PromptStored{Content: text(6000)} }), true},
		{"media", repeat(5, func(i int) Event {
			return PromptStored{Content: provider.Blocks{provider.Media{Data: make([]byte, 1<<20)}}}
		}), true},
		{"long queues", repeat(5, func(i int) Event { return QueueUpdate{Queue: make([]Queued, 10_000)} }), true},
		{"metadata", repeat(5, func(i int) Event {
			return SessionUpdate{Metadata: map[string]json.RawMessage{"x": json.RawMessage(large[:1<<20])}}
		}), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			sub, err := waitingIn(test.list...)
			_, stale := errors.AsType[*Stale](err)
			if stale != test.stale {
				t.Errorf("stale: %v, want %v", stale, test.stale)
			}
			if stale && (sub.queue != nil || sub.bytes != 0) {
				t.Errorf("%d updates of %d bytes are held", len(sub.queue), sub.bytes)
			}
			if !stale {
				for range test.list {
					if _, err := sub.TryNext(); err != nil {
						t.Fatal(err)
					}
				}
				if sub.bytes != 0 {
					t.Errorf("%d bytes are left", sub.bytes)
				}
			}
		})
	}
}

func TestMergedGrowthIsWhatWasTold(t *testing.T) {
	var want strings.Builder
	sub, _ := waitingIn(repeat(100, func(i int) Event {
		fmt.Fprint(&want, i, " ")
		return MessageDelta{"m", 3, fmt.Sprint(i, " ")}
	})...)
	u, err := sub.TryNext()
	if err != nil {
		t.Fatal(err)
	}
	if u.FirstSeq != 1 || u.Seq != 100 || u.Event != (MessageDelta{"m", 3, want.String()}) {
		t.Errorf("merged: %d to %d, %+v", u.FirstSeq, u.Seq, u.Event)
	}
}
