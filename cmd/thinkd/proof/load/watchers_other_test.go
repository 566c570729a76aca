//go:build !linux

package load

import "syscall"

func narrow(string, string, syscall.RawConn) error { return nil }
