package node

import (
	"context"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Drain has all sessions leave this node, and returns when they have, or when ctx ends. Those whose queue is to run are taken by other nodes.
func (n *Node) Drain(ctx context.Context) {
	n.mu.Lock()
	n.draining = true
	n.mu.Unlock()
	n.beats.Tell(n.about())
	n.agents.Drain(ctx, func(ref session.Ref, epoch uint64) { n.handOn(ctx, ref, epoch) })
}

// Successor names the node that serves a session which has left this node: its owner, if that is present, and otherwise the node that this one would ask to
// take it. That node claims the session when a client is forwarded there. Empty: there is no such node.
func (n *Node) Successor(ctx context.Context, ref session.Ref) string {
	owner, _, err := n.store.Owner(ctx, ref)
	if err != nil {
		n.log.Debug("the owner of a session is not known", "session", ref.ID, "err", err)
	}
	peers := n.beats.Peers()
	for _, node := range append([]lease.Node{owner}, ranked(numbers(peers), ref.ID)...) {
		for _, p := range peers {
			if p.Node == node && (node == owner || !p.Draining) {
				return p.Name
			}
		}
	}
	return ""
}

// handOn asks another node to take a session that this one has handed over. Without one, the mark of the session makes another node look after
// it as soon as this node is gone.
func (n *Node) handOn(ctx context.Context, ref session.Ref, epoch uint64) {
	peers := n.beats.Peers()
	for _, node := range ranked(numbers(peers), ref.ID) {
		for _, p := range peers {
			if p.Node == node && !p.Draining && n.beats.Take(ctx, node, ref, epoch) {
				n.log.Info("session moved", "session", ref.ID, "node", p.Name)
				return
			}
		}
	}
	n.log.Warn("no other node takes a session whose queue is to run", "session", ref.ID)
}
