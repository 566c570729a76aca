package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// ledger is what a bench's agents report, a line for each.
type ledger struct {
	mu    sync.Mutex
	begun time.Time
	lines []string
}

func (l *ledger) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// reports makes a bench whose agents report, and starts it.
func (b *bench) reports() *ledger {
	b.Helper()
	l := &ledger{begun: time.Now()}
	at := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.Sub(l.begun).String()
	}
	b.cfg.Called = func(r report.Call) {
		kind := "call"
		if r.Summary {
			kind = "summary"
		}
		l.add("%s %s..%s heard %s of %s/%s: %s%s in %d out %d", kind, at(r.Begun), at(r.Ended), at(r.Heard), r.Model.Provider, r.Model.ID,
			r.Stop, r.Fault, r.Usage.Input, r.Usage.Output)
	}
	b.cfg.Ran = func(r report.Tool) {
		l.add("tool %s..%s %s %s client=%v: %s", at(r.Begun), at(r.Ended), r.Name, r.CallID, r.Client, r.Fault)
	}
	b.cfg.Ended = func(r report.Turn) {
		l.add("turn %s..%s: %s, %d calls, %d again", at(r.Begun), at(r.Ended), r.End.StopReason, r.Calls, r.Again)
	}
	b.group.Close()
	b.start()
	return l
}

// Each exchange, each tool and each turn is reported once, in the order of their ends, with its times.
func TestReports(t *testing.T) {
	after := func(d time.Duration, list ...any) script { return events(append([]any{d}, list...)...) }
	overloaded := &provider.Error{Kind: provider.KindOverloaded, Hint: provider.HintRetry, RetryAfter: 4 * time.Second, Message: "no"}
	sleeping := func(ctx context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			time.Sleep(time.Millisecond) // the end is heard before this
		}
		r := said("seen")
		r.Failed = strings.Contains(string(call.Input), "fail")
		return r
	}
	for _, c := range []struct {
		name    string
		scripts []script
		do      func(b *bench, a *Agent, turn session.TurnID)
		want    []string
	}{
		{"a tool between two calls",
			[]script{calls("a", `{"at":"x"}`), after(2*time.Second, concat(say("It is there."), []any{ended})...)}, nil,
			[]string{"call 0s..0s heard 0s of sim/claude: tool_use in 10 out 5", "tool 0s..3s look a0 client=false: ",
				"call 3s..5s heard 5s of sim/claude: end_turn in 10 out 5", "turn 0s..5s: end_turn, 2 calls, 0 again"}},
		{"tools that fail, and one that does not exist as asked",
			[]script{calls("a", `{"at":"fail"}`, `{"at":1}`)}, nil,
			[]string{"call 0s..0s heard 0s of sim/claude: tool_use in 10 out 5", "tool 0s..3s look a0 client=false: tool_failed",
				"call 3s..3s heard 3s of sim/claude: end_turn in 10 out 5", "turn 0s..3s: end_turn, 2 calls, 0 again"}},
		{"a call that is made again",
			[]script{after(time.Second, overloaded)}, nil,
			[]string{"call 0s..1s heard never of sim/claude: overloaded in 0 out 0", "call 5s..5s heard 5s of sim/claude: end_turn in 10 out 5",
				"turn 0s..5s: end_turn, 1 calls, 1 again"}},
		{"a call that is cancelled",
			[]script{after(0, append(think("hm"), time.Hour)...)},
			func(b *bench, a *Agent, turn session.TurnID) {
				time.Sleep(7 * time.Second)
				if _, err := a.Cancel(b.Context(), turn); err != nil {
					b.Error(err)
				}
			},
			[]string{"call 0s..7s heard 0s of sim/claude: cancelled in 0 out 0", "turn 0s..7s: cancelled, 1 calls, 0 again"}},
		{"a tool that is cut off by the end of the daemon",
			[]script{calls("a", `{"at":"x"}`)},
			func(b *bench, _ *Agent, _ session.TurnID) { time.Sleep(time.Second); b.group.Close() },
			[]string{"call 0s..0s heard 0s of sim/claude: tool_use in 10 out 5", "tool 0s..1s look a0 client=false: no_result",
				"turn 0s..1s: interrupted, 1 calls, 0 again"}},
		{"a call that is cut off by the end of the daemon",
			[]script{after(time.Hour)},
			func(b *bench, _ *Agent, _ session.TurnID) { time.Sleep(time.Second); b.group.Close() },
			[]string{"call 0s..1s heard never of sim/claude: interrupted in 0 out 0", "turn 0s..1s: interrupted, 1 calls, 0 again"}},
		{"a provider that panics", []script{events(panicking{})}, nil,
			[]string{"call 0s..0s heard never of sim/claude: internal in 0 out 0", "turn 0s..0s: error, 1 calls, 0 again"}},
		{"a call that is silent", []script{after(time.Hour)}, func(*bench, *Agent, session.TurnID) { time.Sleep(121 * time.Second) },
			[]string{"call 0s..2m0s heard never of sim/claude: stalled in 0 out 0", "turn 0s..2m0s: error, 1 calls, 0 again"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, id := toolBench(t, &host{run: sleeping}, c.scripts...)
				defer b.close()
				l := b.reports()
				a := b.agent(id)
				r, err := a.Prompt(t.Context(), text("Look."))
				if err != nil {
					t.Fatal(err)
				}
				if c.do != nil {
					c.do(b, a, r.Turn)
				}
				if _, err := a.Wait(t.Context(), r.Turn); err != nil && !errors.Is(err, feed.ErrClosed) {
					t.Fatal(err)
				}
				synctest.Wait()
				l.mu.Lock()
				defer l.mu.Unlock()
				check(t, "reports", l.lines, c.want)
			})
		})
	}
}

// A summary is reported as one, with the turn that waits for it or without any.
func TestReportsOfSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := compactBench(t, 0.8, 1000, countedAnswer(900, "a"), answer("", "Letters."), countedAnswer(100, "b"),
			answer("", "Fewer."), answer("", "c"), events(&provider.Error{Kind: provider.KindAuth}))
		defer b.close()
		var got []string
		l := b.reports()
		said := b.cfg.Called
		b.cfg.Called = func(r report.Call) {
			said(r)
			l.add("summary=%v in a turn=%v: %s%s", r.Summary, r.Turn != "", r.Stop, r.Fault)
		}
		b.group.Close()
		b.start()
		b.turn(id, "one")
		b.turn(id, "two")
		for range 2 {
			over, err := b.agent(id).Compact(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			<-over
			b.turn(id, "more")
		}
		for _, line := range l.lines {
			if strings.HasPrefix(line, "summary=") {
				got = append(got, line)
			}
		}
		check(t, "reports", got, []string{"summary=false in a turn=true: end_turn", "summary=true in a turn=true: end_turn",
			"summary=false in a turn=true: end_turn", "summary=true in a turn=false: end_turn", "summary=false in a turn=true: end_turn",
			"summary=true in a turn=false: auth", "summary=false in a turn=true: end_turn"})
	})
}

// Where nobody follows, nothing is made for it.
func TestReportsCostNothingUnasked(t *testing.T) {
	s := &state{run: &turn{Turn: &session.Turn{}}}
	c, tool, stop := &call{}, &toolCall{begun: time.Now()}, provider.Stop{Usage: provider.Usage{Input: 1}}
	if n := testing.AllocsPerRun(100, func() {
		s.called(c, callEnd{stop: stop})
		s.summarised(&compacting{}, summary.Result{}, nil)
		s.ran(tool, "")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
