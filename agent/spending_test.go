package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/tool"
)

var (
	spendSessions = flag.Int("spendsessions", 8, "how many sessions TestSpendingKills has")
	spendKills    = flag.Int("spendkills", 6, "how many kills TestSpendingKills makes")
	spendSeed     = flag.Uint64("spendseed", 0, "the seed of TestSpendingKills; 0: any")
)

// tokenPrice is what a token of an answer costs in these tests, in USD. The prompt costs nothing.
const tokenPrice = 50e-6

// oneCall is what a call probably costs, in USD. oneReservation is what it may cost at most.
const (
	longest        = 8000 // tokens of an answer
	oneCall        = allowance * tokenPrice
	oneReservation = longest * tokenPrice
)

// shop is a catalog with the model shop/large. A call of it reserves oneReservation.
func shop(t *testing.T) *registry.Catalog {
	t.Helper()
	catalog, err := registry.New([]registry.Provider{{ID: "shop", API: "chat", Rows: []registry.Row{
		{ID: "large", Control: provider.ControlNone, Window: 10_000_000, MaxOutput: longest, Price: &provider.Price{Rates: provider.Rates{Output: tokenPrice * 1e6}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// spendBench is a bench with a shop and limits for all sessions.
func spendBench(t *testing.T, l gate.Limits) *bench {
	t.Helper()
	b := newBench(t)
	b.group.Close()
	b.cfg.Catalog, b.cfg.Limits.Spending = shop(t), l
	b.start()
	return b
}

// spent has the next call use a number of tokens.
func (b *bench) spent(tokens ...int) {
	for _, n := range tokens {
		b.fake.scripts = append(b.fake.scripts, events(append(say("a"), stop(provider.Usage{Output: n}))...))
	}
}

// budget is the only limit as it is now.
func (b *bench) budget() session.Spending {
	b.Helper()
	list := b.group.Budgets()
	if len(list) != 1 {
		b.Fatalf("limits: %+v", list)
	}
	return list[0]
}

// atLimit expects that a turn is parked at a limit.
func (b *bench) atLimit(id session.ID, limit session.SpendingLimit, used, most float64) {
	b.Helper()
	p := b.parkedTurn(id)
	want := session.Spending{Limit: limit, Used: provider.MoneyOf(used), Most: provider.MoneyOf(most), Next: provider.MoneyOf(oneCall)}
	if p.Why != session.ParkedBudget || p.Resumes != session.ResumesOnRequest || p.Spending == nil || *p.Spending != want {
		b.Fatalf("parked: %+v, %+v, want %+v", p, p.Spending, want)
	}
}

func limitOf(which session.SpendingLimit, usd float64) gate.Limits {
	if which == session.LimitDay {
		return gate.Limits{Day: provider.MoneyOf(usd)}
	}
	return gate.Limits{Unattended: provider.MoneyOf(usd)}
}

// TestSpendingAnswers parks a turn at each limit, answers in each way, with and without a restart before, and restarts afterwards.
func TestSpendingAnswers(t *testing.T) {
	for _, limit := range []session.SpendingLimit{session.LimitDay, session.LimitUnattended} {
		for _, answer := range []string{"allow", "raise", "raise too little", "cancel"} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/restart=%v", limit, answer, restart), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := spendBench(t, limitOf(limit, 0.3))
						defer b.close()
						b.spent(4000, 4000, 100)
						first, id := b.session("shop/large", ""), b.session("shop/large", "")
						check(t, "the first", b.turn(first, "one").End.StopReason, session.StopEndTurn)
						r := b.prompted(id, text("two"))
						b.atLimit(id, limit, 0.2, 0.3)
						if restart {
							b.restart()
							b.atLimit(id, limit, 0.2, 0.3)
						}
						time.Sleep(time.Hour)
						check(t, "calls meanwhile", b.asked(), 1)
						b.answersLimit(id, r.Turn, limit, answer)
					})
				})
			}
		}
	}
}

// answersLimit answers the question of TestSpendingAnswers.
func (b *bench) answersLimit(id session.ID, turn session.TurnID, limit session.SpendingLimit, answer string) {
	b.Helper()
	resume := func(raise float64) {
		b.Helper()
		if on, err := b.agent(id).ResumeTurn(b.Context(), turn, Resumption{Raise: provider.MoneyOf(raise)}); err != nil || on != turn {
			b.Fatal(on, err)
		}
	}
	end, used, most := session.StopEndTurn, 0.4, 0.3
	switch answer {
	case "allow":
		resume(0)
	case "raise":
		resume(1)
		most = 1.3
	case "raise too little":
		resume(0.0625)
		b.atLimit(id, limit, 0.2, 0.3625)
		resume(0.0625)
		most = 0.425
	case "cancel":
		if ok, err := b.agent(id).Cancel(b.Context(), turn); !ok || err != nil {
			b.Fatal(ok, err)
		}
		end, used = session.StopCancelled, 0.2
	}
	check(b.T, "its end", b.outcome(id, turn).End.StopReason, end)
	for range 2 { // the same after a restart
		check(b.T, "the limit", b.budget(), session.Spending{Limit: limit, Used: provider.MoneyOf(used), Most: provider.MoneyOf(most)})
		b.restart()
	}
	next := b.prompted(id, text("three"))
	if answer == "raise" {
		check(b.T, "the next turn", b.outcome(id, next.Turn).End.StopReason, session.StopEndTurn)
		return
	}
	b.atLimit(id, limit, used, most)
}

// TestSpendingRoom gives a limit new room: the next day, or a person who writes.
func TestSpendingRoom(t *testing.T) {
	for _, limit := range []session.SpendingLimit{session.LimitDay, session.LimitUnattended} {
		synctest.Test(t, func(t *testing.T) {
			b := spendBench(t, limitOf(limit, 0.3))
			defer b.close()
			b.spent(4000, 100)
			b.turn(b.session("shop/large", ""), "one")
			id := b.session("shop/large", "")
			r := b.prompted(id, text("two"))
			b.atLimit(id, limit, 0.2, 0.3)
			if limit == session.LimitDay {
				time.Sleep(24 * time.Hour)
			} else {
				b.group.Attend()
			}
			if _, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{}); err != nil {
				t.Fatal(err)
			}
			check(t, "its end", b.outcome(id, r.Turn).End.StopReason, session.StopEndTurn)
			b.restart()
			check(t, "used", b.budget().Used, provider.MoneyOf(0.005))
		})
	}
}

