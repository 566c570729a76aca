package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// budgets keeps what was spent of the limits for all sessions: one value, changed by compare and append. A charge has a name and a position, and is
// taken in once. The value remembers the positions that accounts do not have yet.
type budgets struct {
	api
	names
	mu   sync.Mutex
	done map[string]uint64 // positions that the value need not remember any more
}

// spent is the value.
type spent struct {
	session.Budgets
	Days  map[session.Day]provider.Money `json:"days,omitempty"`
	Taken map[string]uint64              `json:"taken,omitempty"`
}

// The limits of what the value remembers. A charge that comes after keptTaken others may count twice after a crash.
const (
	keptDays  = 40
	keptTaken = 4096
)

func readSpent(m message) (s spent, err error) {
	if len(m.data) > 0 {
		err = json.Unmarshal(m.data, &s)
	}
	if err != nil {
		err = fmt.Errorf("%w: budgets: %w", session.ErrDamaged, err)
	}
	return s, err
}

func (b *budgets) charge(ctx context.Context, name string, pos uint64, charges ...session.Charge) error {
	b.mu.Lock()
	done := maps.Clone(b.done)
	b.mu.Unlock()
	_, err := b.cas(ctx, b.state(), b.all("budgets"), func(old message, _ bool) ([]byte, error) {
		s, err := readSpent(old)
		if err != nil || s.Taken[name] >= pos {
			return nil, err
		}
		if s.Days == nil {
			s.Days, s.Taken = make(map[session.Day]provider.Money), make(map[string]uint64)
		}
		for _, c := range charges {
			s.Budgets = s.Apply(c)
			s.day(c.Line)
		}
		maps.DeleteFunc(s.Taken, func(name string, pos uint64) bool { return pos <= done[name] })
		s.Taken[name] = pos
		s.bound(name)
		return json.Marshal(s)
	})
	if err != nil {
		return fmt.Errorf("budgets: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, pos := range done { // the value has forgotten them
		if b.done[name] == pos {
			delete(b.done, name)
		}
	}
	return nil
}

// day counts what a line cost. Its day stays, also if that is the oldest: a node whose clock is behind reads it again.
func (s *spent) day(l session.Line) {
	cost := l.Usage.Cost
	if cost == nil {
		return
	}
	s.Days[l.Day] += cost.Amount
	if days := slices.Sorted(maps.Keys(s.Days)); len(days) > keptDays {
		delete(s.Days, slices.DeleteFunc(days, func(d session.Day) bool { return d == l.Day })[0])
	}
}

func (s *spent) bound(except string) {
	for name := range s.Taken {
		if len(s.Taken) <= keptTaken {
			return
		}
		if name != except {
			delete(s.Taken, name)
		}
	}
}

// lines adds lines that are no charges.
func (b *budgets) lines(ctx context.Context, name string, lines []session.Line) error {
	_, err := b.cas(ctx, b.state(), b.all("budgets"), func(old message, _ bool) ([]byte, error) {
		s, err := readSpent(old)
		if err != nil || s.Taken[name] > 0 {
			return nil, err
		}
		if s.Days == nil {
			s.Days, s.Taken = make(map[session.Day]provider.Money), make(map[string]uint64)
		}
		for _, l := range lines {
			s.day(l)
		}
		s.Taken[name] = 1
		return json.Marshal(s)
	})
	return err
}

// settled says that a value with that name has everything up to a position.
func (b *budgets) settled(name string, pos uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[name] = pos
	for other := range b.done {
		if len(b.done) <= keptTaken {
			break
		}
		delete(b.done, other)
	}
}

func (b *budgets) read(ctx context.Context, today session.Day) (session.Budgets, error) {
	m, _, err := b.last(ctx, b.state(), b.all("budgets"))
	if err != nil {
		return session.Budgets{}, err
	}
	s, err := readSpent(m)
	s.Day = s.Days[today]
	return s.Budgets, err
}
