package tool

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Supervisor is a command that [Supervise] answers to: the path of a program, and its arguments from the program's name on. It stands between the daemon and a
// program of a tool, so that nothing of that program is left when its call ends or the daemon does:
//
//	daemon ──lifeline──▶ supervisor ──▶ sh ──▶ sleep &          left by sh: the supervisor gets it (child subreaper)
//	       ◀───done────                    └──▶ setsid server    in a session of its own: no signal to the group reaches it
//
// The lifeline is a pipe of which the daemon has the writing end. When that is closed, by the daemon or by its death, and when
// the program ends, the supervisor kills all descendants and ends. It holds the writing end of done, so its end can be awaited.
//
// Only Linux has child subreapers. Elsewhere, and without a supervisor, a program has a process group, see [Group].
type Supervisor []string

// releaseTime is how long a supervisor has to kill what is left.
const releaseTime = 2 * time.Second

// Wrap makes cmd, which has not been started, run under the supervisor. release ends what still runs and returns when it has
// ended; it must be called once, whether or not cmd was started. If cmd has a context, that ends it in the same way.
func (s Supervisor) Wrap(cmd *exec.Cmd) (release func() error, err error) {
	Group(cmd)
	if len(s) == 0 || !supervises || cmd.Err != nil {
		return func() error { return EndGroup(cmd) }, nil
	}
	lifeline, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	done, ended, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, lifeline.Close(), hold.Close())
	}
	cmd.Args = slices.Concat(s[1:], []string{cmd.Path}, cmd.Args)
	cmd.Path, cmd.ExtraFiles = s[0], []*os.File{lifeline, ended}
	cmd.WaitDelay = 2 * releaseTime
	if cmd.Cancel != nil {
		cmd.Cancel = hold.Close
	}
	return func() error {
		lifeline.Close()
		ended.Close()
		hold.Close() // it may be closed already
		defer done.Close()
		if cmd.Process != nil {
			//nolint:errcheck // either way the group is ended below
			done.SetReadDeadline(time.Now().Add(releaseTime))
			done.Read(make([]byte, 1))
		}
		return EndGroup(cmd)
	}, nil
}
