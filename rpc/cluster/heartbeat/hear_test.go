package heartbeat

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/rpc/cluster/presence"
	"github.com/thinkd/thinkd/session/lease"
)

const (
	own   lease.Node = 0xa
	other lease.Node = 0xb
)

// listener is a node without connections, whose clock the test moves.
type listener struct {
	*Node
	at time.Duration
}

func listen(servers int) *listener {
	l := &listener{at: time.Hour}
	l.Node = &Node{prefix: "thinkd", self: own, now: func() time.Duration { return l.at }, since: l.at, contact: presence.NewContact(servers),
		heard: make(map[lease.Node]time.Duration), gone: make(map[lease.Node]bool), peers: make(map[lease.Node]About)}
	return l
}

// get has a heartbeat arrive on the connection to a server.
func (l *listener) get(server int, from lease.Node, b beat) {
	l.hear(server, &nats.Msg{Subject: beatSubject(l.prefix, from.Word()), Data: encode(b)})
}

// pass lets time pass in which the servers return what this node sends, and the other nodes send heartbeats.
func (l *listener) pass(d time.Duration, servers []int, others ...lease.Node) {
	for end := l.at + d; l.at < end; {
		l.at += presence.Interval
		for _, s := range servers {
			for _, from := range others {
				l.get(s, from, beat{Server: s, Sent: 1})
			}
			l.get(s, own, beat{Server: s, Sent: l.at})
		}
	}
}

func (l *listener) want(t *testing.T, when string, present, contact bool) {
	t.Helper()
	if l.Present(other) != present || l.InContact() != contact {
		t.Errorf("%s: present %v, in contact %v; want %v, %v", when, l.Present(other), l.InContact(), present, contact)
	}
}

func TestSilence(t *testing.T) {
	l := listen(3)
	l.want(t, "at the start", true, false)
	l.pass(time.Minute, []int{0}, other)
	l.want(t, "with one server of three", true, false)
	l.pass(presence.CutOff+presence.Interval, []int{0, 1}, other)
	l.want(t, "with two", true, true)
	l.pass(presence.Silence, []int{0, 1})
	l.want(t, "after 5 s of silence", true, true)
	l.pass(2*presence.Interval, []int{0, 1})
	l.want(t, "after more", false, true)
	l.get(1, other, beat{Server: 1, Sent: 1})
	l.want(t, "heard again", true, true)
}

// A node that is cut off cannot tell the silence of others from its own.
func TestCutOff(t *testing.T) {
	l := listen(3)
	l.pass(time.Minute, []int{0, 1, 2}, other)
	l.want(t, "at first", true, true)
	l.pass(time.Hour, []int{0})
	l.want(t, "cut off from two servers", true, false)
	l.pass(presence.CutOff, []int{0, 2})
	l.want(t, "just back", true, false)
	l.pass(presence.Silence, []int{0, 2})
	l.want(t, "back for longer than the silence", false, true)
}

// A node that is in contact with no majority says so, and is silent for the others.
func TestAlone(t *testing.T) {
	l := listen(1)
	l.pass(time.Minute, []int{0}, other)
	for range 12 {
		l.pass(presence.Interval, []int{0})
		l.get(0, other, beat{Sent: 1, Alone: true})
	}
	l.want(t, "heartbeats of a node that is cut off", false, true)
}

func TestGoodbye(t *testing.T) {
	l := listen(1)
	l.pass(time.Minute, []int{0}, other)
	l.get(0, other, beat{Sent: 1, Bye: true})
	l.want(t, "after a goodbye", false, true)
}

