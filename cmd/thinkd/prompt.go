package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

type promptFlags struct {
	model    string
	thinking string
	session  string
	agent    string
	json     bool
}

func (p *program) promptCommand() *cobra.Command {
	var f promptFlags
	cmd := &cobra.Command{
		Use:   "prompt TEXT",
		Short: "Ask once: thinking goes to standard error, the answer to standard output",
		Long: `Ask once: thinking goes to standard error, the answer to standard output.
Several words are one prompt. A single - reads the prompt from standard input. If there
is a prompt and standard input is a pipe or a file, its text is appended to the prompt.
With < /dev/null the command does not read standard input.

On a terminal, thinking is dim, and a status line shows how long the model has been
silent. With --json the notifications of protocol.md go to standard output, and only
failures go to standard error.

The exit status is
  0    if the turn ended normally
  1    if it failed: no daemon, unknown model, no key, an error of the provider
  2    if the answer is incomplete: max_tokens, a limit, a refusal
  130  if it was interrupted or cancelled`,
		Example: `  thinkd prompt "Which date is later, 2026-03-01 or 2026-02-28?"
  thinkd prompt --thinking high --model anthropic/claude-opus-5-5 "Prove it."
  git diff | thinkd prompt "Is this right?"
  thinkd prompt - < question.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if text == "-" || piped(p.in) {
				all, err := io.ReadAll(p.in)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				text = about(text, string(all))
			}
			link, err := p.connect(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(p.prompt(cmd.Context(), link, f, text), link.Close())
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "model `ID`, as provider/id")
	cmd.Flags().StringVar(&f.thinking, "thinking", "", "`LEVEL` of thinking: off, auto, on, minimal, low, medium, high, xhigh, max")
	cmd.Flags().StringVar(&f.session, "session", "", "continue the session `ID`")
	cmd.Flags().StringVar(&f.agent, "agent", "", "start with the agent `NAME`")
	cmd.MarkFlagsMutuallyExclusive("session", "agent") // a session keeps the agent that it was made for
	cmd.Flags().BoolVar(&f.json, "json", false, "write notifications to standard output, one per line")
	return cmd
}

// piped is true for an input that ends by itself. A terminal does not, and who starts us in the background may have given
// us a device or a socket that never says anything.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// about is a text with what it is about.
func about(text, context string) string {
	switch {
	case text == "-":
		return context
	case strings.TrimSpace(context) == "":
		return text
	}
	return text + "\n\n" + context
}

// prompt asks and shows what comes until the turn ends. An interrupt cancels the turn, which would go on without us.
func (p *program) prompt(ctx context.Context, link *door.Link, f promptFlags, text string) error {
	hangUp := context.AfterFunc(ctx, func() { link.Close() })
	w := &watch{out: p.out, errOut: p.errOut, own: printable.Bare(p.errOut), json: f.json}
	if w.style = !f.json && printable.IsTerminal(p.errOut) && p.getenv("TERM") != "dumb"; w.style {
		defer w.tellSilence()()
	}
	id, err := p.ask(link, w, f, text)
	if !hangUp() {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		if _, err := link.Send("session/cancel", map[string]any{"session_id": id, "turn_id": w.asked.Turn}); err != nil {
			link.Close()
		}
	})
	defer stop()
	for !w.ended {
		n, err := link.Next()
		if err == nil {
			err = w.update(n)
		}
		if err != nil {
			return err
		}
	}
	return w.failed
}

// ask makes the session, or goes on with one, and says the text.
func (p *program) ask(link *door.Link, w *watch, f promptFlags, text string) (id session.ID, err error) {
	said := map[string]any{"text": text}
	words := present("model_id", f.model, "thinking_level", f.thinking)
	if f.session == "" {
		var s struct {
			ID session.ID `json:"session_id"`
		}
		maps.Copy(words, present("agent", f.agent))
		err = link.Call("session/new", words, &s)
		id = s.ID
	} else {
		id = session.ID(f.session)
		maps.Copy(said, words) // they hold for this turn only: the session is not the command's to change
		err = link.Call("session/attach", map[string]any{"session_id": id, "limit": 1}, nil)
	}
	if err != nil {
		return id, err
	}
	said["session_id"] = id
	link.Notify = w.update
	return id, link.Call("session/prompt", said, &w.asked)
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
