package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// slow is a claimed log whose appends wait until some have begun.
type slow struct {
	claim
	now, most *atomic.Int32
	begun     chan struct{}
	free      <-chan struct{}
}

func (s slow) Append(context.Context, ...session.Entry) (uint64, error) {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	s.begun <- struct{}{}
	<-s.free
	return 0, nil
}

// After a loss of contact all loaded sessions confirm their logs. Only some do so in parallel, and an append with entries does not wait for them.
func TestConfirmInTurns(t *testing.T) {
	t.Parallel()
	testgo.Cost(t)
	servers := jettest.Start(t, 1)
	n, err := Open(t.Context(), Config{Name: "a", Servers: []string{servers.URL(0)}, Prefix: "thinkd", Replicas: 1, OpenBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Store().Close(); err != nil {
			t.Error(err)
		}
	}()
	const all = 10 * maxConfirming
	var now, most atomic.Int32
	begun, free := make(chan struct{}, all+1), make(chan struct{})
	appends := func(entries ...session.Entry) {
		l := &log{claim: slow{now: &now, most: &most, begun: begun, free: free}, logs: &n.logs, queued: make(map[session.TurnID]struct{})}
		if _, err := l.Append(t.Context(), entries...); err != nil {
			t.Error(err)
		}
	}
	var running sync.WaitGroup
	for range all {
		running.Go(testgo.Guard(t, func() { appends() }))
	}
	for range maxConfirming {
		<-begun
	}
	running.Go(testgo.Guard(t, func() { appends(session.Entry{Body: session.Setting{}}) }))
	<-begun // it has a place, or all others would have to end first
	close(free)
	running.Wait()
	if got := most.Load(); got > maxConfirming+1 {
		t.Errorf("%d logs were confirmed in parallel, want at most %d", got, maxConfirming)
	}
	if n := len(begun); n != all-maxConfirming {
		t.Errorf("%d more appends, want %d", n, all-maxConfirming)
	}
}
