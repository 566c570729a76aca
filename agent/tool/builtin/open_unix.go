//go:build unix

package builtin

import "syscall"

// nonblocking keeps an open from waiting for the other end of a pipe.
const nonblocking = syscall.O_NONBLOCK
