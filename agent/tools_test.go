package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
	"github.com/thinkd/thinkd/session/tool"
)

// host runs calls as a function says.
type host struct {
	run  func(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult
	runs atomic.Int64
}

func (h *host) Name() string                               { return "files" }
func (h *host) Tools(context.Context) ([]tool.Tool, error) { return nil, nil }
func (h *host) Close() error                               { return nil }
func (h *host) TrustsHints() bool                          { return true }

func (h *host) Run(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
	h.runs.Add(1)
	return h.run(ctx, call, progress)
}

func said(text string) provider.ToolResult {
	return provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: text}}}
}

// calls is a reply that calls the tool "look", once for each input.
func calls(prefix string, inputs ...string) script {
	list := think("hm")
	for i, input := range inputs {
		c := provider.ToolCall{ID: fmt.Sprint(prefix, i), Name: "look", Input: json.RawMessage(input)}
		if !json.Valid(c.Input) {
			c.Input, c.Invalid = nil, input
		}
		list = append(list, provider.End{Index: i + 1, Block: c})
	}
	return events(append(list, provider.Stop{Reason: provider.StopToolUse, Usage: provider.Usage{Input: 10, Output: 5}})...)
}

// toolBench has a session with one tool that a host runs.
func toolBench(t *testing.T, h *host, scripts ...script) (*bench, session.ID) {
	t.Helper()
	b := newBench(t, scripts...)
	return b, b.tools(h)
}

// tools starts the agents anew with a host, and makes a session with one tool that it runs.
func (b *bench) tools(h *host) session.ID {
	b.Helper()
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.group.Close()
	b.start()
	s, err := b.group.For(session.Operator).Create(b.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)},
			Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		b.Fatal(err)
	}
	return s.ID
}

// results is what the last request has of the calls before it, a line for each.
func (b *bench) results() (list []string) {
	sent := b.fake.requests[len(b.fake.requests)-1].Messages
	for _, m := range sent {
		for _, block := range m.Blocks {
			if r, ok := block.(provider.ToolResult); ok {
				line := r.CallID
				for _, inner := range r.Blocks {
					line += " " + blockText(inner)
				}
				if r.Failed {
					line += " (failed)"
				}
				list = append(list, line)
			}
		}
	}
	return list
}

// The calls of a reply run side by side, and go back in their order whatever theirs was.
func TestToolsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		h := &host{run: func(_ context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
			var in struct{ At string }
			if err := json.Unmarshal(call.Input, &in); err != nil {
				return tool.Failed(call.ID, err.Error())
			}
			d, err := time.ParseDuration(in.At)
			if err != nil {
				panic("a fault of the host")
			}
			progress("looking ")
			time.Sleep(d)
			progress("done")
			return said(in.At)
		}}
		b, id := toolBench(t, h, calls("a", `{"at":"3s"}`, `{"at":"1s"}`, `{"at":"never"}`, `{"at":"2s"}`))
		defer b.close()
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := b.turn(id, "Look around.")
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "time", time.Since(begun), 3*time.Second)
		check(t, "runs", h.runs.Load(), int64(4))
		got := b.results()
		if len(got) != 4 || !strings.HasPrefix(got[2], "a2 the tool failed by an internal error ") {
			t.Fatalf("%q", got)
		}
		check(t, "results", []string{got[0], got[1], got[3]}, []string{"a0 3s", "a1 1s", "a3 2s"})
		var order []string
		for u, _ := sub.TryNext(); u != nil; u, _ = sub.TryNext() {
			switch e := u.Event.(type) {
			case feed.ToolStart:
				order = append(order, "start "+e.CallID)
			case feed.ToolOutput:
				order = append(order, e.CallID+" "+strings.Replace(e.Chunk, "looking done", "done", 1)) // it may be merged
			case feed.ToolEnd:
				order = append(order, "end "+e.CallID)
			}
		}
		check(t, "starts", order[:4], []string{"start a0", "start a1", "start a2", "start a3"})
		check(t, "ends", order[len(order)-6:], []string{"a1 done", "end a1", "a3 done", "end a3", "a0 done", "end a0"})
		sent := b.fake.requests[1]
		check(t, "thinking stays", sent.Messages[1].Blocks[0], provider.Block(signed("hm")))
		check(t, "offered", sent.Tools[0].Name, "look")
	})
}

