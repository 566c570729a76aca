package usersocket

import (
	"net"

	"golang.org/x/sys/unix"
)

// Supported says that this system tells the account of a peer.
const Supported = true

// peerOf is the account of the process that connected: LOCAL_PEERCRED, see unix(4).
func peerOf(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}
