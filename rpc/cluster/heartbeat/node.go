package heartbeat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	peers   map[lease.Node]About
	about   About
	mine    func(session.Ref, uint64) bool
	take    func(session.Ref, uint64) bool
	taken   func(session.Ref, uint64)
	forget  func(session.Ref) (int, error)
}

var _ jet.Peers = (*Node)(nil)

// maxNodes is how many runs of nodes are remembered. Those that were not heard for longest are forgotten first, and count as gone.
const maxNodes = 1000

// askTime is how long a question may take. A node that does not answer has the session. takeTime is how long a claim may take, with the load of
// the session.
const (
	askTime  = 2 * time.Second
	takeTime = 20 * time.Second
)

// Start begins to send and to listen. There is a connection to each store server. The prefix is that of the store. A node that has just started is out of
// contact for some seconds.
func Start(conns jet.Conns, prefix string, self lease.Node) (*Node, error) {
	if len(conns) == 0 || len(conns) > presence.MaxServers || self == 0 {
		return nil, fmt.Errorf("heartbeats need 1 to %d connections and a node's number", presence.MaxServers)
	}
	n := &Node{conns: conns, prefix: prefix, self: self, now: clock, since: clock(), stop: make(chan struct{}), contact: presence.NewContact(len(conns)),
		heard: make(map[lease.Node]time.Duration), gone: make(map[lease.Node]bool), peers: make(map[lease.Node]About)}
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

// ServeTakes has requests to take a session answered: take claims it, and reports whether it did. Until then the answer is no. take runs in a goroutine
// of its own.
func (n *Node) ServeTakes(take func(ref session.Ref, epoch uint64) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.take = take
}

// ServeTaken has taken called when another node says that it has claimed a session with an epoch. taken must not wait, and must not believe it without a
// look at the store. The subject has the number of this run of the node, so what was meant for an earlier one does not arrive.
func (n *Node) ServeTaken(taken func(ref session.Ref, epoch uint64)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = taken
}

// ServeForgets has requests of [Node.Forget] answered. Until then they are refused. forget runs in a goroutine of its own, and returns how many sessions it
// has deleted.
func (n *Node) ServeForgets(forget func(ref session.Ref) (sessions int, err error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget = forget
}

// Tell sets what the heartbeats say of this node.
func (n *Node) Tell(about About) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.about = about
}

// Peers lists the other nodes that are present, by number.
func (n *Node) Peers() (list []Peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for node, about := range n.peers {
		if n.presentLocked(node) {
			list = append(list, Peer{node, about})
		}
	}
	slices.SortFunc(list, func(a, b Peer) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// Name is the name of a node that was heard, and its number otherwise.
func (n *Node) Name(node lease.Node) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name := n.peers[node].Name; name != "" {
		return name
	}
	return node.Word()
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
		b := beat{Server: i, Sent: n.now(), Alone: n.alone(), Bye: bye, About: n.said()}
		if conn.Publish(beatSubject(n.prefix, n.self.Word()), encode(b)) == nil && bye && conn.FlushTimeout(askTime) != nil {
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

func (n *Node) said() About {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.about
}

func (n *Node) hear(server int, m *nats.Msg) {
	var b beat
	from := lease.ParseNode(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
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
		n.peers[from] = b.About
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
	delete(n.peers, oldest)
}

// Present reports whether a node may have logs open. It says no only after a goodbye, or after silence, if this node may judge that.
func (n *Node) Present(node lease.Node) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.presentLocked(node)
}

func (n *Node) presentLocked(node lease.Node) bool {
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

// Clock is the time by which contact is measured.
func (n *Node) Clock() time.Duration { return n.now() }

// Unbroken reports whether this node is in contact, and has been since a time: what was true of its sessions then is true now.
func (n *Node) Unbroken(at time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	since, ok := n.contact.Since(n.now())
	return ok && at >= since
}

// InTime reports whether a model call or a tool may start now. sent is when its entry was sent: see [presence.Contact.InTime].
func (n *Node) InTime(sent time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contact.InTime(sent, n.now(), presence.Default)
}

// Confirmed is when the newest heartbeat was sent that a majority of the servers returned. 0: none was.
func (n *Node) Confirmed() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contact.Confirmed()
}

// Newest is the connection on which the newest heartbeat of this node came back.
func (n *Node) Newest() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.contact.Newest()
}

// NotMine asks a node whether it has neither the log of a session open with an epoch, nor a claim of it on the way.
func (n *Node) NotMine(ctx context.Context, node lease.Node, ref session.Ref, epoch uint64) bool {
	return n.ask(ctx, node, questionOf(ref, epoch)).NotMine
}

// Take asks a node to claim a session whose log this node has handed over, and reports whether it did.
func (n *Node) Take(ctx context.Context, node lease.Node, ref session.Ref, epoch uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	q := questionOf(ref, epoch)
	q.Take = true
	return n.ask(ctx, node, q).Taken
}

// Taken notifies a node that this one has claimed a session. The node may have no connection to some of the servers, so the message is sent on all. Taken
// does not wait.
func (n *Node) Taken(node lease.Node, ref session.Ref, epoch uint64) {
	q := questionOf(ref, epoch)
	q.Taken = true
	data := encode(q)
	for _, conn := range n.conns {
		if conn.IsConnected() && conn.Publish(askSubject(n.prefix, node), data) != nil {
			continue // the node notices when it is in contact
		}
	}
}

// Forget asks a node to delete a session if the node has it loaded, or without an ID, to end all that is the owner's at the node: connections, and sessions
// that are loaded or in its memory alone. It returns how many sessions the node has deleted. After an error the call can be repeated.
func (n *Node) Forget(ctx context.Context, node lease.Node, ref session.Ref) (sessions int, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeTime)
	defer cancel()
	q := questionOf(ref, 0)
	q.Forget = true
	a := n.ask(ctx, node, q)
	switch {
	case a.Error != "":
		err = errors.New(a.Error)
	case !a.Forgotten:
		err = fmt.Errorf("no answer in %v", takeTime)
	}
	return a.Sessions, err
}

func (n *Node) ask(ctx context.Context, node lease.Node, q question) (a answer) {
	ask := nats.NewMsg(askSubject(n.prefix, node))
	ask.Data = encode(q)
	for try := range n.conns {
		m, err := n.request(ctx, try, ask, q.Take || q.Forget)
		if err == nil && json.Unmarshal(m.Data, &a) == nil {
			return a
		}
		if !errors.Is(err, nats.ErrNoResponders) { // only such a server is known not to reach the node
			return answer{}
		}
	}
	return answer{}
}

// request asks once. A claim and a deletion take longer than a request to a server may.
func (n *Node) request(ctx context.Context, try int, ask *nats.Msg, slow bool) (*nats.Msg, error) {
	conn := n.conns[try]
	switch {
	case !slow:
		return n.conns.Request(ctx, try, ask)
	case !conn.IsConnected():
		return nil, nats.ErrNoResponders
	}
	return conn.RequestMsgWithContext(ctx, ask)
}

func (n *Node) reply(m *nats.Msg) {
	var q question
	if json.Unmarshal(m.Data, &q) != nil {
		return
	}
	n.mu.Lock()
	mine, take, taken, forget := n.mine, n.take, n.taken, n.forget
	n.mu.Unlock()
	switch {
	case q.Taken:
		if taken != nil {
			taken(q.ref(), q.Epoch)
		}
	case q.Forget && forget == nil:
		n.respond(m, answer{Error: "the node starts or ends"})
	case q.Forget:
		n.ended.Go(func() { n.respond(m, forgotten(forget(q.ref()))) }) // ends with the deletion; Close waits
	case !q.Take:
		n.respond(m, answer{NotMine: mine != nil && !mine(q.ref(), q.Epoch)})
	case take == nil:
		n.respond(m, answer{})
	default:
		n.ended.Go(func() { n.respond(m, answer{Taken: take(q.ref(), q.Epoch)}) }) // ends with the claim; Close waits
	}
}

func forgotten(sessions int, err error) answer {
	a := answer{Forgotten: err == nil, Sessions: sessions}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (n *Node) respond(m *nats.Msg, a answer) {
	if m.Respond(encode(a)) != nil {
		return // the node that asked takes that for "mine", or for "not taken"
	}
}

// Close says goodbye and ends the heartbeats. The caller has released all logs. The connections are the caller's.
func (n *Node) Close() {
	n.ServeTakes(nil)
	n.ServeForgets(nil)
	close(n.stop)
	n.ended.Wait()
}
