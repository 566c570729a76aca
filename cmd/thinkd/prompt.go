package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
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
Several words are one text; a single - reads it from standard input.`,
		Example: `  thinkd prompt "Which date is later, 2026-03-01 or 2026-02-28?"
  thinkd prompt --thinking high --model anthropic/claude-opus-5-5 "Prove it."
  git diff | thinkd prompt -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			if text == "-" {
				all, err := io.ReadAll(p.in)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				text = string(all)
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
	cmd.Flags().StringVar(&f.session, "session", "", "go on with the session of this `ID`")
	cmd.Flags().StringVar(&f.agent, "agent", "", "begin with the agent of this `NAME`")
	cmd.MarkFlagsMutuallyExclusive("session", "agent") // a session keeps the agent that it was made for
	cmd.Flags().BoolVar(&f.json, "json", false, "write the notifications to standard output, one a line")
	return cmd
}

// prompt asks and shows what comes until the turn ends. An interrupt cancels the turn, which would go on without us.
func (p *program) prompt(ctx context.Context, link *rpc.Link, f promptFlags, text string) error {
	hangUp := context.AfterFunc(ctx, func() { link.Close() })
	w := &watch{out: p.out, errOut: p.errOut, json: f.json}
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
func (p *program) ask(link *rpc.Link, w *watch, f promptFlags, text string) (id session.ID, err error) {
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

// watch shows a turn to a person.
type watch struct {
	out, errOut io.Writer
	json        bool // write the notifications as they are
	asked       struct {
		Turn session.TurnID `json:"turn_id"`
	}
	ended  bool
	failed error
}

func (w *watch) update(m rpc.Notification) error {
	var u struct {
		Turn       session.TurnID `json:"turn_id"`
		Delta      string         `json:"delta"`
		Message    string         `json:"message"`
		StopReason string         `json:"stop_reason"`
		Limit      string         `json:"limit"`
		Error      *rpc.Error     `json:"error"`
		AfterMS    int            `json:"after_ms"`
	}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		return fmt.Errorf("%s: %w", m.Method, err)
	}
	if m.Method == "turn_end" && u.Turn == w.asked.Turn {
		w.ended = true
		w.failed = outcome(u.StopReason, u.Limit, u.Error)
	}
	if w.json {
		_, err := fmt.Fprintf(w.out, "%s\n", m.Raw)
		return err
	}
	var err error
	switch m.Method {
	case "thinking_delta":
		_, err = io.WriteString(w.errOut, u.Delta)
	case "thinking_end":
		_, err = io.WriteString(w.errOut, "\n\n")
	case "message_delta":
		_, err = io.WriteString(w.out, u.Delta)
	case "text_end":
		_, err = io.WriteString(w.out, "\n")
	case "notice":
		_, err = fmt.Fprintf(w.errOut, "thinkd: %s\n", u.Message)
	case "retry":
		_, err = fmt.Fprintf(w.errOut, "thinkd: trying again in %.1f s: %s\n", float64(u.AfterMS)/1000, u.Message)
	case "stale":
		return errors.New("the session was closed")
	}
	return err
}

// outcome is nil for a turn that ended well.
func outcome(reason, limit string, failure *rpc.Error) error {
	switch {
	case failure != nil:
		return failure
	case reason == "end_turn":
		return nil
	case limit != "":
		return fmt.Errorf("the turn ended: %s (%s)", reason, limit)
	}
	return fmt.Errorf("the turn ended: %s", reason)
}
