//go:build !race || go1.27

package testgo

const timersShareState = false
