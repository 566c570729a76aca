package jet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// sessions are those of one owner.
type sessions struct {
	*Store
	of session.Owner
}

// For returns the sessions of one owner.
func (s *Store) For(owner session.Owner) session.Sessions { return sessions{s, owner} }

func (s sessions) ref(id session.ID) session.Ref { return session.Ref{Owner: s.of, ID: id} }

// place is where a session is, if it is there. An id that is none is not in any subject.
func (s sessions) place(ctx context.Context, id session.ID) (p person, at place, err error) {
	p, ok, err := s.find(ctx, s.of)
	if err == nil && (!ok || session.CheckID(string(id)) != nil) {
		err = notFound(s.ref(id))
	}
	if err != nil {
		return p, at, err
	}
	return p, s.names.place(p, s.ref(id)), nil
}

// Create keeps a new session. The id of a deleted session is ErrExists for days: it would be the late or repeated request that made it.
func (s sessions) Create(ctx context.Context, record session.Session) error {
	p, b, record, err := s.begin(ctx, record)
	if err != nil {
		return err
	}
	return s.create(ctx, p, b, record)
}

// begin is the first body of a session. It has copies of the logs that a fork shares, so nothing outlives its session.
func (s sessions) begin(ctx context.Context, record session.Session) (p person, b body, _ session.Session, err error) {
	if err := s.ready(ctx); err != nil {
		return p, b, record, err
	}
	if record, err = record.Fresh(); err != nil {
		return p, b, record, err
	}
	if err := session.CheckID(string(record.ID)); err != nil {
		return p, b, record, fmt.Errorf("session id %w", err)
	}
	if b.record, err = json.Marshal(record); err != nil {
		return p, b, record, fmt.Errorf("session %s: %w", record.ID, err)
	}
	if p, err = s.owner(ctx, s.of); err != nil {
		return p, b, record, err
	}
	for _, span := range record.Shared {
		values, err := s.raw(ctx, span.Session, 0, int(min(span.Upto, maxShared)))
		if err != nil {
			return p, b, record, fmt.Errorf("session %s: shared session %s: %w", record.ID, span.Session, err)
		}
		b.shared = append(b.shared, shared{span.Session, values})
	}
	return p, b, record, nil
}

// maxShared is how many entries of a log a fork may share.
const maxShared = 1 << 24

func (s sessions) create(ctx context.Context, p person, b body, record session.Session) error {
	at := s.names.place(p, s.ref(record.ID))
	last, there, err := s.lastOf(ctx, at)
	if err == nil && (there || last.Deleted) {
		err = fmt.Errorf("session %s: %w", at.ref, session.ErrExists)
	}
	if err != nil {
		return err
	}
	data, err := b.encode()
	if err != nil {
		return fmt.Errorf("session %s: %w", at.ref, err)
	}
	h := head{Session: record.ID, Prev: beginning(record.ID)}
	if last.seq != 0 { // parts of a try that was not completed
		h.Prev = last.digest()
	}
	own := lease.Log{Tail: last.seq}
	if _, err = s.putParts(ctx, &own, at, last, h, data, &b); errors.Is(err, session.ErrFenced) || errors.Is(err, session.ErrNotFound) {
		err = fmt.Errorf("session %s: %w", at.ref, session.ErrExists)
	}
	if err != nil {
		return err
	}
	a := &account{p: p, ref: at.ref, now: record0(s.of, record)}
	s.accounts.changed(a)
	return s.accounts.flush(ctx, p)
}

// record0 is the account of a new session.
func record0(owner session.Owner, made session.Session) record {
	r := accountOf(owner, made)
	for _, span := range made.Shared {
		r.Shared = append(r.Shared, span.Session)
	}
	return r
}

// CreateOnce is Create for a stamped request. The stamp decides which request is the first, and the session follows: a repetition makes it if
// the first did not come so far.
func (s sessions) CreateOnce(ctx context.Context, record session.Session, made session.Creation) (session.Creation, error) {
	none := session.Creation{}
	if err := s.ready(ctx); err != nil {
		return none, err
	}
	p, err := s.owner(ctx, s.of)
	if err != nil {
		return none, err
	}
	made.Session = record.ID
	value, err := json.Marshal(made)
	if err == nil && len(value) > partSize {
		err = fmt.Errorf("an answer of %d KiB: at most %d can be kept", len(value)>>10, partSize>>10)
	}
	if err != nil {
		return none, fmt.Errorf("session %s: %w", record.ID, err)
	}
	kept, ok, err := s.stamps.creation(ctx, p, made.ID)
	if err != nil {
		return none, err
	}
	if !ok {
		if _, _, _, err := s.begin(ctx, record); err != nil {
			return none, err
		}
		at := s.names.place(p, s.ref(record.ID))
		if last, there, err := s.lastOf(ctx, at); err != nil || there || last.Deleted {
			return none, errors.Join(err, fmt.Errorf("session %s: %w", at.ref, session.ErrExists))
		}
		if kept, _, err = s.stamps.once(ctx, p, made, value); err != nil {
			return none, err
		}
	}
	return kept, s.complete(ctx, p, record, made.Stamp, kept)
}

