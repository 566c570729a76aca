// Package echo hides what somebody types at a terminal.
package echo

import "golang.org/x/term"

// Off stops the echo of a terminal, given by its file descriptor: what is typed from now on is not shown. restore makes the terminal as it
// was before.
//
// [term.ReadPassword] stops the echo, too, but only when it begins to read. Whoever prints a question first and then calls it shows the
// beginning of a quick answer.
func Off(fd int) (restore func() error, err error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	if err := off(fd); err != nil {
		return nil, err
	}
	return func() error { return term.Restore(fd, before) }, nil
}
