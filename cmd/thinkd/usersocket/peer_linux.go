package usersocket

import (
	"net"

	"golang.org/x/sys/unix"
)

// Supported says that this system tells the account of a peer.
const Supported = true

// peerOf is the account of the process that connected: SO_PEERCRED, see unix(7). An account of another user namespace that has no number
// here is the overflow id, which [config.Auth] does not map.
func peerOf(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, credErr
	}
	return int(cred.Uid), nil
}
