package park

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Place is a parked turn.
type Place struct {
	Ref        session.Ref
	Turn       session.TurnID
	Why        session.ParkReason
	Credential string // of its calls; empty: it makes none when it resumes
	Until      int64  // Unix milliseconds; 0: not known
	Ends       int64  // Unix milliseconds: then the turn ends; 0: never
	Alone      bool   // it resumes automatically
	Restored   bool   // it was parked by an earlier process
}

// New is the place of a turn that is parked. limit is how long a turn may be parked because a call failed.
func New(ref session.Ref, t *session.Turn, limit time.Duration) Place {
	p := t.Parked
	place := Place{Ref: ref, Turn: t.ID, Why: p.Why, Until: p.Until, Ends: t.Prompt.Deadline, Alone: p.Resumes == session.ResumesAlone}
	if p.Why == session.ParkedQuota || p.Why == session.ParkedOutage {
		place.Credential = t.Now().Model.Provider
		if p.Payer != nil {
			place.Credential += "\x00" + p.Payer.Account
		}
		if end := p.Since + limit.Milliseconds(); limit > 0 && (place.Ends == 0 || end < place.Ends) {
			place.Ends = end
		}
	}
	return place
}

// Restored is New for a turn that an earlier process has parked.
func Restored(ref session.Ref, t *session.Turn, limit time.Duration) Place {
	place := New(ref, t, limit)
	place.Restored = true
	place.Alone = place.Alone && place.Credential != "" && limit > 0 && !t.Parked.Restarted
	return place
}

// Yard has the parked turns of all sessions, and those that resumed and have no answer yet.
type Yard struct {
	changed chan struct{} // a token: see Changed
	jitter  func(most time.Duration) time.Duration

	mu        sync.Mutex
	waits     map[session.Ref]*wait
	gates     map[string]*gate // by credential
	postponed map[session.Ref]bool
}

// wait is a turn that is parked, or that resumed.
type wait struct {
	Place
	going bool  // it resumed, or was asked to: see Due
	own   int64 // Until by its own refusal, in Unix milliseconds: see postpone
}

// gate is what is known of a credential.
type gate struct {
	probe session.Ref // the turn whose answer the others wait for; zero: none
	open  int         // how many may resume in the next look; 0: one, as a probe
	last  int64       // Unix milliseconds: when the last one resumed, or the first look after it was accepted; 0: before that
}

// openTime is how long an accepted call says that the next ones are accepted too.
const openTime = time.Minute

// NewYard is an empty yard. jitter is a random time from 0 to most, excluded; it must be safe for concurrent use.
func NewYard(jitter func(most time.Duration) time.Duration) *Yard {
	return &Yard{changed: make(chan struct{}, 1), jitter: jitter, waits: make(map[session.Ref]*wait), gates: make(map[string]*gate), postponed: make(map[session.Ref]bool)}
}

// Changed has a token when a turn was put into the yard.
func (y *Yard) Changed() <-chan struct{} { return y.changed }

// Failed is how a turn is parked after a call that failed. before is how it was parked after the failure before, if no call was
// accepted since; nil: this is the first failure. ok is false if the turn ends instead: the error does not pass, or the vendor's time
// is more than limit after the first failure.
func (y *Yard) Failed(e *provider.Error, before *session.TurnParked, limit time.Duration, now time.Time) (p session.TurnParked, ok bool) {
	return failed(e, before, limit, now, y.jitter)
}

// Put adds a turn that was parked just now. If it had resumed before, its call was refused: the others of its credential wait as long.
func (y *Yard) Put(p Place) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.free(p.Ref)
	y.waits[p.Ref] = &wait{Place: p, own: p.Until}
	y.postpone(p)
	y.notify()
}

// Restore adds a turn of an earlier process, unless the yard has one of its session.
func (y *Yard) Restore(p Place) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.waits[p.Ref] == nil {
		y.waits[p.Ref] = &wait{Place: p, own: p.Until}
		y.notify()
	}
}

// Leave removes the turn of a session: it ended, or waits for something else.
func (y *Yard) Leave(ref session.Ref) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.free(ref)
	delete(y.waits, ref)
	delete(y.postponed, ref)
}

// Abandon removes the turn of a session if it resumed: its agent ended before there was an answer.
func (y *Yard) Abandon(ref session.Ref) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if w := y.waits[ref]; w != nil && w.going {
		y.free(ref)
		delete(y.waits, ref)
	}
}

// Resume notes that somebody resumes a turn. If no other turn of its credential runs, it is the probe.
func (y *Yard) Resume(ref session.Ref) {
	y.mu.Lock()
	defer y.mu.Unlock()
	w := y.waits[ref]
	if w == nil {
		return
	}
	w.going = true
	if g := y.gates[w.Credential]; w.Credential != "" && (g == nil || g.open == 0 && g.probe == session.Ref{}) {
		y.gates[w.Credential] = &gate{probe: ref}
	}
}

