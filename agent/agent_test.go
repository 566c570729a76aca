package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/suspect"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
)

// fake is a provider that plays one script a call and remembers what it was asked.
type fake struct {
	mu       sync.Mutex
	scripts  []script
	requests []*provider.Request
	refused  bool // some request was, so that later ones may lack something

	judge func(*provider.Request, script) script // nil, or what is played in place of a script
}

// script yields events; it may wait on ctx.
type script func(ctx context.Context, yield func(provider.Event, error) bool)

func (f *fake) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		f.mu.Lock()
		f.requests = append(f.requests, req)
		var play script
		if len(f.scripts) > 0 {
			play, f.scripts = f.scripts[0], f.scripts[1:]
		}
		f.mu.Unlock()
		if play == nil {
			play = answer("Think.", "Say.")
		}
		if f.judge != nil {
			play = f.judge(req, play)
		}
		f.judged(func(yield func(provider.Event, error) bool) { play(ctx, yield) })(yield)
	}
}

// judged notes whether an answer is a refusal.
func (f *fake) judged(said iter.Seq2[provider.Event, error]) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for e, err := range said {
			if pe, ok := errors.AsType[*provider.Error](err); ok && suspect.Suspicious(pe) {
				f.mu.Lock()
				f.refused = true
				f.mu.Unlock()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// telling is a provider of which no two summaries are the same.
type telling struct{ *fake }

func (p telling) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return p.distinct(req, p.fake.Stream(ctx, req))
}

// distinct is what was said to req, with a number in front of a summary.
func (f *fake) distinct(req *provider.Request, said iter.Seq2[provider.Event, error]) iter.Seq2[provider.Event, error] {
	if req.System != transcript.AskSummary {
		return said
	}
	return func(yield func(provider.Event, error) bool) {
		f.mu.Lock()
		n := len(f.requests)
		f.mu.Unlock()
		if yield(provider.End{Index: 1 << 20, Block: provider.Text{Text: fmt.Sprintf("Summary %d. ", n)}}, nil) {
			said(yield)
		}
	}
}

func (f *fake) Wire(req *provider.Request) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"effort": req.Decision.Control.Effort})
}

func signed(text string) provider.Thinking {
	return provider.Thinking{Text: text, Kind: provider.ThinkingSummary, Signed: true,
		State: provider.State{Origin: provider.Origin{API: "fake"}, Data: json.RawMessage(`{"signature":"S"}`)}}
}

// panicking is an event that makes the provider panic.
type panicking struct{}

// events are what a script yields.
func events(list ...any) script {
	return func(ctx context.Context, yield func(provider.Event, error) bool) {
		for _, e := range list {
			switch e := e.(type) {
			case provider.Event:
				if !yield(e, nil) {
					return
				}
			case error:
				yield(nil, e)
				return
			case panicking:
				panic("parser")
			case time.Duration:
				select {
				case <-time.After(e):
				case <-ctx.Done():
					yield(nil, context.Cause(ctx))
					return
				}
			}
		}
	}
}

func think(text string) []any {
	return []any{provider.Begin{Index: 0, Block: provider.Thinking{Kind: provider.ThinkingSummary}},
		provider.Delta{Index: 0, Text: text}, provider.End{Index: 0, Block: signed(text)}}
}

func say(text string) []any {
	return []any{provider.Begin{Index: 1, Block: provider.Text{}},
		provider.Delta{Index: 1, Text: text}, provider.End{Index: 1, Block: provider.Text{Text: text}}}
}

var ended = provider.Stop{Reason: provider.StopEndTurn, Raw: "end_turn", Usage: provider.Usage{Input: 10, Output: 5}}

func answer(thought, said string) script {
	return events(append(append(think(thought), say(said)...), ended)...)
}

