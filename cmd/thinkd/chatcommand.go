package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/thinkd/thinkd/cmd/thinkd/chat"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/cmd/thinkd/welcome"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) chatCommand() *cobra.Command {
	var model, thinking, session, agent, theme string
	var plain, last bool
	var privacy privacyFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to a model in the terminal",
		Long: `Talk to a model in the terminal. The conversation stays in the scrollback of the
terminal. In a pipe, and on a terminal that cannot move its cursor (TERM=dumb), the
output is plain lines, and the exit status is 1 if the last turn failed. /help lists
the commands and the keys.

A turn continues after you leave. To return to it, use thinkd chat --continue, or
--session ID with the id that the chat printed when you left. Then --model and --thinking
set the model and the level of that session, from its next turn on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := present("model_id", model, "thinking_level", thinking, "agent", agent)
			privacy.state(params)
			return p.chat(cmd.Context(), chat.Config{Session: session, Last: last, New: params, Plain: plain, Theme: theme})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "model `ID`, as provider/id")
	cmd.Flags().StringVar(&thinking, "thinking", "", "`LEVEL` of thinking")
	cmd.Flags().StringVar(&agent, "agent", "", "start with the agent `NAME`")
	cmd.Flags().StringVar(&session, "session", "", "continue the session `ID`")
	cmd.Flags().BoolVar(&last, "continue", false, "continue the last session of this folder")
	cmd.Flags().StringVar(&theme, "theme", "", "colours for a `BACKGROUND`: dark, light or plain (default: that of the terminal)")
	cmd.Flags().BoolVar(&plain, "plain", false, "print plain lines, without moving the cursor")
	privacy.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("session", "continue", "agent") // a session keeps what it was made with
	cmd.MarkFlagsMutuallyExclusive("continue", "thinking-storage")
	cmd.MarkFlagsMutuallyExclusive("continue", "ephemeral")
	return cmd
}

// chat runs a chat, with what c says of its session.
func (p *program) chat(ctx context.Context, c chat.Config) error {
	in, inFile := p.in.(*os.File)
	out, outFile := printable.Bare(p.out).(*os.File)
	if !inFile || !outFile {
		return errors.New("chat needs files as its standard input and output")
	}
	if c.Theme != "" && !slices.Contains(chat.Themes, c.Theme) {
		return fmt.Errorf("--theme %q is not one of %s", c.Theme, strings.Join(chat.Themes, ", "))
	}
	if dir, err := os.Getwd(); err == nil { // else the session just has none
		c.New["cwd"], c.Folder = dir, dir
	}
	kind := p.getenv("TERM")
	screen := printable.IsTerminal(in) && printable.IsTerminal(out) && kind != "dumb" && (kind != "" || os.PathSeparator == '\\')
	if c.Plain = c.Plain || !screen; !c.Plain && c.Theme == "" {
		config, err := p.options.Config()
		if err != nil {
			return err
		}
		c.Theme = config.Theme
	}
	c.In, c.Out, c.Env, c.Echo, c.Dial = in, out, os.Environ(), printable.IsTerminal(in), p.dialQuietly
	err := chat.Run(ctx, c)
	if errors.Is(err, chat.ErrFailed) {
		return errReported
	}
	return err
}

// start is thinkd without a command: in a terminal a welcome and then the chat, otherwise the help.
func (p *program) start(cmd *cobra.Command, args []string) error {
	if !p.atTerminal() {
		return cmd.Help()
	}
	begin := false
	err := p.onDaemon(func(link *door.Link, _ []string) (err error) {
		begin, err = welcome.Greet(cmd.Context(), p.build.Version, link, p.person(link))
		return err
	})(cmd, args)
	if err != nil || !begin {
		return err
	}
	return p.chat(cmd.Context(), chat.Config{New: present()})
}

// atTerminal reports whether a person can read what the program prints, and type an answer.
func (p *program) atTerminal() bool {
	in, isFile := p.in.(*os.File)
	return isFile && term.IsTerminal(int(in.Fd())) && printable.IsTerminal(p.out)
}

// dialQuietly connects, and returns what there is to say about it: standard error is in the midst of the screen.
func (p *program) dialQuietly(ctx context.Context) (chat.Daemon, string, error) {
	if p.remote != "" {
		link, err := p.connectRemote(ctx, false)
		if err != nil {
			return nil, "", err
		}
		return link, "", nil
	}
	link, notice, err := p.options.Connect(ctx)
	if err != nil {
		return nil, "", err
	}
	return link, notice, nil
}
