package lists

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/lease"
)

// Beats are what this node knows of itself and of the others: a *heartbeat.Node.
type Beats interface {
	InContact() bool
	Present(lease.Node) bool
	Newest() int // the connection on which the newest heartbeat of this node came back
}

// Config has what Lists need.
type Config struct {
	Conns  jet.Conns // one to each store server; they are the caller's
	Prefix string    // of the store
	Self   lease.Node
	Beats  Beats

	Hub    *watch.Hub            // of this node
	Relist func([]session.Owner) // publishes to other nodes what this node has loaded of these lists; it must not wait
	Log    *slog.Logger
}

// interval is between two messages. repeatTime is how often the last number is repeated. endTime is how long Close waits for the servers.
const (
	interval   = 250 * time.Millisecond
	repeatTime = time.Second
	endTime    = 2 * time.Second
)

// Lists sends and receives changes of lists for a node. Start makes one.
type Lists struct {
	Config
	subs  []*nats.Subscription
	stop  chan struct{}
	ended sync.WaitGroup

	// These are of the goroutine of run.
	own     *watch.Subscription // to the changes of this node
	number  uint64              // of the last message, or of one that was never sent
	sent    time.Time
	contact bool

	mu     sync.Mutex
	order  order
	begun  map[session.Owner]struct{} // whose lists clients have begun to watch
	missed map[lease.Node]struct{}    // of which messages are missing
}

// Start begins to listen and to send. Close ends it.
func Start(c Config) (*Lists, error) {
	l := &Lists{Config: c, stop: make(chan struct{}), order: newOrder(), begun: make(map[session.Owner]struct{}), missed: make(map[lease.Node]struct{})}
	for _, conn := range c.Conns {
		sub, err := conn.Subscribe(subject(c.Prefix, "*"), l.hear)
		if err != nil {
			l.unsubscribe()
			return nil, fmt.Errorf("changes of lists: %w", err)
		}
		l.subs = append(l.subs, sub)
	}
	l.own, l.contact = c.Hub.SubscribeAll(l.began), c.Beats.InContact()
	l.ended.Go(l.run)
	return l, nil
}

// began is called when a client begins to watch the list of an owner.
func (l *Lists) began(o session.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[o] = struct{}{}
}

// run ends with Close.
func (l *Lists) run() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.look()
			l.say(false)
		case <-l.stop:
			l.say(true)
			return
		}
	}
}

// look has clients list again, if a node died or this node was out of contact.
func (l *Lists) look() {
	before := l.contact
	l.contact = l.Beats.InContact()
	l.mu.Lock()
	died := l.order.gone(l.Beats.Present)
	l.mu.Unlock()
	if died || l.contact && !before {
		l.Hub.Stale()
	}
}

// say publishes all that there is to say.
func (l *Lists) say(end bool) {
	for {
		m := l.next()
		if end && m.empty() {
			m.End = true
		}
		switch {
		case !m.empty():
			l.send(m)
		case time.Since(l.sent) >= repeatTime:
			l.publish(nil)
		}
		if m.empty() || m.End {
			break
		}
	}
	if end {
		l.flush()
	}
}

// next is the next message. While this node is out of contact, others may serve its sessions, so what it would say of them is dropped. A number that is
// left out has the others list again.
func (l *Lists) next() (m message) {
	changes, err := l.own.Take(batchBytes)
	if err != nil {
		l.own.Close()
		l.own = l.Hub.SubscribeAll(l.began)
		l.number++
	}
	if len(changes) > 0 && !l.Beats.InContact() {
		changes = nil
		l.number++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range changes {
		if l.Hub.WatchedHere(session.Ref{Owner: c.Of, ID: c.Session.ID}) {
			l.order.change(c)
		}
		m.Changes = append(m.Changes, changeOf(c))
	}
	for o := range l.begun {
		if len(m.Watched) == maxOwners {
			break
		}
		m.Watched = append(m.Watched, ownerOf(o))
		delete(l.begun, o)
	}
	for node := range l.missed {
		m.Missed = append(m.Missed, node.Word())
	}
	clear(l.missed)
	return m
}

// send publishes a message, or leaves out its number.
func (l *Lists) send(m message) {
	l.number++
	data, err := m.encode()
	if err != nil {
		l.Log.Warn("changes of sessions are not published to other nodes; their clients list again", "err", err)
		return
	}
	l.publish(data)
}

// publish sends a body under the last number. One that cannot be sent is missing, and the others notice.
func (l *Lists) publish(data []byte) {
	l.sent = time.Now()
	m := nats.NewMsg(subject(l.Prefix, l.Self.Word()))
	m.Header.Set(numberName, strconv.FormatUint(l.number, 10))
	m.Data = data
	if err := l.Conns[l.Beats.Newest()].PublishMsg(m); err != nil {
		l.Log.Debug("changes of lists are not sent", "err", err)
	}
}

func (l *Lists) flush() {
	if err := l.Conns[l.Beats.Newest()].FlushTimeout(endTime); err != nil {
		l.Log.Debug("changes of lists are not sent", "err", err)
	}
}

// hear is called by the goroutine of each connection.
func (l *Lists) hear(m *nats.Msg) {
	from := lease.ParseNode(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
	if from == 0 || from == l.Self || !l.Beats.Present(from) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, missed := l.order.message(from, number(m.Header.Get(numberName)), len(m.Data) == 0)
	if missed {
		l.lostLocked(from)
	}
	if !fresh {
		return
	}
	said, changes, err := decode(m.Data)
	if err != nil {
		l.Log.Warn("a message about changes of lists cannot be read", "node", from.Word(), "err", err)
		l.lostLocked(from)
		return
	}
	l.takeLocked(from, said, changes)
}

// lostLocked has clients list again, because messages of a node are missing.
func (l *Lists) lostLocked(from lease.Node) {
	l.missed[from] = struct{}{}
	l.Hub.Stale()
}

func (l *Lists) takeLocked(from lease.Node, said message, changes []watch.Change) {
	for _, c := range changes {
		if l.Hub.WatchedHere(session.Ref{Owner: c.Of, ID: c.Session.ID}) && l.order.change(c) {
			l.Hub.Receive(c)
		}
	}
	for _, node := range said.Missed {
		if node == l.Self.Word() {
			for _, o := range l.Hub.Owners() {
				l.begun[o] = struct{}{}
			}
		}
	}
	if len(said.Watched) > 0 {
		owners := make([]session.Owner, len(said.Watched))
		for i, o := range said.Watched {
			owners[i] = o.owner()
		}
		l.Relist(owners)
	}
	if said.End {
		l.order.ended[from] = true
	}
}

// Close sends what is left, and ends. The sessions of the node have ended.
func (l *Lists) Close() {
	l.unsubscribe()
	close(l.stop)
	l.ended.Wait()
	l.own.Close()
}

func (l *Lists) unsubscribe() {
	for _, sub := range l.subs {
		if err := sub.Unsubscribe(); err != nil {
			l.Log.Debug("changes of lists", "err", err)
		}
	}
}
