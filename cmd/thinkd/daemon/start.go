package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session/bolt"
)

// What a daemon says on its standard output, once: the first word, or, when it could not start, the second with the
// reason in the lines below, or just the reason.
const (
	saidReady = "ready"
	saidHeld  = "held"
)

// heldError says that another process has the data directory: it may be about to listen, or to end.
type heldError struct{ reason string }

func (e *heldError) Error() string { return e.reason }

// start starts a detached daemon and returns when it listens. It is a *heldError if there is another one.
func (o Options) start(ctx context.Context, dir string) error {
	if _, err := o.Logger(); err != nil {
		return err
	}
	name, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(name, o.arguments(dir)...)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = string(filepath.Separator) // it holds up no unmounting
	detach(cmd)
	said, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Stdout = tell // standard error is the null device
	cmd.Env, cmd.Stdin = handOver(os.Environ())
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return fmt.Errorf("starting the daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // so that it leaves no zombie; ends with the daemon or with us
	stop := context.AfterFunc(ctx, func() { said.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	in := bufio.NewReader(said)
	first, err := in.ReadString('\n')
	if err == nil && first == saidReady+"\n" {
		return nil
	}
	rest, restErr := io.ReadAll(in)
	switch reason := strings.TrimSpace(first + string(rest)); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case restErr != nil:
		return fmt.Errorf("waiting for the daemon: %w", restErr)
	case first == saidHeld+"\n":
		return &heldError{strings.TrimSpace(string(rest))}
	case reason != "":
		// The daemon says the same of a config, but of paths that the user did not write.
		if _, err := o.Config(); err != nil {
			return err
		}
		return errors.New(reason)
	}
	return fmt.Errorf("the daemon ended before it was ready (%v); %s may say why", <-ended, filepath.Join(dir, logName))
}

// idleVariable shortens a daemon's life in tests.
const idleVariable = "THINKD_IDLE"

// arguments passes the options of this command on. The daemon has another working directory, so paths are absolute.
func (o Options) arguments(dir string) []string {
	args := []string{"daemon", "--" + EnvironmentFlag, "--data", dir, "--log-format", o.LogFormat}
	if o.ConfigPath != "" {
		path, err := filepath.Abs(o.ConfigPath)
		if err != nil {
			path = o.ConfigPath // the daemon will say that it is not there
		}
		args = append(args, "--config", path)
	}
	if o.LogLevel != DefaultLogLevel {
		args = append(args, "--log-level", o.LogLevel)
	}
	if idle := o.Getenv(idleVariable); idle != "" {
		args = append(args, "--idle", idle)
	}
	return args
}

// Starter is the process that started a daemon in the background, and waits until it is ready.
type Starter struct {
	Tell   func(line string) error // reports how the start went
	HangUp func() error            // closes the pipe to the starter; Tell must not be called after it
}

// Background runs the daemon until nobody has needed it for the idle time, or ctx ends; 0: it stays. Its log is a file of the
// data directory. If it returns [ErrReported], the starter knows why there is no daemon.
func (o Options) Background(ctx context.Context, idle time.Duration, starter Starter) error {
	dir, err := o.Data()
	var h *host
	var log *logFile
	if err == nil {
		log = &logFile{path: filepath.Join(dir, logName)}
		o.LogTo = log
		defer log.Close()
		h, err = o.host(ctx, dir, idle)
	}
	if err != nil {
		text := err.Error()
		if _, held := errors.AsType[*bolt.LockedError](err); held {
			text = saidHeld + "\n" + text
		}
		return errors.Join(starter.Tell(text), ErrReported)
	}
	log.takeCrashes()
	if err = starter.Tell(saidReady); err == nil {
		err = starter.HangUp()
	}
	if err != nil {
		h.daemon.log.Warn("the start could not be reported", "err", err)
	}
	return h.run(ctx)
}

// ErrReported means that the daemon could not start, and that Starter.Tell has reported why.
var ErrReported = errors.New("the daemon could not start")
