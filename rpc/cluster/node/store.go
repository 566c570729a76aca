package node

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Store is the store that the nodes share, as this node uses it.
type Store struct {
	*jet.Store
	node *Node
}

// Store is the store that the nodes share. Closing it closes the node.
func (n *Node) Store() Store { return Store{n.store, n} }

// Close leaves the cluster. All logs must be released.
func (s Store) Close() error {
	n := s.node
	if n.lists != nil {
		n.lists.Close()
	}
	n.ending()
	n.stop()
	n.running.Wait()
	n.tables.Close()
	err := n.store.Close()
	n.beats.Close()
	hangUp(n.conns)
	return err
}

// sessions are those of one owner.
type sessions struct {
	session.Sessions
	node *Node
	of   session.Owner
}

// For returns the sessions of one owner.
func (s Store) For(owner session.Owner) session.Sessions {
	return sessions{s.Store.For(owner), s.node, owner}
}

// Create keeps a new session. A further error is *session.UnsyncedError.
func (s sessions) Create(ctx context.Context, made session.Session) error {
	if err := s.node.disks.creatable(ctx); err != nil {
		return err
	}
	return s.Sessions.Create(ctx, made)
}

// CreateOnce keeps a new session for a stamped request. A further error is *session.UnsyncedError.
func (s sessions) CreateOnce(ctx context.Context, made session.Session, c session.Creation) (session.Creation, error) {
	if err := s.node.disks.creatable(ctx); err != nil {
		return session.Creation{}, err
	}
	return s.Sessions.CreateOnce(ctx, made, c)
}

// Claim makes this node the holder of a log. Further errors are *session.ElsewhereError and session.ErrCutOff.
func (s sessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	beats := s.node.beats
	if !beats.InContact() {
		return nil, session.ErrCutOff
	}
	ctx, stop := s.node.contact.bound(ctx)
	defer stop()
	sent := beats.Clock()
	claimed, err := s.Sessions.Claim(ctx, id)
	if elsewhere := (*jet.ElsewhereError)(nil); errors.As(err, &elsewhere) {
		return nil, &session.ElsewhereError{Node: beats.Name(elsewhere.Node)}
	}
	if err != nil {
		return nil, known(err)
	}
	l := &log{claim: claimed.(claim), logs: &s.node.logs, ref: session.Ref{Owner: s.of, ID: id}, epoch: claimed.Epoch() + 1, queued: make(map[session.TurnID]struct{})}
	l.turn = l.Turn()
	l.confirmed.Store(int64(sent))
	s.node.opened(l)
	return l, nil
}
