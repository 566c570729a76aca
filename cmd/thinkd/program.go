package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/buildinfo"
	"github.com/thinkd/thinkd/cmd/thinkd/completion"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/cmd/thinkd/remote"
	"github.com/thinkd/thinkd/cmd/thinkd/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
)

// version is what a release's build sets: -ldflags "-X main.version=…". Without it, package buildinfo finds the version.
var version string

// program is what the commands of a process share: its streams, its environment, and the flags that all commands have.
type program struct {
	in     io.Reader
	out    io.Writer // standard output, see [printable.Output]
	errOut io.Writer
	getenv func(string) string

	catching <-chan struct{} // closed when signals are caught; nil in tests: nobody sends one

	build   buildinfo.Build
	options daemon.Options // from the flags
	remote  string         // the address of a daemon on another machine; empty: that of the data directory
}

func newProgram(in io.Reader, out, errOut io.Writer, getenv func(string) string) *program {
	build := buildinfo.Read(version)
	return &program{in: in, out: out, errOut: errOut, getenv: getenv, build: build,
		options: daemon.Options{Version: build.Version, Getenv: getenv, LogTo: errOut}}
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
	short, isShort := errors.AsType[*watch.Short](err)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted), isShort && short.Reason == "cancelled":
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
func (p *program) notice(line string) {
	_ = printable.Say(p.errOut, line) // without standard error there is nobody to tell
}

// connect finds the daemon, or starts it.
func (p *program) connect(ctx context.Context) (*door.Link, error) {
	if p.remote != "" {
		return p.connectRemote(ctx, false)
	}
	link, notice, err := p.options.Connect(ctx)
	if notice != "" {
		p.notice(notice)
	}
	return link, err
}

// logins are those to daemons of other machines.
func (p *program) logins() (remote.Logins, error) {
	dir, err := p.options.Data()
	return remote.Open(dir), err
}

// connectRemote connects to the daemon of --remote, which speaks thinkd's protocol or that of editors.
func (p *program) connectRemote(ctx context.Context, editor bool) (*door.Link, error) {
	at, err := remote.ParseAddress(p.remote)
	if err != nil {
		return nil, fmt.Errorf("--remote: %w", err)
	}
	logins, err := p.logins()
	if err != nil {
		return nil, err
	}
	return logins.Connect(ctx, at, editor)
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

// call makes a request, and shows its result or prints it as JSON.
func call[T any](p *program, link *door.Link, method string, params any, asJSON bool, show func(T) error) error {
	var answer json.RawMessage
	if err := link.Call(method, params, &answer); err != nil {
		return err
	}
	if asJSON {
		_, err := fmt.Fprintf(p.out, "%s\n", answer)
		return err
	}
	var result T
	if err := json.Unmarshal(answer, &result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return show(result)
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

// present is a map of the words that are not empty.
func present(words ...string) map[string]any {
	m := make(map[string]any)
	for i := 0; i < len(words); i += 2 {
		if words[i+1] != "" {
			m[words[i]] = words[i+1]
		}
	}
	return m
}

// count is a number with its noun. Without a plural, that is the noun with an s.
func count(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) == 0:
		return fmt.Sprintf("%d %ss", n, noun)
	}
	return fmt.Sprintf("%d %s", n, strings.Join(plural, ""))
}

// help is what a command does that only has other commands.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noCommand refuses the name of a command that does not exist, and names similar ones.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant(cmd, args[0], ""))
}

// similarFlag adds similar flags to the error for a flag that does not exist.
func similarFlag(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	flags := &cobra.Command{} // cobra looks for similar names among commands
	for _, word := range strings.Fields(cmd.Flags().FlagUsages()) {
		if flag, ok := strings.CutPrefix(word, "--"); ok {
			flags.AddCommand(&cobra.Command{Use: flag, RunE: help})
		}
	}
	return fmt.Errorf("%w%s", err, meant(flags, name, "--"))
}

// meant names the commands with similar names, if there are any.
func meant(cmd *cobra.Command, name, before string) string {
	cmd.SuggestionsMinimumDistance = 2
	list := cmd.SuggestionsFor(name)
	if len(list) == 0 {
		return ""
	}
	return "\n\nDid you mean this?\n\t" + before + strings.Join(list, "\n\t"+before) + "\n"
}

// completeAll lets shells complete the flags and arguments of a command, and of those below it, that name what thinkd can list.
func (p *program) completeAll(cmd *cobra.Command) {
	values := func(kind completion.Kind) cobra.CompletionFunc {
		return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			list, err := completion.List(cmd.Context(), kind, p.options)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, flag := range []string{"model", "session", "agent", "provider", "vendor"} {
		if cmd.Flags().Lookup(flag) != nil {
			if err := cmd.RegisterFlagCompletionFunc(flag, values(completion.Of(flag))); err != nil {
				panic(err) // the flag has other values already
			}
		}
	}
	if cmd.Flags().Lookup("thinking") != nil && cmd.Name() != "export" { // there it is a switch
		complete(cmd, "thinking", provider.Level("").Words()...)
	}
	if kind := completion.OfArgument(cmd.Use); kind != "" && cmd.ValidArgsFunction == nil {
		find, several := values(kind), strings.HasSuffix(cmd.Use, "...")
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 && !several {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return find(cmd, args, word)
		}
	}
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "COMMAND") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, c := range cmd.Commands() {
		p.completeAll(c)
	}
}

// complete names the values of a flag for the completion of shells.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag
	}
}

// exclusive says cobra's error for flags that exclude each other in words that name the flags.
func exclusive(err error) error {
	if err == nil {
		return nil
	}
	_, flags, found := strings.Cut(err.Error(), "are set none of the others can be; [")
	flags, whole := strings.CutSuffix(flags, "] were all set")
	if !found || !whole {
		return err
	}
	return errors.New("--" + strings.Join(strings.Fields(flags), " and --") + " cannot be used together: leave one out")
}
