package agent

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// A call keeps its agent, however long it takes: the session does not count as idle meanwhile. After the call it does.
func TestUsedAgentDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.group.Close()
		b.cfg.Limits.Idle = time.Millisecond
		b.start()
		var used *Agent
		err := b.group.For(session.Operator).Do(t.Context(), b.session("sim/claude", ""), func(a *Agent) error {
			used = a
			time.Sleep(time.Minute)
			_, err := a.Cancel(t.Context(), "")
			return err
		})
		if err != nil {
			t.Error(err)
		}
		<-used.Done()
	})
}

// TestGroupUnderCrossfire loads, prompts, deletes, lets go and closes from many sides, outside of a bubble, so that the
// race detector sees what really runs at once.
func TestGroupUnderCrossfire(t *testing.T) {
	b := newBench(t)
	b.group.Close()
	b.cfg.Limits.Idle = 2 * time.Millisecond // sessions come and go all the time
	b.start()
	defer b.local.Close()
	ids := []session.ID{b.session("sim/claude", ""), b.session("sim/claude", ""), b.session("sim/claude", "")}
	allowed := func(err error, also ...error) {
		for _, a := range append(also, session.ErrNotFound) {
			if errors.Is(err, a) {
				return
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 12 {
		id := ids[worker%len(ids)]
		wg.Go(testgo.Guard(t, func() {
			for round := range 20 {
				switch (worker + round) % 5 {
				case 0, 1:
					allowed(b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) error {
						r, err := a.Prompt(t.Context(), text("go"))
						if err == nil {
							_, err = a.Wait(t.Context(), r.Turn)
						}
						return err
					}), ErrNoTurn) // it was deleted while this one waited
				case 2:
					allowed(b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) error {
						_, sub, err := a.Attach(t.Context(), 3)
						if err == nil {
							sub.Close()
						}
						return err
					}))
				case 3:
					allowed(b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) error { _, err := a.Cancel(t.Context(), ""); return err }))
				case 4:
					if round == 17 {
						allowed(b.group.For(session.Operator).Delete(t.Context(), id))
					}
				}
			}
		}))
	}
	wg.Wait()

	// Close from another goroutine: calls after it get an error.
	id := b.session("sim/claude", "")
	const workers = 4
	begun := make(chan struct{}, 2*workers)
	for range workers {
		wg.Go(testgo.Guard(t, func() {
			defer func() { begun <- struct{}{} }() // also when it fails at once
			for round := 0; ; round++ {
				if round == 3 {
					begun <- struct{}{}
				}
				err := b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) error { _, err := a.Prompt(t.Context(), text("go")); return err })
				if errors.Is(err, feed.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}))
	}
	for range workers {
		<-begun
	}
	b.group.Close()
	wg.Wait()
	view, err := session.Load(t.Context(), b.store, id)
	if err != nil {
		t.Fatal(err)
	}
	if view.Running() != nil {
		t.Error("a turn was left open")
	}
}