// complete makes the session of a stamp, unless it was made. One that was deleted has a tombstone, which outlives the stamp.
func (s sessions) complete(ctx context.Context, p person, record session.Session, stamp session.Stamp, kept session.Creation) error {
	last, there, err := s.lastOf(ctx, s.names.place(p, s.ref(kept.Session)))
	if err != nil || there || last.Deleted || stamp.Repeats(kept.Stamp) != nil {
		return err
	}
	record.ID = kept.Session
	_, b, record, err := s.begin(ctx, record)
	if err == nil {
		err = s.create(ctx, p, b, record)
	}
	if errors.Is(err, session.ErrExists) { // in parallel
		return nil
	}
	return err
}

// Creation is what CreateOnce kept.
func (s sessions) Creation(ctx context.Context, stamp string) (made session.Creation, ok bool, err error) {
	p, ok, err := s.find(ctx, s.of)
	if err != nil || !ok {
		return made, false, err
	}
	return s.stamps.creation(ctx, p, stamp)
}

// marks is a value of kindMarks.
type marks struct {
	Owner ownerName      `json:"owner"`
	Read  map[string]int `json:"read"`
}

func (s *Store) marksOf(m message, ok bool) (r marks, err error) {
	if ok {
		if err = json.Unmarshal(m.data, &r); err != nil {
			err = fmt.Errorf("%w: %s: %w", session.ErrDamaged, m.subject, err)
		}
	}
	return r, err
}

// Get is the session's record: what changes is in the last message of its log, and the rest in the first.
func (s sessions) Get(ctx context.Context, id session.ID) (record session.Session, err error) {
	p, at, err := s.place(ctx, id)
	if err != nil {
		return record, err
	}
	last, ok, err := s.lastOf(ctx, at)
	if err == nil && !ok {
		err = notFound(at.ref)
	}
	if err != nil {
		return record, err
	}
	base, err := s.base(ctx, at, last)
	if err != nil {
		return record, err
	}
	now, err := s.whole(ctx, at, base)
	if err != nil {
		return record, err
	}
	first, err := s.first(ctx, at, base)
	if err != nil {
		return record, err
	}
	var fixed session.Session
	if err := errors.Join(json.Unmarshal(now.record, &record), json.Unmarshal(first.record, &fixed)); err != nil {
		return record, damaged(at, "the record: %v", err)
	}
	record.System, record.Tools, record.Rules, record.Shared, record.Instructions = fixed.System, fixed.Tools, fixed.Rules, fixed.Shared, fixed.Instructions
	m, ok, err := s.last(ctx, s.state(), s.value(p, kindMarks, string(id)))
	if err != nil {
		return record, err
	}
	read, err := s.marksOf(m, ok)
	record.Read = read.Read
	return record, err
}

// Owner reads which node the last message of a log names, and its epoch, as [Store.Mine] has it. The node is 0 after a release. It may have given up
// the log since.
func (s *Store) Owner(ctx context.Context, ref session.Ref) (node lease.Node, epoch uint64, err error) {
	p, ok, err := s.find(ctx, ref.Owner)
	if err == nil && (!ok || session.CheckID(string(ref.ID)) != nil) {
		err = notFound(ref)
	}
	if err != nil {
		return 0, 0, err
	}
	last, ok, err := s.lastOf(ctx, s.names.place(p, ref))
	if err == nil && !ok {
		err = notFound(ref)
	}
	return last.Node, last.Epoch, err
}

// MarkRead notes what a principal has read. The log is its owner's, so marks are a value of their own.
func (s sessions) MarkRead(ctx context.Context, id session.ID, principal string, ended int) error {
	p, at, err := s.place(ctx, id)
	if err != nil {
		return err
	}
	if _, ok, err := s.lastOf(ctx, at); err != nil || !ok {
		return errors.Join(err, notFound(at.ref))
	}
	_, err = s.cas(ctx, s.state(), s.value(p, kindMarks, string(id)), func(old message, ok bool) ([]byte, error) {
		r, err := s.marksOf(old, ok)
		record := session.Session{Read: r.Read}
		if err != nil || !record.MarkRead(principal, ended) {
			return nil, err
		}
		return json.Marshal(marks{nameOf(s.of), record.Read})
	})
	return err
}

