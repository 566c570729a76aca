package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// asks makes a side question ready and asks it.
func (b *bench) asks(id session.ID, words string, said func(provider.BlockKind, string)) aside.Answer {
	b.Helper()
	q, err := b.agent(id).Aside(b.Context(), Question{Content: text(words).Content})
	if err != nil {
		b.Fatal(err)
	}
	if said == nil {
		said = func(provider.BlockKind, string) {}
	}
	a, err := q.Ask(b.Context(), said)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

// logOf is every byte that the store has of a session: its record and its log.
func (b *bench) logOf(id session.ID) []byte {
	b.Helper()
	store := b.cfg.Store.For(session.Operator)
	record, err := store.Get(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	entries, err := store.Entries(b.Context(), id, 0, 10_000)
	if err != nil {
		b.Fatal(err)
	}
	whole, err := json.Marshal(record)
	if err != nil {
		b.Fatal(err)
	}
	list, err := session.EncodeEntries(entries)
	if err != nil {
		b.Fatal(err)
	}
	return append(whole, bytes.Join(list, nil)...)
}

// withTools is a session of a seat whose tools are those of a coding agent.
func (b *bench) withTools(p placed) session.ID {
	b.Helper()
	look := tool.Tool{Tool: provider.Tool{Name: "look", Description: "Looks at a file.", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)},
		Host: tool.Client, Effect: tool.Read}
	s, err := b.group.For(session.Operator).Create(b.Context(), session.Session{System: strings.Repeat("You are careful. ", 800), Tools: []tool.Tool{look},
		Settings: session.Settings{Model: sole{p.row}.ref(), Level: p.level}})
	if err != nil {
		b.Fatal(err)
	}
	return s.ID
}

// A side question keeps the prompt of the conversation byte for byte, tools included, in every dialect. Only where the vendor's cache does
// not depend on it, tool_choice says that tools are off. Nothing of it is stored, and no vendor refuses it.
func TestAsideKeepsThePromptOnEveryWire(t *testing.T) {
	t.Parallel()
	catalog := registry.Default()
	choice := map[string]string{"responses": "none", "chat openai": "none"}
	var mu sync.Mutex
	asked := make(map[string]int)
	for _, seat := range seats {
		t.Run(seat.String(), func(t *testing.T) {
			t.Parallel()
			p := seat.place(t, catalog)
			server := sim.New(sim.Config{})
			b := seated(t, p, server, nil)
			id := b.withTools(p)
			if e := b.turn(id, "Which date is later?"); e.End.StopReason != session.StopEndTurn {
				t.Fatalf("the turn ended with %+v", e.End)
			}
			before := b.logOf(id)
			if a := b.asks(id, "What is a leap day?", nil); a.Err != nil || a.Text == "" {
				t.Fatalf("the answer is %+v", a)
			}
			if after := b.logOf(id); !bytes.Equal(before, after) {
				t.Errorf("the session has %d bytes, and had %d", len(after), len(before))
			}
			b.turn(id, "And of these three?")
			all := server.Requests()
			turn, side, next := all[len(all)-3].Body, all[len(all)-2].Body, all[len(all)-1].Body
			where := p.row.API
			if where == "chat" {
				where += " " + p.row.Dialect
			}
			if got := gjson.GetBytes(side, "tool_choice").String(); got != choice[where] {
				t.Errorf("%s: tool_choice is %q, want %q", where, got, choice[where])
			}
			if config := gjson.GetBytes(side, "toolConfig"); where == "converse" && (!config.Get("tools.0").Exists() || config.Raw != gjson.GetBytes(turn, "toolConfig").Raw) {
				t.Errorf("%s: the tools differ: %s", where, config.Raw)
			}
			if where != "converse" && gjson.GetBytes(side, "toolConfig").Exists() || !bytes.Equal([]byte(gjson.GetBytes(side, "tools").Raw), []byte(gjson.GetBytes(turn, "tools").Raw)) {
				t.Errorf("%s: the tools differ: %s", where, gjson.GetBytes(side, "tools").Raw)
			}
			list := func(body []byte) []gjson.Result {
				for _, name := range []string{"messages", "input", "contents"} {
					if r := gjson.GetBytes(body, name); r.Exists() {
						return r.Array()
					}
				}
				return nil
			}
			if sent, want := list(side), list(next); len(sent) != len(want) || len(sent) < 3 {
				t.Errorf("%s: the side question has %d messages, the next prompt %d", where, len(sent), len(want))
			}
			if refusals := server.Refusals(); len(refusals) > 0 {
				t.Errorf("refused: %+v", refusals[0])
			}
			mu.Lock()
			defer mu.Unlock()
			asked[p.row.API]++
		})
	}
	t.Cleanup(func() { t.Logf("seats asked by API: %v; 0 bytes of their sessions changed", asked) })
}

// oneOfEach is a model of each wire API.
var oneOfEach = []string{"claude", "gpt", "deepseek", "gemini", "ollama"}

// thinking is such a model that thinks a little.
func thinking(t *testing.T, name string) placed {
	level := provider.Low
	if name == "ollama" {
		level = provider.On
	}
	return seat{model: name, level: level}.place(t, registry.Default())
}

// elementsOf are the parts of a request's prompt in the order in which caches see them, without the marks for caches.
func elementsOf(body []byte) (list []string) {
	for _, name := range []string{"tools", "system", "instructions", "systemInstruction", "messages", "input", "contents"} {
		r := gjson.GetBytes(body, name)
		if r.IsArray() {
			for _, e := range r.Array() {
				list = append(list, cacheMark.ReplaceAllString(e.Raw, ""))
			}
		} else if r.Exists() {
			list = append(list, r.Raw)
		}
	}
	return list
}

var cacheMark = regexp.MustCompile(`,?"cache_control":\{[^}]*\}`)

// sameBegin is the share of a prompt, in bytes, that another request begins with.
func sameBegin(body, before []byte) float64 {
	same, all, differs := 0, 0, false
	had := elementsOf(before)
	for i, e := range elementsOf(body) {
		all += len(e)
		if differs = differs || i >= len(had) || had[i] != e; !differs {
			same += len(e)
		}
	}
	return float64(same) / float64(all)
}

// The vendors' caches have nearly all of a side question's prompt: between turns, and while a turn runs. The simulators of two APIs have
// the cache of their vendors. Of all five, the request begins with the bytes that the vendor got before.
func TestAsideIsCached(t *testing.T) {
	for _, name := range oneOfEach {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := thinking(t, name)
			server := sim.New(sim.Config{})
			b := seated(t, p, server, nil)
			id := b.withTools(p)
			for range 5 {
				b.turn(id, strings.Repeat("Tell me more about the calendar. ", 200))
			}
			share := func(when string) {
				a := b.asks(id, "What is a leap day?", nil)
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				all := server.Requests()
				same := sameBegin(all[len(all)-1].Body, all[len(all)-2].Body)
				t.Logf("%s, %s: %.1f %% of the prompt are the bytes that the vendor got before", name, when, 100*same)
				if same < 0.95 {
					t.Errorf("%s: only %.1f %% are the same", when, 100*same)
				}
				if name != "claude" && name != "gpt" {
					return
				}
				cached := float64(a.Usage.Cached) / float64(a.Usage.Input)
				t.Logf("%s, %s: %d of %d input tokens were cached, %.1f %%; cost %v", name, when, a.Usage.Cached, a.Usage.Input, 100*cached, a.Usage.Cost)
				if cached < 0.95 {
					t.Errorf("%s: only %.1f %% were cached", when, 100*cached)
				}
			}
			share("between turns")
			a := b.agent(id)
			_, sub, err := a.Attach(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			server.Script(sim.Answer{Fault: sim.FaultStall, After: sim.After(3)})
			r, err := a.Prompt(t.Context(), text("Go on."))
			if err != nil {
				t.Fatal(err)
			}
			for { // the vendor has the prompt of the turn
				u, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := u.Event.(feed.MessageStart); ok {
					break
				}
			}
			share("while a turn runs")
			if _, err := a.Cancel(t.Context(), r.Turn); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// While a tool call of the turn runs, the request of a side question says so in place of its result. If the model calls a tool in a side
// question, the answer ends and no tool runs.
func TestAsideDuringATool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{run: func(ctx context.Context, _ provider.ToolCall, _ func(string)) provider.ToolResult {
			<-ctx.Done()
			return said("")
		}}
		var reports []report.Call
		b, id := toolBench(t, h, calls("a", `{"at":"1"}`), answer("Hm.", "It looks."), calls("b", `{"at":"2"}`))
		b.group.Close()
		b.cfg.Called = func(r report.Call) { reports = append(reports, r) }
		b.start()
		defer b.close()
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), text("Look."))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var pieces []string
		got := b.asks(id, "What are you doing?", func(kind provider.BlockKind, text string) { pieces = append(pieces, string(kind)+" "+text) })
		check(t, "text", got.Text, "It looks.")
		check(t, "thinking", got.Thinking, "Hm.")
		check(t, "pieces", strings.Join(pieces, "; "), "thinking Hm.; text It looks.")
		check(t, "results", b.results(), []string{"a0 " + stillRuns + " (failed)"})
		got = b.asks(id, "And now?", nil)
		if pe, ok := errors.AsType[*provider.Error](got.Err); !ok || !strings.Contains(pe.Message, "the model called the tool look; a side question runs no tools") {
			t.Errorf("after a call: %v", got.Err)
		}
		check(t, "runs", h.runs.Load(), int64(1))
		check(t, "reports", len(reports), 3)
		if last := reports[2]; !last.Aside || last.Fault != string(provider.KindBadRequest) || last.Turn != "" {
			t.Errorf("the report is %+v", last)
		}
		if ok, err := a.Cancel(t.Context(), r.Turn); !ok || err != nil {
			t.Error(ok, err)
		}
	})
}

