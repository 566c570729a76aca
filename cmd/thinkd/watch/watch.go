package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// A View is where the output goes, and its form.
type View struct {
	Out, ErrOut io.Writer // see [printable.Output]
	JSON        bool      // write the daemon's messages as they are
	Plain       bool      // no sequences of our own, also on a terminal
	NoThinking  bool      // leave out thinking
	Quiet       bool      // write only the answer
}

func (v View) output() *output {
	if v.Quiet {
		v.ErrOut = io.Discard
	}
	style := !v.JSON && !v.Plain && printable.IsTerminal(v.ErrOut)
	return &output{out: v.Out, errOut: v.ErrOut, own: printable.Bare(v.ErrOut), json: v.JSON, style: style, noThinking: v.NoThinking}
}

// Turn starts a turn with a request, and shows it until it ends. open returns the session, to which it has subscribed the link. The error
// is that of the turn ([Outcome]), which names the command that continues the turn if there is one, or the cause of ctx if that ended before the turn began.
func (v View) Turn(ctx context.Context, link *door.Link, open func() (session.ID, error), method string, params map[string]any) error {
	hangUp := context.AfterFunc(ctx, func() { link.Close() })
	w := v.output()
	if w.style {
		defer w.showWaiting()()
	}
	id, err := open()
	if err == nil {
		params["session_id"] = id
		link.Notify = w.update
		err = link.Call(method, params, &w.asked)
	}
	if !hangUp() {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { // the turn would go on without us
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
	link.Notify = nil
	_ = link.Call("session/read", map[string]any{"session_id": id, "turn_id": w.asked.Turn}, nil) // the turn has ended, whether this works or not
	if w.failed == nil || ctx.Err() != nil || v.JSON {
		return w.failed
	}
	var left struct{ Parts []json.RawMessage }
	switch err := link.Call("session/continue", map[string]any{"session_id": id, "dry_run": true}, &left); {
	case err != nil: // nothing can be continued
	case len(left.Parts) == 0:
		return fmt.Errorf("%w\nTo try again: thinkd continue %s", w.failed, id)
	default:
		return fmt.Errorf("%w\nWhat came is kept. To go on: thinkd continue %s", w.failed, id)
	}
	return w.failed
}

// Ask asks a side question and shows its answer. params are those of session/ask. The end of ctx closes the link, which ends the question.
func (v View) Ask(ctx context.Context, link *door.Link, params map[string]any) error {
	hangUp := context.AfterFunc(ctx, func() { link.Close() })
	w := v.output()
	if w.style {
		defer w.showWaiting()()
	}
	if !v.JSON {
		params["ask_id"] = "a"
		link.Notify = w.update
	}
	var answer json.RawMessage
	err := link.Call("session/ask", params, &answer)
	if !hangUp() {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	var r struct {
		Thinking string         `json:"thinking"`
		Text     string         `json:"text"`
		Stop     string         `json:"stop_reason"`
		Usage    provider.Usage `json:"usage"`
		Error    *conn.Error    `json:"error"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return fmt.Errorf("session/ask: %w", err)
	}
	if v.JSON {
		_, err = fmt.Fprintf(v.Out, "%s\n", answer)
	} else {
		err = w.finish(r.Thinking, r.Text, r.Usage)
	}
	return cmp.Or(err, Outcome(r.Stop, "", r.Error))
}

// finish writes what has not come of an answer whose end is known, and what it took.
func (w *output) finish(thinking, text string, usage provider.Usage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eraseWaiting()
	var err error
	if w.said.Len() == 0 && !w.thinking && thinking != "" { // the answer was complete before its deltas were sent
		w.thinking = true
		err = w.think(thinking)
	}
	rest, _ := strings.CutPrefix(text, w.said.String())
	if err = cmp.Or(err, w.say(rest)); err == nil && text != "" {
		_, err = io.WriteString(w.out, "\n")
	}
	w.begun = false
	facts := "not recorded"
	if usage.Input > 0 {
		facts += fmt.Sprintf(", %d %% of the input was cached", 100*usage.Cached/usage.Input)
	}
	if usage.Cost != nil && usage.Cost.Amount > 0 {
		facts += ", " + usage.Cost.String()
	}
	failed := printable.Say(w.errOut, facts)
	return cmp.Or(err, failed)
}
