package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/lease"
)

const (
	sweepTime  = time.Minute     // between two looks at the marks
	rankTime   = 5 * time.Second // that each next node waits longer before it claims what is stranded
	sweepWidth = 32              // claims in parallel
)

// sweeps looks at the marks at the start, when a node is gone, and every minute. While something is left to another node, it looks more often.
func (n *Node) sweeps() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	s := sweeper{node: n, since: make(map[uint64]time.Duration), inherits: true}
	var next time.Duration
	var present []lease.Node
	for {
		peers := numbers(n.beats.Peers())
		gone := slices.ContainsFunc(present, func(p lease.Node) bool { return !slices.Contains(peers, p) })
		present = peers
		if now := n.beats.Clock(); n.InContact() && !n.leaving() && (gone || now >= next) {
			next, s.inherits = now+sweepTime, s.inherits || gone
			if again, err := s.sweep(n.ctx); err != nil || again {
				next = now + rankTime/2
			}
		}
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// sweeper remembers since when marks are stranded.
type sweeper struct {
	node     *Node
	since    map[uint64]time.Duration // by the sequence of the mark
	inherits bool                     // a node is gone, and may have blocks or reservations
}

// sweep claims what is stranded, and closes it. again says that something is left to another node for now.
func (s *sweeper) sweep(ctx context.Context) (again bool, err error) {
	n := s.node
	marks, err := n.store.Marks(ctx)
	if err != nil {
		n.log.Warn("the marks of open turns cannot be read", "err", err)
		return true, err
	}
	since := make(map[uint64]time.Duration)
	var claims sync.WaitGroup
	places := make(chan struct{}, sweepWidth)
	peers := numbers(n.beats.Peers())
	for _, m := range marks {
		if !n.stranded(m) {
			again = again || m.Node != n.number && !slices.Contains(peers, m.Node) // it was not silent for long enough yet
			continue
		}
		begun, known := s.since[m.Seq]
		if !known {
			begun = n.beats.Clock()
		}
		since[m.Seq] = begun
		if n.beats.Clock()-begun < rankTime*time.Duration(n.rank(m.Ref.ID)) {
			again = true
			continue
		}
		places <- struct{}{}
		claims.Go(func() { // ends with its claim
			defer func() { <-places }()
			n.rescue(ctx, m)
		})
	}
	claims.Wait()
	s.since = since
	if s.inherits {
		if s.inherits, err = n.inherit(ctx); err != nil {
			n.log.Warn("what nodes that are gone had reserved of quotas and limits is not free yet", "err", err)
		}
	}
	return again || s.inherits, nil
}

// stranded reports whether nobody looks after a session that has a mark.
func (n *Node) stranded(m jet.Mark) bool {
	open := n.store.Mine(m.Ref, m.Epoch) || n.agents.Holds(m.Ref)
	return m.Stranded(n.number, open, n.beats.Present(m.Node))
}

// rank is the place of this node among those that could take a session, 0 for the first.
func (n *Node) rank(id session.ID) int {
	nodes := []lease.Node{n.number}
	for _, p := range n.beats.Peers() {
		if !p.Draining {
			nodes = append(nodes, p.Node)
		}
	}
	return slices.Index(ranked(nodes, id), n.number)
}

// rescue loads a session, which closes its turn, and removes its mark, unless it has a newer one by then.
func (n *Node) rescue(ctx context.Context, m jet.Mark) {
	err := n.agents.Open(ctx, m.Ref)
	elsewhere := (*session.ElsewhereError)(nil)
	switch {
	case errors.Is(err, session.ErrNotFound): // it was deleted
		n.unmark(m.Ref.Owner, m.Seq)
	case errors.As(err, &elsewhere):
		n.log.Debug("another node was first", "session", m.Ref.ID, "node", elsewhere.Node)
	case err != nil:
		n.log.Warn("a session of a node that is gone cannot be taken over yet", "session", m.Ref.ID, "err", err)
	default:
		n.log.Info("session taken over", "session", m.Ref.ID)
		n.settle(ctx, m)
	}
}

// settle removes the mark of a session that was taken over, if nothing in it must be looked after, and otherwise puts one of this node in its place: the
// blocks of the node before stay until no session has its mark. The session may have been let go since.
func (n *Node) settle(ctx context.Context, m jet.Mark) {
	l := n.find(m.Ref)
	if l == nil || m.Epoch > l.epoch {
		return
	}
	l.mu.Lock()
	idle := l.idle()
	l.mu.Unlock()
	if idle {
		n.unmark(m.Ref.Owner, m.Seq)
		return
	}
	if m.Node == n.number {
		return
	}
	err := n.store.Flush(ctx, m.Ref.Owner)
	if err == nil {
		err = l.remark(ctx)
	}
	if err != nil {
		n.log.Debug("a mark is not replaced", "session", m.Ref.ID, "err", err)
	}
}
