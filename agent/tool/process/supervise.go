package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Supervisor is a command line whose program calls [Supervise]: the path of the program, and then its arguments, the name first. A
// supervisor stands between the daemon and a program of a tool, so that nothing of that program is left when its call or the daemon
// ends:
//
//	daemon ──lifeline──▶ supervisor ──▶ sh ──▶ sleep &          left by sh: the supervisor gets it (child subreaper)
//	       ◀───done────                    └──▶ setsid server    in a session of its own: no signal to the group reaches it
//
// The daemon has the writing end of the pipe lifeline. When the daemon closes it or dies, and when the program ends, the supervisor
// kills all descendants and exits. It has the writing end of the pipe done, so the daemon can wait for its exit.
//
// Windows has jobs instead of subreapers: the supervisor puts itself into a job, which its descendants inherit, and the system ends
// the job with the supervisor. On other systems, and without a supervisor, a program has a process group, see [Group].
type Supervisor []string

// Wrap makes cmd run under the supervisor. It must be called before cmd starts. release ends what still runs, and returns when that
// has ended. The caller must call it once, even if cmd was not started. The end of the context of cmd has the same effect.
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
