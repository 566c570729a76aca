//go:build long

package cluster

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

var spentKills = flag.Int("clusterspent", 20, "how many kills TestSpent makes")

// spending is what a node says of a limit.
type spending struct {
	Limit            string
	Used, Most, Next float64
}

// spent asks a node what was spent today, by the calls and of the limit.
func spent(t *testing.T, p *proof.Process) (calls int, cost float64, day spending) {
	t.Helper()
	var report struct {
		Total struct {
			Calls int
			Usage struct{ Cost struct{ Amount float64 } }
		}
		Budgets []spending
	}
	p.Must("usage/report", map[string]any{"by": "session"}, &report)
	for _, b := range report.Budgets {
		if b.Limit == "max_day_cost" {
			day = b
		}
	}
	return report.Total.Calls, report.Total.Usage.Cost.Amount, day
}

// TestSpent kills the node of a session in the middle of a model call, again and again. What was spent is never less than what the calls used that ended, and a node
// that starts counts what the killed ones had reserved in the limit of the day. Then a limit that is smaller than one call has no call start.
func TestSpent(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.more = "[limits]\nmax_day_cost = 1000\n"
	c.thinksAt("Think.")
	nodes := []*node{c.start("a"), c.start("b")}
	p := nodes[0].door()
	session := p.NewSession()
	p.Turn(session, "Hello.")
	calls, cost, day := spent(t, p)
	if calls != 1 || cost <= 0 || math.Abs(day.Used-cost) > 1e-9 {
		t.Fatalf("%d calls cost %v, and the limit has %+v", calls, cost, day)
	}
	whole, one := 1, cost
	for round := range *spentKills {
		p.Turn(session, fmt.Sprintf("Round %d.", round))
		whole++
		p.Say(session, fmt.Sprintf("Round %d. Think.", round))
		p.Wait("thinking", method("thinking_delta"))
		p.House = nodes[0].House
		p.Kill()
		nodes = []*node{nodes[1], c.start(nodes[0].name)}
		p = nodes[0].door()
		attach(t, p, session)
		now, total, _ := spent(t, p)
		if now < whole || total < float64(whole)*one*0.5 {
			t.Errorf("after %d kills %d calls cost %v, and %d had ended", round+1, now, total, whole)
		}
		if total < cost {
			t.Errorf("after %d kills the calls cost %v after %v", round+1, total, cost)
		}
		cost = total
	}
	p.End()
	fresh := c.start("c") // a node counts what others spend when it starts
	p = fresh.door()
	calls, cost, day = spent(t, p)
	if day.Used < cost-1e-9 {
		t.Errorf("the calls cost %v, and the limit has %+v", cost, day)
	}
	t.Logf("%d kills: %d calls cost %.4f USD, and %.4f of the limit are used, %d calls had ended", *spentKills, calls, cost, day.Used, whole)
	p.End()
	for _, n := range append(nodes, fresh) {
		n.End()
	}

	c.more = fmt.Sprintf("[limits]\nmax_day_cost = %v\n", day.Used+one/1000)
	n := c.start("d")
	p = n.door()
	before := len(c.vendor.Requests())
	turn := p.Say(p.NewSession(), "Too much.")
	parked := p.Wait("a parked turn", func(u proof.Update) bool { return u.Method == "turn_parked" && u.Turn == turn })
	if n := len(c.vendor.Requests()); n != before {
		t.Errorf("%d requests beyond the limit", n-before)
	}
	p.House = n.House
	p.Kill() // a parked turn would move
	next := gjson.GetBytes(parked.Raw, "spending.next").Float()
	if next <= 0 {
		t.Fatalf("what the next call may cost is not in %s", parked.Raw)
	}
	c.spendTheRest(t, cost, next)
}

// spendTheRest has two nodes share a limit that has room for a few calls more than what is spent, so it shows whether anything of the nodes before is still reserved,
// and that two nodes do not spend the rest twice.
func (c *cluster) spendTheRest(t *testing.T, spentBefore, next float64) {
	limit := spentBefore + 1.5*next
	c.more = fmt.Sprintf("[limits]\nmax_day_cost = %v\n", limit)
	nodes := []*node{c.start("e"), c.start("f")}
	doors := []*proof.Process{nodes[0].door(), nodes[1].door()}
	sessions := []string{doors[0].NewSession(), doors[1].NewSession()}
	for i := range 6 {
		doors[i%2].Turn(sessions[i%2], "More.")
	}
	calls, cost, _ := spent(t, doors[0])
	t.Logf("%d calls cost %.4f of %.4f USD, %.4f before", calls, cost, limit, spentBefore)
	if cost <= spentBefore || cost > limit {
		t.Errorf("the calls cost %v, %v before, and the limit is %v", cost, spentBefore, limit)
	}
	for i, n := range nodes {
		doors[i].House = n.House
		doors[i].Kill()
	}
}