// Side questions are bounded, and end with their askers and with the agent. The session answers all the time.
func TestAsideBoundsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripts := []script{answer("", "Hello.")}
		for range aside.Most {
			scripts = append(scripts, events(append(think("Hm."), time.Hour)...))
		}
		b := newBench(t, scripts...)
		defer b.close()
		id := b.session("sim/claude", provider.High)
		b.turn(id, "Hello.")
		before := b.logOf(id)
		var stops []context.CancelFunc
		done := make(chan aside.Answer, aside.Most)
		var all []<-chan struct{}
		for range aside.Most {
			q, err := b.agent(id).Aside(t.Context(), Question{Content: text("?").Content})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			stops = append(stops, stop)
			all = append(all, testgo.Go(t, func() {
				a, err := q.Ask(ctx, func(provider.BlockKind, string) {})
				if err != nil {
					t.Error(err)
				}
				done <- a
			}))
		}
		synctest.Wait()
		q, err := b.agent(id).Aside(t.Context(), Question{Content: text("?").Content})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Ask(t.Context(), nil); !errors.Is(err, aside.ErrFull) {
			t.Errorf("one more: %v", err)
		}
		stops[0]()
		if a := <-done; !errors.Is(a.Err, context.Canceled) || a.Usage.Input == 0 || !a.Usage.Estimated {
			t.Errorf("cancelled: %+v", a)
		}
		if _, err := b.agent(id).State(t.Context()); err != nil {
			t.Error(err)
		}
		if after := b.logOf(id); !bytes.Equal(before, after) {
			t.Errorf("the session has %d bytes, and had %d", len(after), len(before))
		}
		b.group.Close()
		for range aside.Most - 1 {
			if a := <-done; !errors.Is(a.Err, feed.ErrClosed) {
				t.Errorf("the group was closed: %+v", a.Err)
			}
		}
		for _, ended := range all {
			<-ended
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// What side questions use counts for the session's budget, and is still known when the session was unloaded.
func TestAsideCountsForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, countedAnswer(100, "One."), countedAnswer(100, "Aside."), countedAnswer(100, "Two."), countedAnswer(100, "Aside."))
		b.group.Close()
		b.cfg.Limits.SessionBudget = budget.Limit{Tokens: 300}
		b.start()
		defer b.close()
		id := b.session("sim/claude", provider.High)
		b.turn(id, "Hello.")
		check(t, "usage of the side question", b.asks(id, "?", nil).Usage.Input, 100)
		if err := b.agent(id).Close(); err != nil {
			t.Fatal(err)
		}
		st, err := b.agent(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "usage of the session", st.Session.Usage.Input, 100)
		b.turn(id, "Hello again.")
		b.group.Close()
		b.start()
		if a := b.asks(id, "?", nil); a.Err == nil || !strings.Contains(a.Err.Error(), "the session's budget of 300 tokens has no room") {
			t.Errorf("above the budget: %+v", a)
		}
		e := b.turn(id, "And once more.")
		check(t, "the turn's end", e.End.Limit, "tokens")
		if err := b.group.For(session.Operator).Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ref := session.Ref{ID: id}
		total, err := b.local.Ledger().Total(t.Context(), ref)
		check(t, "the session's total after the deletion", total, provider.Usage{})
		check(t, "error", err, nil)
		lines, err := b.local.Ledger().Lines(t.Context(), nil, "2000-01-01", "2000-01-01")
		check(t, "error", err, nil)
		used := 0
		for _, l := range lines {
			used += l.Usage.Input
		}
		check(t, "calls in the report after the deletion", len(lines), 2)
		check(t, "what they used", used, 300)
	})
}

