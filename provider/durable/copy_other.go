//go:build !darwin

package durable

// clone does nothing: on Linux the copy itself shares blocks, and Windows has no such call for its usual file system.
func clone(path, fresh string) {}
