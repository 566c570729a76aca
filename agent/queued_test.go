package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// A prompt that waits keeps the model, the level, the display and the options of its submission, over a restart too. What it states itself
// comes first.
func TestQueuedKeepsChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat([]any{time.Minute}, say("a"), []any{ended})...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		short := 100
		options := provider.Options{MaxOutput: short}
		if _, err := b.agent(id).Set(t.Context(), Change{Options: &options}); err != nil {
			t.Fatal(err)
		}
		first := b.prompted(id, text("one"))
		kept := b.prompted(id, text("two"))
		own := text("three")
		own.Override.Level = provider.Max
		stated := b.prompted(id, own)
		low, model, display, none := provider.Low, session.ModelRef{Provider: "sim", ID: "gpt"}, provider.Omitted, provider.Options{}
		if _, err := b.agent(id).Set(t.Context(), Change{Level: &low, Model: &model, Display: &display, Options: &none}); err != nil {
			t.Fatal(err)
		}
		b.restart()
		b.outcome(id, first.Turn)
		if err := b.agent(id).Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.outcome(id, kept.Turn)
		b.outcome(id, stated.Turn)
		late := b.prompted(id, text("four"))
		b.outcome(id, late.Turn)
		var got []string
		for _, r := range b.fake.requests[len(b.fake.requests)-3:] {
			is := r.Model.ID + " " + string(r.Decision.Effective) + " " + string(r.Decision.Source) + " " + string(r.Decision.Control.Display)
			if r.Options.MaxOutput != 0 {
				is += " short"
			}
			got = append(got, is)
		}
		check(t, "requests", got, []string{"claude high session summarized short", "claude max turn summarized short", "gpt low session omitted"})
	})
}

// The turn of a prompt that steered has an end of its own, after that of the turn that took it in and with the same reason.
func TestSteeredHasEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		waits := func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			<-hold
			return said("file")
		}
		b, id := toolBench(t, &host{run: waits}, calls("t", `{}`))
		defer b.close()
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first := b.prompted(id, text("one"))
		synctest.Wait()
		var steered []Receipt
		for _, words := range []string{"two", "three"} {
			p := text(words)
			p.Steer = true
			steered = append(steered, b.prompted(id, p))
		}
		close(hold)
		b.outcome(id, first.Turn)
		var ends []*feed.Update
		for {
			u, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := u.Event.(feed.TurnEnd); ok {
				ends = append(ends, u)
			}
			if len(ends) == 3 {
				break
			}
		}
		for i, turn := range []session.TurnID{first.Turn, steered[0].Turn, steered[1].Turn} {
			e := ends[i].Event.(feed.TurnEnd)
			want := feed.TurnEnd{TurnEnd: session.TurnEnd{StopReason: session.StopEndTurn}, Into: first.Turn}
			if i == 0 {
				want.Into, want.Usage, want.DurationMS = "", e.Usage, e.DurationMS
			}
			check(t, "end", []any{ends[i].Turn, e}, []any{turn, want})
		}
	})
}

// A prompt that waits can be changed and moved, over restarts too. One that has started or ended cannot.
func TestQueueUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat([]any{time.Minute}, say("a"), []any{ended})...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		first := b.prompted(id, text("one"))
		var waiting []session.TurnID
		for _, words := range []string{"two", "three", "four"} {
			waiting = append(waiting, b.prompted(id, text(words)).Turn)
		}
		edit := func(turn session.TurnID, e Edit) error { return b.agent(id).EditQueued(t.Context(), turn, e) }
		move := func(turn, before session.TurnID) error { return b.agent(id).MoveQueued(t.Context(), turn, before) }
		order := func() (list []string) {
			q, err := b.agent(id).Queue(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, waits := range q.Queue {
				list = append(list, waits.Text)
			}
			return list
		}
		for _, err := range []error{edit(waiting[1], Edit{Content: text("THREE").Content}), edit(waiting[0], Edit{Override: session.Override{Level: provider.Low}}),
			edit(waiting[0], Edit{Override: session.Override{Display: provider.Omitted}}), move(waiting[2], waiting[0]), move(waiting[0], ""), move(waiting[1], waiting[1])} {
			if err != nil {
				t.Fatal(err)
			}
		}
		check(t, "order", order(), []string{"four", "THREE", "two"})
		steer := text("now")
		steer.Steer = true
		steering := b.prompted(id, steer).Turn
		for what, got := range map[string][2]error{
			"change a turn that runs":      {edit(first.Turn, Edit{Content: text("x").Content}), ErrNotQueued},
			"move a turn that runs":        {move(first.Turn, ""), ErrNotQueued},
			"move before one that runs":    {move(waiting[0], first.Turn), ErrNotQueued},
			"move an unknown turn":         {move(session.NewTurnID(), ""), ErrNoTurn},
			"move one that steers":         {move(steering, ""), ErrSteers},
			"move before one that steers":  {move(waiting[0], steering), ErrSteers},
			"the level of one that steers": {edit(steering, Edit{Override: session.Override{Level: provider.Low}}), ErrSteers},
		} {
			if !errors.Is(got[0], got[1]) {
				t.Errorf("%s: %v, want %v", what, got[0], got[1])
			}
		}
		if err := edit(steering, Edit{Content: text("NOW").Content}); err != nil {
			t.Error(err)
		}
		b.restart()
		b.outcome(id, first.Turn)
		check(t, "order after a restart", order(), []string{"NOW", "four", "THREE", "two"})
		if err := b.agent(id).Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.outcome(id, waiting[0])
		last := b.fake.requests[len(b.fake.requests)-1]
		var said []string
		for _, m := range last.Messages {
			if m.Role == provider.User {
				said = append(said, blockText(m.Blocks[0]))
			}
		}
		check(t, "sent", said, []string{"one", "NOW", "four", "THREE", "two"})
		check(t, "choice", []any{last.Decision.Effective, last.Decision.Control.Display}, []any{provider.Low, provider.Omitted})
		view, err := session.Load(t.Context(), b.store, id)
		if err != nil || view.Session.Queued != 0 || view.Session.Status != session.Idle {
			t.Errorf("%d wait, %s, %v", view.Session.Queued, view.Session.Status, err)
		}
	})
}
