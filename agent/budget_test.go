package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// endless thinks a hundred tokens a second until it is stopped.
func endless() []any {
	list := think("")[:1]
	for range 3600 {
		list = append(list, provider.Delta{Index: 0, Text: strings.Repeat("x", 400)}, time.Second)
	}
	return list
}

func TestBudgets(t *testing.T) {
	dollars := func(usd float64) provider.Money { return provider.MoneyOf(usd) }
	answered := func(in, out int) script {
		return events(append(say("a"), stop(provider.Usage{Input: in, Output: out}))...)
	}
	pause := provider.Stop{Reason: provider.StopPause, Usage: provider.Usage{Input: 500, Output: 500}}
	for _, test := range []struct {
		name    string
		limits  Limits
		model   string
		scripts []script
		prompts []string // each waited for
		ends    []string // of the turns
		calls   int
		notices []string
	}{
		{"a runaway ends in the middle of its thinking, by its tokens", Limits{TurnBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{events(endless()...)}, []string{"go"}, []string{"limit tokens"}, 1, []string{"budget_near", "budget_reached"}},
		{"by what it costs", Limits{TurnBudget: budget.Limit{Cost: dollars(0.1)}}, "dear", // 50 USD a million: 2,000 tokens
			[]script{events(endless()...)}, []string{"go"}, []string{"limit cost"}, 1, []string{"budget_near", "budget_reached"}},
		{"by what the session may use", Limits{SessionBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{events(endless()...)}, []string{"go", "on"}, []string{"limit tokens", "limit tokens"}, 1,
			[]string{"budget_near", "budget_reached", "budget_reached"}},
		{"a turn's budget begins anew with each", Limits{TurnBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{answered(800, 100), answered(800, 100)}, []string{"one", "two"}, []string{"end_turn", "end_turn"}, 2,
			[]string{"budget_near", "budget_near"}},
		{"a session's does not", Limits{SessionBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{answered(800, 100), answered(800, 100), answered(1, 1)}, []string{"one", "two", "three"},
			[]string{"end_turn", "end_turn", "limit tokens"}, 2, []string{"budget_near", "budget_reached"}},
		{"nor that of money", Limits{SessionBudget: budget.Limit{Cost: dollars(0.01)}}, "dear",
			[]script{answered(0, 200), answered(1, 1)}, []string{"one", "two"},
			[]string{"end_turn", "limit cost"}, 1, []string{"budget_near", "budget_reached"}},
		{"no further call in a turn", Limits{TurnBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{events(append(say("a"), pause)...)}, []string{"go"}, []string{"limit tokens"}, 1,
			[]string{"budget_near", "budget_reached"}},
		{"a prompt that is too large is not sent", Limits{TurnBudget: budget.Limit{Tokens: 1000}}, "dear",
			[]script{answered(1, 1)}, []string{strings.Repeat("word", 1000)}, []string{"limit tokens"}, 0, []string{"budget_reached"}},
		{"a cost without a price is unknown, and one notice says so", Limits{TurnBudget: budget.Limit{Cost: 1}}, "unpriced",
			[]script{answered(800, 100), answered(800, 100)}, []string{"one", "two"}, []string{"end_turn", "end_turn"}, 2,
			[]string{"price_unknown"}},
		{"no budget, no word", Limits{}, "unpriced", []script{answered(1e6, 1e6)}, []string{"one"}, []string{"end_turn"}, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.scripts...)
				defer b.close()
				b.cfg.Limits = test.limits
				b.priced(&provider.Price{Rates: provider.Rates{Input: 10, Output: 50}})
				a := b.agent(b.session("shop/"+test.model, ""))
				_, sub, err := a.Attach(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				var ends []string
				begun := time.Now()
				for _, prompt := range test.prompts {
					r, err := a.Prompt(t.Context(), text(prompt))
					if err != nil {
						t.Fatal(err)
					}
					e, err := a.Wait(t.Context(), r.Turn)
					if err != nil {
						t.Fatal(err)
					}
					ends = append(ends, strings.TrimSpace(string(e.End.StopReason)+" "+e.End.Limit))
					if b := test.limits.TurnBudget; b.Tokens > 0 && e.End.StopReason == session.StopLimit && e.End.Usage.Input+e.End.Usage.Output > b.Tokens+100 {
						t.Errorf("a turn with %d tokens used %s", b.Tokens, show(e.End.Usage))
					}
				}
				check(t, "ends", ends, test.ends)
				check(t, "calls", len(b.fake.requests), test.calls)
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("it took %s", took)
				}
				var notices []string
				for _, word := range methods(sub) {
					if kind, ok := strings.CutPrefix(word, "notice "); ok {
						notices = append(notices, kind)
					}
				}
				check(t, "notices", notices, test.notices)
			})
		})
	}
}

func TestQueuedTurnsEndWithTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(endless()...))
		defer b.close()
		b.cfg.Limits.SessionBudget = budget.Limit{Tokens: 1000}
		b.priced(nil)
		a := b.agent(b.session("shop/dear", ""))
		if _, err := a.Prompt(t.Context(), text("one")); err != nil {
			t.Fatal(err)
		}
		second, err := a.Prompt(t.Context(), text("two"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := a.Wait(t.Context(), second.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "second", []string{string(e.End.StopReason), e.End.Limit}, []string{"limit", "tokens"})
	})
}

// What a vendor had in its cache costs little; an estimate that did not know would end turns for money never spent.
func TestEstimateKnowsTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("word", 10_000) // 10,000 tokens: 0.1 USD, 0.01 from the cache
		first := provider.Usage{Input: 10_000, Output: 10, CacheWrite: 10_000}
		b := newBench(t, events(append(say("a"), stop(first))...),
			events(append(say("b"), stop(provider.Usage{Input: 10_010, Cached: 10_000, Output: 10}))...))
		defer b.close()
		b.cfg.Limits.TurnBudget.Cost = provider.MoneyOf(0.15)
		b.priced(&provider.Price{Rates: provider.Rates{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5}})
		id := b.session("shop/dear", "")
		b.turn(id, long)
		b.group.Close()
		b.cfg.Limits.TurnBudget.Cost = provider.MoneyOf(0.05)
		b.start()
		check(t, "second", string(b.turn(id, "on").End.StopReason), "end_turn")
	})
}

func TestRepetition(t *testing.T) {
	call := func(i int, arguments string) any {
		return provider.End{Index: i, Block: provider.ToolCall{ID: fmt.Sprint(i), Name: "look", Input: json.RawMessage(arguments)}}
	}
	for _, test := range []struct {
		name  string
		calls []string
		want  string
	}{
		{"three in a row", []string{`{"a":1}`, `{"a":1}`, `{"a":1}`, `{"a":1}`}, "repetition"},
		{"with others between", []string{`{"a":1}`, `{"a":1}`, `{"a":2}`, `{"a":1}`, `{"a":1}`}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var list []any
				for i, arguments := range test.calls {
					list = append(list, call(i, arguments))
				}
				stopped := provider.Stop{Reason: provider.StopToolUse, Usage: provider.Usage{Input: 1, Output: 1}}
				b := newBench(t, events(append(list, stopped)...))
				defer b.close()
				e := b.turn(b.session("sim/claude", ""), "go")
				check(t, "limit", e.End.Limit, test.want)
				if test.want != "" {
					kept := len(e.Message.Parts)
					check(t, "calls that are kept", kept, slices.Index(test.calls, test.calls[0])+maxSame)
				}
			})
		})
	}
}
