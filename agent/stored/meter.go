package stored

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Meter counts what users store. It is safe for concurrent use. A nil Meter bounds nothing.
type Meter struct {
	most    func(session.Owner) int64 // 0: any amount
	store   session.Store
	cluster Cluster // nil: no other node stores anything

	mu    sync.Mutex
	users map[session.Owner]*user
}

// user is what one user stores.
type user struct {
	share *share // nil: no other node stores anything, and what follows counts

	mu       sync.Mutex // held while the sessions are read for the first time
	known    bool
	sum      int64 // of sessions
	reserved int64
	sessions map[session.ID]int64
}

// New counts the sessions of a store. most is the quota of a user; nil: nobody has one, and New returns nil. c nil: no other node uses the store.
func New(store session.Store, most func(session.Owner) int64, c Cluster) *Meter {
	if most == nil {
		return nil
	}
	return &Meter{most: most, store: store, cluster: c, users: make(map[session.Owner]*user)}
}

// of returns a user with a quota, and the quota; nil: there is none.
func (m *Meter) of(o session.Owner) (*user, int64) {
	if m == nil || o == session.Operator {
		return nil, 0
	}
	most := m.most(o)
	if most <= 0 {
		return nil, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.users[o]
	if u == nil {
		u = &user{sessions: make(map[session.ID]int64)}
		if m.cluster != nil {
			u.share = newShare(m.cluster, o, m.store.For(o))
		}
		m.users[o] = u
	}
	return u, most
}

// Reserve holds bytes for what a user is about to store, until release. It may read the user's sessions, and write in a cluster. The error is *[Full],
// or that of the store.
func (m *Meter) Reserve(ctx context.Context, o session.Owner, bytes int64) (release func(), err error) {
	u, most := m.of(o)
	if u == nil {
		return func() {}, nil
	}
	if u.share != nil {
		return u.share.reserve(ctx, bytes, most)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.know(ctx, m.store.For(o)); err != nil {
		return nil, err
	}
	if used := u.sum + u.reserved; used+bytes > most {
		return nil, &Full{used, most}
	}
	u.reserved += bytes
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.reserved -= bytes
	}), nil
}

// Used is how many bytes a user with a quota has stored; ok is false for others, who are not counted. It may read the user's sessions.
func (m *Meter) Used(ctx context.Context, o session.Owner) (bytes int64, ok bool, err error) {
	u, _ := m.of(o)
	if u == nil {
		return 0, false, nil
	}
	if u.share != nil {
		bytes, err = u.share.total(ctx)
		return bytes, err == nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.know(ctx, m.store.For(o)); err != nil {
		return 0, false, err
	}
	return u.sum, true, nil
}

// beginning is more than a turn stores at its start in addition to the text of its prompt.
const beginning = 4 << 10

// ReservePrompt is Reserve for a prompt, with all that is stored when its turn begins.
func (m *Meter) ReservePrompt(ctx context.Context, o session.Owner, content provider.Blocks) (release func(), err error) {
	if !m.Wants(o) {
		return func() {}, nil
	}
	return m.Reserve(ctx, o, beginning+Bytes([]session.Entry{{Body: session.Prompt{Content: content}}}))
}

// know counts the sessions of the user once.
func (u *user) know(ctx context.Context, of session.Sessions) error {
	if u.known {
		return nil
	}
	if err := u.count(ctx, of); err != nil {
		return fmt.Errorf("what the user has stored: %w", err)
	}
	return nil
}

// count reads all sessions of the user.
func (u *user) count(ctx context.Context, of session.Sessions) error {
	const page = 1000
	u.sum, u.sessions = 0, make(map[session.ID]int64)
	for q := (session.Query{Limit: page}); ; {
		list, next, err := of.List(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range list {
			if _, counted := u.sessions[s.ID]; counted || s.Status == session.Damaged { // a list may have a session twice
				continue
			}
			var c counted
			if err := c.read(ctx, of, s.ID); err != nil {
				return err
			}
			n := c.record + c.bytes
			u.sessions[s.ID], u.sum = n, u.sum+n
		}
		if q.Cursor = next; next == "" {
			u.known = true
			return nil
		}
	}
}

// Wants reports whether Add is of use for a user.
func (m *Meter) Wants(o session.Owner) bool {
	u, _ := m.of(o)
	return u != nil
}

// Add counts what was stored for a session. It never fails: what is stored is stored.
func (m *Meter) Add(ref session.Ref, bytes int64) {
	u, _ := m.of(ref.Owner)
	if u == nil {
		return
	}
	if u.share != nil {
		u.share.add(bytes)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known { // otherwise it is counted with the rest
		u.sessions[ref.ID] += bytes
		u.sum += bytes
	}
}

// Forget subtracts what a session took that was deleted.
func (m *Meter) Forget(ref session.Ref) {
	u, _ := m.of(ref.Owner)
	if u == nil || u.share != nil { // a share counts again when it needs room
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum -= u.sessions[ref.ID]
	delete(u.sessions, ref.ID)
}

// Look gives back to the other nodes what this node has reserved of quotas and does not need. The caller calls it about once a second, if there are other
// nodes. It writes.
func (m *Meter) Look(ctx context.Context) (err error) {
	if m == nil || m.cluster == nil {
		return nil
	}
	m.mu.Lock()
	users := maps.Clone(m.users)
	m.mu.Unlock()
	for o, u := range users {
		err = errors.Join(err, u.share.look(ctx, m.most(o)))
	}
	return err
}
