//go:build !linux && !darwin

package usersocket

import (
	"errors"
	"net"
)

// Supported says that this system does not tell the account of a peer.
const Supported = false

func peerOf(*net.UnixConn) (uid int, err error) { return 0, errors.ErrUnsupported }
