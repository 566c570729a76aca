package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/session"
)

// ServeForgets has this node do what another one asks for with [Node.Forget]. forget ends with its context, which ends with the node.
func (n *Node) ServeForgets(forget func(ctx context.Context, ref session.Ref) (sessions int, err error)) {
	n.beats.ServeForgets(func(ref session.Ref) (int, error) {
		sessions, err := forget(n.ctx, ref)
		if err != nil {
			n.log.Warn("what another node has deleted could not end here", "err", err)
		}
		return sessions, err
	})
}

// Forget has all other nodes that are present delete a session if they have it loaded, or without an ID, end all that is the owner's there: connections,
// and sessions that are loaded or in their memory alone. It returns how many sessions they have deleted. After an error the call can be repeated.
func (n *Node) Forget(ctx context.Context, ref session.Ref) (sessions int, err error) {
	for _, p := range n.beats.Peers() {
		deleted, failed := n.beats.Forget(ctx, p.Node, ref)
		if sessions += deleted; failed != nil {
			err = errors.Join(err, fmt.Errorf("node %s: %w", p.Name, failed))
		}
	}
	return sessions, err
}
