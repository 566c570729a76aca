package node

import (
	"slices"
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

// All nodes compute the same order, whatever order they know the others in. Each node is the first for its share of the sessions, and the loss of
// one node changes nothing among the others.
func TestRanked(t *testing.T) {
	nodes := []lease.Node{3, 1 << 60, 7, 1}
	first := make(map[lease.Node]int)
	const sessions = 4000
	for i := range sessions {
		id := storetest.ID(i)
		order := ranked(nodes, id)
		first[order[0]]++
		turned := slices.Clone(nodes)
		slices.Reverse(turned)
		if !slices.Equal(order, ranked(turned, id)) {
			t.Fatalf("session %s: the order depends on what the nodes know first", id)
		}
		left := slices.DeleteFunc(slices.Clone(order), func(n lease.Node) bool { return n == 7 })
		if !slices.Equal(left, ranked([]lease.Node{1, 3, 1 << 60}, id)) {
			t.Fatalf("session %s: without a node the others have another order", id)
		}
	}
	for _, n := range nodes {
		if share := first[n]; share < sessions/5 || share > sessions/3 {
			t.Errorf("node %d is the first for %d of %d sessions", n, share, sessions)
		}
	}
}

// A session is marked before an entry that must not be stranded, and no longer after the last turn.
func TestWhatIsMarked(t *testing.T) {
	said, started, end := storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA), storetest.Ended(storetest.TurnA)
	second := storetest.Said(storetest.TurnB, "y")
	for _, e := range []session.Entry{said, started} {
		if !begins([]session.Entry{{Body: session.Setting{}}, e}) {
			t.Errorf("%T needs no mark", e.Body)
		}
	}
	if begins([]session.Entry{end, {Body: session.Setting{}}}) {
		t.Error("the end of a turn needs a mark")
	}
	l := &log{queued: make(map[session.TurnID]struct{})}
	for i, step := range []struct {
		entry session.Entry
		idle  bool
	}{{said, false}, {started, false}, {second, false}, {end, false}, {storetest.Ended(storetest.TurnB), true}} {
		l.note([]session.Entry{step.entry})
		if l.idle() != step.idle {
			t.Errorf("step %d: idle %v", i, l.idle())
		}
	}
	parked := &log{turn: storetest.TurnA, queued: make(map[session.TurnID]struct{})} // it was open when the log was claimed
	parked.note([]session.Entry{second, storetest.Ended(storetest.TurnB)})
	if parked.idle() {
		t.Error("a parked turn is forgotten when a prompt leaves the queue")
	}
}
