package presence

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/thinkd/thinkd/rpc/cluster/model"
)

var wider = flag.Bool("wider", false, "TestModel: three faults in place of two")

// The model of presence: two nodes with a connection to each of three store servers, which have routes among them. One tick is a
// second of the cluster. In each, both nodes send a heartbeat, and each reads what has arrived. Servers pass a message on by one hop. Each tick
// moves all times back by one, so that the present is always the same instant, and a state can come about again.
const (
	nodes   = 2
	servers = 3
	old     = 10                // ticks after which an age makes no difference
	present = 100 * time.Second // the instant that is always now
	tick    = time.Second
)

// history has a bit for each of the last ticks: bit 0 is now.
type history uint16

// cluster is a state of the model.
type cluster struct {
	link    [nodes][servers]bool // the connection works
	route   [servers]bool        // route k is between the other two servers
	stopped [nodes]bool
	slow    [nodes]bool // the node reads late

	own   [servers][nodes]history // heartbeats that a node sent to the server itself
	known [servers][nodes]history // heartbeats that count for others and that the server has, also from other servers
	read  [nodes]uint8            // how many ticks ago the node has read everything

	contact [nodes]Contact
	heard   [nodes]time.Duration // when the other node was heard
	owner   uint8                // of the session that both want
	faults  uint8
}

// rules are the variants that are refuted.
type rules struct {
	oneServer    bool // hearing oneself on any server is contact, and each node has a connection to one server
	atOnce       bool // a node that comes back is in contact at once
	whenReturned bool // contact counts from the return of a heartbeat
	noOrder      bool // Gone asks for silence and contact alone
	allCount     bool // heartbeats of a node that is alone count for others
	sentInTime   bool // contact goes on if a heartbeat returns that was sent before its end, even if it returns after it
	times        Times
	lag          uint8 // ticks that a slow node reads late
	uncut        bool  // connections stay, so that more faults of other kinds are few states
}

func start(r rules, faults uint8) cluster {
	c := cluster{route: [servers]bool{true, true, true}, heard: [nodes]time.Duration{present, present}, faults: faults}
	for n := range nodes {
		count := servers
		if r.oneServer {
			count = 1
		}
		c.contact[n] = NewContact(count)
		for k := range servers {
			c.link[n][k] = !r.oneServer || k == 2*n // A is connected to the first server, B to the third
			if c.link[n][k] && k < count || r.oneServer {
				c.contact[n].Returned(min(k, count-1), present, present, r.times)
			}
		}
	}
	return c
}

func (c *cluster) routed(a, b int) bool { return a == b || c.route[servers-a-b] }

// tick lets a second pass.
func (c *cluster) tick(r rules) {
	for n := range nodes {
		c.contact[n].back()
		c.heard[n] = max(c.heard[n]-tick, present-old*tick)
		c.read[n] = min(c.read[n]+1, old)
		for k := range servers {
			c.own[k][n], c.known[k][n] = c.own[k][n]<<1&(1<<old-1), c.known[k][n]<<1&(1<<old-1)
		}
	}
	for n := range nodes {
		for k := range servers {
			if c.stopped[n] || !c.link[n][k] {
				continue
			}
			c.own[k][n] |= 1
			if !c.counts(n, r) {
				continue
			}
			for other := range servers {
				if c.routed(k, other) {
					c.known[other][n] |= 1
				}
			}
		}
	}
	for n := range nodes {
		if !c.stopped[n] {
			c.reads(n, r)
		}
	}
}

// counts reports whether what a node sends now counts for others.
func (c *cluster) counts(n int, r rules) bool {
	return r.allCount || !c.contact[n].Alone(present, r.times)
}

// reads takes what arrived since the last read.
func (c *cluster) reads(n int, r rules) {
	upTo := uint8(0)
	if c.slow[n] {
		upTo = min(r.lag, c.read[n])
	}
	for age := int(c.read[n]) - 1; age >= int(upTo); age-- {
		for k := range servers {
			if !c.link[n][k] {
				continue
			}
			if c.own[k][n]&(1<<age) != 0 {
				at := present - time.Duration(age)*tick
				if r.whenReturned {
					at = present
				}
				server := k
				if r.oneServer {
					server = 0
				}
				before := c.contact[n]
				c.contact[n].Returned(server, at, present, r.times)
				if r.sentInTime && at < before.until {
					c.contact[n].since = before.since
				}
				if r.atOnce {
					c.contact[n].since = min(c.contact[n].since, present)
				}
			}
			if c.known[k][1-n]&(1<<age) != 0 {
				c.heard[n] = present
			}
		}
	}
	c.read[n] = min(c.read[n], upTo)
}

// back moves all times back by a tick. What is too old to matter stays where it is.
func (c *Contact) back() {
	least := present - old*tick
	for k := range c.returned {
		if c.returned[k] != 0 {
			c.returned[k] = max(c.returned[k]-tick, least)
		}
	}
	if c.until != 0 {
		c.since, c.until = max(c.since-tick, least), max(c.until-tick, least)
	}
}

func (c *cluster) gone(n int, r rules) bool {
	if r.noOrder {
		_, ok := c.contact[n].Since(present)
		return ok && present-c.heard[n] > r.times.Silence
	}
	return c.contact[n].Gone(c.heard[n], present, r.times)
}

