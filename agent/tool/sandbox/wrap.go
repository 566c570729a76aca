package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/agent/tool/guard"
)

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
