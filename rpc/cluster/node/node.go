package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/rpc/cluster/lists"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/lease"
)

// Agents are those of a process: an *agent.Group.
type Agents interface {
	// Open loads a session, if it is not loaded. What a crash left open in it is closed then.
	Open(ctx context.Context, ref session.Ref) error

	// Holds reports whether a session is loaded, or parked until a time.
	Holds(ref session.Ref) bool

	// Running counts the sessions in which a turn runs.
	Running() int

	// Abandon ends what runs, without a word in the logs. It does not wait.
	Abandon()

	// Confirm has a loaded session make sure that no other node has claimed it. It does not wait.
	Confirm(ref session.Ref)

	// Drain has all sessions leave, and returns when they have. moved is called for each one whose log was handed over.
	Drain(ctx context.Context, moved func(ref session.Ref, epoch uint64))

	// Lists has the subscriptions to lists of sessions. Relist publishes to other nodes all loaded sessions that the lists of these owners show.
	Lists() *watch.Hub
	Relist(owners []session.Owner)
}

// Node is this process as a node of a cluster. It is safe for concurrent use.
type Node struct {
	logs
	name   string
	link   string
	number lease.Node
	conns  jet.Conns
	tables *jet.Tables
	prefix string       // of the store
	lists  *lists.Lists // nil before Serve
	disks  *disks
	losses chan loss
	audit  jet.AuditOptions

	mu       sync.Mutex
	agents   Agents // nil before Serve
	draining bool
}

// startTime is how long the start waits for a majority of the store servers.
const startTime = 30 * time.Second

// Open joins a cluster. It returns when the node is in contact with a majority of the store servers.
func Open(ctx context.Context, c Config) (n *Node, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("no contact with a majority of the %d store servers in %v", len(c.Servers), startTime))
	defer cancel()
	n = &Node{name: c.Name, link: c.Link, prefix: c.Prefix, number: newNumber(), losses: make(chan loss, maxLosses), audit: c.audit()}
	n.confirming = make(chan struct{}, maxConfirming)
	n.log, n.open = c.Log, make(map[session.Ref]*log)
	if n.conns, err = c.dial(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err = n.join(ctx, c); err != nil {
		if n.tables != nil {
			n.tables.Close()
		}
		if n.beats != nil {
			n.beats.Close()
		}
		hangUp(n.conns)
		return nil, fmt.Errorf("cluster: %w", err)
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.log.Info("cluster", "node", n.name, "number", fmt.Sprintf("%x", uint64(n.number)), "servers", len(c.Servers))
	return n, nil
}

func (n *Node) join(ctx context.Context, c Config) (err error) {
	if n.beats, err = heartbeat.Start(n.conns, c.Prefix, n.number); err != nil {
		return err
	}
	n.beats.Tell(n.about())
	n.contact = newContact(n.beats)
	if n.store, err = jet.Open(ctx, n.conns, jet.Options{Prefix: c.Prefix, Replicas: c.Replicas, MaxBytes: c.MaxBytes, MaxGrowth: c.OpenBytes, Node: n.number, Peers: n.beats}); err != nil {
		return err
	}
	n.beats.Serve(n.store.Mine)
	if err := n.contact.wait(ctx); err != nil {
		return fmt.Errorf("%w, %w", err, n.store.Close())
	}
	n.disks = newDisks(n.conns, n.log)
	n.disks.ask(ctx, false)
	if n.tables, err = jet.OpenTables(ctx, n.conns, jet.TableOptions{Prefix: c.Prefix, Replicas: c.Replicas, Contact: n.InContact, Clock: n.beats.Clock}); err != nil {
		return errors.Join(err, n.store.Close())
	}
	return nil
}

// Name is that of this node, for people.
func (n *Node) Name() string { return n.name }

// OpenAudit opens the records of requests of all nodes. They are of use until the store is closed.
func (n *Node) OpenAudit(ctx context.Context) (*jet.Audit, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return jet.OpenAudit(ctx, n.conns, n.audit)
}

// Table is one that all nodes of the cluster have.
func (n *Node) Table(name string) durable.Table { return n.tables.Table(name) }

// watch looks after the contact.
func (n *Node) watch() {
	tick := time.NewTicker(look)
	defer tick.Stop()
	in := true
	for {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
		n.beats.Tell(n.about())
		if now := n.beats.InContact(); now != in {
			in = now
			n.log.Warn("contact with the store servers", "in_contact", in)
		}
		if n.contact.observe() {
			n.log.Error("this node was cut off from the store servers for too long, so other nodes serve its sessions: what runs ends", "after", abandonTime)
			n.agents.Abandon()
		}
	}
}

// about is what the others may know of this node.
func (n *Node) about() heartbeat.About {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := heartbeat.About{Name: n.name, Link: n.link, Draining: n.draining}
	if n.agents != nil {
		a.Turns = n.agents.Running()
	}
	return a
}

// InContact reports whether this node may serve sessions.
func (n *Node) InContact() bool { return n.beats.InContact() }

// Ready is why a client that came now would not be served; nil: it would be.
func (n *Node) Ready() error {
	switch {
	case !n.InContact():
		return session.ErrCutOff
	case n.leaving():
		return errDrains
	}
	return nil
}

var errDrains = errors.New("the sessions of this node move to other nodes")

// Durability is what the store servers say of their disks. It does not wait.
func (n *Node) Durability() Durability { return n.disks.durability() }

// Status is what the node knows of its cluster.
type Status struct {
	Self       heartbeat.Peer
	Contact    bool
	Durability Durability
	Servers    []Server
	Peers      []heartbeat.Peer // that are present
	Marks      int              // sessions with an open turn, of all nodes
}

// Server is a store server.
type Server struct {
	URL       string // without a password
	Connected bool
	Syncs     Syncs
}

// Status reads the marks; the rest is known.
func (n *Node) Status(ctx context.Context) (Status, error) {
	s := Status{Self: heartbeat.Peer{Node: n.number, About: n.about()}, Contact: n.InContact(), Durability: n.Durability(), Peers: n.beats.Peers()}
	for i, conn := range n.conns {
		s.Servers = append(s.Servers, Server{conn.ConnectedUrlRedacted(), conn.IsConnected(), n.disks.now(i).syncs})
	}
	marks, err := n.store.Marks(ctx)
	s.Marks = len(marks)
	return s, err
}

// leaving reports whether the node drains.
func (n *Node) leaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// Number is that of this run of the node. Peers lists the other nodes that are present.
func (n *Node) Number() lease.Node      { return n.number }
func (n *Node) Peers() []heartbeat.Peer { return n.beats.Peers() }
