package node

import (
	"log/slog"
	"testing"

	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

// asked are the agents of a node that keep what they are to confirm.
type asked struct {
	Agents
	hub     *watch.Hub
	confirm chan session.Ref
}

func (a asked) Lists() *watch.Hub       { return a.hub }
func (asked) Relist([]session.Owner)    {}
func (asked) Running() int              { return 0 }
func (asked) Holds(session.Ref) bool    { return false }
func (asked) Abandon()                  {}
func (a asked) Confirm(ref session.Ref) { a.confirm <- ref }

// harsh takes all other nodes for gone.
type harsh struct{ *heartbeat.Node }

func (harsh) Present(lease.Node) bool { return false }

// A message says that another node has claimed a session. The log is lost at once if the store has that claim, and otherwise nothing changes.
func TestTaken(t *testing.T) {
	t.Parallel()
	testgo.Cost(t)
	servers := jettest.Start(t, 1)
	n, err := Open(t.Context(), Config{Name: "a", Servers: []string{servers.URL(0)}, Prefix: "thinkd", Replicas: 1, OpenBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	agents := asked{hub: watch.NewHub(nil), confirm: make(chan session.Ref, 10)}
	if err := n.Serve(agents); err != nil {
		t.Fatal(err)
	}
	conns := servers.Dial()
	other, err := heartbeat.Start(conns, "thinkd", 0xb)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := jet.Open(t.Context(), conns, jet.Options{Node: 0xb, Replicas: 1, MaxGrowth: 1 << 20, Peers: harsh{other}})
	if err != nil {
		t.Fatal(err)
	}
	ours := n.Store().For(session.Operator)
	var logs []session.Log
	for i := range 2 {
		storetest.Create(t, ours, session.Session{ID: storetest.ID(i)})
		log, err := ours.Claim(t.Context(), storetest.ID(i))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	kept, lost := session.Ref{ID: storetest.ID(0)}, session.Ref{ID: storetest.ID(1)}
	other.Taken(n.Number(), kept, 1000)
	other.Taken(n.Number(), session.Ref{ID: storetest.ID(5)}, 1000)
	log, err := theirs.For(session.Operator).Claim(t.Context(), lost.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-agents.confirm; got != lost {
		t.Errorf("the node confirms %v", got)
	}
	if !logs[0].(session.Movable).Current() || logs[1].(session.Movable).Current() {
		t.Error("the log that was taken is current, or the other is not")
	}
	_, err = logs[1].Append(t.Context())
	storetest.WantErr(t, "an append to the log that was taken", err, session.ErrFenced)
	storetest.AddTo(t, logs[0], session.Entry{Time: 1, Body: session.Setting{}})
	if len(agents.confirm) > 0 {
		t.Errorf("the node also confirms %v", <-agents.confirm)
	}
	for _, l := range append(logs, log) {
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
	other.Close()
	if err := n.Store().Close(); err != nil {
		t.Error(err)
	}
}