// What runs away ends, each with its reason, and the conversation goes on after it.
func TestToolsRunAway(t *testing.T) {
	forever := func(ctx context.Context, _ provider.ToolCall, _ func(string)) provider.ToolResult {
		<-ctx.Done()
		return said("nobody reads this")
	}
	quick := func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("ok") }
	same := calls("s", `{"at":"x"}`)
	var endless, invalid, unknown []script
	for i := range 60 {
		endless = append(endless, calls(fmt.Sprint("e", i, "."), fmt.Sprintf(`{"at":"%d"}`, i)))
		invalid = append(invalid, calls(fmt.Sprint("i", i, "."), `{"at":`+strings.Repeat("[", i)))
		unknown = append(unknown, calls(fmt.Sprint("u", i, "."), fmt.Sprintf(`{"at":%d}`, i)))
	}
	huge := `{"at":"` + strings.Repeat("x", 5<<20) + `"}`
	for _, tt := range []struct {
		name    string
		run     func(context.Context, provider.ToolCall, func(string)) provider.ToolResult
		scripts []script
		stop    string
		limit   string
		runs    int64
		result  string        // the last one has this in it
		time    time.Duration // at most
	}{
		{"a tool that never ends", forever, []script{calls("a", `{}`)}, "end_turn", "", 1, "stopped: there was no result after 10m0s (failed)", 601 * time.Second},
		{"5 MB of output", func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			return said(strings.Repeat("é", 5<<19))
		}, []script{calls("a", `{}`)}, "end_turn", "", 1, "of 5242880 bytes were left out here", time.Second},
		{"5 MB of progress", func(_ context.Context, _ provider.ToolCall, progress func(string)) provider.ToolResult {
			for range 5 << 10 {
				progress(strings.Repeat("p", 1<<10))
			}
			return said("ok")
		}, []script{calls("a", `{}`)}, "end_turn", "", 1, "a0 ok", time.Second},
		{"the same call over and over", quick, []script{same, same, same, same}, "limit", "repetition", 2, "interrupted: this call was not run", time.Second},
		{"calls without end", quick, endless, "max_model_calls", "", 50, "ok", time.Second},
		{"arguments that are no JSON", quick, invalid, "limit", "invalid_calls", 0, "the arguments are not a JSON object", time.Second},
		{"arguments of another type", quick, unknown, "limit", "invalid_calls", 0, "at: type: ", time.Second},
		{"arguments of 5 MB", quick, []script{calls("a", huge)}, "end_turn", "", 0, "longer than 1048576 bytes", time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &host{run: tt.run}
				b, id := toolBench(t, h, tt.scripts...)
				defer b.close()
				begun := time.Now()
				e := b.turn(id, "Look.")
				check(t, "end", []string{string(e.End.StopReason), e.End.Limit}, []string{tt.stop, tt.limit})
				check(t, "runs", h.runs.Load(), tt.runs)
				if took := time.Since(begun); took > tt.time {
					t.Errorf("it took %s", took)
				}
				b.fake.scripts = nil
				e = b.turn(id, "Go on.")
				check(t, "next end", string(e.End.StopReason), "end_turn")
				got := b.results()
				last := got[len(got)-1]
				if !strings.Contains(last, tt.result) || len(last) > 300<<10 {
					t.Errorf("the last result has %d bytes, want %q: %.200s", len(last), tt.result, last)
				}
				if err := acceptable(b.fake.requests[len(b.fake.requests)-1].Messages); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A cancel ends what runs, and every call has its result.
func TestToolsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		h := &host{run: func(ctx context.Context, call provider.ToolCall, progress func(string)) provider.ToolResult {
			if string(call.Input) == `{"at":"a"}` {
				return said("done")
			}
			progress("half")
			<-ctx.Done()
			ended.Add(1)
			return said("too late")
		}}
		b, id := toolBench(t, h, calls("a", `{"at":"a"}`, `{"at":"b"}`, `{"at":"c"}`))
		defer b.close()
		a := b.agent(id)
		if _, err := a.Prompt(t.Context(), text("Look.")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		snap, sub, err := a.Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var open []string
		for _, c := range snap.Turn.Tools {
			open = append(open, c.CallID+" "+c.Output)
		}
		check(t, "open", open, []string{"a1 half", "a2 half"})
		if ok, err := a.Cancel(t.Context(), ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
		synctest.Wait()
		check(t, "ended", ended.Load(), int64(2))
		check(t, "updates", methods(sub), []string{"tool_end", "tool_end", "usage", "session_update", "turn_end cancelled"})
		b.turn(id, "Go on.")
		const unknown = "interrupted: this call was begun, and its result is not known; it may have done part of its work or all of it (failed)"
		check(t, "results", b.results(), []string{"a0 done", "a1 " + unknown, "a2 " + unknown})
	})
}