func concat(lists ...[]any) []any {
	var all []any
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// bench is a daemon's agents over a store in memory and one fake provider.
type bench struct {
	*testing.T
	local session.Local
	store session.Sessions // of local; all are the operator's
	fake  *fake
	group *Group
	cfg   Config
}

func newBench(t *testing.T, scripts ...script) *bench {
	t.Helper()
	b := &bench{T: t, fake: &fake{scripts: scripts}}
	b.keepIn(mem.New())
	catalog, err := registry.New([]registry.Provider{{ID: "sim", Vendor: "sim"}, {ID: "anthropic", Vendor: "anthropic"}})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = Config{Store: b.local, Catalog: catalog, Provider: func(string) provider.Provider { return b.fake },
		Log: slog.New(slog.DiscardHandler)}
	b.start()
	return b
}

func (b *bench) start() {
	b.Helper()
	var err error
	b.cfg.Left = b.local.OpenTurns
	if b.group, err = NewGroup(b.Context(), b.cfg); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) close() {
	b.group.Close()
	b.local.Close()
}

// keepIn makes the bench keep its sessions in a store.
func (b *bench) keepIn(store session.Local) {
	b.local, b.store = store, store.For(session.Operator)
}

// only is a store that gives every owner the same sessions.
type only struct {
	session.Sessions
	ledger session.Ledger
}

func (o only) For(session.Owner) session.Sessions { return o.Sessions }

func (o only) Ledger() session.Ledger { return o.ledger }

func (only) Forget(context.Context, session.Owner) error { return session.ErrOwner } // its sessions are the operator's

func (only) Close() error { return nil }

func (b *bench) session(model string, level provider.Level) session.ID {
	b.Helper()
	id, name, _ := strings.Cut(model, "/")
	s, err := b.group.For(session.Operator).Create(b.Context(), session.Session{Settings: session.Settings{
		Model: session.ModelRef{Provider: id, ID: name}, Level: level}})
	if err != nil {
		b.Fatal(err)
	}
	return s.ID
}

func (b *bench) agent(id session.ID) *Agent {
	b.Helper()
	var agent *Agent
	if err := b.group.For(session.Operator).Do(b.Context(), id, func(a *Agent) error { agent = a; return nil }); err != nil {
		b.Fatal(err)
	}
	return agent
}

func text(s string) Prompt { return Prompt{Content: provider.Blocks{provider.Text{Text: s}}} }

// turn prompts and waits for the end.
func (b *bench) turn(id session.ID, s string) Ended {
	b.Helper()
	a := b.agent(id)
	r, err := a.Prompt(b.Context(), text(s))
	if err != nil {
		b.Fatal(err)
	}
	e, err := a.Wait(b.Context(), r.Turn)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// methods drains a subscription: one word an update, deltas with their text.
func methods(sub *feed.Subscription) []string {
	var list []string
	for {
		u, err := sub.TryNext()
		if u == nil || err != nil {
			return list
		}
		word := u.Event.Method()
		switch e := u.Event.(type) {
		case feed.ThinkingDelta:
			word += " " + e.Delta
		case feed.MessageDelta:
			word += " " + e.Delta
		case feed.ThinkingEnd:
			word += fmt.Sprintf(" %s signed=%v", e.Text, e.Signed)
		case feed.TextEnd:
			word += " " + e.Text
		case feed.MessageEnd:
			word += " " + string(e.StopReason)
		case feed.TurnEnd:
			word += " " + string(e.StopReason)
			if e.Limit != "" {
				word += " " + e.Limit
			}
			if e.Error != nil {
				word += " " + e.Error.Kind
			}
		case feed.Notice:
			word += " " + e.Kind
		case feed.Retry:
			word += fmt.Sprintf(" %d %v", e.Attempt, e.Discarded)
		case feed.PromptStored:
			word += " " + string(e.Disposition)
		case feed.QueueUpdate:
			word += fmt.Sprintf(" %d held=%v", len(e.Queue), e.Held)
		}
		list = append(list, word)
	}
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := b.turn(id, "Which date is later?")
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "updates", methods(sub), []string{"prompt started", "turn_start", "message_start", "thinking_start",
			"thinking_delta Think.", "thinking_end Think. signed=true", "message_delta Say.", "text_end Say.",
			"message_end end_turn", "usage", "session_update", "turn_end end_turn"})
		b.turn(id, "And now?")
		got := b.fake.requests[1].Messages
		want := []provider.Message{
			{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which date is later?"}}},
			{Role: provider.Assistant, Blocks: provider.Blocks{signed("Think."), provider.Text{Text: "Say."}}},
			{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "And now?"}}},
		}
		check(t, "second request", got, want)
	})
}

func TestSequenceIsDenseAndNeverReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		id := b.session("sim/claude", "")
		sub, _ := b.agent(id).Subscribe(t.Context())
		b.turn(id, "one")
		var last uint64
		for {
			u, _ := sub.TryNext()
			if u == nil {
				break
			}
			first := u.Seq
			if u.FirstSeq != 0 {
				first = u.FirstSeq
			}
			if last != 0 && first != last+1 {
				t.Errorf("%s has seq %d after %d", u.Event.Method(), first, last)
			}
			last = u.Seq
		}
		b.group.Close()
		b.start()
		defer b.close()
		snap, _, err := b.agent(id).Attach(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if snap.Seq <= last || snap.Seq%(1<<24) != 0 {
			t.Errorf("after a restart seq stands at %d; it was %d", snap.Seq, last)
		}
		check(t, "messages", len(snap.Messages), 2)
	})
}

func TestQueueGoesOnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), []any{time.Hour / 2})...))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		first, err := a.Prompt(t.Context(), text("one"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second, _ := a.Prompt(t.Context(), text("two"))
		third, _ := a.Prompt(t.Context(), text("three"))
		check(t, "dispositions", []feed.Disposition{first.Disposition, second.Disposition, third.Disposition},
			[]feed.Disposition{feed.Started, feed.Enqueued, feed.Enqueued})
		_, err = a.Prompt(t.Context(), Prompt{Content: text("four").Content, Reject: true})
		if !errors.Is(err, ErrBusy) {
			t.Errorf("reject while busy: %v", err)
		}
		q, _ := a.Queue(t.Context())
		check(t, "queue", []string{q.Queue[0].Text, q.Queue[1].Text}, []string{"two", "three"})

		if ok, err := a.Cancel(t.Context(), second.Turn); !ok || err != nil {
			t.Errorf("cancel of a queued turn: %v, %v", ok, err)
		}
		if ok, err := a.Cancel(t.Context(), ""); !ok || err != nil {
			t.Errorf("cancel of the running turn: %v, %v", ok, err)
		}
		e, err := a.Wait(t.Context(), third.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "third", string(e.End.StopReason), "end_turn")
		e, _ = a.Wait(t.Context(), first.Turn)
		check(t, "first", string(e.End.StopReason), "cancelled")
		check(t, "first's message", e.Message.End.Incomplete, session.Cancelled)
		e, _ = a.Wait(t.Context(), second.Turn)
		check(t, "second", string(e.End.StopReason), "cancelled")
		if ok, err := a.Cancel(t.Context(), third.Turn); ok || err != nil {
			t.Errorf("cancel of an ended turn: %v, %v", ok, err)
		}
		if _, err := a.Cancel(t.Context(), session.NewTurnID()); !errors.Is(err, ErrNoTurn) {
			t.Errorf("cancel of no turn: %v", err)
		}
		// The sealed blocks of the cancelled turn are sent, even thinking alone. The turn that never started is not sent.
		last := b.fake.requests[len(b.fake.requests)-1].Messages
		check(t, "sent", len(last), 3)
	})
}

func TestCancelKeepsSealedAndPartialText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), say("whole")[:2], []any{time.Hour / 2})...))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		sub, _ := a.Subscribe(t.Context())
		a.Prompt(t.Context(), text("one"))
		synctest.Wait()
		a.Cancel(t.Context(), "")
		got := methods(sub)
		check(t, "tail", got[len(got)-5:], []string{"text_end whole", "message_end cancelled", "usage", "session_update", "turn_end cancelled"})
		b.turn(id, "two")
		check(t, "sent", b.fake.requests[1].Messages[1].Blocks, provider.Blocks{signed("a"), provider.Text{Text: "whole"}})
	})
}

func TestUnsealedThinkingIsShownNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(think("half")[0], think("half")[1], time.Hour/2))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		a.Prompt(t.Context(), text("one"))
		synctest.Wait()
		a.Cancel(t.Context(), "")
		b.turn(id, "two")
		page, _, err := a.History(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		shown := page[1].Parts[0].Block.(provider.Thinking)
		check(t, "shown", []any{shown.Text, shown.Signed}, []any{"half", false})
		for _, m := range b.fake.requests[1].Messages {
			for _, block := range m.Blocks {
				if _, ok := block.(provider.Thinking); ok {
					t.Errorf("unsealed thinking was sent: %v", block)
				}
			}
		}
	})
}

func TestAttachInMidTurnIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(think("half")[0], provider.Delta{Index: 0, Text: "ha"}, time.Minute,
			provider.Delta{Index: 0, Text: "lf"}, think("half")[2], ended))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		r, _ := a.Prompt(t.Context(), text("one"))
		synctest.Wait()
		snap, sub, err := a.Attach(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		open := snap.Turn.Messages[1].Open[0]
		check(t, "open so far", open.Block.(provider.Thinking).Text, "ha")
		a.Wait(t.Context(), r.Turn)
		check(t, "what follows", methods(sub)[:2], []string{"thinking_delta lf", "thinking_end half signed=true"})
	})
}

// callOf is a tool call that comes in pieces.
func callOf(name string) []any {
	return []any{provider.Begin{Index: 2, Block: provider.ToolCall{Name: name}}, provider.Delta{Index: 2, Text: `{"path":`},
		provider.End{Index: 2, Block: provider.ToolCall{ID: "c1", Name: name, Input: json.RawMessage(`{"path":"a"}`)}}}
}

func TestRetrySchedule(t *testing.T) {
	overloaded := &provider.Error{Kind: provider.KindOverloaded, Status: 529}
	lost := &provider.Error{Kind: provider.KindTransport, Err: io.ErrUnexpectedEOF}
	after := &provider.Error{Kind: provider.KindRateLimit, Status: 429, RetryAfter: 20 * time.Second}
	long := &provider.Error{Kind: provider.KindRateLimit, Status: 429, RetryAfter: 2 * time.Minute}
	bare := &provider.Error{Kind: provider.KindRateLimit, Status: 429}
	final := &provider.Error{Kind: provider.KindOverloaded, Status: 529, Hint: provider.HintFinal}
	bad := &provider.Error{Kind: provider.KindBadRequest, Status: 400}
	proxy := &provider.Error{Kind: provider.KindTransport, Status: 522, RetryAfter: time.Second}
	asked := &provider.Error{Kind: provider.KindTransport, Status: 522, RetryAfter: time.Second, Hint: provider.HintRetry}
	for _, test := range []struct {
		name    string
		scripts []script
		calls   int
		stop    string
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"then well", []script{events(overloaded)}, 2, "end_turn", 1600 * time.Millisecond, 2400 * time.Millisecond},
		{"five calls in all", []script{events(overloaded), events(overloaded), events(overloaded), events(overloaded), events(overloaded)},
			5, "error", 24 * time.Second, 36 * time.Second},
		{"lost before an answer", []script{events(lost)}, 2, "end_turn", 800 * time.Millisecond, 1200 * time.Millisecond},
		{"the vendor's time is obeyed", []script{events(after)}, 2, "end_turn", 20 * time.Second, 20 * time.Second},
		{"too long a time ends the turn", []script{events(long)}, 1, "error", 0, 0},
		{"429 without a time", []script{events(bare), events(bare), events(bare), events(bare)}, 5, "end_turn", 24 * time.Second, 36 * time.Second},
		{"429 without a time for ever", slices.Repeat([]script{events(bare)}, 5), 5, "error", 24 * time.Second, 36 * time.Second},
		{"the vendor says no", []script{events(final)}, 1, "error", 0, 0},
		{"a bad request never", []script{events(bad)}, 1, "error", 0, 0},
		{"nor a status that does not pass", []script{events(proxy)}, 1, "error", 0, 0},
		{"unless the vendor says yes", []script{events(asked)}, 2, "end_turn", time.Second, time.Second},
		{"after thinking", []script{events(append(think("x"), overloaded)...)}, 2, "end_turn", 1600 * time.Millisecond, 2400 * time.Millisecond},
		{"not after text", []script{events(concat(think("x"), say("y")[:2], []any{overloaded})...)}, 1, "error", 0, 0},
		{"in a tool's arguments", []script{events(concat(think("x"), callOf("t")[:2], []any{lost})...)}, 2, "end_turn", 800 * time.Millisecond, 1200 * time.Millisecond},
		{"in a tool's arguments, after text", []script{events(concat(think("x"), say("y"), callOf("t")[:2], []any{lost})...)}, 2, "end_turn", 800 * time.Millisecond, 1200 * time.Millisecond},
		{"after a tool call", []script{events(concat(say("y"), callOf("t"), []any{lost})...)}, 2, "end_turn", 800 * time.Millisecond, 1200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.scripts...)
				defer b.close()
				begun := time.Now()
				e := b.turn(b.session("sim/claude", ""), "go")
				took := time.Since(begun)
				check(t, "calls", len(b.fake.requests), test.calls)
				check(t, "stop", string(e.End.StopReason), test.stop)
				if took < test.atLeast || took > test.atMost {
					t.Errorf("took %s, want %s to %s", took, test.atLeast, test.atMost)
				}
			})
		})
	}
}

func TestRetryTellsWhatIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overloaded := &provider.Error{Kind: provider.KindOverloaded, Status: 529}
		b := newBench(t, events(concat(think("x"), []any{provider.Begin{Index: 5, Block: provider.Thinking{}},
			provider.Delta{Index: 5, Text: "y"}, overloaded})...), answer("z", "done"))
		defer b.close()
		id := b.session("sim/claude", "")
		sub, _ := b.agent(id).Subscribe(t.Context())
		e := b.turn(id, "go")
		check(t, "updates", methods(sub), []string{"prompt started", "turn_start", "message_start",
			"thinking_start", "thinking_delta x", "thinking_end x signed=true",
			"thinking_start", "thinking_delta y", "thinking_end y signed=false", "retry 2 [0 1]",
			"thinking_start", "thinking_delta z", "thinking_end z signed=true", "message_delta done", "text_end done",
			"message_end end_turn", "usage", "session_update", "turn_end end_turn"})
		var numbers []int
		for _, p := range e.Message.Parts {
			numbers = append(numbers, p.Number)
		}
		check(t, "numbers that stay", numbers, []int{2, 3})
	})
}

// Text before a tool call whose arguments were lost is void, and the retry names it. Of the call itself clients saw nothing.
func TestRetryInToolArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := &provider.Error{Kind: provider.KindTransport, Err: io.ErrUnexpectedEOF}
		b := newBench(t, events(concat(think("x"), say("I write it."), callOf("t")[:2], []any{lost})...), answer("z", "done"))
		defer b.close()
		id := b.session("sim/claude", "")
		sub, _ := b.agent(id).Subscribe(t.Context())
		e := b.turn(id, "go")
		check(t, "updates", methods(sub)[6:], []string{"message_delta I write it.", "text_end I write it.", "retry 2 [0 1]",
			"thinking_start", "thinking_delta z", "thinking_end z signed=true", "message_delta done", "text_end done",
			"message_end end_turn", "usage", "session_update", "turn_end end_turn"})
		var numbers []int
		for _, p := range e.Message.Parts {
			numbers = append(numbers, p.Number)
		}
		check(t, "numbers that stay", numbers, []int{3, 4})
		b.turn(id, "on")
		check(t, "sent", b.fake.requests[2].Messages[1].Blocks, provider.Blocks{signed("z"), provider.Text{Text: "done"}})
	})
}

// Each model call of a turn has its own five tries, and a turn has a hundred retries.
func TestRetryBudgetIsOfEachCall(t *testing.T) {
	for _, test := range []struct {
		name    string
		pauses  int
		failing int // before each answer
		again   int
		stop    string
	}{
		{"thirty calls, each overloaded four times but the last", 24, 4, 96, "end_turn"},
		{"a hundred retries", 30, 4, 100, "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				overloaded := &provider.Error{Kind: provider.KindOverloaded, Status: 529}
				pause := events(concat(think("x"), say("y"), []any{provider.Stop{Reason: provider.StopPause}})...)
				var scripts []script
				for range test.pauses {
					scripts = append(append(scripts, slices.Repeat([]script{events(overloaded)}, test.failing)...), pause)
				}
				b := newBench(t, scripts...)
				b.group.Close()
				var again int
				b.cfg.Ended = func(r report.Turn) { again = r.Again }
				b.start()
				defer b.close()
				e := b.turn(b.session("sim/claude", ""), "go")
				check(t, "stop", string(e.End.StopReason), test.stop)
				check(t, "retries", again, test.again)
			})
		})
	}
}

func TestRepairOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &provider.Error{API: "fake", Kind: provider.KindBadRequest, Status: 400, Repair: "strip"}
		b := newBench(t, answer("a", "b"), events(refused), events(refused), events(refused))
		defer b.close()
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		e := b.turn(id, "two")
		check(t, "second refusal ends the turn", string(e.End.StopReason), "error")
		check(t, "calls: with the repair, and without what may be the reason", len(b.fake.requests), 4)
		b.turn(id, "three")
		check(t, "the repair is kept", b.fake.requests[4].Repairs, []provider.Repair{"strip"})
	})
}

