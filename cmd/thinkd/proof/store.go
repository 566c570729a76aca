package proof

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// Fill makes a store. Many write at once, so that they share commits.
func Fill(t *testing.T, data string, sessions, mib int) {
	t.Helper()
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const piece = 64 << 10
	text := provider.Blocks{provider.Text{Text: strings.Repeat("a line of what was said\n", piece/24)}}
	kept := store.For(session.Operator)
	one := func(i int) error {
		now := time.Now().UnixMilli()
		s := session.Session{ID: session.NewID(), Title: fmt.Sprintf("session %d", i), CWD: "/home/somebody/project", Created: now, Updated: now,
			Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}}
		if err := kept.Create(t.Context(), s); err != nil {
			return err
		}
		log, err := kept.Claim(t.Context(), s.ID)
		if err != nil {
			return err
		}
		for range mib << 20 / piece / sessions {
			turn := session.NewTurnID()
			_, err := log.Append(t.Context(), session.Entry{Time: now, Turn: turn, Body: session.Prompt{Message: session.NewMessageID(), Content: text}},
				session.Entry{Time: now, Turn: turn, Body: session.TurnEnd{StopReason: "cancelled"}})
			if err != nil {
				return err
			}
		}
		return log.Release(t.Context())
	}
	const writers = 512
	failed := make([]error, writers)
	var making sync.WaitGroup
	for w := range writers {
		making.Go(testgo.Guard(t, func() {
			for i := w; i < sessions && failed[w] == nil; i += writers {
				failed[w] = one(i)
			}
		}))
	}
	making.Wait()
	if err := errors.Join(append(failed, store.Close())...); err != nil {
		t.Fatal(err)
	}
}

// Stored reads a session's log from the file; no daemon runs.
func Stored(t *testing.T, data, id string) *session.View {
	t.Helper()
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	view, err := session.Load(t.Context(), store.For(session.Operator), session.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	return view
}
