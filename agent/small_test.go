package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// The title comes from the first prompt that has a text, which may be a later one. It is published when that prompt's turn ends.
func TestTitleOfALaterPromptIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []provider.Blocks{{provider.Media{Type: "image/png", Data: []byte{1}}}, {provider.Text{Text: "What is it?"}}} {
			r, err := a.Prompt(t.Context(), Prompt{Content: content})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Wait(t.Context(), r.Turn); err != nil {
				t.Fatal(err)
			}
		}
		var titles []string
		for u, _ := sub.TryNext(); u != nil; u, _ = sub.TryNext() {
			if e, ok := u.Event.(feed.SessionUpdate); ok && e.Title != nil {
				titles = append(titles, *e.Title)
			}
		}
		check(t, "titles told", titles, []string{"", "What is it?"})
	})
}

// If a prompt must not be queued, the error says what it would have waited for.
func TestRejectSaysWhy(t *testing.T) {
	b := newBench(t)
	defer b.close()
	id := b.session("sim/claude", "")
	reject := text("now")
	reject.Reject = true
	for want, busy := range map[error]func(*state){
		ErrHeld: func(s *state) {
			s.queue.Held = true
			s.queue.Add(session.NewTurnID(), session.Prompt{})
		},
		ErrCompacting: func(s *state) { s.compacting = &compacting{} },
	} {
		_, err := ask(t.Context(), b.agent(id), func(s *state) (struct{}, error) {
			whole := s.queue
			s.queue = queue.New(nil)
			busy(s)
			defer func() { s.queue, s.compacting = whole, nil }()
			_, err := s.prompt(reject)
			return struct{}{}, err
		})
		if !errors.Is(err, want) {
			t.Errorf("refused with %v, want %v", err, want)
		}
	}
}

// A prompt that was taken out of the queue while a turn runs is there for who attaches.
func TestAttachHasWhatWasTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("hm", "yes"), events(time.Hour/2))
		defer b.close()
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		a := b.agent(id)
		var turns []session.TurnID
		for _, said := range []string{"two", "three", "four"} {
			r, err := a.Prompt(t.Context(), text(said))
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, r.Turn)
			synctest.Wait()
		}
		if err := a.Dequeue(t.Context(), turns[1]); err != nil {
			t.Fatal(err)
		}
		snap, sub, err := a.Attach(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		said := func(list []Message) (words []string) {
			for _, m := range list {
				if m.Role == provider.User {
					words = append(words, blockText(m.Parts[0].Block))
				}
			}
			return words
		}
		check(t, "ended", said(snap.Messages), []string{"one", "three"})
		check(t, "running", said(snap.Turn.Messages), []string{"two"})
		check(t, "waiting", said(snap.Waiting), []string{"four"})
	})
}

// Who waits for a summary of a session that is deleted hears that, and not that the daemon ends.
func TestDeleteDuringCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("a", "b"), answer("c", "d"), events(time.Hour/2))
		defer b.close()
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		b.turn(id, "two")
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || over == nil {
			t.Fatal(over, err)
		}
		synctest.Wait()
		if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := <-over; !errors.Is(err, session.ErrNotFound) {
			t.Errorf("the summary ended with %v", err)
		}
	})
}

// A client that lists sessions when it has seen the end of a turn finds the session idle. Ended is called after that end is published,
// and before the agent does anything else.
func TestStatusAtTheEndOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("a", "b"))
		defer b.close()
		var listed session.Status
		var running int
		b.group.Close()
		b.cfg.Ended = func(r report.Turn) {
			now, _ := b.group.For(session.Operator).Live(session.Session{ID: r.Session})
			listed = now.Status
			running = b.group.Running()
		}
		b.start()
		b.turn(b.session("sim/claude", ""), "one")
		if listed != session.Idle || running != 0 {
			t.Errorf("at the end of its turn the session is %s, and %d turns run", listed, running)
		}
	})
}

// A list says what a session is doing as its state does: the store alone would call one held that is summarising.
func TestStatusOfLoadedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("a", "b"), answer("c", "d"), events(time.Hour/2))
		defer b.close()
		id := b.session("sim/claude", "")
		if now, ok := b.group.For(session.Operator).Live(session.Session{ID: id}); ok {
			t.Errorf("a session that is not loaded is %v", now)
		}
		want := func(what string) {
			t.Helper()
			st, err := b.agent(id).State(t.Context())
			now, ok := b.group.For(session.Operator).Live(session.Session{ID: id})
			if err != nil || !ok || now.Status != st.Session.Status || string(now.Status) != what {
				t.Errorf("it is %s, its state says %s, %v; want %s", now.Status, st.Session.Status, err, what)
			}
		}
		b.turn(id, "one")
		b.turn(id, "two")
		want("idle")
		if _, err := b.agent(id).Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.agent(id).Prompt(t.Context(), text("three")); err != nil {
			t.Fatal(err)
		}
		want("running")
	})
}
