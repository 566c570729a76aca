//go:build long && unix

package jet_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/archive"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// appender appends to one session, and remembers what was acknowledged.
type appender struct {
	t    *testing.T
	of   session.Sessions
	id   session.ID
	acks chan int64

	mu    sync.Mutex
	acked []int64
	again int // claims after an error
}

// run appends until stop is closed.
func (a *appender) run(stop <-chan struct{}) {
	var log session.Log
	for value := int64(1); ; value++ {
		select {
		case <-stop:
			return
		default:
		}
		var err error
		if log == nil {
			if log, err = a.of.Claim(a.t.Context(), a.id); err != nil {
				a.mu.Lock()
				a.again++
				a.mu.Unlock()
				continue
			}
		}
		if _, err = log.Append(a.t.Context(), session.Entry{Time: value, Body: session.Setting{}}); err != nil {
			log = nil
			continue
		}
		a.mu.Lock()
		a.acked = append(a.acked, value)
		a.mu.Unlock()
		select {
		case a.acks <- value:
		default:
		}
	}
}

// progress waits for so many more acknowledgements of each.
func progress(t *testing.T, list []*appender, n int) (took time.Duration) {
	t.Helper()
	since := time.Now()
	for _, a := range list {
		for len(a.acks) > 0 {
			<-a.acks
		}
		for range n {
			<-a.acks
		}
	}
	return time.Since(since)
}

// check finds every acknowledged entry in the log, in order and once.
func (a *appender) check(of session.Sessions) {
	a.t.Helper()
	entries := storetest.Entries(a.t, of, a.id)
	at := make(map[int64]int)
	last := int64(0)
	for i, e := range entries {
		if e.Time <= last {
			a.t.Errorf("session %s: entry %d is behind entry %d", a.id, e.Time, last)
		}
		last, at[e.Time] = e.Time, i+1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	lost := 0
	for _, value := range a.acked {
		if at[value] == 0 {
			lost++
		}
	}
	a.t.Logf("session %s: %d acknowledged, %d in the log, %d lost, %d claims failed", a.id, len(a.acked), len(entries), lost, a.again)
	if lost > 0 || len(entries) < len(a.acked) {
		a.t.Errorf("session %s: %d of %d acknowledged entries are lost", a.id, lost, len(a.acked))
	}
}

// openThree opens a store, as soon as there is a leader.
func openThree(t *testing.T, link jet.Link) *jet.Store {
	t.Helper()
	for {
		s, err := jet.Open(t.Context(), link, jet.Options{Shards: 1, MaxGrowth: 1 << 20})
		if err == nil {
			return s
		}
		if !errors.Is(err, session.ErrReadOnly) {
			t.Fatal(err)
		}
	}
}

// TestProcesses has servers that are killed, stopped, and all killed at once, while entries are appended. No acknowledged entry is lost, and a claim never shows
// a log that is older than the last acknowledgement, also if a leader answers that was stopped and has lost its office meanwhile. A second copy is kept all the time.
func TestProcesses(t *testing.T) {
	testgo.Cost(t)
	p := jettest.StartProcesses(t, t.TempDir())
	conns := p.Dial(0, 1, 2)
	s := openThree(t, conns)
	of := s.For(session.Operator)
	var list []*appender
	stop := make(chan struct{})
	var ended []<-chan struct{}
	for i := range 4 {
		a := &appender{t: t, of: of, id: storetest.ID(i), acks: make(chan int64, 1000)}
		storetest.Create(t, of, session.Session{ID: a.id})
		list, ended = append(list, a), append(ended, testgo.Go(t, func() { a.run(stop) }))
	}
	dir := t.TempDir()
	copying, end := context.WithCancel(t.Context())
	copied := testgo.Go(t, func() {
		f := archive.Follower{Link: conns, Prefix: "thinkd", Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
		if err := f.Run(copying); err != nil {
			t.Error(err)
		}
	})
	const stream = "thinkd_LOG_0"
	t.Logf("without a fault: 20 appends of 4 sessions in %v", progress(t, list, 20))

	leader := p.Leader(conns, stream)
	p.Kill(leader)
	t.Logf("the leader is killed: %v", progress(t, list, 20))
	p.Start(leader)
	t.Logf("it is back: %v", progress(t, list, 20))

	probe := storetest.ID(50)
	storetest.Create(t, of, session.Session{ID: probe})
	log := storetest.Claim(t, of, probe)
	storetest.AddTo(t, log, session.Entry{Time: 1, Body: session.Setting{}})
	old := p.Leader(conns, stream)
	p.Signal(old, syscall.SIGSTOP)
	t.Logf("the leader is stopped: %v", progress(t, list, 20))
	storetest.AddTo(t, log, session.Entry{Time: 2, Body: session.Setting{}})
	p.Signal(old, syscall.SIGCONT)
	other := openThree(t, p.Dial(old)) // it asks the outdated leader alone
	if _, err := other.For(session.Operator).Claim(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
	if n := len(storetest.Entries(t, other.For(session.Operator), probe)); n != 2 {
		t.Errorf("after a claim there are %d entries of 2", n)
	}
	_, err := log.Append(t.Context(), session.Entry{Time: 3, Body: session.Setting{}})
	storetest.WantErr(t, "append by the holder before", err, session.ErrFenced)
	t.Logf("it goes on: %v", progress(t, list, 20))

	for i := range 3 {
		p.Kill(i)
	}
	p.StartAll()
	t.Logf("all were killed, and started: %v", progress(t, list, 20))

	for i := range 3 {
		p.Shutdown(i)
		p.Start(i)
		t.Logf("server %d was shut down, and started: %v", i+1, progress(t, list, 20))
	}
	close(stop)
	for _, e := range ended {
		<-e
	}
	for _, a := range list {
		a.check(other.For(session.Operator))
	}
	end()
	<-copied
	last, _, err := jet.LastSeq(t.Context(), conns, stream)
	if err != nil {
		t.Fatal(err)
	}
	report, err := archive.Verify(t.Context(), dir)
	if err != nil || len(report.Broken) > 0 || report.Streams[0].Messages == 0 {
		t.Fatalf("the second copy: %+v, %v", report, err)
	}
	t.Logf("the second copy ends at message %d of %d", report.Streams[0].Last, last)
	for _, s := range []*jet.Store{s, other} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
