package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/files"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

type promptFlags struct {
	model    string
	thinking string
	session  string
	agent    string
	files    []string
	json     bool
	quiet    bool
	silent   bool // no thinking
	options  []string
	schema   string
	privacy  privacyFlags
}

// privacyFlags say what a new session keeps. The daemon checks them.
type privacyFlags struct {
	storage   string
	ephemeral bool
}

// add gives a command the flags. It has --session already: a session keeps what it was made with.
func (f *privacyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.storage, "thinking-storage", "", "`WHAT` a new session keeps of thinking: full, opaque, none")
	complete(cmd, "thinking-storage", provider.ThinkingStorage("").Words()...)
	cmd.Flags().BoolVar(&f.ephemeral, "ephemeral", false, "keep a new session in memory only")
	cmd.MarkFlagsMutuallyExclusive("session", "thinking-storage")
	cmd.MarkFlagsMutuallyExclusive("session", "ephemeral")
}

// state writes the flags into the params of session/new.
func (f privacyFlags) state(params map[string]any) {
	maps.Copy(params, present("thinking_storage", f.storage))
	if f.ephemeral {
		params["ephemeral"] = true
	}
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

--file sends a file with the prompt: an image, a PDF or a sound if the model takes it,
and text to every model. It can be given several times.

On a terminal, thinking is dim, and a status line shows how long the model has been
silent. With --json the notifications of protocol.md go to standard output, and only
failures go to standard error.

` + turnStatus,
		Example: `  thinkd prompt "Which date is later, 2026-03-01 or 2026-02-28?"
  thinkd prompt --thinking high --model anthropic/claude-opus-5-5 "Prove it."
  git diff | thinkd prompt "Is this right?"
  thinkd prompt --file plan.pdf --file notes.md "Do the notes follow the plan?"
  thinkd prompt - < question.txt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := p.text(args)
			if err != nil {
				return err
			}
			return p.onTurn(cmd.Context(), func(link *door.Link) error { return p.prompt(cmd.Context(), link, f, text) })
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "model `ID`, as provider/id")
	cmd.Flags().StringVar(&f.thinking, "thinking", "", "`LEVEL` of thinking: off, auto, on, minimal, low, medium, high, xhigh, max")
	cmd.Flags().StringVar(&f.session, "session", "", "continue the session `ID`")
	cmd.Flags().StringArrayVar(&f.files, "file", nil, "send the file at `PATH` as well")
	cmd.Flags().StringVar(&f.agent, "agent", "", "start with the agent `NAME`")
	cmd.MarkFlagsMutuallyExclusive("session", "agent") // a session keeps the agent that it was made for
	f.privacy.add(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "write notifications to standard output, one per line")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "write only the answer, and why the turn failed")
	cmd.Flags().BoolVar(&f.silent, "no-thinking", false, "leave out thinking")
	cmd.MarkFlagsMutuallyExclusive("json", "quiet", "no-thinking")
	cmd.Flags().StringArrayVar(&f.options, "option", nil, "an option of the model calls, as `NAME=VALUE`; may be repeated")
	cmd.Flags().StringVar(&f.schema, "output-schema", "", "the answer is JSON by the JSON Schema in `FILE`")
	return cmd
}

// asked are the options that the flags state, nil if they state none. A value is JSON, or else a text.
func (f promptFlags) asked() (map[string]any, error) {
	options := map[string]any{}
	for _, text := range f.options {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--option %s: write NAME=VALUE, such as temperature=0.2", text)
		}
		if options[name] = value; json.Valid([]byte(value)) {
			options[name] = json.RawMessage(value)
		}
	}
	if f.schema != "" {
		text, err := os.ReadFile(f.schema)
		if err != nil {
			return nil, err
		}
		if !json.Valid(text) {
			return nil, fmt.Errorf("%s: not JSON", f.schema)
		}
		options["output_schema"] = map[string]any{"schema": json.RawMessage(text)}
	}
	if len(options) == 0 {
		return nil, nil
	}
	return options, nil
}

// prompt makes a session, or goes on with one, sends the text and shows the turn.
func (p *program) prompt(ctx context.Context, link *door.Link, f promptFlags, text string) error {
	params := map[string]any{"text": text}
	if len(f.files) > 0 {
		content, err := files.Attached(f.files, text)
		if err != nil {
			return err
		}
		params = map[string]any{"content": content}
	}
	options, err := f.asked()
	if err != nil {
		return err
	}
	if options != nil {
		params["options"] = options
	}
	words := present("model_id", f.model, "thinking_level", f.thinking)
	open := attach(link, f.session)
	if f.session != "" {
		maps.Copy(params, words) // they hold for this turn only: the session is not the command's to change
	} else {
		maps.Copy(words, present("agent", f.agent))
		f.privacy.state(words)
		open = func() (session.ID, error) {
			var s struct {
				ID session.ID `json:"session_id"`
			}
			err := link.Call("session/new", words, &s)
			return s.ID, err
		}
	}
	view := p.view(f.json)
	view.Quiet, view.NoThinking = f.quiet, f.silent
	return view.Turn(ctx, link, open, "session/prompt", params)
}
