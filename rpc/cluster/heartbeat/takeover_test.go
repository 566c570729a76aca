//go:build long

package heartbeat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/rpc/cluster/presence"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

// node is one that could serve sessions.
type node struct {
	*heartbeat.Node
	store *jet.Store
	conns jet.Conns
}

func start(t *testing.T, conns jet.Conns, number lease.Node) node {
	t.Helper()
	n, err := heartbeat.Start(conns, "thinkd", number)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jet.Open(t.Context(), conns, jet.Options{Shards: 1, MaxGrowth: 1 << 20, Node: number, Peers: n})
	if err != nil {
		t.Fatal(err)
	}
	n.Serve(s.Mine)
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, session.ErrClosed) {
			t.Logf("close: %v", err) // of a node that is cut off
		}
	})
	return node{n, s, conns}
}

// join waits until the node is in contact. A node that has just started has sent a heartbeat that does not count, so that others may take it for gone.
func (n node) join(t *testing.T) {
	t.Helper()
	for !n.InContact() {
		if err := n.conns[0].Flush(); err != nil { // heartbeats arrive meanwhile
			t.Fatal(err)
		}
	}
}

func (n node) claim(t *testing.T, id int) (session.Log, error) {
	return n.store.For(session.Operator).Claim(t.Context(), storetest.ID(id))
}

// refused is a claim that fails because another node has the session.
func (n node) refused(t *testing.T, id int, by lease.Node) {
	t.Helper()
	_, err := n.claim(t, id)
	if elsewhere := (*jet.ElsewhereError)(nil); !errors.As(err, &elsewhere) || elsewhere.Node != by {
		t.Errorf("claim of session %d: %v, want the node %x", id, err, by)
	}
}

// takes claims until it succeeds, and returns how long that took.
func (n node) takes(t *testing.T, id int) (session.Log, time.Duration) {
	t.Helper()
	for since := time.Now(); ; {
		log, err := n.claim(t, id)
		if elsewhere := (*jet.ElsewhereError)(nil); errors.As(err, &elsewhere) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return log, time.Since(since)
	}
}

// TestTakeover: a node that is present keeps what it has open, and gives what it has not. What a node had that is gone, or cut off, goes to the others,
// and it can append nothing more.
func TestTakeover(t *testing.T) {
	testgo.Cost(t)
	servers := jettest.Start(t, 3)
	proxies := []*jettest.Proxy{jettest.NewProxy(t, servers.Address(0)), jettest.NewProxy(t, servers.Address(1)), jettest.NewProxy(t, servers.Address(2))}
	a := start(t, jettest.Dial(t, proxies[0].URL(), proxies[1].URL(), proxies[2].URL()), 0xa)
	b := start(t, servers.Dial(), 0xb)
	c := start(t, servers.Dial(), 0xc)
	for _, n := range []node{a, b, c} {
		n.join(t)
	}
	held := make(map[int]session.Log)
	for id := range 4 {
		storetest.Create(t, a.store.For(session.Operator), session.Session{ID: storetest.ID(id)})
		log, err := a.claim(t, id)
		if err != nil {
			t.Fatal(err)
		}
		held[id] = log
	}
	b.refused(t, 0, 0xa)
	c.refused(t, 0, 0xa)
	storetest.AddTo(t, held[0], session.Entry{Time: 1, Body: session.Setting{}})
	if err := held[0].Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved, err := c.claim(t, 0) // a says that it has not got it
	if err != nil {
		t.Fatalf("claim of what was released: %v", err)
	}
	a.refused(t, 0, 0xc)
	storetest.AddTo(t, moved, session.Entry{Time: 2, Body: session.Setting{}})

	// A node that says goodbye is gone at once. Its log is fenced, although it could append still.
	c.Close()
	again, took := b.takes(t, 0)
	t.Logf("after a goodbye: %v", took)
	_, err = moved.Append(t.Context(), session.Entry{Time: 3, Body: session.Setting{}})
	storetest.WantErr(t, "append by the node before", err, session.ErrFenced)
	storetest.AddTo(t, again, session.Entry{Time: 4, Body: session.Setting{}})

	// One connection of three decides nothing. Without two, a node is cut off, and says nothing about others.
	proxies[0].Refuse()
	b.refused(t, 1, 0xa)
	storetest.AddTo(t, held[1], session.Entry{Time: 5, Body: session.Setting{}})
	proxies[1].Refuse()
	taken, took := b.takes(t, 1)
	t.Logf("after the contact was lost: %v", took)
	if took < presence.Margin {
		t.Errorf("a node was taken for gone after %v", took)
	}
	if a.InContact() {
		t.Error("a node without two of three connections is in contact")
	}
	if !a.Present(0xb) {
		t.Error("a node that is cut off says who is gone")
	}
	_, err = held[1].Append(t.Context(), session.Entry{Time: 6, Body: session.Setting{}})
	if err == nil || !errors.Is(err, session.ErrFenced) && !errors.Is(err, jet.ErrUnknown) {
		t.Errorf("append by a node that is cut off: %v", err)
	}
	if last := storetest.AddTo(t, taken, session.Entry{Time: 7, Body: session.Setting{}}); last != 2 {
		t.Errorf("the entry is at %d, want 2", last)
	}
	a.Close()
	b.Close()
}
