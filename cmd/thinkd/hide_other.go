//go:build !linux

package main

// hide has nothing to do: no call of this system does what prctl does on Linux.
func hide() error { return nil }

func hidden() (why string) { return "this system has no call for it" }
