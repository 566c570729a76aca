package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// priced makes the bench's models cost what is said: the second has no price.
func (b *bench) priced(price *provider.Price) {
	b.Helper()
	catalog, err := registry.New([]registry.Provider{{ID: "shop", API: "chat", Rows: []registry.Row{
		{ID: "dear", Control: provider.ControlNone, Window: 8000, Price: price},
		{ID: "unpriced", Control: provider.ControlNone},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	b.group.Close()
	b.cfg.Catalog = catalog
	b.start()
}

// usd is an amount in millionths of a USD.
func usd(micro float64) *provider.Cost {
	return &provider.Cost{Amount: provider.MoneyOf(micro / 1e6), Currency: provider.USD}
}

func stop(u provider.Usage) provider.Stop {
	return provider.Stop{Reason: provider.StopEndTurn, Usage: u}
}

func TestCostIsThatOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thought := 40
		used := provider.Usage{Input: 1000, Output: 100, Reasoning: &thought, Cached: 600, CacheWrite: 300}
		b := newBench(t, events(append(say("a"), stop(used))...), events(append(say("b"), stop(used))...))
		defer b.close()
		b.priced(&provider.Price{Rates: provider.Rates{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5}})
		id := b.session("shop/dear", "")
		e := b.turn(id, "one")
		used.Context = &provider.Context{Used: 1100, Window: 8000}
		used.Cost = usd(100*10 + 600*1 + 300*12.5 + 100*50)
		check(t, "turn", e.End.Usage, used)
		check(t, "message", e.Message.End.Usage, used)

		b.priced(&provider.Price{Rates: provider.Rates{Input: 1, Output: 1}}) // a later list: what was paid stays
		st, err := b.agent(id).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "session under another list", st.Session.Usage, used)
		e = b.turn(id, "two")
		partial := func(c *provider.Cost) *provider.Cost { c.Partial = true; return c }
		check(t, "cached without a price of its own", e.End.Usage.Cost, partial(usd(100+100)))
		st, _ = b.agent(id).State(t.Context())
		check(t, "session over both", st.Session.Usage.Cost, partial(usd(10350+200)))
	})
}

func TestEstimates(t *testing.T) {
	thirteen := strings.Repeat("ä", 13) // characters, not bytes
	for _, test := range []struct {
		name string
		said []any
		stop string
		want provider.Usage
	}{
		{"the vendor counts nothing", append(append(think(thirteen), say("five!")...), stop(provider.Usage{})), "end_turn",
			provider.Usage{Input: 2, Output: 5, Reasoning: new(4), Estimated: true}},
		{"text that comes with its end alone", []any{provider.End{Index: 0, Block: provider.Text{Text: thirteen}}, stop(provider.Usage{})}, "end_turn",
			provider.Usage{Input: 2, Output: 4, Estimated: true}},
		{"broken off", append(say(thirteen)[:2], errors.New("cable")), "error", provider.Usage{Input: 2, Output: 4, Estimated: true}},
		{"cancelled", append(say(thirteen)[:2], time.Hour/2), "cancelled", provider.Usage{Input: 2, Output: 4, Estimated: true}},
		{"refused before it said anything", []any{&provider.Error{Kind: provider.KindQuota}}, "error", provider.Usage{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, events(test.said...))
				defer b.close()
				b.priced(&provider.Price{Rates: provider.Rates{Input: 1, Output: 10}})
				a := b.agent(b.session("shop/dear", ""))
				r, err := a.Prompt(t.Context(), text("eight ch"))
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if test.stop == "cancelled" {
					if _, err := a.Cancel(t.Context(), r.Turn); err != nil {
						t.Fatal(err)
					}
				}
				e, err := a.Wait(t.Context(), r.Turn)
				if err != nil {
					t.Fatal(err)
				}
				check(t, "stop", string(e.End.StopReason), test.stop)
				if test.want.Estimated {
					test.want.Cost = usd(float64(test.want.Input + 10*test.want.Output))
					test.want.Context = &provider.Context{Used: test.want.Input + test.want.Output, Window: 8000}
				}
				check(t, "usage", e.End.Usage, test.want)
			})
		})
	}
}

