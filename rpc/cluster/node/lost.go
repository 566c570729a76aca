package node

import (
	"context"
	"time"

	"github.com/thinkd/thinkd/session"
)

// A node that was cut off, or stopped, confirms its sessions when it is in contact again, and then notices that another node has claimed them. The other
// node also sends a message. A message may be wrong or late, so this node reads the log. A later claim that it finds there is a fact, even if the
// server that answers is outdated.

const lossTime = 2 * time.Second // for reading the store once

// taken queues a message of another node for losing. It does not wait.
func (n *Node) taken(ref session.Ref, epoch uint64) {
	if l := n.find(ref); l == nil || l.epoch >= epoch {
		return
	}
	select {
	case n.losses <- loss{ref, epoch}:
	default:
	}
}

// losing handles the messages, one after another. It ends with the node.
func (n *Node) losing() {
	for {
		select {
		case one := <-n.losses:
			n.lose(one)
		case <-n.ctx.Done():
			return
		}
	}
}

// lose has the session of a log that was lost end here, so that its clients follow it elsewhere.
func (n *Node) lose(one loss) {
	l := n.find(one.ref)
	if l == nil || l.epoch >= one.epoch {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, lossTime)
	defer cancel()
	claimed, err := n.store.Claimed(ctx, one.ref, l.epoch)
	if err != nil || !claimed {
		n.log.Debug("another node says that it has claimed a session, and the store does not", "session", one.ref.ID, "err", err)
		return
	}
	l.lost.Store(true)
	l.Doubt()
	n.agents.Confirm(one.ref)
}
