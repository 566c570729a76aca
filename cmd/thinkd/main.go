// Thinkd is a daemon that keeps conversations with reasoning models. See README.md and protocol.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

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

	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	catching := make(chan struct{})
	go catchSignals(func() { end(errInterrupted) }, catching) // ends with the process

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

// execute runs the command that the arguments name. When ctx ends, the command ends in order.
func (p *program) execute(ctx context.Context, args []string) error {
	root := p.command(args)
	root.SetArgs(args)
	if p.getenv(profileVariable) == "" {
		runtime.MemProfileRate = 0 // else Go keeps a record of each stack that it ever sampled an allocation of, for nobody
		if p.getenv(traceVariable) == "" {
			return exclusive(root.ExecuteContext(ctx))
		}
	}
	name := root.Name()
	if cmd, _, err := root.Find(args); err == nil {
		name = cmd.Name()
	}
	end, err := record(p.getenv, name)
	if err != nil {
		return err
	}
	return errors.Join(exclusive(root.ExecuteContext(ctx)), end())
}

// command is the root with the command that the arguments begin with, or with all where they begin otherwise.
func (p *program) command(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "thinkd",
		Short:         "A daemon that keeps conversations with reasoning models",
		Long:          "A daemon that keeps conversations with reasoning models. In a terminal, thinkd\nwithout a command starts a chat.",
		RunE:          p.start,
		Version:       p.build.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(p.out)
	root.SetErr(p.errOut)
	root.SetFlagErrorFunc(similarFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&p.options.ConfigPath, "config", "", "config `FILE` (default: thinkd/config.toml in the user's config directory)")
	flags.StringVar(&p.options.DataDir, "data", "", "data `DIR` (default: thinkd in the user's data directory)")
	flags.StringVar(&p.options.LogLevel, "log-level", daemon.DefaultLogLevel, "debug, info, warn or error; logs go to standard error, those of the daemon to thinkd.log")
	flags.StringVar(&p.options.LogFormat, "log-format", "text", "text or json")
	flags.StringVar(&p.remote, "remote", "", "use the daemon at `URL`, see thinkd remote")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return p.checkRemote(cmd) }
	commands := []struct {
		name  string
		build func() *cobra.Command
	}{
		{"stdio", p.stdioCommand}, {"acp", p.acpCommand}, {"serve", p.serveCommand}, {"prompt", p.promptCommand}, {"chat", p.chatCommand},
		{"ask", p.askCommand}, {"append", p.appendCommand}, {"continue", p.continueCommand}, {"resume", p.resumeCommand},
		{"models", p.modelsCommand}, {"sessions", p.sessionsCommand}, {"parked", p.parkedCommand}, {"usage", p.usageCommand}, {"quote", p.quoteCommand}, {"auth", p.authCommand}, {"remote", p.remoteCommand}, {"token", p.tokenCommand}, {"admin", p.adminCommand}, {"cluster", p.clusterCommand}, {"audit", p.auditCommand}, {"sim", p.simCommand},
		{"status", p.statusCommand}, {"stop", p.stopCommand}, {"restart", p.restartCommand}, {"service", p.serviceCommand}, {"doctor", p.doctorCommand}, {"schema", p.schemaCommand}, {"conformance", p.conformanceCommand},
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
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		complete(root, "log-level", "debug", "info", "warn", "error")
		complete(root, "log-format", "text", "json")
		p.completeAll(root)
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
