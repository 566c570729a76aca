// Package sandbox confines the commands that models run.
//
// A command in a sandbox reads neither protected files nor secret places. It writes only below the session's folders and in a separate
// temporary folder. It has no network unless that is allowed. There are two kinds of sandbox, both on Linux:
//
//	daemon ──▶ supervisor ──▶ bwrap ──▶ sh                    a separate file system in which the secrets are covered
//	daemon ──▶ supervisor ──▶ thinkd confine ──exec──▶ sh     Landlock: rules of the kernel for the process and its children
//
// Bubblewrap is a program that has to be installed and needs the right to create namespaces. Landlock needs no program and no rights, but
// its rules can only allow: [Confine] describes the consequences. So bubblewrap is better if both are available.
package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/agent/tool/guard"
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

// Choose returns the kind of sandbox that commands get on this machine. The error is the reason why there is none.
func (s Sandbox) Choose() (Kind, error) {
	if !s.On() {
		return Off, nil
	}
	var why []error
	for _, kind := range []Kind{Bwrap, Landlock} { // the better first
		if s.Kind != kind && s.Kind != Auto {
			continue
		}
		err := s.available(kind)
		if err == nil {
			return kind, nil
		}
		why = append(why, err)
	}
	if len(why) == 2 {
		return "", fmt.Errorf("%w; %w", why[0], why[1])
	}
	return "", why[0]
}

func (s Sandbox) available(kind Kind) error {
	if kind == Bwrap {
		_, err := bwrap()
		return err
	}
	if len(s.Confine) == 0 {
		return errors.New("Landlock needs the path of this program, which is unknown")
	}
	_, err := landlock()
	return err
}

// Wrap returns the command line that runs a program in the sandbox. roots are the session's folders, and dir is where the program
// runs. release removes what the sandbox needed. The caller must call it after the command has ended.
func (s Sandbox) Wrap(ctx context.Context, g *guard.Guard, roots []string, dir string, program []string) (wrapped []string, release func() error, err error) {
	nothing := func() error { return nil }
	if !s.On() {
		return program, nothing, nil
	}
	kind, err := s.Choose()
	if err != nil {
		return nil, nil, fmt.Errorf("the config demands a sandbox for commands, and there is none, so the command was not run: %w", err)
	}
	hidden, err := g.Hidden(ctx, roots)
	if err != nil {
		return nil, nil, fmt.Errorf("the secret places of the session's folder cannot be found, so the command was not run: %w", err)
	}
	if kind == Bwrap {
		wrapped, err = s.bubble(hidden, roots, dir, program)
		return wrapped, nothing, err
	}
	return s.confined(hidden, roots, program)
}