// A call that was begun before a crash is not run again, nor are those that were not begun.
func TestToolsAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{run: func(ctx context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
			if string(call.Input) == `{"at":"a"}` {
				return said("done")
			}
			<-ctx.Done()
			return said("too late")
		}}
		b, id := toolBench(t, h, calls("a", `{"at":"a"}`, `{"at":"b"}`))
		defer func() { b.close() }()
		if _, err := b.agent(id).Prompt(t.Context(), text("Look.")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		crashed := mem.New()
		record, err := b.store.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := b.store.Entries(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		b.close()
		if err := crashed.For(session.Operator).Create(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		if _, err := storetest.Append(t.Context(), crashed.For(session.Operator), id, entries...); err != nil {
			t.Fatal(err)
		}
		b.keepIn(crashed)
		b.cfg.Store = crashed
		b.start()
		e := b.turn(id, "Go on.")
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "runs", h.runs.Load(), int64(2))
		check(t, "results", b.results(), []string{"a0 done",
			"a1 interrupted: this call was begun, and its result is not known; it may have done part of its work or all of it (failed)"})
	})
}

// Many answer one question at once: one of them counts, and the call runs once.
func TestConfirmRace(t *testing.T) {
	h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("done") }}
	b := newBench(t, calls("a", `{}`))
	defer b.close()
	b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
	b.cfg.Rules = tool.Policy{Effects: map[tool.Effect]tool.Rule{tool.Read: tool.Ask}}
	b.group.Close()
	b.start()
	s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}},
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
	if err != nil {
		t.Fatal(err)
	}
	a := b.agent(s.ID)
	sub, err := a.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Prompt(t.Context(), text("Look."))
	if err != nil {
		t.Fatal(err)
	}
	var question string
	for question == "" {
		u, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := u.Event.(feed.Confirm); ok {
			question = c.ID
		}
	}
	if _, err := a.Answer(t.Context(), session.NewConfirmID(), Ruling{Action: session.AllowOnce}); !errors.Is(err, ErrNoConfirm) {
		t.Errorf("a forged answer: %v", err)
	}
	check(t, "runs before an answer", h.runs.Load(), int64(0))
	var accepted atomic.Int64
	answers := make(chan error)
	for range 20 {
		testgo.Go(t, func() { // ends with its answer, which is awaited below
			ok, err := a.Answer(t.Context(), question, Ruling{Action: session.AllowOnce})
			if ok {
				accepted.Add(1)
			}
			answers <- err
		})
	}
	for range 20 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Wait(t.Context(), r.Turn); err != nil {
		t.Fatal(err)
	}
	check(t, "accepted", accepted.Load(), int64(1))
	check(t, "runs", h.runs.Load(), int64(1))
	if ok, err := a.Answer(t.Context(), question, Ruling{Action: session.AllowOnce}); ok || err != nil {
		t.Errorf("a late answer: %v, %v", ok, err)
	}
}

