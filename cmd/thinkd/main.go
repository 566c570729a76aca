// Thinkd is a daemon that keeps conversations with reasoning models. See README.md and protocol.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/buildinfo"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/rpc/door"
)

// version is what a release's build sets: -ldflags "-X main.version=…". Without it, package buildinfo finds the version.
var version string

func main() { os.Exit(run()) }

// superviseWord makes the program a supervisor of a tool's processes, and confineWord a command in a sandbox. They are no
// commands for people.
const (
	superviseWord = "supervise"
	confineWord   = "confine"
)

// run takes standard output for the commands alone: a library in trouble writes to standard error from then on.
func run() int {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case superviseWord:
			return process.Supervise(os.Args[2:])
		case confineWord:
			return sandbox.Confine(os.Args[2:])
		}
	}
	stdout := os.Stdout
	os.Stdout = os.Stderr

	ctx, end := context.WithCancel(context.Background())
	defer end()
	catching := make(chan struct{})
	go catchSignals(end, catching) // ends with the process

	if err := daemon.Hide(); err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: other programs of your user can read this process's memory: "+err.Error())
	}
	p := newProgram(os.Stdin, printable.Output(stdout), printable.Output(os.Stderr), os.Getenv)
	p.catching = catching
	if path, err := os.Executable(); err == nil {
		p.options.Supervisor, p.options.Confine = process.Supervisor{path, os.Args[0], superviseWord}, []string{path, confineWord}
	}
	return p.report(p.execute(ctx, os.Args[1:]))
}

// catchSignals ends what runs in order at the first signal, and the process at the second. It has a goroutine of its own, since
// package signal waits until the runtime has made one: a signal before that ends a process that has hardly begun. It closes
// catching when signals are caught from then on.
func catchSignals(end func(), catching chan<- struct{}) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	close(catching)
	<-signals
	signal.Stop(signals)
	end()
}

// program is what the commands of a process share: its streams, its environment, and the flags that all commands have.
type program struct {
	in     io.Reader
	out    io.Writer // standard output, see [printable.Output]
	errOut io.Writer
	getenv func(string) string

	catching <-chan struct{} // closed when signals are caught; nil in tests: nobody sends one

	build   buildinfo.Build
	options daemon.Options // from the flags
}

func newProgram(in io.Reader, out, errOut io.Writer, getenv func(string) string) *program {
	build := buildinfo.Read(version)
	return &program{in: in, out: out, errOut: errOut, getenv: getenv, build: build,
		options: daemon.Options{Version: build.Version, Getenv: getenv, LogTo: errOut}}
}

// execute runs the command that the arguments name. When ctx ends, the command ends in order.
func (p *program) execute(ctx context.Context, args []string) error {
	root := p.command(args)
	root.SetArgs(args)
	dir := p.getenv(profileVariable)
	if dir == "" {
		runtime.MemProfileRate = 0 // else Go keeps a record of each stack that it ever sampled an allocation of, for nobody
		return root.ExecuteContext(ctx)
	}
	name := root.Name()
	if cmd, _, err := root.Find(args); err == nil {
		name = cmd.Name()
	}
	end, err := profile(dir, name)
	if err != nil {
		return err
	}
	return errors.Join(root.ExecuteContext(ctx), end())
}

// What the process ends with.
const (
	statusFailed      = 1
	statusShort       = 2   // the answer of a turn is incomplete: a limit, or the vendor's refusal
	statusNotRunning  = 3   // of `thinkd status`, as of service managers
	statusInterrupted = 130 // as shells report an interrupt: 128+SIGINT
)

// report prints an error, unless the user has read it already, and returns the exit status.
func (p *program) report(err error) int {
	if err != nil && !errors.Is(err, errReported) && !errors.Is(err, errNotRunning) {
		p.notice(err.Error())
	}
	return status(err)
}

// status is the exit status for what a command returned.
func status(err error) int {
	short, isShort := errors.AsType[*shortError](err)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted), isShort && short.reason == "cancelled":
		return statusInterrupted
	case isShort:
		return statusShort
	case errors.Is(err, errNotRunning):
		return statusNotRunning
	}
	return statusFailed
}

var (
	errReported    = errors.New("failed") // the user has read why
	errNotRunning  = errors.New("no daemon is running")
	errInterrupted = errors.New("interrupted")
)

// notice prints a line that is not the command's result.
func (p *program) notice(line string) { fmt.Fprintln(p.errOut, "thinkd: "+line) }

// connect finds the daemon, or starts it.
func (p *program) connect(ctx context.Context) (*door.Link, error) {
	link, notice, err := p.options.Connect(ctx)
	if notice != "" {
		p.notice(notice)
	}
	return link, err
}

// onDaemon is a command's work over a link to the daemon.
func (p *program) onDaemon(run func(link *door.Link, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		ctx := cmd.Context()
		link, err := p.connect(ctx)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { link.Close() })
		err = run(link, args)
		if !stop() {
			return errInterrupted
		}
		return errors.Join(err, link.Close())
	}
}

// announce prints that the daemon is ready. It does so only once signals are caught: before that, a signal of somebody who
// has read the line would end the daemon without an orderly shutdown.
func (p *program) announce(line string) error {
	if p.catching != nil {
		<-p.catching
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// command is the root with the command that the arguments begin with, or with all where they begin otherwise.
func (p *program) command(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "thinkd",
		Short:         "A daemon that keeps conversations with reasoning models",
		Version:       p.build.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	flags := root.PersistentFlags()
	flags.StringVar(&p.options.ConfigPath, "config", "", "config `FILE` (default: thinkd/config.toml in the user's config directory)")
	flags.StringVar(&p.options.DataDir, "data", "", "data `DIR` (default: thinkd in the user's data directory)")
	flags.StringVar(&p.options.LogLevel, "log-level", daemon.DefaultLogLevel, "debug, info, warn or error; logs go to standard error, those of the daemon to thinkd.log")
	flags.StringVar(&p.options.LogFormat, "log-format", "text", "text or json")
	commands := []struct {
		name  string
		build func() *cobra.Command
	}{
		{"stdio", p.stdioCommand}, {"acp", p.acpCommand}, {"serve", p.serveCommand}, {"prompt", p.promptCommand}, {"chat", p.chatCommand},
		{"models", p.modelsCommand}, {"sessions", p.sessionsCommand}, {"auth", p.authCommand}, {"sim", p.simCommand},
		{"status", p.statusCommand}, {"stop", p.stopCommand}, {"doctor", p.doctorCommand}, {"schema", p.schemaCommand},
		{"version", p.versionCommand}, {"daemon", p.daemonCommand},
	}
	for _, c := range commands {
		if len(args) > 0 && c.name == args[0] { // the others and their flags are for help and for guesses
			root.AddCommand(c.build())
			return root
		}
	}
	for _, c := range commands {
		root.AddCommand(c.build())
	}
	return root
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(p.out).Encode(p.build)
			}
			_, err := fmt.Fprintln(p.out, "thinkd "+p.build.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, with the commit and the version of Go")
	return cmd
}