// Each of many running turns of all wire APIs takes a side question at the same time, and nobody gets what another one asked for.
func TestAsideWhileManyTurnsRun(t *testing.T) {
	const each = 13 // of five APIs
	var benches []*bench
	var places []placed
	for _, name := range oneOfEach {
		p := thinking(t, name)
		places, benches = append(places, p), append(benches, seated(t, p, sim.New(sim.Config{}), nil))
	}
	turns := each * len(benches)
	var all []<-chan struct{}
	begun := time.Now()
	for i := range turns {
		b, p := benches[i%len(benches)], places[i%len(benches)]
		id := b.session(sole{p.row}.ref().String(), p.level)
		a := b.agent(id)
		_, sub, err := a.Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Prompt(t.Context(), text("Go on. [[sim: fault=stall after=3]]")); err != nil {
			t.Fatal(err)
		}
		all = append(all, testgo.Go(t, func() {
			defer sub.Close()
			for {
				u, err := sub.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := u.Event.(feed.MessageStart); ok {
					break
				}
			}
			var heard strings.Builder
			q, err := a.Aside(t.Context(), Question{Content: text("What is session " + string(id) + "?").Content})
			if err != nil {
				t.Error(err)
				return
			}
			got, err := q.Ask(t.Context(), func(kind provider.BlockKind, text string) {
				if kind == provider.KindText {
					heard.WriteString(text)
				}
			})
			if err != nil || got.Err != nil || heard.String() != got.Text || got.Text == "" {
				t.Errorf("asked during a turn: %v, %v, %q for %q", err, got.Err, heard.String(), got.Text)
			}
		}))
	}
	for _, done := range all {
		<-done
	}
	running := 0
	for _, b := range benches {
		running += b.group.Running()
	}
	t.Logf("%d side questions on five wire APIs were answered in %v while %d turns ran", turns, time.Since(begun).Round(time.Millisecond), running)
	if running != turns {
		t.Errorf("%d turns run", running)
	}
}
