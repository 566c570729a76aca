package proof

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	hooks "github.com/thinkd/thinkd/cmd/thinkd/proof/inside" // inside is another name here
	"github.com/thinkd/thinkd/provider/testgo"
)

// Call is a system call of a daemon that the test answers: struct seccomp_notif of linux/seccomp.h.
type Call struct {
	ID         uint64
	PID, Flags uint32
	Number     int32
	Arch       uint32
	Pointer    uint64
	Args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// OpenAnswered is OpenCommand for a daemon whose calls of one kind, such as fsync, the test answers. If answer returns true, the call returns errno, or 0, and
// the kernel does not run it. Calls come one after another, on a goroutine of their own. The daemon is killed at the end of the test. The test is
// skipped where the kernel does not let it answer.
func OpenAnswered(t testing.TB, cmd *exec.Cmd, kind string, answer func(Call) (answered bool, errno unix.Errno)) *House {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], hooks.CallsVariable+"="+kind)
	cmd.ExtraFiles = []*os.File{theirs}
	h := OpenCommand(t, cmd)
	if err := theirs.Close(); err != nil { // or the daemon's end would not be seen
		t.Fatal(err)
	}
	listener, err := receive(pair[0])
	if err != nil {
		h.Kill()
		t.Skipf("needs: root, or the right to answer the daemon's calls: %v, %s", err, h.Stderr.String())
	}
	done := testgo.Go(t, func() { answerCalls(t, listener, answer) }) // ends with the daemon; the test waits
	t.Cleanup(func() {
		h.Kill()
		<-done
	})
	return h
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

// answerCalls answers the daemon's calls until the daemon is gone.
func answerCalls(t testing.TB, listener int, answer func(Call) (bool, unix.Errno)) {
	defer unix.Close(listener)
	for {
		events := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(events, -1); err == unix.EINTR {
			continue
		} else if err != nil || events[0].Revents&unix.POLLIN == 0 {
			return // nobody is left who could call
		}
		var c Call
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&c))); errno != 0 {
			continue // who called was killed meanwhile
		}
		r := response{id: c.ID, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if answered, errno := answer(c); answered {
			r = response{id: c.ID, errno: -int32(errno)}
		}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		if errno != 0 && errno != unix.ENOENT {
			t.Errorf("answering a call: %v", errno)
		}
	}
}
