package agent

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// appendTo adds a message and returns what became of it.
func (b *bench) appendTo(id session.ID, words string) Receipt {
	b.Helper()
	r, err := b.agent(id).Append(b.Context(), text(words))
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// Messages that are added go to the model with the next prompt, in order, and cost nothing. Clients see them.
func TestAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, answer("", "One."), answer("", "Two."))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "disposition", b.appendTo(id, "first").Disposition, feed.Appended)
		b.appendTo(id, "second")
		check(t, "calls", len(b.fake.requests), 0)
		b.turn(id, "third")
		b.appendTo(id, "fourth")
		b.turn(id, "fifth")
		check(t, "the first request", shape(b.fake.requests[0]), []string{"user first", "user second", "user third"})
		check(t, "the second request", shape(b.fake.requests[1]), []string{"user first", "user second", "user third", "assistant (thinks) One.", "user fourth", "user fifth"})
		synctest.Wait()
		got := methods(sub)
		check(t, "updates", got[:5], []string{"prompt appended", "turn_end end_turn", "session_update", "prompt appended", "turn_end end_turn"})
		st, err := b.agent(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "title", st.Session.Title, "first")
		check(t, "status", st.Session.Status, session.Idle)
	})
}

// During a turn an added message waits behind it, in the order of the queue. It survives a restart there, where the queue is held.
func TestAppendWaitsBehindATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour), answer("", "Two."), answer("", "Three."))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		prompted := func(words string) Receipt {
			r, err := a.Prompt(t.Context(), text(words))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		prompted("first")
		synctest.Wait() // its call has begun
		late := b.appendTo(id, "second")
		check(t, "disposition", late.Disposition, feed.Enqueued)
		if _, err := a.Append(t.Context(), Prompt{Content: text("x").Content, Reject: true}); !errors.Is(err, ErrBusy) {
			t.Errorf("rejected: %v", err)
		}
		third := prompted("third")
		gone := b.appendTo(id, "taken out")
		if err := a.Dequeue(t.Context(), gone.Turn); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Wait(t.Context(), third.Turn); err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), late.Turn)
		if err != nil || e.End.StopReason != session.StopEndTurn || e.Start != nil {
			t.Errorf("the added message ended with %+v, %v", e, err)
		}
		check(t, "the second request", shape(b.fake.requests[1]), []string{"user first", "user second", "user third"})
		page, _, err := a.History(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page {
			if m.Unsent() != (m.ID == gone.Message) {
				t.Errorf("message %s of turn %s: unsent is %v", m.ID, m.Turn, m.Unsent())
			}
		}
		b.group.Close()
		b.start()
		again, _, err := b.agent(id).History(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		ids := func(list []Message) (ids []session.MessageID) {
			for _, m := range list {
				ids = append(ids, m.ID)
			}
			return ids
		}
		check(t, "the history after a restart", ids(again), ids(page))
	})
}

// A summary replaces added messages as it replaces others, and the history still has them. A fork at an added message has it.
func TestAppendIsSummarisedAndForked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0, 1000, answer("", "One."), answer("", "Two."), answer("", "Sum."), answer("", "Three."), answer("", "Fork."))
		defer b.close()
		added := b.appendTo(id, "an old fact")
		b.turn(id, "first")
		b.turn(id, "second")
		over, err := b.agent(id).Compact(t.Context())
		if err != nil || over == nil {
			t.Fatal(over, err)
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		newest := b.appendTo(id, "a new fact")
		b.turn(id, "third")
		last := shape(b.fake.requests[len(b.fake.requests)-1])
		if want := []string{above + "Sum.", "user a new fact", "user third"}; !slices.Equal(last, want) {
			t.Errorf("after the summary: %q, want %q", last, want)
		}
		page, _, err := b.agent(id).History(t.Context(), Page{FromStart: true, Limit: 1})
		if err != nil || len(page) != 1 || page[0].ID != added.Message || blockText(page[0].Parts[0].Block) != "an old fact" || page[0].Unsent() {
			t.Errorf("the oldest message is %+v, %v", page, err)
		}
		fork, err := b.group.For(session.Operator).Fork(t.Context(), id, newest.Message)
		if err != nil {
			t.Fatal(err)
		}
		b.turn(fork.ID, "elsewhere")
		last = shape(b.fake.requests[len(b.fake.requests)-1])
		if want := []string{above + "Sum.", "user a new fact", "user elsewhere"}; !slices.Equal(last, want) {
			t.Errorf("the fork sent %q, want %q", last, want)
		}
	})
}

// No vendor refuses user messages in a row: before the first answer, behind an answer, and behind a turn that failed.
func TestAppendOnEveryWire(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	for _, seat := range seats {
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			p := seat.place(t, catalog)
			server := sim.New(sim.Config{})
			b := seated(t, p, server, nil)
			id := b.session(sole{p.row}.ref().String(), p.level)
			for round := range 3 {
				b.appendTo(id, "A fact.")
				b.appendTo(id, "One more fact.")
				if round == 1 {
					server.Script(sim.Answer{Fault: sim.FaultAuth})
				}
				if e := b.turn(id, "And the question?"); round != 1 && e.End.StopReason != session.StopEndTurn {
					t.Fatalf("round %d: %+v", round, e.End)
				}
			}
			if refusals := server.Refusals(); len(refusals) > 0 {
				t.Errorf("refused: %+v", refusals[0])
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d seats of five APIs took 9 appended messages each without a refusal", len(seats)) })
}
