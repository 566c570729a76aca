package gate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// The clock of b is a day ahead. What b uses counts for tomorrow, and for the month at both nodes.
func TestMonthOfClockAhead(t *testing.T) {
	p, at, ahead := newPots(), noon(), noon()
	ahead.at = ahead.at.AddDate(0, 0, 1)
	q := Quota{DayTokens: 700, MonthTokens: 1000}
	a, b := p.node("a", Limits{}, q, at.now), p.node("b", Limits{}, q, ahead.now)
	if !b.run(t, of(ann, use(600, 0), provider.Usage{})) {
		t.Fatal("a node whose clock is ahead serves nobody")
	}
	look(t, b, restLooks+1)
	exceeded(t, a.Gate, of(ann, use(500, 0), provider.Usage{}), "tokens_month", december, false)
	if !a.run(t, of(ann, use(400, 0), provider.Usage{})) {
		t.Error("the rest of the month is not there")
	}
	exceeded(t, b.Gate, of(ann, use(1, 0), provider.Usage{}), "tokens_month", december, false)
}

// wrongly is how the wall clock of a node may differ from the time.
var wrongly = []time.Duration{0, 0, 3 * time.Minute, -3 * time.Minute, time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 40 * 24 * time.Hour, -10_000 * 24 * time.Hour}

// Three nodes have wall clocks that differ, and jump while calls run, and nodes die. Time passes over midnights and the end of the month. For each day and each
// month, as the ledger has it, no quota is exceeded. Nothing is missing in the ledger, nothing stays reserved, and a node whose clock is right serves what is left.
func TestClocksThatJump(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(7, seed))
		clocksThatJump(t, rng, fmt.Sprint("seed ", seed))
		if t.Failed() {
			return
		}
	}
}

func clocksThatJump(t *testing.T, rng *rand.Rand, name string) {
	const day, month = 3000, 4000
	type running struct {
		*Pass
		call Call
		of   string // a node
	}
	p, real := newPots(), noon()
	real.at = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	q := Quota{DayTokens: day, MonthTokens: month}
	nodes, clocks := make([]*peer, 3), make([]time.Duration, 3)
	var calls []running
	var settled int
	ends := func(i, tokens int) {
		c := calls[i]
		calls = slices.Delete(calls, i, i+1)
		c.Settle(use(tokens, 0))
		p.logs(c.call, c.Reserved.Day, use(tokens, 0))
		settled += tokens
	}
	start := func(i int) {
		nodes[i] = p.node(fmt.Sprint("node", i, ".", rng.Uint64()), Limits{}, q, func() time.Time { return real.at.Add(clocks[i]) })
	}
	kill := func(i int) { // what its calls had reserved counts
		for c := len(calls) - 1; c >= 0; c-- {
			if calls[c].of == nodes[i].name {
				ends(c, calls[c].quota.amount.tokens)
			}
		}
		p.gone(nodes[i].name)
	}
	for i := range nodes {
		start(i)
	}
	for range 400 {
		i := rng.IntN(len(nodes))
		n := nodes[i]
		switch rng.IntN(10) {
		case 0:
			clocks[i] = wrongly[rng.IntN(len(wrongly))]
		case 1:
			real.at = real.at.Add(time.Duration(rng.IntN(90)) * time.Minute)
		case 2:
			if rng.IntN(4) == 0 {
				kill(i)
				start(i)
			}
		case 3, 4:
			look(t, n, 1+rng.IntN(restLooks))
		case 5, 6:
			if len(calls) > 0 {
				c := rng.IntN(len(calls))
				ends(c, 1+rng.IntN(calls[c].quota.amount.tokens))
			}
		default:
			probably := 1 + rng.IntN(200)
			call := of(ann, use(probably, 0), use(probably+rng.IntN(200), 0))
			if pass, err := n.Enter(t.Context(), call); err == nil {
				calls = append(calls, running{pass, call, n.name})
			}
		}
	}
	for i := range nodes {
		kill(i)
	}
	days, months, all := make(map[session.Day]int), make(map[session.Day]int), 0
	for _, l := range p.lines[ann] {
		days[l.Day] += l.Usage.Output
		months[l.Day[:monthLen]] += l.Usage.Output
		all += l.Usage.Output
	}
	for d, used := range days {
		if used > day {
			t.Errorf("%s: %d tokens are used on %s", name, used, d)
		}
	}
	for m, used := range months {
		if used > month {
			t.Errorf("%s: %d tokens are used in %s", name, used, m)
		}
	}
	if all != settled || all == 0 {
		t.Errorf("%s: the ledger has %d tokens of %d", name, all, settled)
	}
	if left := p.reserved("ann"); left != (amount{}) {
		t.Errorf("%s: %+v stays reserved", name, left)
	}
	today := session.DayOf(real.at)
	right := p.node("right", Limits{}, q, real.now)
	if left := min(day-days[today], month-months[today[:monthLen]]); left > 0 && !right.run(t, of(ann, use(left, 0), provider.Usage{})) {
		t.Errorf("%s: a node whose clock is right does not serve the %d tokens that are left", name, left)
	}
	if right.run(t, of(ann, use(1, 0), provider.Usage{})) {
		t.Errorf("%s: more than a quota", name)
	}
}
