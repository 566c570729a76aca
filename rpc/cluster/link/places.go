package link

import (
	"context"
	"errors"
	"time"

	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Peer is another node that is present.
type Peer struct {
	Node
	Address string // of its links; empty: it takes none
}

// Places finds sessions by claiming them: a claim makes this node serve a session, unless another node that is present has it. So whatever decides
// about claims decides here too, and there is no second record of places that could differ. It is a [Nodes].
type Places struct {
	// Open loads a session of a principal here, if it is not loaded. Error: *session.ElsewhereError if another node has it.
	Open func(ctx context.Context, p method.Principal, id session.ID) error

	// Peers lists the other nodes that are present.
	Peers func() []Peer
}

// How often Serving asks again, if a session is at a node that is not known, and how long it waits in between: the node may have started or ended
// in this moment.
const (
	placeTries = 3
	placePause = 100 * time.Millisecond
)

// Serving is that of [Nodes].
func (p Places) Serving(ctx context.Context, principal method.Principal, id session.ID) (n Node, address string, here bool, err error) {
	for try := 1; ; try++ {
		err := p.Open(ctx, principal, id)
		elsewhere, ok := errors.AsType[*session.ElsewhereError](err)
		if !ok {
			return n, "", true, nil // any other error is that of the method too
		}
		for _, peer := range p.Peers() {
			if peer.Name == elsewhere.Node && peer.Address != "" {
				return peer.Node, peer.Address, false, nil
			}
		}
		if try == placeTries {
			return n, "", false, err
		}
		select {
		case <-time.After(placePause):
		case <-ctx.Done():
			return n, "", false, context.Cause(ctx)
		}
	}
}

// Present is that of [Nodes].
func (p Places) Present(n Node) bool {
	for _, peer := range p.Peers() {
		if peer.Node == n {
			return true
		}
	}
	return false
}
