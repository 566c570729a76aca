//go:build !unix

package bolt

func childMain() bool { return false }
