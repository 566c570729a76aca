package mem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Store is a [session.Store] in memory. New makes one.
type Store struct {
	mu       sync.Mutex
	sessions map[session.Ref]*row
	gone     map[session.Ref]*row // deleted, and kept for the forks that share their logs
	made     map[session.Owner]*stamps
	changes  uint64 // how many there were
	closed   bool
	claims   session.Claims
	books    books
}

// sessions are those of one owner.
type sessions struct {
	*Store
	owner session.Owner
}

// row is a stored session.
type row struct {
	record  []byte           // JSON of a Session
	last    *session.Session // the record, if an Append wrote it last: only the next Append uses it, which so decodes nothing
	change  uint64           // number of the last one
	shared  []session.Span   // of the record
	log     [][]byte
	running session.TurnID
	growth  []session.Growth
}

// stamps are those of one owner.
type stamps struct {
	made  map[string][]byte // JSON of a Creation, by the id of its stamp
	order []string          // the same ids, the oldest first
}

// New makes an empty store.
func New() *Store {
	return &Store{sessions: make(map[session.Ref]*row), gone: make(map[session.Ref]*row), made: make(map[session.Owner]*stamps),
		books: books{lines: make(map[entryOf]*session.Line), totals: make(map[session.Ref]provider.Usage)}}
}

// For returns the sessions of one owner.
func (m *Store) For(owner session.Owner) session.Sessions { return sessions{m, owner} }

func (m sessions) ref(id session.ID) session.Ref { return session.Ref{Owner: m.owner, ID: id} }

// with runs f under the lock, with the session if ref names one.
func (m *Store) with(ctx context.Context, ref session.Ref, f func(*row) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return session.ErrClosed
	}
	s := m.sessions[ref]
	if s == nil {
		return fmt.Errorf("session %s: %w", ref, session.ErrNotFound)
	}
	if err := f(s); err != nil {
		return fmt.Errorf("session %s: %w", ref, err)
	}
	return nil
}

// Create keeps a new session.
func (m sessions) Create(ctx context.Context, s session.Session) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.createLocked(s)
}

func (m sessions) createLocked(s session.Session) error {
	s, err := s.Fresh()
	if err != nil {
		return err
	}
	record, err := json.Marshal(s)
	switch {
	case m.closed:
		return session.ErrClosed
	case err == nil && m.sessions[m.ref(s.ID)] != nil:
		err = session.ErrExists
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", s.ID, err)
	}
	for _, span := range s.Shared {
		if m.loggedLocked(m.ref(span.Session)) == nil {
			return fmt.Errorf("session %s: shared session %s: %w", s.ID, span.Session, session.ErrNotFound)
		}
	}
	m.changes++
	m.sessions[m.ref(s.ID)] = &row{record: record, change: m.changes, shared: s.Shared}
	return nil
}

