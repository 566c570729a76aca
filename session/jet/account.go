package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// An account is what lists and the ledger have of a session. The log has the truth: an account is written some time after the log, and the next
// owner brings it up to date if its writer ended before. So an append is one message, and not three.
//
// Before this process lists sessions or reads the ledger, it writes all accounts of that owner. So it sees its own changes.

// entry of an owner's values, of kindSession.
type record struct {
	Epoch   uint64          `json:"epoch"`
	Pos     uint64          `json:"pos"` // of the log, up to which this was made
	Turn    session.TurnID  `json:"turn,omitempty"`
	Owner   ownerName       `json:"owner"`
	Session session.Session `json:"session"` // as it changes
	Shared  []session.ID    `json:"shared,omitempty"`
	Lines   []usedLine      `json:"lines,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
}

// ownerName has names with any bytes.
type ownerName struct {
	Tenant []byte `json:"tenant,omitempty"`
	User   []byte `json:"user,omitempty"`
}

func nameOf(o session.Owner) ownerName { return ownerName{[]byte(o.Tenant), []byte(o.User)} }

func (n ownerName) owner() session.Owner {
	return session.Owner{Tenant: string(n.Tenant), User: string(n.User)}
}

// usedLine is a session.Line with all its members.
type usedLine struct {
	Day     session.Day     `json:"day"`
	Session session.ID      `json:"session_id,omitempty"`
	Account session.Account `json:"account"`
	session.Line
}

func lineOf(l session.Line) usedLine { return usedLine{l.Day, l.Ref.ID, l.Account, l} }

func (l usedLine) line(owner session.Owner) session.Line {
	out := l.Line
	out.Day, out.Ref, out.Account = l.Day, session.Ref{Owner: owner, ID: l.Session}, l.Account
	return out
}

// accountOf is the account of a new session.
func accountOf(owner session.Owner, made session.Session) record {
	return record{Owner: nameOf(owner), Session: made.Changing()}
}

// add adds what was used.
func (r *record) add(l session.Line) {
	for i, have := range r.Lines {
		if have.Day == l.Day && have.Account == l.Account {
			have.Calls, have.Usage, have.Missed = have.Calls+l.Calls, have.Usage.Add(l.Usage), have.Missed.Add(l.Missed)
			r.Lines[i] = have
			return
		}
	}
	r.Lines = append(r.Lines, lineOf(l))
}

// apply takes in the entries of an append. pos is the position of the last.
func (r *record) apply(owner session.Owner, pos uint64, entries []session.Entry) (charges []session.Charge) {
	for _, e := range entries {
		if c, ok := r.Session.Charge(owner, e); ok {
			if charges = append(charges, c); c.Calls > 0 {
				r.add(c.Line)
			}
		}
		r.Turn = r.Session.Project(e, r.Turn)
	}
	r.Pos = pos
	return charges
}

// account is one that this process writes.
type account struct {
	p   person
	ref session.Ref

	mu      sync.Mutex
	seq     uint64 // of the value that is stored; 0: none
	now     record
	charges []charged // that the budgets lack
}

// charged is what one append has to charge.
type charged struct {
	pos     uint64
	charges []session.Charge
}

// ledgerKey names a session among those of all owners.
func (a *account) key() string { return a.p.String() + "." + string(a.ref.ID) }

// accounts writes accounts.
type accounts struct {
	api
	names
	budgets *budgets
	values  *values
	mu      sync.Mutex
	waiting map[person]*queue
	wake    chan struct{} // has one element if something waits
	soon    chan struct{} // has one element if it is not to wait any longer
}

// queue is the accounts of an owner that are to be written, the first change first. The gate is for the one who writes. The rest is under the lock
// of accounts.
type queue struct {
	gate
	list  []*account
	users int // who wait for the gate, or have it
}

// changed has an account written soon, behind all that changed before.
func (s *accounts) changed(a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.waiting[a.p]
	if q == nil {
		q = &queue{gate: newGate()}
		s.waiting[a.p] = q
	}
	q.list = append(slices.DeleteFunc(q.list, func(b *account) bool { return a == b }), a)
	s.again()
}

// now has what waits written.
func (s *accounts) now() {
	select {
	case s.soon <- struct{}{}:
	default:
	}
}

// flush writes the accounts of an owner that wait, and waits for those that are being written.
func (s *accounts) flush(ctx context.Context, p person) error {
	s.mu.Lock()
	q := s.waiting[p]
	if q == nil {
		s.mu.Unlock()
		return context.Cause(ctx)
	}
	q.users++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.users--; q.users == 0 && len(q.list) == 0 {
			delete(s.waiting, p)
		}
	}()
	if err := q.lock(ctx); err != nil {
		return err
	}
	defer q.unlock()
	for {
		a := s.pop(q)
		if a == nil {
			return nil
		}
		if err := s.write(ctx, a); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !slices.Contains(q.list, a) {
				q.list = append([]*account{a}, q.list...)
			}
			return err
		}
	}
}

func (s *accounts) pop(q *queue) (first *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(q.list) > 0 {
		first, q.list = q.list[0], q.list[1:]
	}
	return first
}

// flushAll is flush for all owners.
func (s *accounts) flushAll(ctx context.Context) (err error) {
	s.mu.Lock()
	owners := slices.Collect(maps.Keys(s.waiting))
	s.mu.Unlock()
	for _, p := range owners {
		err = errors.Join(err, s.flush(ctx, p))
	}
	return err
}

// write brings the budgets up to date, and then the account: in this order, so that a charge cannot be missed, and the budgets know of each position
// that the account lacks.
func (s *accounts) write(ctx context.Context, a *account) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.charges) > 0 {
		if err := s.budgets.charge(ctx, a.key(), a.charges[0].pos, a.charges[0].charges...); err != nil {
			return err
		}
		a.charges = a.charges[1:]
	}
	newer := false
	m, err := s.cas(ctx, s.state(), s.value(a.p, kindSession, string(a.ref.ID)), func(old message, ok bool) ([]byte, error) {
		if ok && old.seq != a.seq {
			var have record
			if err := json.Unmarshal(old.data, &have); err != nil {
				return nil, fmt.Errorf("%w: account of %s: %w", session.ErrDamaged, a.ref, err)
			}
			if newer = have.Deleted || have.Epoch > a.now.Epoch || have.Epoch == a.now.Epoch && have.Pos >= a.now.Pos; newer {
				return nil, nil // of a later owner, or this one, without an acknowledgement
			}
		}
		return json.Marshal(a.now)
	})
	if err != nil {
		return err
	}
	a.seq = m.seq
	s.values.atLeast(a.p, m.seq)
	s.budgets.settled(a.key(), a.now.Pos)
	return nil
}

// again has what waits written another time.
func (s *accounts) again() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// load reads the account of a session at the leader. Without one it is as after the session was made.
func (s *accounts) load(ctx context.Context, p person, ref session.Ref) (a *account, ok bool, err error) {
	m, ok, err := s.last(ctx, s.state(), s.value(p, kindSession, string(ref.ID)))
	if err != nil {
		return nil, false, err
	}
	a = &account{p: p, ref: ref}
	if ok {
		a.seq = m.seq
		if err := json.Unmarshal(m.data, &a.now); err != nil {
			return nil, false, fmt.Errorf("%w: account of %s: %w", session.ErrDamaged, ref, err)
		}
	}
	a.now.Owner = nameOf(ref.Owner)
	return a, ok, nil
}