func TestStalls(t *testing.T) {
	for _, test := range []struct {
		name   string
		script script
		took   time.Duration
		quiet  bool // clients got a notice
	}{
		{"no headers", events(time.Hour), 120 * time.Second, true},
		{"no headers of a patient provider", events(time.Hour), 10 * time.Minute, true},
		{"silence in mid-stream", events(think("x")[0], think("x")[1], time.Hour), 300 * time.Second, true},
		{"comments only", func(ctx context.Context, yield func(provider.Event, error) bool) {
			for yield(provider.Alive{}, nil) {
				select {
				case <-time.After(15 * time.Second):
				case <-ctx.Done():
					return
				}
			}
		}, 10 * time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.script)
				b.cfg.Patience = func(id string) time.Duration {
					return map[string]time.Duration{"anthropic": 10 * time.Minute}[id]
				}
				b.start()
				defer b.close()
				id := b.session("sim/claude", "")
				if strings.Contains(test.name, "patient") {
					id = b.session("anthropic/claude-opus-5-5", "")
				}
				sub, _ := b.agent(id).Subscribe(t.Context())
				begun := time.Now()
				e := b.turn(id, "go")
				if took := time.Since(begun); took < test.took || took > test.took+2*time.Second {
					t.Errorf("took %s, want %s", took, test.took)
				}
				check(t, "kind", e.End.Error.Kind, "stalled")
				told := strings.Contains(strings.Join(methods(sub), ","), "notice stalled")
				check(t, "told", told, test.quiet)
			})
		})
	}
}

func TestRunawayTurnsEnd(t *testing.T) {
	endless := func(ctx context.Context, yield func(provider.Event, error) bool) {
		if !yield(provider.Begin{Index: 0, Block: provider.Thinking{}}, nil) {
			return
		}
		for yield(provider.Delta{Index: 0, Text: strings.Repeat("x", 1000)}, nil) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
		}
	}
	pause := events(concat(think("x"), say("y"), []any{provider.Stop{Reason: provider.StopPause}})...)
	for _, test := range []struct {
		name    string
		limits  Limits
		scripts []script
		stop    string
		limit   string
	}{
		{"bytes", Limits{TurnBytes: 10_000}, []script{endless}, "limit", "bytes"},
		{"time", Limits{TurnTime: time.Minute}, []script{endless}, "limit", "time"},
		{"calls", Limits{ModelCalls: 3}, []script{pause, pause, pause, pause}, "max_model_calls", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.scripts...)
				b.group.Close()
				b.cfg.Limits = test.limits
				b.start()
				defer b.close()
				e := b.turn(b.session("sim/claude", ""), "go")
				check(t, "end", []string{string(e.End.StopReason), e.End.Limit}, []string{test.stop, test.limit})
			})
		})
	}
}

func TestToolCallWithoutTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := provider.ToolCall{ID: "t1", Name: "read", Input: json.RawMessage(`{}`)}
		b := newBench(t, events(concat(think("x"), []any{provider.Begin{Index: 1, Block: call},
			provider.End{Index: 1, Block: call}, provider.Stop{Reason: provider.StopToolUse, Raw: "tool_use"}})...))
		defer b.close()
		id := b.session("sim/claude", "")
		e := b.turn(id, "go")
		check(t, "end", []string{string(e.End.StopReason), e.End.Error.Kind}, []string{"error", "bad_request"})
		b.turn(id, "on")
		check(t, "next request", b.fake.requests[1].Messages[2], provider.Message{Role: provider.User, Blocks: provider.Blocks{
			provider.ToolResult{CallID: "t1", Failed: true, Blocks: provider.Blocks{provider.Text{Text: "interrupted: this call was not run"}}}}})
	})
}

func TestRefusedTurnIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(say("no"), []any{provider.Stop{Reason: provider.StopRefusal, Detail: "cyber"}})...))
		defer b.close()
		id := b.session("sim/claude", "")
		e := b.turn(id, "bad")
		check(t, "stop", string(e.End.StopReason), "refusal")
		b.turn(id, "good")
		check(t, "sent", len(b.fake.requests[1].Messages), 1)
	})
}

func TestPanicInProviderEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, func(provider.Event, error) bool) { panic("parser") })
		defer b.close()
		id := b.session("sim/claude", "")
		e := b.turn(id, "go")
		check(t, "kind", e.End.Error.Kind, "internal")
		check(t, "the session goes on", string(b.turn(id, "again").End.StopReason), "end_turn")
	})
}

func TestSlowSubscriberHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := func(ctx context.Context, yield func(provider.Event, error) bool) {
			var whole strings.Builder
			yield(provider.Begin{Index: 0, Block: provider.Text{}}, nil)
			for range 3000 {
				whole.WriteString(strings.Repeat("x", 1000))
				yield(provider.Delta{Index: 0, Text: strings.Repeat("x", 1000)}, nil)
			}
			yield(provider.End{Index: 0, Block: provider.Text{Text: whole.String()}}, nil)
			yield(ended, nil)
		}
		b := newBench(t, long)
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		slow, _ := a.Subscribe(t.Context())
		check(t, "end", string(b.turn(id, "go").End.StopReason), "end_turn")
		_, err := slow.Next(t.Context())
		stale, ok := errors.AsType[*feed.Stale](err)
		if !ok {
			t.Fatalf("the slow one got %v", err)
		}
		if stale.After != 0 {
			t.Errorf("stale after %d", stale.After)
		}
		snap, sub, _ := a.Attach(t.Context(), 10)
		check(t, "attached anew", len(snap.Messages), 2)
		sub.Close()
	})
}

func TestSettingsActOnTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), []any{time.Minute}, say("b"), []any{ended})...))
		defer b.close()
		id := b.session("sim/claude", provider.High)
		a := b.agent(id)
		r, _ := a.Prompt(t.Context(), text("one"))
		synctest.Wait()
		low := provider.Low
		st, err := a.Set(t.Context(), Change{Level: &low})
		if err != nil || !st.Running || st.Decision.Effective != provider.Low {
			t.Fatalf("set: %+v, %v", st, err)
		}
		e, _ := a.Wait(t.Context(), r.Turn)
		check(t, "the turn keeps its level", e.Start.Reasoning.Effective, provider.High)
		check(t, "the next has the new one", b.turn(id, "two").Start.Reasoning.Effective, provider.Low)
	})
}

func TestIdleSessionIsLetGoAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		id := b.session("sim/claude", "")
		b.turn(id, "one")
		a := b.agent(id)
		time.Sleep(11 * time.Minute)
		select {
		case <-a.Done():
		default:
			t.Fatal("the agent is still there")
		}
		check(t, "it comes back", string(b.turn(id, "two").End.StopReason), "end_turn")
		check(t, "with its history", len(b.fake.requests[1].Messages), 3)
	})
}

func TestCloseInterruptsAndTheQueueIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), say("half")[:2], []any{time.Hour})...))
		id := b.session("sim/claude", "")
		a := b.agent(id)
		first, _ := a.Prompt(t.Context(), text("one"))
		a.Prompt(t.Context(), text("two"))
		synctest.Wait()
		b.group.Close()
		b.start()
		defer b.close()
		a = b.agent(id)
		e, err := a.Wait(t.Context(), first.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "first", []any{string(e.End.StopReason), e.Message.End.Incomplete}, []any{"interrupted", session.Interrupted})
		st, _ := a.State(t.Context())
		check(t, "status", st.Session.Status, session.Held)
		third, err := a.Prompt(t.Context(), text("three"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, "it goes behind the queue", third.Disposition, feed.Enqueued)
		e, _ = a.Wait(t.Context(), third.Turn)
		check(t, "third", string(e.End.StopReason), "end_turn")
		last := b.fake.requests[len(b.fake.requests)-1].Messages
		check(t, "in order", []provider.Blocks{last[len(last)-3].Blocks, last[len(last)-1].Blocks},
			[]provider.Blocks{text("two").Content, text("three").Content})
	})
}

func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(time.Hour))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		sub, _ := a.Subscribe(t.Context())
		a.Prompt(t.Context(), text("one"))
		for range 2 {
			if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		got := methods(sub)
		check(t, "told", got[len(got)-2:], []string{"turn_end cancelled", "session_update"})
		err := b.group.For(session.Operator).Do(t.Context(), id, func(*Agent) error { return nil })
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("after it: %v", err)
		}
	})
}
