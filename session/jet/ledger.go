package jet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// ledger is the [session.Ledger] of a store. What calls of turns used is in the accounts of their sessions. A call that no log has is a value of its
// own, which says first what is reserved and then what was used.
type ledger struct{ *Store }

// Ledger is what model calls used.
func (s *Store) Ledger() session.Ledger { return ledger{s} }

// held is a value of kindHold.
type held struct {
	Owner   ownerName        `json:"owner"`
	Session session.ID       `json:"session_id"`
	ID      []byte           `json:"id"`
	Node    lease.Node       `json:"node,omitempty"` // that makes the call; 0: an older build wrote it
	Hold    session.Reserved `json:"reserved"`
	Settled bool             `json:"settled,omitempty"`
	Line    *usedLine        `json:"line,omitempty"`
}

func readHold(m message) (h held, err error) {
	if err = json.Unmarshal(m.data, &h); err != nil {
		err = fmt.Errorf("%w: %s: %w", session.ErrDamaged, m.subject, err)
	}
	return h, err
}

func (h held) hold() session.Hold {
	return session.Hold{Ref: session.Ref{Owner: h.Owner.owner(), ID: h.Session}, ID: string(h.ID), Reserved: h.Hold}
}

// imported is a value of kindImported.
type imported struct {
	Owner ownerName  `json:"owner"`
	Lines []usedLine `json:"lines"`
}

func holdKey(ref session.Ref, id string) string { return hashed(string(ref.ID), id) }

// Hold keeps a reservation.
func (l ledger) Hold(ctx context.Context, ref session.Ref, id string, r session.Reserved) error {
	p, err := l.owner(ctx, ref.Owner)
	if err != nil {
		return err
	}
	key := holdKey(ref, id)
	if r.Budgets != nil {
		if err := l.accounts.flush(ctx, p); err != nil { // in the order of what people did
			return err
		}
		charge := session.Charge{Line: session.Line{Day: r.Day, Ref: ref}, Budgets: r.Budgets}
		if err := l.budgets.charge(ctx, "hold."+p.String()+"."+key, 1, charge); err != nil {
			return err
		}
	}
	_, err = l.cas(ctx, l.state(), l.value(p, kindHold, key), func(message, bool) ([]byte, error) {
		return json.Marshal(held{Owner: nameOf(ref.Owner), Session: ref.ID, ID: []byte(id), Node: l.node, Hold: r})
	})
	l.budgets.settled("hold."+p.String()+"."+key, 1)
	return err
}

// Settle ends a reservation.
func (l ledger) Settle(ctx context.Context, ref session.Ref, id string, used provider.Usage, missed session.Missed) error {
	p, ok, err := l.find(ctx, ref.Owner)
	if err != nil || !ok {
		return err
	}
	key := holdKey(ref, id)
	name := "settle." + p.String() + "." + key
	m, err := l.cas(ctx, l.state(), l.value(p, kindHold, key), func(old message, ok bool) ([]byte, error) {
		var h held
		if ok {
			if err := json.Unmarshal(old.data, &h); err != nil {
				return nil, fmt.Errorf("%w: reservation %s: %w", session.ErrDamaged, key, err)
			}
		}
		if !ok || h.Settled {
			return nil, nil
		}
		h.Settled = true
		if !used.Unused() {
			line := h.Hold.Line(ref, used)
			line.Missed = missed
			if err := l.budgets.charge(ctx, name, 1, session.Charge{Line: line}); err != nil {
				return nil, err
			}
			kept := lineOf(line)
			h.Line = &kept
		}
		return json.Marshal(h)
	})
	if err == nil {
		l.values.atLeast(p, m.seq)
		l.budgets.settled(name, 1)
	}
	return err
}

// every calls f with the values of all owners that have a kind, in no order.
func (l ledger) every(ctx context.Context, kind string, f func(message) error) error {
	filter := fmt.Sprintf("%s.state.*.*.*.*.%s.*", l.prefix, kind)
	last, ok, err := l.last(ctx, l.state(), filter)
	if err != nil || !ok {
		return err
	}
	return l.forward(ctx, l.state(), filter, 1, last.seq, f)
}

// Holds lists the reservations.
func (l ledger) Holds(ctx context.Context) (list []session.Hold, err error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	err = l.every(ctx, kindHold, func(m message) error {
		h, err := readHold(m)
		if err == nil && !h.Settled {
			list = append(list, h.hold())
		}
		return err
	})
	return list, err
}

// Import adds lines of an older build, once for each name.
func (l ledger) Import(ctx context.Context, name string, lines ...session.Line) error {
	if err := l.ready(ctx); err != nil {
		return err
	}
	by := make(map[session.Owner]*imported)
	for _, line := range lines {
		if by[line.Ref.Owner] == nil {
			by[line.Ref.Owner] = &imported{Owner: nameOf(line.Ref.Owner)}
		}
		of := by[line.Ref.Owner]
		of.Lines = append(of.Lines, lineOf(line))
	}
	if err := l.budgets.lines(ctx, "import."+hashed(name), lines); err != nil {
		return err
	}
	for owner, value := range by {
		p, err := l.owner(ctx, owner)
		if err != nil {
			return err
		}
		if _, err = l.cas(ctx, l.state(), l.value(p, kindImported, hashed(name)), func(_ message, ok bool) ([]byte, error) {
			if ok {
				return nil, nil
			}
			return json.Marshal(value)
		}); err != nil {
			return err
		}
	}
	return nil
}

