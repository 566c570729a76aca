package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/session"
)

type promptFlags struct {
	model    string
	thinking string
	session  string
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
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			text := strings.Join(args, " ")
			if text == "-" {
				all, err := io.ReadAll(p.in)
				if err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
				text = string(all)
			}
			d, err := p.open(cmd.Context(), nil)
			c, hangUp, err := p.dial(cmd.Context(), d, err)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, hangUp()) }()
			return p.prompt(c, f, text)
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "model `ID`, as provider/id")
	cmd.Flags().StringVar(&f.thinking, "thinking", "", "`LEVEL` of thinking: off, auto, on, minimal, low, medium, high, xhigh, max")
	cmd.Flags().StringVar(&f.session, "session", "", "go on with the session of this `ID`")
	cmd.Flags().BoolVar(&f.json, "json", false, "write the notifications to standard output, one a line")
	return cmd
}

// prompt asks and shows what comes until the turn ends.
func (p *program) prompt(c *client, f promptFlags, text string) error {
	ask := map[string]any{"text": text}
	if f.session == "" {
		var s struct {
			ID session.ID `json:"session_id"`
		}
		if err := c.call("session/new", present("model_id", f.model, "thinking_level", f.thinking), &s); err != nil {
			return err
		}
		ask["session_id"] = s.ID
	} else {
		// The words hold for this turn only: the session is not the command's to change.
		for k, v := range present("model_id", f.model, "thinking_level", f.thinking) {
			ask[k] = v
		}
		ask["session_id"] = f.session
		if err := c.call("session/attach", map[string]any{"session_id": f.session, "limit": 1}, &struct{}{}); err != nil {
			return err
		}
	}
	w := &watch{out: p.out, errOut: p.errOut, json: f.json}
	c.notify = w.update
	if err := c.call("session/prompt", ask, &w.asked); err != nil {
		return err
	}
	for !w.ended {
		if _, err := c.read(); err != nil {
			return err
		}
	}
	return w.failed
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

func (w *watch) update(m message) error {
	var u struct {
		Turn       session.TurnID `json:"turn_id"`
		Delta      string         `json:"delta"`
		Message    string         `json:"message"`
		StopReason string         `json:"stop_reason"`
		Limit      string         `json:"limit"`
		Error      *callError     `json:"error"`
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
		_, err := w.out.Write(m.raw)
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
func outcome(reason, limit string, failure *callError) error {
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
