package main

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

	"github.com/spf13/cobra"

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
func (p *program) start(ctx context.Context, dir string) error {
	if _, err := p.logger(); err != nil {
		return err
	}
	name, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(name, p.daemonArgs(dir)...)
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
		if _, err := loadConfig(p.configPath, p.getenv); err != nil {
			return err
		}
		return errors.New(reason)
	}
	return fmt.Errorf("the daemon ended before it was ready (%v); %s may say why", <-ended, filepath.Join(dir, logName))
}

// idleVariable shortens a daemon's life in tests.
const idleVariable = "THINKD_IDLE"

// daemonArgs hand on what this command was told. The daemon has another working directory, so paths are absolute.
func (p *program) daemonArgs(dir string) []string {
	args := []string{"daemon", environmentFlag, "--data", dir, "--log-format", p.logFormat}
	if p.configPath != "" {
		path, err := filepath.Abs(p.configPath)
		if err != nil {
			path = p.configPath // the daemon will say that it is not there
		}
		args = append(args, "--config", path)
	}
	if p.logLevel != defaultLogLevel {
		args = append(args, "--log-level", p.logLevel)
	}
	if idle := p.getenv(idleVariable); idle != "" {
		args = append(args, "--idle", idle)
	}
	return args
}

// daemonCommand is what start runs. It is no secret, and nothing that a person has to know.
func (p *program) daemonCommand() *cobra.Command {
	var idle time.Duration
	var environment bool
	cmd := &cobra.Command{
		Use:    "daemon",
		Short:  "Be the daemon of the data directory; other commands start it when there is none",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("log-level") {
				p.logLevel = "info" // into a file of its own
			}
			if environment {
				if err := takeOver(p.in); err != nil {
					_, said := fmt.Fprintln(p.out, err)
					return errors.Join(said, errSaid)
				}
			}
			return p.daemon(cmd.Context(), idle)
		},
	}
	cmd.Flags().BoolVar(&environment, environmentFlag[2:], false, "read further environment variables from standard input")
	cmd.Flags().DurationVar(&idle, "idle", 30*time.Second, "`TIME` without clients and turns after which it leaves; 0: never")
	return cmd
}

// daemon runs the daemon and tells who started it how that went.
func (p *program) daemon(ctx context.Context, idle time.Duration) error {
	dir, err := p.data()
	var h *host
	var log *logFile
	if err == nil {
		log = &logFile{path: filepath.Join(dir, logName)}
		p.errOut = log
		defer log.Close()
		h, err = p.host(ctx, dir, idle)
	}
	if err != nil {
		text := err.Error()
		if _, held := errors.AsType[*bolt.LockedError](err); held {
			text = saidHeld + "\n" + text
		}
		_, err := fmt.Fprintln(p.out, text)
		return errors.Join(err, errSaid)
	}
	log.takeCrashes()
	err = p.announce(saidReady)
	if f, ok := bare(p.out).(*os.File); ok && err == nil {
		err = silence(f)
	}
	if err != nil {
		h.daemon.log.Warn("nobody was told of the start", "err", err)
	}
	return h.run(ctx)
}