// linesOf are the lines of a value, and the session if it is its account.
func linesOf(m message) (lines []session.Line, err error) {
	var owner ownerName
	var used []usedLine
	switch kind, key := kindOf(m.subject); kind {
	case kindSession:
		var r record
		err = json.Unmarshal(m.data, &r)
		if owner, used = r.Owner, r.Lines; len(used) > 0 {
			used = slices.Clone(used)
			for i := range used {
				used[i].Session = session.ID(key)
			}
		}
	case kindHold:
		var h held
		if err = json.Unmarshal(m.data, &h); h.Line != nil {
			owner, used = h.Owner, []usedLine{*h.Line}
		}
	case kindImported:
		var i imported
		err = json.Unmarshal(m.data, &i)
		owner, used = i.Owner, i.Lines
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", session.ErrDamaged, m.subject, err)
	}
	for _, u := range used {
		lines = append(lines, u.line(owner.owner()))
	}
	return lines, nil
}

// lineKey is which line something belongs to.
type lineKey struct {
	day session.Day
	ref session.Ref
	session.Account
}

// dayPrefix is what each value has in it that has lines of these days. A node of a cluster reads the lines of a user's month again and again, and to decode
// the accounts of all sessions of other months took longer than all else.
func dayPrefix(from, to session.Day) []byte {
	n := 0
	for n < min(len(from), len(to)) && from[n] == to[n] {
		n++
	}
	return []byte(`"day":"` + string(from[:n]))
}

// Lines lists what was used.
func (l ledger) Lines(ctx context.Context, owner *session.Owner, from, to session.Day) (list []session.Line, err error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	sums := make(map[lineKey]session.Line)
	some := dayPrefix(from, to)
	take := func(m message) error {
		if !bytes.Contains(m.data, some) {
			return nil
		}
		lines, err := linesOf(m)
		for _, line := range lines {
			if key := (lineKey{line.Day, line.Ref, line.Account}); from <= line.Day && line.Day <= to {
				if sum, ok := sums[key]; ok {
					line.Calls, line.Usage, line.Missed = sum.Calls+line.Calls, sum.Usage.Add(line.Usage), sum.Missed.Add(line.Missed)
				}
				sums[key] = line
			}
		}
		return err
	}
	if owner == nil {
		if err := l.accounts.flushAll(ctx); err != nil {
			return nil, err
		}
		for _, kind := range []string{kindSession, kindHold, kindImported} {
			if err := l.every(ctx, kind, take); err != nil {
				return nil, err
			}
		}
	} else if err := l.each(ctx, *owner, take); err != nil {
		return nil, err
	}
	list = slices.AppendSeq(list, maps.Values(sums))
	slices.SortFunc(list, session.Line.Compare)
	return list, nil
}

// each calls f with the values of one owner.
func (l ledger) each(ctx context.Context, owner session.Owner, f func(message) error) error {
	p, ok, err := l.find(ctx, owner)
	if err != nil || !ok {
		return err
	}
	if err := l.accounts.flush(ctx, p); err != nil {
		return err
	}
	return l.values.view(ctx, p, func(by map[string]message) (err error) {
		for _, m := range by {
			err = errors.Join(err, f(m))
		}
		return err
	})
}

// mentions reports whether a value may have lines of a session. Each load of a session asks for its total, and most values of an owner are accounts of
// other sessions: to decode 10,000 of them took longer than all else.
func mentions(m message, id session.ID) bool {
	switch kind, key := kindOf(m.subject); kind {
	case kindSession:
		return session.ID(key) == id
	case kindHold, kindImported:
		return bytes.Contains(m.data, []byte(id)) // no character of an id is escaped in JSON
	}
	return false
}

// Total is what a session has used.
func (l ledger) Total(ctx context.Context, ref session.Ref) (u provider.Usage, err error) {
	if err := l.ready(ctx); err != nil {
		return u, err
	}
	there := false
	err = l.each(ctx, ref.Owner, func(m message) error {
		if !mentions(m, ref.ID) {
			return nil
		}
		if kind, _ := kindOf(m.subject); kind == kindSession {
			var r record
			if err := json.Unmarshal(m.data, &r); err != nil {
				return fmt.Errorf("%w: account of %s: %w", session.ErrDamaged, ref, err)
			}
			there = !r.Deleted
		}
		lines, err := linesOf(m)
		for _, line := range lines {
			if line.Ref == ref {
				u = u.Add(line.Usage)
			}
		}
		return err
	})
	if !there {
		u = provider.Usage{}
	}
	return u, err
}

// Budgets is what counts for the limits of all sessions.
func (l ledger) Budgets(ctx context.Context, today session.Day) (found session.Budgets, err error) {
	if err := l.ready(ctx); err != nil {
		return found, err
	}
	if err := l.accounts.flushAll(ctx); err != nil {
		return found, err
	}
	return l.budgets.read(ctx, today)
}
