package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/cmd/thinkd/proof/inside"
	"github.com/thinkd/thinkd/provider/testgo"
)

// harm is what happens to the calls of one kind on files of a data directory.
type harm struct {
	call  string
	nth   int // counted from 1, from the start of the process
	errno unix.Errno

	// lasts is for how long the calls after that one fail as well: 0: none of them, less than 0: all.
	lasts time.Duration

	half bool // pwrite64 has written half of it when it fails
}

func (h harm) String() string {
	words := fmt.Sprintf("%s %s from %d", unix.ErrnoName(h.errno), h.call, h.nth)
	switch {
	case h.half:
		return words + " half done"
	case h.lasts < 0:
		return words + " for ever"
	case h.lasts > 0:
		return words + " for a while"
	}
	return words + " once"
}

// victim is a daemon that harm comes to.
type victim struct {
	*proof.House
	harm  harm
	files string // below this

	mu      sync.Mutex
	calls   int
	first   time.Time // when the first call failed; zero: none has
	watched bool
	seen    time.Time // when the first one failed since it is watched
}

// openVictim runs a daemon whose calls the test answers. It is killed at the end of the test.
func openVictim(t testing.TB, data string, env []string, h harm) *victim {
	t.Helper()
	files, err := filepath.EvalSymlinks(data)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{harm: h, files: files + string(filepath.Separator)}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	cmd := proof.Command(t, append(env[:len(env):len(env)], inside.CallsVariable+"="+h.call), "--data", data, "daemon")
	cmd.ExtraFiles = []*os.File{theirs}
	v.House = proof.OpenCommand(t, cmd)
	if err := theirs.Close(); err != nil { // or the daemon's end would not be seen
		t.Fatal(err)
	}
	listener, err := receive(pair[0])
	if err != nil {
		v.Kill()
		t.Skipf("needs: root, or the right to answer the daemon's calls: %v, %s", err, v.Stderr.String())
	}
	answered := testgo.Go(t, func() { v.answer(t, listener) }) // ends with the daemon; the test waits
	t.Cleanup(func() {
		v.Kill()
		<-answered
	})
	return v
}

// receive takes the descriptor that was sent over a socket.
func receive(socket int) (int, error) {
	space := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 1), space, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:n])
	if err != nil || len(messages) == 0 {
		return 0, errors.Join(err, errors.New("no descriptor came"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// notification and response are struct seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// answer answers the daemon's calls until it is gone.
func (v *victim) answer(t testing.TB, listener int) {
	defer unix.Close(listener)
	for {
		events := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(events, -1); err == unix.EINTR {
			continue
		} else if err != nil || events[0].Revents&unix.POLLIN == 0 {
			return // nobody is left who could call
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // who called was killed meanwhile
		}
		r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if v.harmed(n) {
			r = response{id: n.id, errno: -int32(v.harm.errno)}
			if v.harm.half {
				if err := writeHalf(n); err != nil {
					t.Errorf("half a write: %v", err)
				}
			}
		}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		if errno != 0 && errno != unix.ENOENT {
			t.Errorf("answering a call: %v", errno)
		}
	}
}

// harmed counts a call and says whether it is one that fails.
func (v *victim) harmed(n notification) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[0])))
	if err != nil || !strings.HasPrefix(path+string(filepath.Separator), v.files) {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	switch {
	case v.calls < v.harm.nth:
		return false
	case v.calls == v.harm.nth:
		v.first = time.Now()
	case v.harm.lasts >= 0 && time.Since(v.first) >= v.harm.lasts:
		return false
	}
	if v.watched && v.seen.IsZero() {
		v.seen = time.Now()
	}
	return true
}

// writeHalf does the first half of a pwrite64 in the place of who called.
func writeHalf(n notification) error {
	half := make([]byte, n.args[2]/2)
	if len(half) == 0 {
		return nil
	}
	local := unix.Iovec{Base: &half[0]}
	local.SetLen(len(half))
	if _, err := unix.ProcessVMReadv(int(n.pid), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(n.args[1]), Len: len(half)}}, 0); err != nil {
		return err
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", n.pid, int32(n.args[0])), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(half, int64(n.args[3]))
	return errors.Join(err, f.Close())
}

// watch begins to note whether people could have seen a call fail.
func (v *victim) watch() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watched = true
}

// hit is when calls failed: the first of all, and the first since watch. Zero: none has.
func (v *victim) hit() (first, seen time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.first, v.seen
}
