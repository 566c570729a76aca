package node

import (
	"fmt"

	"github.com/thinkd/thinkd/rpc/cluster/lists"
	"github.com/thinkd/thinkd/session"
)

// Serve begins to look after the sessions of nodes that are gone, and to tell the others what changes in lists.
func (n *Node) Serve(agents Agents) (err error) {
	n.lists, err = lists.Start(lists.Config{Conns: n.conns, Prefix: n.prefix, Self: n.number, Beats: n.beats, Hub: agents.Lists(), Relist: agents.Relist, Log: n.log})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	n.mu.Lock()
	n.agents = agents
	n.mu.Unlock()
	n.beats.ServeTakes(n.take)
	n.beats.ServeTaken(n.taken)
	n.running.Go(n.watch) // all end with the node
	n.running.Go(n.sweeps)
	n.running.Go(n.losing)
	n.running.Go(func() { n.disks.watch(n.ctx) })
	return nil
}

// take claims a session that another node has handed over.
func (n *Node) take(ref session.Ref, epoch uint64) bool {
	if n.leaving() {
		return false
	}
	err := n.agents.Open(n.ctx, ref)
	if err != nil {
		n.log.Warn("a session that another node hands over cannot be taken", "session", ref.ID, "epoch", epoch, "err", err)
	}
	return err == nil
}
