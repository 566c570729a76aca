package jet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/lease"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestMarks: all nodes see the marks of all. A session has one, and only its own sequence removes it.
func TestMarks(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a, b := openOne(t, link), openOne(t, link)
	foreign := session.Owner{Tenant: "a.b", User: "*\x00>"}
	first, second := session.Ref{ID: storetest.ID(1)}, session.Ref{Owner: foreign, ID: storetest.ID(2)}
	put := func(s *jet.Store, ref session.Ref, epoch uint64) jet.Mark {
		t.Helper()
		seq, err := s.Mark(t.Context(), ref, epoch)
		if err != nil {
			t.Fatal(err)
		}
		return jet.Mark{Marker: lease.Marker{Node: s.Node(), Epoch: epoch}, Ref: ref, Seq: seq}
	}
	remove := func(m jet.Mark) {
		t.Helper()
		if err := a.Unmark(t.Context(), m.Seq); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, want ...jet.Mark) {
		t.Helper()
		got, err := b.Marks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	want("at first")
	one := put(a, first, 1)
	two := put(a, second, 7)
	want("two marks", one, two)
	newer := put(b, first, 2)
	remove(one)
	want("a late removal", two, newer)
	remove(two)
	remove(two)
	want("one is removed, twice", newer)
	remove(newer)
	want("none is left")
}

// More marks than one answer has.
func TestManyMarks(t *testing.T) {
	s := openOne(t, jettest.Start(t, 1).Dial())
	const n = 600
	for i := range n {
		if _, err := s.Mark(t.Context(), session.Ref{ID: storetest.ID(i)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Marks(t.Context())
	if err != nil || len(got) != n || got[n-1].Ref.ID != storetest.ID(n-1) {
		t.Errorf("%d marks, %v", len(got), err)
	}
}

// present is another node that is there and has nothing open.
type present struct{}

func (present) Present(lease.Node) bool { return true }

func (present) NotMine(context.Context, lease.Node, session.Ref, uint64) bool { return true }

func (present) Taken(lease.Node, session.Ref, uint64) {}

// TestClaimOfLetGo: a session that its node has let go is claimed without a pause, although the log still names that node.
func TestClaimOfLetGo(t *testing.T) {
	link := jettest.Outside(t, jettest.Start(t, 1).Dial())
	synctest.Test(t, func(t *testing.T) {
		var nodes []session.Sessions
		for _, node := range []lease.Node{0xa, 0xb} {
			s, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, Replicas: 1, MaxGrowth: 1 << 20, Node: node, Peers: present{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			nodes = append(nodes, s.For(session.Operator))
		}
		id := storetest.ID(1)
		storetest.Create(t, nodes[0], session.Session{ID: id})
		log := storetest.Claim(t, nodes[0], id)
		storetest.AddTo(t, log, session.Entry{Body: session.Setting{}})
		since := time.Now()
		storetest.Claim(t, nodes[1], id)
		if took := time.Since(since); took != 0 {
			t.Errorf("the claim waits for %v", took)
		}
	})
}

// TestHandOver: the queue waits for a person after a crash, and goes on after a planned move.
func TestHandOver(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	id := storetest.ID(1)
	open := func() session.Sessions { return openOne(t, link).For(session.Operator) } // of another node each time
	held := func(log session.Log) bool { return log.(interface{ Held() bool }).Held() }
	first := open()
	storetest.Create(t, first, session.Session{ID: id})
	crashed := storetest.Claim(t, first, id)
	storetest.AddTo(t, crashed, storetest.Said(storetest.TurnA, "x"))
	moving := storetest.Claim(t, open(), id)
	if !held(moving) {
		t.Error("after a crash the queue goes on")
	}
	node, epoch, err := openOne(t, link).Owner(t.Context(), session.Ref{ID: id})
	if err != nil || node == 0 || epoch != moving.Epoch()+1 {
		t.Errorf("the owner is %x with epoch %d, %v", uint64(node), epoch, err)
	}
	if err := moving.(interface {
		HandOver(context.Context) error
	}).HandOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = moving.Append(t.Context(), storetest.Started(storetest.TurnA))
	storetest.WantErr(t, "append after the log was handed over", err, session.ErrFenced)
	if node, _, err := openOne(t, link).Owner(t.Context(), session.Ref{ID: id}); err != nil || node != 0 {
		t.Errorf("a log that was handed over is owned by %x, %v", uint64(node), err)
	}
	next := storetest.Claim(t, open(), id)
	if held(next) {
		t.Error("after a planned move the queue waits")
	}
	storetest.AddTo(t, next, storetest.Started(storetest.TurnA))
	if last := storetest.Claim(t, open(), id); !held(last) {
		t.Error("the move before counts after a crash")
	}
}