// A heartbeat says what its node is called, and that node is listed while it is present.
func TestPeers(t *testing.T) {
	l := listen(1)
	about := About{Name: "b", Link: "10.0.0.2:7718", Turns: 3}
	l.get(0, other, beat{Sent: 1, About: about})
	if got := l.Peers(); len(got) != 1 || got[0] != (Peer{other, about}) || l.Name(other) != "b" {
		t.Errorf("peers %+v, name %q", got, l.Name(other))
	}
	l.pass(2*presence.Silence, []int{0})
	if got := l.Peers(); len(got) != 0 || l.Name(other) != "b" || l.Name(own) != own.Word() {
		t.Errorf("after its silence: peers %+v, names %q, %q", got, l.Name(other), l.Name(own))
	}
}

// What was true at the beginning of the contact is true while the contact lasts.
func TestUnbroken(t *testing.T) {
	l := listen(3)
	l.pass(time.Minute, []int{0, 1})
	sent := l.at
	l.pass(presence.Interval, []int{0, 1})
	if !l.Unbroken(sent) || !l.InTime(sent) || l.Unbroken(time.Second) {
		t.Errorf("in contact: unbroken %v, in time %v, since ever %v", l.Unbroken(sent), l.InTime(sent), l.Unbroken(time.Second))
	}
	l.pass(presence.Margin, []int{0, 1})
	if !l.Unbroken(sent) || l.InTime(sent) {
		t.Errorf("after the margin: unbroken %v, in time %v", l.Unbroken(sent), l.InTime(sent))
	}
	l.at += presence.CutOff // the process was stopped
	if l.Unbroken(sent) {
		t.Error("nothing is known of the time in which the process was stopped")
	}
	l.pass(time.Minute, []int{0, 1})
	if l.Unbroken(sent) {
		t.Error("the contact of now says nothing about before")
	}
}

// A machine that slept: the clock of contact went on, nothing ran, and what arrives first was sent before. The node relies on nothing from before, and says
// nothing about others, who may have been there all the time.
func TestSleep(t *testing.T) {
	l := listen(3)
	l.pass(time.Minute, []int{0, 1}, other)
	sent := l.at
	l.at += time.Hour
	awake := func(when string) {
		t.Helper()
		l.want(t, when, true, false)
		if l.Unbroken(sent) || l.InTime(sent) || !l.alone() {
			t.Errorf("%s: unbroken %v, in time %v, alone %v", when, l.Unbroken(sent), l.InTime(sent), l.alone())
		}
	}
	awake("awake")
	for s := range 3 { // what the kernel had kept
		l.get(s, own, beat{Server: s, Sent: sent})
		l.get(s, other, beat{Server: s, Sent: 1})
	}
	awake("after old messages")
	l.pass(presence.CutOff+presence.Interval, []int{0, 1}, other)
	l.want(t, "later", true, true)
	if l.Unbroken(sent) {
		t.Error("the contact of now says nothing about the time before the sleep")
	}
}

// What cannot be a heartbeat of this node, or of any, changes nothing.
func TestForeignMessages(t *testing.T) {
	l := listen(1)
	for _, subject := range []string{"thinkd.hb.", "thinkd.hb.0", "thinkd.hb.xyz", "thinkd", ""} {
		l.hear(0, &nats.Msg{Subject: subject, Data: encode(beat{Sent: 1})})
	}
	l.hear(0, &nats.Msg{Subject: beatSubject("thinkd", other.Word()), Data: []byte(`{"sent":"`)})
	l.get(0, own, beat{Sent: l.at + 1})        // from the future
	l.get(0, own, beat{Sent: -1})              // before the clock
	l.get(0, own, beat{Server: 1, Sent: l.at}) // sent on another connection
	if len(l.heard) > 0 || l.contact.Confirmed() != 0 {
		t.Errorf("heard %v, contact %v", l.heard, l.contact)
	}
	for n := range lease.Node(2 * maxNodes) {
		l.at++
		l.get(0, n+100, beat{Sent: 1})
	}
	if len(l.heard) != maxNodes || l.heard[2*maxNodes+99] != l.at {
		t.Errorf("%d nodes are remembered, the newest at %v", len(l.heard), l.heard[2*maxNodes+99])
	}
}
