package agent

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// TestTellReadOnly has a store that has become read-only: clients that only watch a session get a notice. A session that nobody
// watches gets none.
func TestTellReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		watched, alone := b.session("sim/claude", ""), b.session("sim/claude", "")
		_, sub, err := b.agent(watched).Attach(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		b.agent(alone) // loaded, and nobody is there
		b.group.TellReadOnly(t.Context())
		u, err := sub.TryNext()
		if err != nil || u == nil {
			t.Fatalf("no notice came: %v", err)
		}
		want := warn(noticeStoreReadOnly, "the session cannot be written: "+session.ErrReadOnly.Error())
		if diff := cmp.Diff(feed.Event(want), u.Event); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if s, err := b.agent(alone).State(t.Context()); err != nil || s.Running {
			t.Errorf("the session that nobody watches: %+v, %v", s, err)
		}
		if _, sub, err := b.agent(alone).Attach(t.Context(), 0); err != nil {
			t.Error(err)
		} else if u, err := sub.TryNext(); u != nil || err != nil {
			t.Errorf("the session that nobody watched got %v, %v", u, err)
		}
		// The notice's number is not in the log. The next agent of the session must not use it again.
		a := b.agent(watched)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		view, _, err := b.agent(watched).Attach(t.Context(), 0)
		if err != nil || view.Seq <= u.Seq {
			t.Errorf("after loading again, the session is at %d, %v; %d was published", view.Seq, err, u.Seq)
		}
	})
}

// TestDeletedAfterTrouble deletes sessions that a failed store may not know all numbers of: while their agents live, and later. The
// group keeps nothing of them.
func TestDeletedAfterTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		early, late := b.session("sim/claude", ""), b.session("sim/claude", "")
		for _, id := range []session.ID{early, late} {
			if _, _, err := b.agent(id).Attach(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		b.group.TellReadOnly(t.Context())
		kept := func() int {
			synctest.Wait()
			b.group.mu.Lock()
			defer b.group.mu.Unlock()
			return len(b.group.used)
		}
		if err := b.group.For(session.Operator).Delete(t.Context(), early); err != nil {
			t.Fatal(err)
		}
		check(t, "kept of the early one", kept(), 0)
		if err := b.agent(late).Close(); err != nil {
			t.Fatal(err)
		}
		check(t, "kept of the late one while it is there", kept(), 1)
		if err := b.group.For(session.Operator).Delete(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		check(t, "kept of the late one", kept(), 0)
	})
}

// TestTellReadOnlyToEach has a session that is blocked, for example because it waits for the store. All others get the notice.
func TestTellReadOnlyToEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		release := make(chan struct{})
		testgo.Go(t, func() {
			ask(t.Context(), b.agent(b.session("sim/claude", "")), func(*state) (struct{}, error) { // ends by release
				<-release
				return struct{}{}, nil
			})
		})
		var watched []*feed.Subscription
		for range 9 {
			_, sub, err := b.agent(b.session("sim/claude", "")).Attach(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			watched = append(watched, sub)
		}
		told := make(chan struct{})
		testgo.Go(t, func() { // ends by release
			defer close(told)
			b.group.TellReadOnly(t.Context())
		})
		synctest.Wait()
		for n, sub := range watched {
			if u, err := sub.TryNext(); u == nil || err != nil {
				t.Errorf("session %d got %v, %v", n, u, err)
			}
		}
		close(release)
		<-told
	})
}
