package load

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// narrow makes the buffers of a connection that is not yet made small, on both sides: the sender's follow from the size
// of the segments that the receiver takes (tcp(7), TCP_MAXSEG). On loopback they would hold megabytes.
func narrow(_, _ string, c syscall.RawConn) error {
	var err error
	return errors.Join(c.Control(func(fd uintptr) {
		err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<10),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 536))
	}), err)
}
