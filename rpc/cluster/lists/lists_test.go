package lists

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann = session.Owner{Tenant: "acme", User: "ann"}
	bob = session.Owner{Tenant: "acme", User: "bob"}
	eve = session.Owner{User: "eve\xff"} // any bytes
)

// beats of nodes that are present until they are gone.
type beats struct {
	mu   sync.Mutex
	gone map[lease.Node]bool
	out  atomic.Bool // of contact

	absent atomic.Int32 // how often it is out of contact when it looks
}

func (b *beats) InContact() bool { return !b.out.Load() && b.absent.Add(-1) < 0 }
func (b *beats) Newest() int     { return 0 }
func (b *beats) Present(n lease.Node) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.gone[n]
}

func (b *beats) die(n lease.Node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = map[lease.Node]bool{n: true}
}

// node is one of two in this process.
type node struct {
	*Lists
	hub   *watch.Hub
	beats *beats
	asked chan session.Owner
}

func begin(t *testing.T, conns jet.Conns, number lease.Node, guests func(session.Ref) []session.Owner) *node {
	t.Helper()
	n := &node{hub: watch.NewHub(guests), beats: new(beats), asked: make(chan session.Owner, 100)}
	relist := func(owners []session.Owner) {
		for _, o := range owners {
			n.asked <- o
		}
	}
	var err error
	n.Lists, err = Start(Config{Conns: conns, Prefix: "thinkd", Self: number, Beats: n.beats, Hub: n.hub, Relist: relist, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, conn := range conns {
		if err := conn.Flush(); err != nil { // the servers know that it listens
			t.Fatal(err)
		}
	}
	return n
}

// watcher is a client that watches a list.
type watcher struct {
	t     *testing.T
	sub   *watch.Subscription
	ready chan struct{}
}

func (n *node) watch(t *testing.T, o session.Owner) *watcher {
	w := &watcher{t, n.hub.Subscribe(o), make(chan struct{}, 1)}
	w.sub.Notify(func() {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	})
	return w
}

// next waits for changes, and returns them in words.
func (w *watcher) next() (words []string) {
	for {
		changes, err := w.sub.Take(1 << 30)
		for _, c := range changes {
			words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s of %s: %s %s", kinds[c.Kind], c.Session.ID[20:], c.Of.User, c.Session.Title, c.Needs)))
		}
		if err != nil {
			return append(words, "stale")
		}
		if words != nil {
			return words
		}
		<-w.ready
	}
}

func (w *watcher) expect(want ...string) {
	w.t.Helper()
	if got := w.next(); !slices.Equal(got, want) {
		w.t.Errorf("a client gets %q, want %q", got, want)
	}
}

func row(id int, kind watch.Kind, epoch uint64, title string) watch.Change {
	return watch.Change{Kind: kind, Epoch: epoch, Session: session.Session{ID: storetest.ID(id), Title: title}}
}

func rowIn(id int, rest string) string {
	return strings.Replace(rest, "ID", string(storetest.ID(id))[20:], 1)
}

// Clients of one node get what changes at the other one: their own sessions and those that are shared with them, as they are at last.
func TestChanges(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 3)
	shared := session.Ref{Owner: ann, ID: storetest.ID(1)}
	guests := func(ref session.Ref) []session.Owner {
		if ref == shared {
			return []session.Owner{bob}
		}
		return nil
	}
	a, b := begin(t, servers.Dial(), 10, guests), begin(t, servers.Dial(), 11, guests)
	hers, his, evil := a.watch(t, ann), a.watch(t, bob), a.watch(t, eve)
	for range 3 { // the node asks for what the others have loaded
		<-b.asked
	}
	b.hub.Publish(ann, row(1, watch.Created, 0, ""))
	for i := range 1000 {
		b.hub.Publish(ann, row(1, watch.Changed, 1, fmt.Sprint(i)))
	}
	last := row(1, watch.Changed, 1, "last")
	last.Needs = watch.Approval
	b.hub.Publish(ann, last)
	b.hub.Publish(ann, watch.Change{Kind: watch.Created, Session: session.Session{ID: storetest.ID(8), Ephemeral: true}}) // which no other node has
	b.hub.Publish(eve, row(2, watch.Removed, 0, ""))
	evil.expect(rowIn(2, "removed ID of eve\xff:")) // behind the others
	for name, w := range map[string]*watcher{"ann": hers, "bob": his} {
		var all []string
		for len(all) == 0 || !strings.HasSuffix(all[len(all)-1], "approval") && all[len(all)-1] != "stale" {
			all = append(all, w.next()...)
		}
		if len(all) > 2 || !strings.HasSuffix(all[len(all)-1], rowIn(1, "ID of ann: last approval")) {
			t.Errorf("%s gets %q", name, all)
		}
	}
	b.hub.Repeat(ann, row(3, watch.Changed, 4, "loaded"))
	hers.expect(rowIn(3, "changed ID of ann: loaded"))
	b.hub.Publish(ann, row(3, watch.Changed, 3, "of the owner before"))
	b.hub.Publish(ann, row(4, watch.Changed, 1, "another"))
	hers.expect(rowIn(4, "changed ID of ann: another"))
	b.hub.Publish(ann, row(5, watch.Created, 0, "at the end"))
	b.Close()
	hers.expect(rowIn(5, "created ID of ann: at the end"))
	a.Close()
}

// What is lost is noticed, and clients list again: messages that are missing, also the last one, a node that died, and this node's own absence.
func TestLosses(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	a, b := begin(t, servers.Dial(), 10, nil), begin(t, servers.Dial(), 11, nil)
	defer a.Close()
	for i, lose := range []func(){
		func() { // the last message: it is larger than a message may be
			b.hub.Publish(eve, row(1, watch.Changed, 1, strings.Repeat("x", maxBytes)))
		},
		func() { // more than the subscription keeps
			b.hub.Publish(eve, row(1, watch.Changed, 1, strings.Repeat("x", 8<<20)))
		},
		func() { // what this node does not know: another one may serve the session
			b.beats.out.Store(true)
			b.hub.Publish(eve, row(1, watch.Changed, 1, ""))
		},
		func() { a.beats.absent.Store(1) },
		func() { a.beats.die(11) },
	} {
		b.beats.out.Store(false)
		w := a.watch(t, ann)
		if a.beats.Present(11) {
			for <-b.asked != ann {
			}
		}
		lose()
		if got := w.next(); !slices.Equal(got, []string{"stale"}) {
			t.Errorf("loss %d: %q", i, got)
		}
	}
	b.Close()
}

// A node that missed messages says so, and their sender asks again for the lists that its clients watch.
func TestMissedQuestion(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	a, b := begin(t, servers.Dial(), 10, nil), begin(t, servers.Dial(), 11, nil)
	defer a.Close()
	defer b.Close()
	w := a.watch(t, ann)
	defer w.sub.Close()
	for <-b.asked != ann {
	}
	a.hub.Publish(eve, row(1, watch.Changed, 1, strings.Repeat("x", maxBytes))) // a gap
	for <-b.asked != ann {
	}
}

// What arrives may be anything. It never ends the process; clients list again, because nobody knows what was said.
func TestForeignBytes(t *testing.T) {
	servers := jettest.Start(t, 1)
	a := begin(t, servers.Dial(), 10, nil)
	defer a.Close()
	foreign := servers.Dial()[0]
	n := 0
	send := func(subject, number string, data []byte) {
		t.Helper()
		m := nats.NewMsg(subject)
		m.Header.Set(numberName, number)
		m.Data = data
		if err := foreign.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, silent := range []string{"thinkd.lists.zz", "thinkd.lists.0", "thinkd.lists.a"} { // nobody, nobody, itself
		send(silent, "7", []byte("{"))
	}
	send("thinkd.lists.b", "", []byte("{"))
	send("thinkd.lists.b", "-1", []byte("{"))
	for _, data := range []string{"{", "null[", `{"changes":[{}]}`, `{"changes":[{"kind":"changed","session":{"id":"x"}}]}`, `{"changes":7}`,
		fmt.Sprintf(`{"changes":[{"kind":"eaten","session":{"id":%q}}]}`, storetest.ID(1)), strings.Repeat(" ", maxBytes) + "{}"} {
		w := a.watch(t, ann)
		n++
		send("thinkd.lists.b", fmt.Sprint(n), []byte(data))
		if got := w.next(); !slices.Equal(got, []string{"stale"}) {
			t.Errorf("%.40s: %q", data, got)
		}
	}
	w := a.watch(t, ann)
	n++
	send("thinkd.lists.b", fmt.Sprint(n), fmt.Appendf(nil, `{"changes":[{"kind":"changed","owner":{"tenant":"YWNtZQ==","user":"YW5u"},"session":{"id":%q,"title":"t"},"later":1}]}`, storetest.ID(1)))
	w.expect(rowIn(1, "changed ID of ann: t"))
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"missed":["b"],"watched":[{"user":"YW5u"}],"end":true}`, `{"changes":[{"kind":"removed","session":{"id":"01KAK2V7M0Q2X4T6V8Y0A2C4E6"}}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, changes, err := decode(data)
		if err != nil {
			return
		}
		again := message{Watched: m.Watched, Missed: m.Missed, End: m.End}
		for _, c := range changes {
			if session.CheckID(string(c.Session.ID)) != nil {
				t.Errorf("session %q", c.Session.ID)
			}
			again.Changes = append(again.Changes, changeOf(c))
		}
		out, err := again.encode()
		if err != nil {
			return // it has grown
		}
		if _, same, err := decode(out); err != nil || len(same) != len(changes) {
			t.Errorf("%s: %v", out, err)
		}
	})
}

// Memory of nodes and sessions is bounded, and what is forgotten is new.
func TestOrder(t *testing.T) {
	o := newOrder()
	for i := range 2 * maxNodes {
		if fresh, missed := o.message(lease.Node(i+1), 1, false); !fresh || missed {
			t.Fatal("the first message of a node is not its first")
		}
	}
	for i := range 2 * maxSessions {
		o.change(row(i, watch.Changed, 5, ""))
	}
	if len(o.last) != maxNodes || len(o.newest) > maxSessions {
		t.Errorf("%d nodes, %d sessions", len(o.last), len(o.newest))
	}
	for i, step := range []struct {
		number         uint64
		repeats        bool
		fresh, missing bool
	}{{0, true, false, false}, {1, false, true, false}, {1, false, false, false}, {1, true, false, false}, {3, false, true, true}, {2, false, false, false}, {4, true, false, true}, {4, false, false, false}, {5, false, true, false}} {
		if fresh, missed := o.message(1<<40, step.number, step.repeats); fresh != step.fresh || missed != step.missing {
			t.Errorf("step %d: %v, %v", i, fresh, missed)
		}
	}
	for i, step := range []struct {
		c  watch.Change
		ok bool
	}{{row(1, watch.Created, 0, ""), true}, {row(1, watch.Changed, 2, ""), true}, {row(1, watch.Changed, 1, ""), false}, {row(1, watch.Changed, 2, ""), true},
		{row(1, watch.Removed, 0, ""), true}, {row(1, watch.Changed, 9, ""), false}, {row(1, watch.Removed, 0, ""), true}} {
		if i == 0 {
			clear(o.newest)
		}
		if got := o.change(step.c); got != step.ok {
			t.Errorf("change %d: %v", i, got)
		}
	}
	o = newOrder()
	o.message(1, 1, false)
	o.message(2, 1, false)
	o.ended[1] = true
	if o.gone(func(n lease.Node) bool { return n == 2 }) || !o.gone(func(lease.Node) bool { return false }) || len(o.last)+len(o.ended) > 0 {
		t.Error("who died, and who ended")
	}
}
