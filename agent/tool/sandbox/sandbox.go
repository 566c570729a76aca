package sandbox

import (
	"fmt"
)

// Kind is the mechanism of a sandbox.
type Kind string

const (
	Off      Kind = "off"      // nothing does
	Auto     Kind = "auto"     // the best that this machine has
	Bwrap    Kind = "bwrap"    // bubblewrap
	Landlock Kind = "landlock" // the kernel's Landlock, and a filter of system calls
)

// UnmarshalText reads a kind as it is written in the config.
func (k *Kind) UnmarshalText(text []byte) error {
	switch word := Kind(text); word {
	case Off, Auto, Bwrap, Landlock:
		*k = word
		return nil
	}
	return fmt.Errorf("%q is not one of off, auto, bwrap, landlock", text)
}

// Sandbox is what commands can reach. The zero Sandbox restricts nothing.
type Sandbox struct {
	Kind    Kind
	Network bool     // commands have the network
	Confine []string // a command that [Confine] answers to: a program and its first arguments; empty: there is no Landlock
}

// On reports whether commands are restricted.
func (s Sandbox) On() bool { return s.Kind != "" && s.Kind != Off }
