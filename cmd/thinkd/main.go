// Thinkd is a daemon that keeps conversations with reasoning models. See README.md and protocol.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "0.1.0-dev"

func main() { os.Exit(run()) }

// superviseWord makes the program a supervisor of a tool's processes, and confineWord a command in a sandbox. They are no
// commands for people.
const (
	superviseWord = "supervise"
	confineWord   = "confine"
)

// run takes standard output for the commands alone: whoever else writes to it, a library in trouble say, writes to
// standard error from then on.
func run() int {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case superviseWord:
			return tool.Supervise(os.Args[2:])
		case confineWord:
			return sandbox.Confine(os.Args[2:])
		}
	}
	stdout := os.Stdout
	os.Stdout = os.Stderr

	ctx, end := context.WithCancel(context.Background())
	defer end()
	heeding := make(chan struct{})
	go heed(end, heeding) // ends with the process

	if err := hide(); err != nil {
		fmt.Fprintln(os.Stderr, "thinkd: other programs of your user can read this process's memory: "+err.Error())
	}
	errOut := printing(os.Stderr)
	p := &program{in: os.Stdin, out: printing(stdout), errOut: errOut, getenv: os.Getenv, heeding: heeding}
	if path, err := os.Executable(); err == nil {
		p.supervisor, p.confine = tool.Supervisor{path, os.Args[0], superviseWord}, []string{path, confineWord}
	}
	err := p.execute(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSaid):
		return statusFailed
	}
	fmt.Fprintln(errOut, "thinkd: "+err.Error())
	return status(err)
}

// heed has the first signal end what runs in order, and the second at once. It is for a goroutine of its own, since
// package signal waits for one of the runtime's to be made: until then, a signal ends what has hardly begun. It closes
// heeding when a signal is caught from then on.
func heed(end func(), heeding chan<- struct{}) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	close(heeding)
	<-signals
	signal.Stop(signals)
	end()
}

// execute runs the command that the arguments name.
func (p *program) execute(ctx context.Context) error {
	root := p.command(os.Args[1:])
	dir := p.getenv(profileVariable)
	if dir == "" {
		runtime.MemProfileRate = 0 // else Go keeps a record of each stack that it ever sampled an allocation of, for nobody
		return root.ExecuteContext(ctx)
	}
	name := root.Name()
	if cmd, _, err := root.Find(os.Args[1:]); err == nil {
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
	statusFailed      = 1   // and whatever else goes wrong
	statusShort       = 2   // a turn ended, but not by itself: a limit, or the vendor's refusal
	statusInterrupted = 130 // as a shell has it of an interrupt: 128+SIGINT
)

func status(err error) int {
	short, isShort := errors.AsType[*shortError](err)
	switch {
	case errors.Is(err, errInterrupted), isShort && short.reason == "cancelled":
		return statusInterrupted
	case isShort:
		return statusShort
	}
	return statusFailed
}

// errSaid ends a command whose failure the user has read already.
var errSaid = errors.New("failed")

// program is a process: its streams, its environment, the flags that all commands have.
type program struct {
	in     io.Reader
	out    io.Writer // standard output, see printing
	errOut io.Writer
	getenv func(string) string

	heeding <-chan struct{} // closed when signals are caught; nil in tests: nobody sends one

	supervisor tool.Supervisor // of the processes of tools; nil: there is none
	confine    []string        // see sandbox.Sandbox

	configPath string
	dataDir    string
	logLevel   string
	logFormat  string
}

// announce prints that the daemon is ready. It does so only once signals are caught: before that, a signal of somebody who
// has read the line would end the daemon without an orderly shutdown.
func (p *program) announce(line string) error {
	if p.heeding != nil {
		<-p.heeding
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// command is the root with the command that the arguments begin with, or with all where they begin otherwise.
func (p *program) command(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "thinkd",
		Short:         "A daemon that keeps conversations with reasoning models",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	flags := root.PersistentFlags()
	flags.StringVar(&p.configPath, "config", "", "config `FILE` (default: thinkd/config.toml in the user's config directory)")
	flags.StringVar(&p.dataDir, "data", "", "data `DIR` (default: thinkd in the user's data directory)")
	flags.StringVar(&p.logLevel, "log-level", defaultLogLevel, "debug, info, warn or error; logs go to standard error, those of the daemon to thinkd.log")
	flags.StringVar(&p.logFormat, "log-format", "text", "text or json")
	commands := []struct {
		name  string
		build func() *cobra.Command
	}{
		{"stdio", p.stdioCommand}, {"acp", p.acpCommand}, {"serve", p.serveCommand}, {"prompt", p.promptCommand}, {"chat", p.chatCommand},
		{"models", p.modelsCommand}, {"sessions", p.sessionsCommand}, {"auth", p.authCommand}, {"sim", p.simCommand},
		{"doctor", p.doctorCommand}, {"version", p.versionCommand}, {"daemon", p.daemonCommand},
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

const defaultLogLevel = "warn"

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, "thinkd "+version)
			return err
		},
	}
}

// logger writes to standard error; that of the daemon to its file.
func (p *program) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q is none of debug, info, warn, error", p.logLevel)
	}
	switch p.logFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(p.errOut, &slog.HandlerOptions{Level: level})), nil
	case "text":
		options := &tint.Options{Level: level, TimeFormat: "15:04:05.000"}
		if !terminal(p.errOut) {
			options.TimeFormat, options.NoColor = "2006-01-02 15:04:05.000", true
		}
		return slog.New(tint.NewTextHandler(bare(p.errOut), options)), nil
	}
	return nil, fmt.Errorf("--log-format %q is none of text, json", p.logFormat)
}

// printing is where commands print to: on a terminal, without what that would obey. What a command prints comes from models,
// tools, vendors and files. Who has sequences of its own for the terminal, or bytes that are no text, writes to bare.
func printing(f *os.File) io.Writer {
	if terminal(f) {
		return &printable.Writer{To: f}
	}
	return f
}

// bare is what stands behind printing.
func bare(w io.Writer) io.Writer {
	if safe, ok := w.(*printable.Writer); ok {
		return safe.To
	}
	return w
}

// terminal reports whether a person reads w.
func terminal(w io.Writer) bool {
	f, ok := bare(w).(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
