package node

import (
	"context"
	"slices"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Nodes counts the nodes that are present, with this one.
func (n *Node) Nodes() int { return 1 + len(n.beats.Peers()) }

// ChangeBlock replaces the block of this node: see jet.Store.ChangeBlock. It waits for the contact, until the node gives up what runs. On return, the node
// has been in contact since the change.
func (n *Node) ChangeBlock(ctx context.Context, owner *session.Owner, change func(others []session.Block) (session.Block, error)) (at time.Duration, err error) {
	return n.inContact(ctx, func(ctx context.Context) error { return n.store.ChangeBlock(ctx, owner, change) })
}

// ChangeStored is ChangeBlock for the bytes that an owner may store: see jet.Store.ChangeStored.
func (n *Node) ChangeStored(ctx context.Context, owner session.Owner, change func(others []session.Block) (session.Block, error)) (at time.Duration, err error) {
	return n.inContact(ctx, func(ctx context.Context) error { return n.store.ChangeStored(ctx, owner, change) })
}

// Changes is that of jet.Store.
func (n *Node) Changes(ctx context.Context, owner session.Owner) (map[session.ID]uint64, error) {
	return n.store.Changes(ctx, owner)
}

// inContact repeats a change of a block until the node was in contact from its begin to its end.
func (n *Node) inContact(ctx context.Context, change func(context.Context) error) (at time.Duration, err error) {
	ctx, stop := n.contact.bound(ctx)
	defer stop()
	for {
		if err := n.contact.wait(ctx); err != nil {
			return 0, known(err)
		}
		at = n.beats.Clock()
		if err := change(ctx); err != nil {
			return 0, known(err)
		}
		if n.beats.Unbroken(at) {
			return at, nil
		}
	}
}

// Unbroken reports whether the node has been in contact since then, by the clock of ChangeBlock. Then no other node has taken it for gone.
func (n *Node) Unbroken(at time.Duration) bool { return n.beats.Unbroken(at) }

// inherit has the ledger count what the calls of nodes that are gone had reserved, and gives back the blocks of those nodes. again says that there is a
// node that keeps its blocks for now, or one that was not silent for long enough yet.
func (n *Node) inherit(ctx context.Context) (again bool, err error) {
	gone := func(node lease.Node) bool {
		present := node == n.number || n.beats.Present(node)
		again = again || present && node != n.number && !slices.Contains(numbers(n.beats.Peers()), node)
		return !present
	}
	if err := n.store.SettleHolds(ctx, gone); err != nil {
		return true, err
	}
	kept, err := n.store.DropBlocks(ctx, gone)
	return again || kept || err != nil, err
}
