package inside

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls of the daemon that fail as a test wants it. The daemon asks the kernel to ask the test at each call of one kind
// (seccomp_unotify(2)), and the test lets it happen or answers with an error in its place. strace can make calls fail too, but
// counts those of each thread for itself (strace(1), "when"), and a goroutine changes threads: only a count over all
// of them finds the first, the second and the two hundredth.

// callsVariable names the kind of call that the program is to ask for, on the socket that it was given as callsSocket.
const (
	CallsVariable = "THINKD_TEST_CALLS"
	callsSocket   = 3
)

var callNumbers = map[string]uint32{
	"pwrite64": unix.SYS_PWRITE64, "fdatasync": unix.SYS_FDATASYNC, "ftruncate": unix.SYS_FTRUNCATE, "fsync": unix.SYS_FSYNC,
	"clock_gettime": unix.SYS_CLOCK_GETTIME, // for clocks that Go does not read, such as that of sleep
}

// offerCalls has the calls of this process asked for, if it was started for that.
func offerCalls() error {
	name := os.Getenv(CallsVariable)
	if name == "" {
		return nil
	}
	if err := os.Unsetenv(CallsVariable); err != nil {
		return err
	}
	const number, word, equal = 0, unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: word, K: number},
		{Code: equal, K: callNumbers[name], Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // for no_new_privs, which seccomp gives to the other threads with the filter
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	const allThreads = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|allThreads, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	err := unix.Sendmsg(callsSocket, []byte{0}, unix.UnixRights(int(listener)), nil, 0)
	return errors.Join(err, unix.Close(int(listener)), unix.Close(callsSocket))
}
