package node

import (
	"context"

	"github.com/thinkd/thinkd/session"
)

// Drain has all sessions leave this node, and returns when they have, or when ctx ends. Those whose queue is to run are taken by other nodes.
func (n *Node) Drain(ctx context.Context) {
	n.mu.Lock()
	n.draining = true
	n.mu.Unlock()
	n.beats.Tell(n.about())
	n.agents.Drain(ctx, func(ref session.Ref, epoch uint64) { n.handOn(ctx, ref, epoch) })
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