// Owners lists the owners that have sessions, each once. It reads the accounts of all sessions.
func (s *Store) Owners(ctx context.Context) (list []session.Owner, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.accounts.flushAll(ctx); err != nil {
		return nil, err
	}
	all := make(map[session.Owner]bool)
	err = ledger{s}.every(ctx, kindSession, func(m message) error {
		var r record
		if err := json.Unmarshal(m.data, &r); err != nil {
			return fmt.Errorf("%w: %s: %w", session.ErrDamaged, m.subject, err)
		}
		if !r.Deleted {
			all[r.Owner.owner()] = true
		}
		return nil
	})
	return slices.Collect(maps.Keys(all)), err
}

// List is a page of records, the last changed first.
func (s sessions) List(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	p, ok, err := s.find(ctx, s.of)
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return q.Page(order(nil), nil)
	}
	if err := s.accounts.flush(ctx, p); err != nil {
		return nil, "", err
	}
	err = s.values.view(ctx, p, func(by map[string]message) error {
		var all order
		for _, m := range by {
			if kind, key := kindOf(m.subject); kind == kindSession {
				all = append(all, change{m.seq, session.ID(key)})
			}
		}
		slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.number, b.number) })
		page, next, err = q.Page(all, func(_ uint64, id session.ID) (session.Session, bool, error) {
			r := listedOf(by[s.value(p, kindSession, string(id))], id)
			if r.Deleted {
				return r.Session, false, nil
			}
			m, ok := by[s.value(p, kindMarks, string(id))]
			read, err := s.marksOf(m, ok)
			r.Session.Read = read.Read
			return r.Session, q.Matches(r.Session), err
		})
		return err
	})
	return page, next, err
}

// listedOf is the account of a session. Only those that a page looks at are decoded: a user may have thousands.
func listedOf(m message, id session.ID) (r record) {
	if json.Unmarshal(m.data, &r) != nil {
		return record{Session: session.Session{ID: id, Status: session.Damaged}}
	}
	return r
}

// order has sessions by the numbers of their last changes, which are the sequences of their accounts.
type order []change

type change struct {
	number uint64
	id     session.ID
}

func (o order) Below(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		for _, c := range slices.Backward(o) {
			if c.number < n && !yield(c.number, c.id) {
				return
			}
		}
	}
}

func (o order) Above(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		for _, c := range o {
			if c.number > n && !yield(c.number, c.id) {
				return
			}
		}
	}
}

// Entries reads the log after a position.
func (s sessions) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	values, err := s.raw(ctx, id, after, limit)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	entries, err := session.DecodeEntries(values)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w: position %d: %w", s.ref(id), session.ErrDamaged, after+uint64(len(entries))+1, err)
	}
	return entries, nil
}

// raw is entries as the log keeps them. The log of a deleted session is read from the copy of a fork.
func (s sessions) raw(ctx context.Context, id session.ID, after uint64, limit int) ([][]byte, error) {
	p, at, err := s.place(ctx, id)
	if err != nil {
		return nil, err
	}
	last, ok, err := s.lastOf(ctx, at)
	if err != nil {
		return nil, err
	}
	if ok {
		return s.driver.values(ctx, at, last, after, limit)
	}
	copied, err := s.copyOf(ctx, p, id)
	if err != nil {
		return nil, err
	}
	from := min(after, uint64(len(copied)))
	return copied[from : from+min(uint64(max(limit, 0)), uint64(len(copied))-from)], nil
}

// copyOf is the longest copy that forks have of a log.
func (s sessions) copyOf(ctx context.Context, p person, id session.ID) (longest [][]byte, err error) {
	var forks []session.ID
	err = s.values.view(ctx, p, func(by map[string]message) error {
		for _, m := range by {
			var r record
			if kind, _ := kindOf(m.subject); kind == kindSession && json.Unmarshal(m.data, &r) == nil && !r.Deleted && slices.Contains(r.Shared, id) {
				forks = append(forks, r.Session.ID)
			}
		}
		return nil
	})
	if err == nil && len(forks) == 0 {
		err = notFound(s.ref(id))
	}
	for _, fork := range forks {
		at := s.names.place(p, s.ref(fork))
		last, ok, err := s.lastOf(ctx, at)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		first, err := s.first(ctx, at, last)
		if err != nil {
			return nil, err
		}
		for _, sh := range first.shared {
			if sh.id == id && len(sh.entries) > len(longest) {
				longest = sh.entries
			}
		}
	}
	return longest, err
}
