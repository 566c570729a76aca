// Package systemd is what a process has of the service manager that started it: the socket that the manager listened on, and the place
// for messages about its state. Both come in the environment (sd_listen_fds(3), sd_notify(3)), so the package works on every system and
// does nothing where there is no such manager.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// States for [Notify].
const (
	Ready    = "READY=1"    // clients are served
	Stopping = "STOPPING=1" // the process is about to end
)

// Extend is the state of a process that needs more time to end, from now on, than the service manager gives it.
func Extend(by time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", by.Microseconds()) }

// Notify sends a state to the service manager. Without one it does nothing.
func Notify(getenv func(string) string, state string) error {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// firstSocket is the number of the first file that a manager passes.
const firstSocket = 3

// Socket returns the socket that the service manager passed to this process, which the caller closes; nil: it passed none. Call it once.
// The socket's file belongs to the manager and must not be removed.
func Socket(getenv func(string) string) (*net.UnixListener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil // the variables are a parent's
	}
	if n := getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("the service manager passed %s sockets, want 1: change the socket unit", n)
	}
	f := os.NewFile(firstSocket, "socket of the service manager")
	l, err := net.FileListener(f) // it has a number of its own, which programs do not inherit
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the socket of the service manager: %w", err)
	}
	unix, ok := l.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the service manager passed a socket of %s, want a unix socket: change the socket unit", l.Addr().Network()), l.Close())
	}
	return unix, nil
}