// What the log holds adds up: calls to turns, turns to the session, with and without prices, after failures and a
// restart.
func TestSumsAreEqual(t *testing.T) {
	testgo.Check(t, func(rt *rapid.T) {
		var models []string // of the turns
		var scripts []script
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			models = append(models, rapid.SampledFrom([]string{"dear", "unpriced"}).Draw(rt, "model"))
			draw := func(what string) int { return rapid.IntRange(0, 100_000).Draw(rt, what) }
			used := provider.Usage{Input: draw("input"), Output: draw("output"), Cached: draw("cached"), CacheWrite: draw("write")}
			thought := think(strings.Repeat("t", rapid.IntRange(1, 50).Draw(rt, "thought")))
			if rapid.Bool().Draw(rt, "fails first") {
				scripts = append(scripts, events(append(thought, &provider.Error{Kind: provider.KindOverloaded})...))
			}
			if rapid.Bool().Draw(rt, "pauses") {
				scripts = append(scripts, events(append(say("half"), provider.Stop{Reason: provider.StopPause, Usage: used})...))
			}
			last := any(stop(used))
			if rapid.Bool().Draw(rt, "breaks off") {
				last = errors.New("cable")
			}
			scripts = append(scripts, events(append(say("text"), last)...))
		}
		var problem error
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, scripts...)
			defer b.close()
			b.priced(&provider.Price{Rates: provider.Rates{Input: 0.07, Output: 1.3, CachedInput: 0.0375}})
			id := b.session("shop/dear", "")
			for _, model := range models {
				p := text("go")
				p.Override.Model = &session.ModelRef{Provider: "shop", ID: model}
				r, err := b.agent(id).Prompt(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.agent(id).Wait(t.Context(), r.Turn); err != nil {
					t.Fatal(err)
				}
			}
			live, err := b.agent(id).State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b.group.Close()
			problem = sums(t.Context(), b.store, b.local.Ledger(), id, true)
			record, err := b.store.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if !equal(live.Session.Usage, record.Usage) {
				problem = errors.Join(problem, fmt.Errorf("live %s, stored %s", show(live.Session.Usage), show(record.Usage)))
			}
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

func show(u provider.Usage) string {
	text, err := json.Marshal(u)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func equal(a, b provider.Usage) bool { return show(a) == show(b) }

// A call that never began to answer costs nothing, and says nothing of how full the window is.
func TestCallWithoutAnAnswerIsNotBilled(t *testing.T) {
	lost := &provider.Error{Kind: provider.KindTransport, Err: io.ErrUnexpectedEOF}
	refused := &provider.Error{Kind: provider.KindBadRequest, Status: 400, Message: "Unsupported parameter: 'top_k'"}
	prompt := strings.Repeat("x", 4000) // 1,000 tokens by the estimate
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(concat(think("thought")[:2], []any{lost})...), events(refused))
		defer b.close()
		e := b.turn(b.session("sim/claude", ""), prompt)
		check(t, "a cut answer and a refused call", []int{e.End.Usage.Input, e.End.Usage.Output}, []int{1000, 2})
	})
	synctest.Test(t, func(t *testing.T) {
		busy := &provider.Error{Kind: provider.KindOverloaded, RetryAfter: 20 * time.Second}
		b := newBench(t, events(concat(think("thought")[:2], []any{busy})...))
		defer b.close()
		id := b.session("sim/claude", "")
		a := b.agent(id)
		r, err := a.Prompt(t.Context(), text(prompt))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := a.Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), r.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "cancelled in a wait", []int{e.End.Usage.Input, e.End.Usage.Output, e.End.Usage.Context.Used}, []int{1000, 2, 1002})
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(refused))
		defer b.close()
		e := b.turn(b.session("sim/claude", ""), prompt)
		check(t, "refused at once", e.End.Usage, provider.Usage{})
	})
}

// A plan that counts requests counts a prompt by its list's factor, and the calls that tools make not at all.
func TestPremiumRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := toolBench(t, &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("x") }},
			calls("a", `{"at":"1"}`), calls("b", `{"at":"2"}`), events(append(say("c"), stop(provider.Usage{Input: 20, Output: 5}))...))
		defer b.close()
		factor := 0.33
		catalog, err := registry.New([]registry.Provider{{ID: "sim", Vendor: "copilot", Refreshed: []provider.Model{{Provider: "sim", ID: "claude-haiku-4.5", Tools: true, Premium: &factor}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.group.Close()
		b.cfg.Catalog = catalog
		b.start()
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude-haiku-4.5"}},
			Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
		if err != nil {
			t.Fatal(err)
		}
		e := b.turn(s.ID, "Look.")
		check(t, "end", string(e.End.StopReason), "end_turn")
		check(t, "calls", len(b.fake.requests), 3)
		check(t, "premium requests", e.End.Usage.Premium, provider.MoneyOf(0.33))
		text, err := json.Marshal(e.End.Usage)
		if err != nil || !strings.Contains(string(text), `"premium_requests":0.33`) {
			t.Errorf("in JSON: %s, %v", text, err)
		}
	})
}