const (
	wrongly  model.Harm = "A node takes another one for gone that is in contact."
	forEver  model.Harm = "Two nodes take a session from each other for ever."
	unserved model.Harm = "Nobody serves a session, although a node is in contact."
)

func steps(c cluster, r rules) (list []model.Step[cluster]) {
	do := func(kind model.Kind, text string, change func(*cluster)) *model.Step[cluster] {
		next := c
		change(&next)
		list = append(list, model.Step[cluster]{Kind: kind, Text: text, Next: next})
		return &list[len(list)-1]
	}
	do(model.Own, "A second passes.", func(c *cluster) { c.tick(r) })
	for n := range nodes {
		if c.stopped[n] || !c.gone(n, r) {
			continue
		}
		_, ok := c.contact[1-n].Since(present)
		step := do(model.Own, fmt.Sprintf("%c takes %c for gone, and claims the session.", 'A'+n, 'A'+1-n), func(c *cluster) { c.owner = uint8(n) })
		if ok {
			step.Broken = wrongly
			if c.owner != uint8(n) {
				step.Bad = forEver
			}
		}
	}
	if c.faults == 0 {
		return list
	}
	toggle := func(text string, is bool, change func(*cluster)) {
		do(model.Fault, fmt.Sprintf("%s: %t.", text, !is), func(c *cluster) { c.faults--; change(c) })
	}
	for n := range nodes {
		name := string(rune('A' + n))
		for k := range servers {
			if !r.oneServer && !r.uncut {
				toggle(fmt.Sprintf("%s is connected to server %d", name, k+1), c.link[n][k], func(c *cluster) { c.link[n][k] = !c.link[n][k] })
			}
		}
		toggle(name+" is stopped", c.stopped[n], func(c *cluster) { c.stopped[n] = !c.stopped[n] })
		toggle(name+" is slow to read", c.slow[n], func(c *cluster) { c.slow[n] = !c.slow[n] })
	}
	if r.uncut {
		return list
	}
	for k := range servers {
		toggle(fmt.Sprintf("servers %d and %d are connected", (k+1)%servers+1, (k+2)%servers+1), c.route[k], func(c *cluster) { c.route[k] = !c.route[k] })
	}
	return list
}

// served is met while the owner of the session is in contact. It is due while a node could be: it runs, and has connections to a majority.
var served = model.Goal[cluster]{
	Broken: unserved,
	Due: func(c cluster) bool {
		for n := range nodes {
			connected := 0
			for k := range servers {
				if c.link[n][k] {
					connected++
				}
			}
			if !c.stopped[n] && !c.slow[n] && connected > servers/2 {
				return true
			}
		}
		return false
	},
	Met: func(c cluster) bool {
		_, ok := c.contact[c.owner].Since(present)
		return ok && !c.stopped[c.owner]
	},
}

func check(r rules, faults uint8, only model.Harm) model.Report {
	return model.Explore(model.World[cluster]{
		Start: start(r, faults),
		Steps: func(c cluster) []model.Step[cluster] { return steps(c, r) },
		Goals: []model.Goal[cluster]{served},
		Only:  only,
	})
}

// Without a margin between them, the times show what the other rules are for.
var (
	narrow = Times{CutOff: 4 * time.Second, Silence: 5 * time.Second}
	equal  = Times{CutOff: 5 * time.Second, Silence: 5 * time.Second}
)

// TestModel visits every state that two faults, at any time, lead to. No node takes another one for gone that is in contact, and a node that is
// in contact can take over from one that is not.
func TestModel(t *testing.T) {
	faults := uint8(2)
	if *wider {
		faults = 3
	}
	for _, r := range []rules{{times: Default, lag: 2}, {times: narrow, lag: 3, uncut: true}} {
		faults := faults
		if r.uncut {
			faults++
		}
		report := check(r, faults, "")
		if report.Broken != "" {
			t.Errorf("%+v:\n%s", r, report)
		}
		t.Log(report)
	}
}

// TestModelFindsFaults gives the model rules that were believed before. It must find what is wrong with them.
func TestModelFindsFaults(t *testing.T) {
	for name, c := range map[string]struct {
		rules  rules
		faults uint8
		harm   model.Harm
	}{
		"one's own heartbeat on any server":           {rules{oneServer: true, times: Default}, 1, wrongly},
		"one's own heartbeat on any server, for ever": {rules{oneServer: true, times: Default}, 1, forEver},
		"contact since the return":                    {rules{whenReturned: true, times: Default, lag: 4, uncut: true}, 3, wrongly},
		"a slow listener judges":                      {rules{noOrder: true, times: equal, lag: 3, uncut: true}, 3, wrongly},
		"back in contact at once":                     {rules{atOnce: true, times: narrow, lag: 3, uncut: true}, 3, wrongly},
		"heartbeats of a node that is alone count":    {rules{allCount: true, times: Default, lag: 2}, 2, unserved},
		"contact lasts by when heartbeats were sent":  {rules{sentInTime: true, times: Default, lag: 2}, 2, wrongly},
		"cut off later than gone":                     {rules{times: Times{CutOff: 8 * time.Second, Silence: 5 * time.Second}}, 2, wrongly},
	} {
		t.Run(name, func(t *testing.T) {
			report := check(c.rules, c.faults, c.harm)
			if report.Broken != c.harm {
				t.Errorf("the model does not find %q", c.harm)
			}
			t.Logf("after %d states:\n%s", report.States, report)
		})
	}
}
