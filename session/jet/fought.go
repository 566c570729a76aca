package jet

import (
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Two nodes that each take the other for gone would claim a session from each other without end, and each claim ends a turn. Rules about
// contact with a majority of the servers prevent that. If they fail, because of a fault in them or in the servers, fights keeps the session where it is for
// longer each time:
//
//	A claims ── C claims, 10 s later ── A may claim again after 2 s ── C after 2 s ── A after 4 s ── C after 4 s ── ... 60 s
//
// A node counts the claims that it lost itself. So a log and its messages need not say when they were claimed, and clocks of nodes are
// not compared.
type fights struct {
	first time.Duration // the first delay; 0: there is none
	now   func() time.Time

	mu sync.Mutex
	of map[session.Ref]fight
}

// fight is a session that another node took from this one, soon after this one had claimed it.
type fight struct {
	times int // in a row
	last  time.Time
}

// fightTime is how old a claim is that begins no fight, and the longest delay. In a fight, a claim is at least as old as the other node had to wait, so
// it counts for twice as long.
const fightTime = time.Minute

func newFights(first time.Duration) *fights {
	return &fights{first: first, now: time.Now, of: make(map[session.Ref]fight)}
}

// lost records that another node has claimed a session. claimed is when this node had claimed it.
func (f *fights) lost(ref session.Ref, claimed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for other, old := range f.of {
		if now.Sub(old.last) > 3*fightTime { // the longest delay, and the time for which a claim after it counts
			delete(f.of, other)
		}
	}
	before, young := f.of[ref], fightTime
	if before.times > 0 {
		young *= 2
	}
	if now.Sub(claimed) >= young {
		delete(f.of, ref)
		return
	}
	f.of[ref] = fight{before.times + 1, now}
}

// waits reports whether this node must not claim a session from another node yet.
func (f *fights) waits(ref session.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, ok := f.of[ref]
	return ok && f.now().Sub(of.last) < f.delay(of.times)
}

// delay doubles with each time.
func (f *fights) delay(times int) time.Duration {
	d := f.first
	for range min(times, 10) - 1 {
		d *= 2
	}
	return min(d, fightTime)
}
