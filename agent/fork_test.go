package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// sole is a catalog of one row.
type sole struct{ row provider.Model }

func (c sole) Model(string, string) provider.Model { return c.row }
func (c sole) Served(asked provider.Model, _ string) registry.Service {
	return registry.Service{Row: asked}
}
func (c sole) Find(string) (provider.Model, error) { return c.row, nil }
func (c sole) Models() []provider.Model            { return []provider.Model{c.row} }
func (c sole) Providers() []string                 { return []string{c.row.Provider} }
func (c sole) ref() session.ModelRef               { return session.ModelRef{Provider: c.row.Provider, ID: c.row.ID} }

// seated is agents over a store in memory whose model is a seat's, with a simulator behind it.
func seated(t *testing.T, p placed, server *sim.Server, change func(*Config)) *bench {
	t.Helper()
	listener := server.Listen()
	line := listener.Transport()
	b := &bench{T: t}
	b.keepIn(mem.New())
	b.cfg = Config{Store: b.local, Catalog: sole{p.row}, Provider: func(string) provider.Provider { return p.open(line) },
		Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&b.cfg)
	}
	b.start()
	t.Cleanup(func() {
		b.close()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// A fork sends to the vendor just what its parent had sent, thinking included, and no vendor refuses it.
func TestForkKeepsThinking(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, seat := range seats {
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			p := seat.place(t, catalog)
			server := sim.New(sim.Config{})
			b := seated(t, p, server, nil)
			id := b.session(sole{p.row}.ref().String(), p.level)
			say := func(id session.ID, words string) []byte {
				if e := b.turn(id, words); e.End.StopReason != "end_turn" {
					t.Fatalf("%s: %+v", words, e.End)
				}
				all := server.Requests()
				return all[len(all)-1].Body
			}
			say(id, "Which date is later?")
			at := b.turn(id, "And of these three?")
			want := say(id, "Say it again.") // all up to the fork, and this prompt
			fork, err := b.group.For(session.Operator).Fork(t.Context(), id, at.Message.ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			got := say(fork.ID, "Say it again.")
			if !bytes.Equal(got, want) {
				t.Errorf("the fork sends\n%s\nand its parent sent\n%s", testgo.Excerpt(got), testgo.Excerpt(want))
			}
			for _, refusal := range server.Refusals() {
				t.Errorf("refused: %+v", refusal)
			}
		})
	}
}

func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		b.turn(id, "one")
		b.turn(id, "two")
		listed := func(id session.ID) (ids []session.MessageID) {
			page, _, err := b.agent(id).History(t.Context(), Page{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page {
				ids = append(ids, m.ID)
			}
			return ids
		}
		all := listed(id)
		stamp := session.Stamp{ID: "a", Digest: []byte{1}}
		once := func() session.ID {
			made, err := b.group.For(session.Operator).ForkOnce(t.Context(), id, all[1], stamp, func(id session.ID) (json.RawMessage, error) { return json.Marshal(id) })
			if err != nil {
				t.Fatal(err)
			}
			return made.Session
		}
		fork := once()
		check(t, "the same again", once(), fork)
		check(t, "its history", listed(fork), all[:2])
		b.turn(fork, "three")
		check(t, "what the model was sent", len(b.fake.requests[2].Messages), 3)
		check(t, "the parent", listed(id), all)
		check(t, "the fork", slices.Equal(listed(fork)[:2], all[:2]), true)
		st, err := b.agent(fork).State(t.Context())
		if err != nil || st.Session.Title != "one" || st.Session.Level != provider.High {
			t.Errorf("%+v, %v", st.Session, err)
		}
		snap, sub, err := b.agent(fork).Attach(t.Context(), 100)
		if err != nil || len(snap.Messages) != 4 {
			t.Errorf("%d messages, %v", len(snap.Messages), err)
		}
		sub.Close()
		for _, c := range []struct {
			at   session.MessageID
			want error
		}{{session.NewMessageID(), ErrNoMessage}} {
			if _, err := b.group.For(session.Operator).Fork(t.Context(), id, c.at); !errors.Is(err, c.want) {
				t.Errorf("fork at %s: %v, want %v", c.at, err, c.want)
			}
		}

		// At what is being written; and of a turn that runs, at what it was asked.
		b.fake.scripts = []script{events(concat(think("a"), say("half")[:2], []any{time.Hour})...)}
		p, err := b.agent(id).Prompt(t.Context(), text("long"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		running := listed(id)
		if _, err := b.group.For(session.Operator).Fork(t.Context(), id, running[len(running)-1]); !errors.Is(err, session.ErrUnfinished) && !errors.Is(err, ErrNoMessage) {
			t.Errorf("a fork at an open message: %v", err)
		}
		asked, err := b.group.For(session.Operator).Fork(t.Context(), id, p.Message)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "the fork of a running turn", listed(asked.ID), running[:5])
		if e, err := b.agent(asked.ID).Wait(t.Context(), p.Turn); err != nil || e.End.StopReason != session.StopCancelled {
			t.Errorf("the turn that was cut: %+v, %v", e.End, err)
		}
	})
}

// A prompt that was taken out of the queue stands behind the turn that runs and the one that waits: a fork at it would
// have both, and run the second once more.
func TestForkBehindARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), []any{time.Hour / 2})...))
		defer b.close()
		id := b.session("sim/claude", "")
		var last Receipt
		for _, words := range []string{"one", "two", "three"} {
			var err error
			if last, err = b.agent(id).Prompt(t.Context(), text(words)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if ok, err := b.agent(id).Cancel(t.Context(), last.Turn); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if fork, err := b.group.For(session.Operator).Fork(t.Context(), id, last.Message); !errors.Is(err, session.ErrUnfinished) {
			t.Errorf("a fork at it: %+v, %v", fork, err)
		}
		time.Sleep(time.Hour) // all have ended
		fork, err := b.group.For(session.Operator).Fork(t.Context(), id, last.Message)
		if err != nil {
			t.Fatal(err)
		}
		st, err := b.agent(fork.ID).State(t.Context())
		check(t, "its status", []any{st.Session.Status, err}, []any{session.Idle, nil})
	})
}