// A turn that waits for something else has no limit that can be raised.
func TestSpendingNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := parkBench(t, 12*time.Hour, events(quota(time.Hour)))
		defer b.close()
		r := b.prompted(id, text("one"))
		b.parkedTurn(id)
		if _, err := b.agent(id).ResumeTurn(t.Context(), r.Turn, Resumption{Raise: 1}); !errors.Is(err, ErrNoLimit) {
			t.Error(err)
		}
	})
}

// bill is a vendor that answers at length, a piece a second, and charges each piece. hidden is the share of calls of which nothing is
// seen before the end.
type bill struct {
	mu     sync.Mutex
	rng    *rand.Rand
	hidden float64
	tools  bool // some answers call a tool
	tokens int
	calls  int
}

func (v *bill) judge(*provider.Request, script) script {
	const piece = 20 // tokens
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	pieces := 1 + v.rng.IntN(longest/piece)
	hidden, n := v.rng.Float64() < v.hidden, v.calls
	calls := v.tools && v.rng.IntN(3) > 0
	return func(ctx context.Context, yield func(provider.Event, error) bool) {
		if !yield(provider.Begin{Index: 0, Block: provider.Text{}}, nil) {
			return
		}
		for range pieces {
			if events(time.Second)(ctx, yield); ctx.Err() != nil {
				return
			}
			v.mu.Lock()
			v.tokens += piece
			v.mu.Unlock()
			if hidden {
				if !yield(provider.Alive{}, nil) {
					return
				}
			} else if !yield(provider.Delta{Index: 0, Text: strings.Repeat("word", piece)}, nil) {
				return
			}
		}
		said, end := provider.Text{Text: "So."}, provider.Stop{Reason: provider.StopEndTurn, Usage: provider.Usage{Output: piece * pieces}}
		if !hidden {
			said.Text = strings.Repeat("word", piece*pieces)
		}
		if !yield(provider.End{Index: 0, Block: said}, nil) {
			return
		}
		if calls {
			end.Reason = provider.StopToolUse
			call := provider.ToolCall{ID: fmt.Sprint("c", n), Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"at":"%d"}`, n))}
			if !yield(provider.End{Index: 1, Block: call}, nil) {
				return
			}
		}
		yield(end, nil)
	}
}

// sum is the bill in USD.
func (v *bill) sum() float64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return float64(v.tokens) * tokenPrice
}

// TestSpendingKills has many sessions race for the limit of a day, on a fake clock, and kills the process again and again. After each
// kill a person raises the limit. The bill exceeds the limit by at most one reservation, and the ledger has all of the bill. With the
// store in a file, a kill also opens the file again.
func TestSpendingKills(t *testing.T) {
	t.Run("memory", func(t *testing.T) { spendingKills(t, *spendSessions, *spendKills, nil) })
	t.Run("file", func(t *testing.T) {
		path := t.TempDir()
		spendingKills(t, max(4, *spendSessions/8), max(3, *spendKills/8), func() (session.Local, error) { return bolt.Open(path, bolt.Options{}) })
	})
}

func spendingKills(t *testing.T, sessions, kills int, open func() (session.Local, error)) {
	seed := *spendSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-spendseed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 1))
		most := 0.1 * float64(sessions)
		b := spendBench(t, limitOf(session.LimitDay, most))
		defer b.close()
		v := &bill{rng: rand.New(rand.NewPCG(seed, 2)), hidden: 0.5}
		b.fake.judge = v.judge
		store := &wounded{Sessions: b.store}
		reopen := func() {
			if open == nil {
				return
			}
			b.local.Close()
			local, err := open()
			if err != nil {
				t.Fatal(err)
			}
			b.keepIn(local)
			store.Sessions, b.cfg.Store = b.store, only{store, local.Ledger()}
		}
		b.group.Close()
		b.cfg.Store = only{store, b.local.Ledger()}
		reopen()
		b.start()
		var ids []session.ID
		for range sessions {
			ids = append(ids, b.session("shop/large", ""))
		}
		worst, parked := -most, 0
		raise := func(by provider.Money) {
			for _, id := range ids {
				p := b.parkedNow(id)
				if p == nil {
					continue
				}
				parked++
				if _, err := b.agent(id).ResumeTurn(t.Context(), b.turnOf(id), Resumption{Raise: by}); err != nil {
					t.Fatal(err)
				}
				most += by.Units()
				by = 1 // the others use what the first made room for
			}
		}
		for k := range kills + 1 {
			for _, id := range ids {
				if b.agentState(id).Session.Status == session.Idle {
					b.prompted(id, text("on"))
				}
			}
			time.Sleep(time.Duration(rng.IntN(int(5 * time.Minute))))
			synctest.Wait()
			worst = max(worst, v.sum()-most)
			if k == kills {
				break
			}
			store.kill()
			b.group.Close()
			store.heal()
			reopen()
			b.start()
			raise(provider.MoneyOf(rng.Float64() * 0.2 * float64(sessions)))
		}
		time.Sleep(time.Hour) // the rest of the calls
		synctest.Wait()
		worst = max(worst, v.sum()-most)
		now := b.budget()
		worst = max(worst, now.Used.Units()-most)
		t.Logf("%d sessions, %d kills, %d calls, %d turns parked: a bill of %.4f USD, %.4f in the ledger, the limit %.4f, exceeded by at most %.4f; a reservation is %.4f",
			len(ids), kills, v.calls, parked, v.sum(), now.Used.Units(), now.Most.Units(), max(worst, 0), oneReservation)
		if worst > oneReservation {
			t.Error("the bill or the ledger exceeds the limit by more than one reservation")
		}
		if now.Used.Units() < v.sum()-1e-6 || now.Used.Units() > most+oneReservation+1e-6 {
			t.Errorf("the ledger has %.4f USD of a bill of %.4f USD", now.Used.Units(), v.sum())
		}
		if parked == 0 {
			t.Error("no turn was parked")
		}
		for _, id := range ids {
			if record, err := b.store.Get(t.Context(), id); err != nil || record.Reserved != nil {
				t.Errorf("a reservation is left: %+v, %v", record.Reserved, err)
			}
		}
	})
}

// TestSpendingOvernight has a loop without a person prompt through a night, with an agent that calls tools, each limit in turn being the
// smaller one. The loop stops at the limit.
func TestSpendingOvernight(t *testing.T) {
	for _, l := range []struct {
		day, unattended float64
		stops           session.SpendingLimit
	}{{20, 2, session.LimitUnattended}, {2, 20, session.LimitDay}} {
		synctest.Test(t, func(t *testing.T) {
			const most = 2
			b := spendBench(t, gate.Limits{Day: provider.MoneyOf(l.day), Unattended: provider.MoneyOf(l.unattended)})
			defer b.close()
			v := &bill{rng: rand.New(rand.NewPCG(3, 4)), hidden: 0.5, tools: true}
			b.fake.judge = v.judge
			b.group.Close()
			h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult { return said("seen") }}
			b.cfg.Hosts = func(session.Owner, session.Session) []toolhost.Host { return []toolhost.Host{h} }
			b.start()
			s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "shop", ID: "large"}},
				Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, Host: tool.MCP, Source: "files", Effect: tool.Read}}})
			if err != nil {
				t.Fatal(err)
			}
			id := s.ID
			turns, begun := 0, time.Now()
			for b.parkedNow(id) == nil && time.Since(begun) < 14*time.Hour {
				if b.agentState(id).Session.Status == session.Idle {
					b.prompted(id, text("on"))
					turns++
				}
				time.Sleep(time.Minute)
			}
			calls := v.calls
			b.group.Close() // the rest of the night: nothing but a person or the next day makes room
			time.Sleep(8 * time.Hour)
			b.start()
			p := b.parkedTurn(id)
			t.Logf("a night of %d turns and %d calls: %.4f USD of %d, and a reservation is %.4f", turns, v.calls, v.sum(), most, oneReservation)
			if p.Why != session.ParkedBudget || p.Spending.Limit != l.stops || v.calls != calls {
				t.Errorf("in the morning: %+v", p)
			}
			if v.sum() > most+oneReservation || v.sum() < most-2*oneReservation {
				t.Errorf("it spent %.4f USD", v.sum())
			}
		})
	}
}

// TestSpendingWaits has sessions whose calls together could exceed a limit wait for each other. Nobody is asked, because there is room.
func TestSpendingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spendBench(t, limitOf(session.LimitDay, 2*oneReservation))
		defer b.close()
		v := &running{}
		b.fake.judge = v.judge
		var ids []session.ID
		turns := map[session.ID]session.TurnID{}
		for range 8 {
			id := b.session("shop/large", "")
			ids = append(ids, id)
			turns[id] = b.prompted(id, text("on")).Turn
		}
		for _, id := range ids {
			check(t, "the end", b.outcome(id, turns[id]).End.StopReason, session.StopEndTurn)
		}
		check(t, "calls at most in parallel", v.most, 3) // two reservations, and one
		check(t, "used", b.budget().Used, provider.MoneyOf(8*100*tokenPrice))
	})
}

// TestSpendingAsksAfterWaiting asks a person about a call that has waited for another one for long. Then it waits again.
func TestSpendingAsksAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := spendBench(t, limitOf(session.LimitDay, 0.3))
		defer b.close()
		var slow []any
		for range 8 {
			slow = append(slow, provider.Alive{}, time.Minute)
		}
		b.fake.scripts = []script{events(append(slow, append(say("a"), stop(provider.Usage{Output: 100}))...)...)}
		b.spent(100)
		first, second := b.session("shop/large", ""), b.session("shop/large", "")
		one := b.prompted(first, text("one"))
		two := b.prompted(second, text("two"))
		time.Sleep(busyMost - 2*busyPause)
		if p := b.parkedNow(second); p != nil {
			t.Errorf("it asks too early: %+v", p)
		}
		time.Sleep(4 * busyPause)
		b.atLimit(second, session.LimitDay, oneCall, 0.3)
		if _, err := b.agent(second).ResumeTurn(t.Context(), two.Turn, Resumption{Raise: 1}); err != nil {
			t.Fatal(err)
		}
		check(t, "the end of the second", b.outcome(second, two.Turn).End.StopReason, session.StopEndTurn)
		check(t, "the end of the first", b.outcome(first, one.Turn).End.StopReason, session.StopEndTurn)
		check(t, "used", b.budget().Used, provider.MoneyOf(200*tokenPrice))
	})
}

// running is a vendor that counts its calls.
type running struct {
	mu        sync.Mutex
	now, most int
}

func (v *running) judge(*provider.Request, script) script {
	return func(ctx context.Context, yield func(provider.Event, error) bool) {
		count := func(by int) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.now += by
			v.most = max(v.most, v.now)
		}
		count(1)
		events(10*time.Second)(ctx, yield)
		count(-1)
		events(append(say("a"), stop(provider.Usage{Output: 100}))...)(ctx, yield)
	}
}
