//go:build long

package cluster

import (
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// sleeper is the clock of a node that goes on while the machine sleeps, CLOCK_BOOTTIME. The test answers the calls that read it. Go's own clocks are read without a call,
// and do not see the sleep, like the monotonic clock of a machine that slept.
type sleeper struct {
	t     *testing.T
	slept atomic.Int64 // ns
	calls atomic.Int64
}

func (s *sleeper) open(cmd *exec.Cmd) *proof.House {
	return proof.OpenAnswered(s.t, cmd, "clock_gettime", s.answer)
}

func (s *sleeper) answer(c proof.Call) (bool, unix.Errno) {
	if c.Args[0] != unix.CLOCK_BOOTTIME {
		return false, 0
	}
	s.calls.Add(1)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		s.t.Error(err)
	}
	now = unix.NsecToTimespec(now.Nano() + s.slept.Load())
	text := unsafe.Slice((*byte)(unsafe.Pointer(&now)), unsafe.Sizeof(now))
	local := []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}
	if _, err := unix.ProcessVMWritev(int(c.PID), local, []unix.RemoteIovec{{Base: uintptr(c.Args[1]), Len: len(text)}}, 0); err != nil {
		return true, unix.EFAULT // the node was killed
	}
	return true, 0
}

// TestSlept has the machine of a node sleep, so that only one of its clocks shows it. The node relies on nothing from before: it refuses requests until its contact is new, and
// then serves its session. After a sleep in which another node took the session, it never shows its old view.
func TestSlept(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	clock := &sleeper{t: t}
	a, b := c.startBy("a", clock.open), c.start("b")
	at, bt := a.door(), b.door()
	session := at.NewSession()
	at.Turn(session, "Before.")
	if clock.calls.Load() == 0 {
		t.Fatal("the node does not read the clock")
	}

	clock.slept.Add(int64(20 * time.Second))
	awake := time.Now()
	if kind, _ := refused(t, at.Call("session/attach", map[string]any{"session_id": session}, nil)); kind != "cut_off" {
		t.Errorf("a node that slept refuses as %q", kind)
	}
	attach(t, at, session)
	t.Logf("a node that slept serves its session %v later", time.Since(awake))
	if end := at.Turn(session, "After."); end.Stop != "end_turn" {
		t.Errorf("the turn ends with %+v", end)
	}
	if strings.Contains(b.log(), "taken over") {
		t.Error("the other node takes the session, although nothing happened")
	}

	if err := a.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	attach(t, bt, session)
	bt.Turn(session, "Meanwhile.")
	clock.slept.Add(int64(time.Hour))
	heard := len(at.Seen())
	if err := a.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	history, err := at.History(session)
	if err == nil {
		t.Errorf("a node that slept for an hour shows a view of %d messages", len(history))
	} else {
		refused(t, err)
	}
	at.Wait("stale", func(u proof.Update) bool { return u.Method == "stale" && u.Session == session })
	for _, u := range at.Seen()[heard:] {
		if u.Turn != "" {
			t.Errorf("after its sleep, the node publishes %s", u.Raw)
		}
	}
	c.onceEach(t, "Before.", "After.", "Meanwhile.")
	ends(at, bt, a, b)
}