// Answered says that the vendor has accepted a call of a turn that resumed.
func (y *Yard) Answered(ref session.Ref) {
	y.mu.Lock()
	defer y.mu.Unlock()
	w := y.waits[ref]
	if w == nil || !w.going {
		return
	}
	delete(y.waits, ref)
	if w.Credential == "" || !y.waiting(w.Credential) {
		delete(y.gates, w.Credential)
		return
	}
	if g := y.gates[w.Credential]; g == nil || g.open == 0 {
		y.gates[w.Credential] = &gate{open: 1}
	}
	for other, o := range y.waits {
		if o.Credential == w.Credential && o.Until > o.own {
			o.Until = o.own
			y.postponed[other] = true
		}
	}
}

// Delay puts a turn back that Due returned, and that could not resume.
func (y *Yard) Delay(ref session.Ref, until time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if w := y.waits[ref]; w != nil {
		y.free(ref)
		w.going, w.Until = false, until.UnixMilli()
		w.own = w.Until
		if w.Ends != 0 {
			w.Ends = max(w.Ends, w.Until)
		}
	}
}

// At is the turn of a session that is parked. It is not ok if none is.
func (y *Yard) At(ref session.Ref) (p Place, ok bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if w := y.waits[ref]; w != nil {
		return w.Place, true
	}
	return p, false
}

// Timed counts the turns that resume or end by time.
func (y *Yard) Timed() (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, w := range y.waits {
		if w.Alone && w.Until != 0 || w.Ends != 0 {
			n++
		}
	}
	return n
}

// Due lists the turns that resume or end now, and those whose time has changed since the last look. The caller resumes the first ones,
// or calls Delay. It calls Due about once a second while Timed is not 0.
func (y *Yard) Due(now time.Time) (due, postponed []Place) {
	y.mu.Lock()
	defer y.mu.Unlock()
	at := now.UnixMilli()
	for _, g := range y.gates {
		if g.open > 0 && g.last == 0 { // accepted since the last look
			g.last = at
		}
	}
	var ready []*wait
	for ref, w := range y.waits {
		switch {
		case w.going:
		case w.Ends != 0 && at >= w.Ends:
			w.going = true
			due = append(due, w.Place)
		case w.Alone && w.Until != 0 && at >= w.Until:
			ready = append(ready, w)
		case y.postponed[ref]:
			postponed = append(postponed, w.Place)
		}
	}
	clear(y.postponed)
	slices.SortFunc(ready, func(a, b *wait) int { return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Turn, b.Turn)) })
	gone := make(map[string]int)
	for _, w := range ready {
		if y.pass(w, gone, at) {
			w.going = true
			due = append(due, w.Place)
		}
	}
	for credential, n := range gone {
		if g := y.gates[credential]; g.open > 0 && n == g.open {
			g.open *= 2
		}
	}
	return due, postponed
}

// pass reports whether a turn may resume now. gone counts those of each credential in this look.
func (y *Yard) pass(w *wait, gone map[string]int, at int64) bool {
	if w.Credential == "" {
		return true
	}
	g := y.gates[w.Credential]
	if g == nil {
		g = new(gate)
		y.gates[w.Credential] = g
	}
	if at-g.last > openTime.Milliseconds() {
		g.open = 0
	}
	switch {
	case g.probe != session.Ref{}, g.open > 0 && gone[w.Credential] == g.open:
		return false
	case g.open == 0:
		g.probe = w.Ref
	}
	gone[w.Credential]++
	g.last = at
	return true
}

// free releases the credential of a turn. The next one is a probe again.
func (y *Yard) free(ref session.Ref) {
	for credential, g := range y.gates {
		if g.probe == ref {
			delete(y.gates, credential)
		}
	}
}

// postpone makes the others of a credential wait as long as one that was refused. An accepted call ends that.
func (y *Yard) postpone(p Place) {
	if p.Credential == "" {
		return
	}
	if g := y.gates[p.Credential]; g != nil && g.probe == (session.Ref{}) {
		delete(y.gates, p.Credential) // it accepted calls before, and does not now
	}
	for ref, w := range y.waits {
		if w.Credential != p.Credential || w.going || ref == p.Ref || p.Until == 0 || w.Until == 0 || w.Until >= p.Until {
			continue
		}
		later := y.jitter(spread(time.Duration(p.Until-w.Until) * time.Millisecond))
		w.Until = p.Until + later.Milliseconds()
		y.postponed[ref] = true
	}
}

func (y *Yard) waiting(credential string) bool {
	for _, w := range y.waits {
		if w.Credential == credential {
			return true
		}
	}
	return false
}

func (y *Yard) notify() {
	select {
	case y.changed <- struct{}{}:
	default:
	}
}
