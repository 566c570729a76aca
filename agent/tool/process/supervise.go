package process

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
// Windows has no subreapers but jobs: the supervisor puts itself into one, which its descendants are in from their start, and
// the system ends them with the supervisor. On other systems, and without a supervisor, a program has a process group, see
// [Group].
type Supervisor []string

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
	files, err := inherit(cmd, lifeline, ended)
	if err != nil {
		return nil, errors.Join(err, lifeline.Close(), hold.Close(), done.Close(), ended.Close())
	}
	cmd.Args = slices.Concat(s[1:], files, []string{cmd.Path}, cmd.Args)
	cmd.Path = s[0]
	cmd.WaitDelay = 2 * releaseTime
	if cmd.Cancel != nil {
		cmd.Cancel = hold.Close
	}
	return func() error {
		lifeline.Close()
		ended.Close()
		hold.Close() // it may be closed already
		defer done.Close()
		if cmd.Process == nil {
			return nil
		}
		gone := make(chan struct{})
		go func() { // ends with the supervisor, which is ended below; not each system has deadlines for pipes
			defer close(gone)
			//nolint:errcheck // there is nothing to read: it ends with the last writer
			done.Read(make([]byte, 1))
		}()
		late := time.NewTimer(releaseTime)
		defer late.Stop()
		select {
		case <-gone:
		case <-late.C:
		}
		err := endRest(cmd)
		<-gone
		return err
	}, nil
}