// CreateOnce is Create for a stamped request.
func (m sessions) CreateOnce(ctx context.Context, s session.Session, made session.Creation) (first session.Creation, err error) {
	if err := context.Cause(ctx); err != nil {
		return session.Creation{}, err
	}
	made.Session = s.ID
	value, err := json.Marshal(made)
	if err != nil {
		return session.Creation{}, fmt.Errorf("session %s: %w", s.ID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first, ok, err := m.creationLocked(made.ID); ok || err != nil {
		return first, err
	}
	if err := m.createLocked(s); err != nil {
		return session.Creation{}, err
	}
	ours := m.made[m.owner]
	if ours == nil {
		ours = &stamps{made: make(map[string][]byte)}
		m.made[m.owner] = ours
	}
	if len(ours.order) == session.MaxStamps {
		delete(ours.made, ours.order[0])
		ours.order = ours.order[1:]
	}
	ours.made[made.ID], ours.order = value, append(ours.order, made.ID)
	return made, nil
}

// Creation is what CreateOnce kept.
func (m sessions) Creation(ctx context.Context, stamp string) (made session.Creation, ok bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return session.Creation{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.creationLocked(stamp)
}

func (m sessions) creationLocked(stamp string) (made session.Creation, ok bool, err error) {
	if m.closed {
		return session.Creation{}, false, session.ErrClosed
	}
	ours := m.made[m.owner]
	if ours == nil {
		return session.Creation{}, false, nil
	}
	value, ok := ours.made[stamp]
	if ok {
		err = json.Unmarshal(value, &made)
	}
	return made, ok, err
}

// Get is the session's record.
func (m sessions) Get(ctx context.Context, id session.ID) (s session.Session, err error) {
	err = m.with(ctx, m.ref(id), func(kept *row) error {
		return json.Unmarshal(kept.record, &s)
	})
	return s, err
}

// List is a page of records, the last changed first.
func (m sessions) List(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, "", session.ErrClosed
	}
	sessions := make(order)
	for ref, kept := range m.sessions {
		if ref.Owner == m.owner {
			sessions[kept.change] = ref.ID
		}
	}
	return q.Page(sessions, func(_ uint64, id session.ID) (s session.Session, ok bool, err error) {
		err = json.Unmarshal(m.sessions[m.ref(id)].record, &s)
		s = s.Changing()
		return s, q.Matches(s), err
	})
}

// order has sessions by the numbers of their last changes.
type order map[uint64]session.ID

func (o order) Below(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		for _, change := range slices.Backward(slices.Sorted(maps.Keys(o))) {
			if change < n && !yield(change, o[change]) {
				return
			}
		}
	}
}

func (o order) Above(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		for _, change := range slices.Sorted(maps.Keys(o)) {
			if change > n && !yield(change, o[change]) {
				return
			}
		}
	}
}

// MarkRead notes what a principal has read.
func (m sessions) MarkRead(ctx context.Context, id session.ID, principal string, ended int) error {
	return m.with(ctx, m.ref(id), func(kept *row) error {
		var s session.Session
		if err := json.Unmarshal(kept.record, &s); err != nil {
			return err
		}
		if !s.MarkRead(principal, ended) {
			return nil
		}
		record, err := json.Marshal(s)
		if err == nil {
			kept.record, kept.last = record, nil
		}
		return err
	})
}

// OpenTurns lists the sessions with a turn that has started and not ended.
func (m *Store) OpenTurns(ctx context.Context) (open []session.Ref, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, session.ErrClosed
	}
	for ref, s := range m.sessions {
		if s.running != "" {
			open = append(open, ref)
		}
	}
	slices.SortFunc(open, session.Ref.Compare)
	return open, nil
}

// Owners lists the owners that have sessions.
func (m *Store) Owners(ctx context.Context) (owners []session.Owner, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, session.ErrClosed
	}
	for ref := range m.sessions {
		if !slices.Contains(owners, ref.Owner) {
			owners = append(owners, ref.Owner)
		}
	}
	return owners, nil
}

// Delete removes a session.
func (m sessions) Delete(ctx context.Context, id session.ID) error {
	ref := m.ref(id)
	err := m.with(ctx, ref, func(s *row) error {
		delete(m.sessions, ref)
		delete(m.books.totals, ref)
		m.claims.Forget(ref)
		if m.sharedLocked(ref) {
			m.gone[ref] = s
		}
		for _, span := range s.shared {
			if of := m.ref(span.Session); !m.sharedLocked(of) {
				delete(m.gone, of)
			}
		}
		return nil
	})
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	return err
}

// Forget removes all data of an owner except sessions.
func (m *Store) Forget(ctx context.Context, owner session.Owner) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return session.ErrClosed
	}
	for ref := range m.sessions {
		if ref.Owner == owner {
			return session.ErrOwner
		}
	}
	if owner == session.Operator {
		return session.ErrOwner
	}
	delete(m.made, owner)
	m.books.forget(owner)
	return nil
}