// A prompt that finds no call left to take it in is the next turn, before those that waited.
func TestSteerTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("a"), []any{time.Minute}, say("b"), []any{ended})...))
		defer b.close()
		a := b.agent(b.session("sim/claude", ""))
		var receipts []Receipt
		for i, p := range []string{"one", "two", "three"} {
			prompt := text(p)
			prompt.Steer = i == 2
			r, err := a.Prompt(t.Context(), prompt)
			if err != nil {
				t.Fatal(err)
			}
			receipts = append(receipts, r)
		}
		check(t, "dispositions", []feed.Disposition{receipts[0].Disposition, receipts[1].Disposition, receipts[2].Disposition},
			[]feed.Disposition{feed.Started, feed.Enqueued, feed.Steered})
		if _, err := a.Wait(t.Context(), receipts[1].Turn); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, m := range b.fake.requests[2].Messages {
			if m.Role == provider.User {
				order = append(order, blockText(m.Blocks[0]))
			}
		}
		check(t, "order", order, []string{"one", "three", "two"})
	})
}

// A model that takes no tools gets none, and a notice says so.
func TestToolsOfAModelWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := toolBench(t, &host{})
		defer b.close()
		var err error
		if b.cfg.Catalog, err = registry.New([]registry.Provider{{ID: "sim", Vendor: "sim"}, {ID: "plain", API: "chat",
			Rows: []registry.Row{{ID: "mute", Control: provider.ControlNone, Tools: new(false)}}}}); err != nil {
			t.Fatal(err)
		}
		b.group.Close()
		b.start()
		a := b.agent(id)
		sub, err := a.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := text("Look.")
		p.Override.Model = &session.ModelRef{Provider: "plain", ID: "mute"}
		r, err := a.Prompt(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Wait(t.Context(), r.Turn); err != nil {
			t.Fatal(err)
		}
		check(t, "offered", len(b.fake.requests[0].Tools), 0)
		if told := strings.Join(methods(sub), ", "); !strings.Contains(told, "notice provider_override") {
			t.Errorf("told is: %s", told)
		}
	})
}

// A reply with thousands of calls costs in proportion to them: none above the bound runs, and each has its result.
func TestHostileManyCalls(t *testing.T) {
	testgo.Cost(t)
	spent := func(n int) (bytes uint64) {
		h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("ok") }}
		inputs := make([]string, n)
		for i := range inputs {
			inputs[i] = fmt.Sprintf(`{"at":"%d"}`, i) // the same one over and over would end the turn
		}
		b, id := toolBench(t, h, calls("a", inputs...))
		defer b.close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := b.turn(id, "Look around.")
		runtime.ReadMemStats(&after)
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "runs", h.runs.Load(), int64(maxCalls))
		got := b.results()
		if len(got) != n || got[maxCalls-1] != fmt.Sprintf("a%d ok", maxCalls-1) {
			t.Fatalf("%d calls have %d results; the last that may run has %q", n, len(got), got[maxCalls-1])
		}
		for i, line := range got[maxCalls:] {
			if want := fmt.Sprintf("a%d %s (failed)", maxCalls+i, tooManyCalls); line != want {
				t.Fatalf("result %q, want %q", line, want)
			}
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := spent(400), spent(3200)
	t.Logf("400 calls allocate %d KiB, 3,200 %d KiB", few>>10, many>>10)
	if many > 3*8*few {
		t.Errorf("8 times as many calls allocate %d times as much", many/few)
	}
}
