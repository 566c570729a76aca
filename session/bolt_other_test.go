//go:build !unix

package session

func childMain() bool { return false }