// loggedLocked is a session that is there, or is deleted and shared; nil if it is neither.
func (m *Store) loggedLocked(ref session.Ref) *row {
	if s := m.sessions[ref]; s != nil {
		return s
	}
	return m.gone[ref]
}

// sharedLocked reports whether forks need the log of a session.
func (m *Store) sharedLocked(of session.Ref) bool {
	for ref, s := range m.sessions {
		if ref.Owner == of.Owner && slices.ContainsFunc(s.shared, func(span session.Span) bool { return span.Session == of.ID }) {
			return true
		}
	}
	return false
}

// Claim makes the caller the holder of a log.
func (m sessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	ref := m.ref(id)
	if err := m.with(ctx, ref, func(*row) error { return nil }); err != nil {
		return nil, err
	}
	return m.claims.Claim(journal{m.Store}, ref, 0), nil
}

// journal has the methods of a log's holder.
type journal struct{ *Store }

// Append adds entries to the log.
func (m journal) Append(ctx context.Context, ref session.Ref, entries ...session.Entry) (last uint64, err error) {
	values, err := session.EncodeEntries(entries)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", ref, err)
	}
	err = m.with(ctx, ref, func(kept *row) error {
		s := kept.last
		kept.last = nil // until all has gone well
		if s == nil {
			s = new(session.Session)
			if err := json.Unmarshal(kept.record, s); err != nil {
				return err
			}
		}
		running := kept.running
		var charges []session.Charge
		for _, e := range entries {
			if c, ok := s.Charge(ref.Owner, e); ok {
				charges = append(charges, c)
			}
			running = s.Project(e, running)
		}
		record, err := json.Marshal(s)
		if err != nil {
			return err
		}
		kept.record, kept.last, kept.running = record, s, running
		if len(entries) > 0 {
			m.changes++
			kept.change = m.changes
		}
		kept.log = append(kept.log, values...)
		kept.growth = slices.DeleteFunc(kept.growth, func(g session.Growth) bool {
			return slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Ends(g.BlockRef) })
		})
		for _, c := range charges {
			m.books.add(c)
		}
		last = uint64(len(kept.log))
		return nil
	})
	return last, err
}

// Entries reads the log after a position.
func (m sessions) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	values, err := m.values(id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	entries, err := session.DecodeEntries(values)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return entries, nil
}

// values are entries as the log keeps them. Nothing ever changes them.
func (m sessions) values(id session.ID, after uint64, limit int) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.loggedLocked(m.ref(id))
	switch {
	case m.closed:
		return nil, session.ErrClosed
	case kept == nil:
		return nil, session.ErrNotFound
	case after >= uint64(len(kept.log)) || limit <= 0:
		return nil, nil
	}
	rest := kept.log[after:]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

// Checkpoint stores the growth of an open block at once.
func (m journal) Checkpoint(ref session.Ref, block session.BlockRef, from int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.sessions[ref]
	if kept == nil || m.closed {
		return
	}
	i := slices.IndexFunc(kept.growth, func(g session.Growth) bool { return g.Message == block.Message && g.Number == block.Number })
	if i < 0 && from == 0 {
		kept.growth = append(kept.growth, session.Growth{BlockRef: block})
		i = len(kept.growth) - 1
	}
	if i < 0 {
		return
	}
	g := &kept.growth[i]
	if known := len(g.Text) - from; known >= 0 && known < len(text) {
		g.Text += text[known:]
	}
}

// Checkpoints is what is stored of open blocks.
func (m journal) Checkpoints(ctx context.Context, ref session.Ref) (stored []session.Growth, err error) {
	err = m.with(ctx, ref, func(kept *row) error {
		stored = slices.Clone(kept.growth)
		slices.SortStableFunc(stored, func(a, b session.Growth) int { return cmp.Compare(a.Number, b.Number) })
		return nil
	})
	return stored, err
}

// Close ends the store; every later call is ErrClosed.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return session.ErrClosed
	}
	m.closed = true
	return nil
}
