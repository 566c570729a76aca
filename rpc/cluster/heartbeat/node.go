package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/rpc/cluster/presence"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/lease"
)

// Node is this node among the others. It implements jet.Peers. It is safe for concurrent use.
type Node struct {
	conns  jet.Conns
	prefix string
	self   lease.Node
	now    func() time.Duration // clock, except in tests
	since  time.Duration
	stop   chan struct{}
	ended  sync.WaitGroup

	mu      sync.Mutex
	contact presence.Contact
	heard   map[lease.Node]time.Duration // when each node was heard last
	gone    map[lease.Node]bool          // those that said goodbye
	mine    func(session.Ref, uint64) bool
}

var _ jet.Peers = (*Node)(nil)

// maxNodes is how many runs of nodes are remembered. Those that were not heard for longest are forgotten first, and count as gone.
const maxNodes = 1000

// askTime is how long a question may take. A node that does not answer has the session.
const askTime = 2 * time.Second

// Start begins to send and to listen. There is a connection to each store server. The prefix is that of the store. A node that has just started is out of
// contact for some seconds.
func Start(conns jet.Conns, prefix string, self lease.Node) (*Node, error) {
	if len(conns) == 0 || len(conns) > presence.MaxServers || self == 0 {
		return nil, fmt.Errorf("heartbeats need 1 to %d connections and a node's number", presence.MaxServers)
	}
	n := &Node{conns: conns, prefix: prefix, self: self, now: clock, since: clock(), stop: make(chan struct{}), contact: presence.NewContact(len(conns)),
		heard: make(map[lease.Node]time.Duration), gone: make(map[lease.Node]bool)}
	for i, conn := range conns {
		_, err := conn.Subscribe(beatSubject(prefix, "*"), func(m *nats.Msg) { n.hear(i, m) })
		if err == nil {
			_, err = conn.Subscribe(askSubject(prefix, self), n.reply)
		}
		if err != nil {
			return nil, fmt.Errorf("heartbeats: %w", err)
		}
	}
	n.ended.Go(n.send)
	return n, nil
}

// Serve has questions answered: mine reports whether this node has a log open with an epoch, or a claim on the way. Until then the answer is yes.
func (n *Node) Serve(mine func(ref session.Ref, epoch uint64) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mine = mine
}

// send ends with the node.
func (n *Node) send() {
	tick := time.NewTicker(presence.Interval)
	defer tick.Stop()
	for {
		n.beat(false)
		select {
		case <-tick.C:
		case <-n.stop:
			n.beat(true)
			return
		}
	}
}

// beat sends a heartbeat on each connection. One that cannot be sent is missing, and that is what the others go by.
func (n *Node) beat(bye bool) {
	for i, conn := range n.conns {
		if !conn.IsConnected() {
			continue
		}
		b := beat{Server: i, Sent: n.now(), Alone: n.alone(), Bye: bye}
		if conn.Publish(beatSubject(n.prefix, word(n.self)), encode(b)) == nil && bye && conn.FlushTimeout(askTime) != nil {
			continue // the others notice by the silence
		}
	}
}

// alone reports whether a heartbeat of this node must not count for others.
func (n *Node) alone() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contact.Alone(n.now(), presence.Default)
}

func (n *Node) hear(server int, m *nats.Msg) {
	var b beat
	from := sender(m.Subject)
	if from == 0 || json.Unmarshal(m.Data, &b) != nil {
		return
	}
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case from != n.self && b.Bye:
		n.heardLocked(from, now)
		n.gone[from] = true
	case from != n.self && !b.Alone:
		n.heardLocked(from, now)
	case from != n.self:
	case b.Server == server && b.Sent > 0 && b.Sent <= now:
		n.contact.Returned(server, b.Sent, now, presence.Default)
	}
}

func (n *Node) heardLocked(from lease.Node, now time.Duration) {
	n.heard[from] = now
	if len(n.heard) <= maxNodes {
		return
	}
	oldest := from
	for node, at := range n.heard {
		if at < n.heard[oldest] {
			oldest = node
		}
	}
	delete(n.heard, oldest)
	delete(n.gone, oldest)
}

// Present reports whether a node may have logs open. It says no only after a goodbye, or after silence, if this node may judge that.
func (n *Node) Present(node lease.Node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	heard, ok := n.heard[node]
	if !ok {
		heard = n.since
	}
	return !n.gone[node] && !n.contact.Gone(heard, n.now(), presence.Default)
}

// InContact reports whether this node is in contact with a majority of the servers.
func (n *Node) InContact() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.contact.Since(n.now())
	return ok
}

// NotMine asks a node whether it has neither the log of a session open with an epoch, nor a claim of it on the way.
func (n *Node) NotMine(ctx context.Context, node lease.Node, ref session.Ref, epoch uint64) bool {
	ask := nats.NewMsg(askSubject(n.prefix, node))
	ask.Data = encode(question{[]byte(ref.Owner.Tenant), []byte(ref.Owner.User), ref.ID, epoch})
	var a answer
	for try := range n.conns {
		m, err := n.conns.Request(ctx, try, ask)
		if err == nil {
			return json.Unmarshal(m.Data, &a) == nil && a.NotMine
		}
		if !errors.Is(err, nats.ErrNoResponders) { // only such a server is known not to reach the node
			return false
		}
	}
	return false
}

func (n *Node) reply(m *nats.Msg) {
	var q question
	if json.Unmarshal(m.Data, &q) != nil {
		return
	}
	n.mu.Lock()
	mine := n.mine
	n.mu.Unlock()
	a := answer{mine != nil && !mine(q.ref(), q.Epoch)}
	if m.Respond(encode(a)) != nil {
		return // the node that asked takes that for "mine"
	}
}

// Close says goodbye and ends the heartbeats. The caller has released all logs. The connections are the caller's.
func (n *Node) Close() {
	close(n.stop)
	n.ended.Wait()
}
