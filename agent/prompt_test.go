package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

func stampedText(s, id string, digest byte) Prompt {
	p := text(s)
	p.Stamp = &session.Stamp{ID: id, Digest: []byte{digest}}
	return p
}

// A prompt with a stamp runs once, also over restarts. A repeated call gets the same response and the same updates as the first.
func TestPromptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		id := b.session("anthropic/claude-opus-4-6", "")
		say := func(p Prompt, want error) Receipt {
			t.Helper()
			r, err := b.agent(id).Prompt(t.Context(), p)
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			return r
		}
		said := func(id, stamp string, digest byte) string {
			t.Helper()
			r, err := b.agent(session.ID(id)).Prompted(t.Context(), session.Stamp{ID: stamp, Digest: []byte{digest}})
			return fmt.Sprint(r, err)
		}
		first := say(stampedText("one", "a", 1), nil)
		queued := say(stampedText("two", "", 2), nil)
		check(t, "dispositions", []feed.Disposition{first.Disposition, queued.Disposition}, []feed.Disposition{feed.Started, feed.Enqueued})
		refused := stampedText("three", "c", 3)
		refused.Reject = true
		say(refused, ErrBusy)
		check(t, "what was refused", said(string(id), "c", 3), "<nil> <nil>")
		check(t, "what was never said", said(string(id), "d", 3), "<nil> <nil>")

		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again := func() {
			t.Helper()
			check(t, "first", say(stampedText("one", "a", 1), nil), first)
			check(t, "queued", say(stampedText("two", "", 2), nil), queued)
			say(stampedText("one", "a", 9), session.ErrReused)
			check(t, "prompted", said(string(id), "a", 1), fmt.Sprint(&first, nil))
			check(t, "prompted", said(string(id), "a", 2), fmt.Sprint((*Receipt)(nil), session.ErrReused))
		}
		again()
		check(t, "told", methods(sub), []string(nil))
		b.group.Close()
		b.start()
		again()
		q, err := b.agent(id).Queue(t.Context())
		check(t, "the queue is held as before", []any{len(q.Queue), q.Held, err}, []any{1, true, nil})
		third := say(stampedText("three", "c", 3), nil)
		check(t, "third", third.Disposition, feed.Enqueued)
		time.Sleep(time.Minute)
		again()
		check(t, "calls", len(b.fake.requests), 3)
		page, _, err := b.agent(id).History(t.Context(), Page{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var prompts []session.MessageID
		for _, m := range page {
			if m.Role == provider.User {
				prompts = append(prompts, m.ID)
			}
		}
		check(t, "prompts", prompts, []session.MessageID{first.Message, queued.Message, third.Message})
	})
}

// Whatever happens to the write of a prompt, saying it again makes it one turn.
func TestPromptOnceOverCrashes(t *testing.T) {
	for hit := readOnly; hit <= killedWritten; hit++ {
		t.Run(fmt.Sprint(hit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.close()
				id := b.session("anthropic/claude-opus-4-6", "")
				b.cfg.Store = only{&wounded{Sessions: b.store, wounds: map[int]wound{1: hit}}, b.local.Ledger()}
				b.group.Close()
				b.start()
				if _, err := b.agent(id).Prompt(t.Context(), stampedText("go", "a", 1)); err == nil {
					t.Fatal("a prompt that could not be kept was acknowledged")
				}
				if hit >= killed {
					b.cfg.Store = b.local
					b.group.Close()
					b.start()
				}
				written := hit == readOnlyWritten || hit == failingWritten || hit == killedWritten
				var receipts []Receipt
				for range 3 {
					var r Receipt
					err := b.group.For(session.Operator).Do(t.Context(), id, func(a *Agent) (err error) {
						r, err = a.Prompt(t.Context(), stampedText("go", "a", 1))
						return err
					})
					if err != nil {
						t.Fatal(err)
					}
					receipts = append(receipts, r)
					time.Sleep(time.Minute)
				}
				check(t, "receipts", receipts, []Receipt{receipts[0], receipts[0], receipts[0]})
				view, err := session.Load(t.Context(), b.store, id)
				if err != nil {
					t.Fatal(err)
				}
				want := map[bool][]any{true: {1, 0, "interrupted"}, false: {1, 1, "end_turn"}}[written]
				check(t, "turns, calls, end", []any{len(view.Turns), len(b.fake.requests), string(view.Turns[0].End.StopReason)}, want)
				check(t, "turn", view.Turns[0].ID, receipts[0].Turn)
			})
		})
	}
}

func TestCreateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		record := session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}}
		stamp := session.Stamp{ID: "a", Digest: []byte{1}}
		if m, ok, err := b.group.For(session.Operator).Creation(t.Context(), stamp); ok || err != nil {
			t.Errorf("%+v, %v", m, err)
		}
		create := func(stamp session.Stamp, want error) session.Creation {
			t.Helper()
			m, err := b.group.For(session.Operator).CreateOnce(t.Context(), record, stamp, func(id session.ID) (json.RawMessage, error) {
				return fmt.Appendf(nil, `{"of":%q}`, id), nil
			})
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			return m
		}
		first := create(stamp, nil)
		check(t, "answer", string(first.Answer), fmt.Sprintf(`{"of":%q}`, first.Session))
		check(t, "again", create(stamp, nil), first)
		create(session.Stamp{ID: "a", Digest: []byte{2}}, session.ErrReused)
		found, ok, err := b.group.For(session.Operator).Creation(t.Context(), stamp)
		check(t, "found", []any{found, ok, err}, []any{first, true, nil})
		_, _, err = b.group.For(session.Operator).Creation(t.Context(), session.Stamp{ID: "a"})
		check(t, "another request", errors.Is(err, session.ErrReused), true)
		page, _, err := b.store.List(t.Context(), session.Query{})
		check(t, "sessions", []any{len(page), err}, []any{1, nil})
		b.turn(first.Session, "go")
	})
}

func TestTakes(t *testing.T) {
	image, pdf := provider.Media{Type: "image/png", Data: []byte{1}}, provider.Media{Type: "application/pdf", Data: []byte{1}}
	for _, tt := range []struct {
		name  string
		model provider.Model
		shown provider.Media
		ok    bool
	}{
		{"one that its row names", provider.Model{Known: true, Input: []string{"text", "image"}}, image, true},
		{"one that it does not", provider.Model{Known: true, Input: []string{"text", "image"}}, pdf, false},
		{"a row that says nothing", provider.Model{Known: true}, image, true},
		{"no row", provider.Model{}, pdf, true},
	} {
		err := media.Check(media.For(nil, tt.model), provider.Blocks{provider.Text{Text: "Look"}, tt.shown})
		if _, refused := errors.AsType[*media.Error](err); refused == tt.ok || (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestManyPromptsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		a := b.agent(b.session("sim/claude", ""))
		for range maxQueue + 1 {
			if _, err := a.Prompt(t.Context(), text("go")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Prompt(t.Context(), text("one more")); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one more: %v", err)
		}
		snap, sub, err := a.Attach(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		sub.Close()
		check(t, "waiting", len(snap.Queue.Queue), maxQueue)
		check(t, "running", len(snap.Turn.Messages), 1)
		check(t, "status", snap.Session.Status, session.Running)
	})
}
