package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// permission asks whether a call may run.
type permission struct {
	Session session.ID   `json:"sessionId"`
	Call    permitted    `json:"toolCall"`
	Options []permitWord `json:"options"`
	Meta    meta         `json:"_meta,omitempty"`
}

type permitted struct {
	ID      string          `json:"toolCallId"`
	Title   string          `json:"title,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Status  string          `json:"status"`
	Content []toolContent   `json:"content,omitempty"`
	Input   json.RawMessage `json:"rawInput,omitempty"`
}

type permitWord struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// grantOption is before the id of a grant in an optionId. The grant of the whole tool is the action allow_session.
const grantOption = "grant:"

// permitWords are the answers to a question in ACP's words.
func permitWords(q feed.Confirm) (words []permitWord) {
	for _, action := range q.Actions {
		switch action {
		case session.AllowOnce:
			words = append(words, permitWord{string(action), "Allow once", "allow_once"})
		case session.AllowSession:
			for _, g := range q.Grants {
				id := grantOption + g.ID
				if g.ID == approval.ToolGrant {
					id = string(action)
				}
				words = append(words, permitWord{id, "Until this session ends: " + g.Text, "allow_always"})
			}
		case session.Deny:
			words = append(words, permitWord{string(action), "Deny", "reject_once"})
		}
	}
	return words
}

// ruling is an answer of the client.
func ruling(result []byte, client string) agent.Ruling {
	r := agent.Ruling{Action: session.Deny, Client: client}
	if gjson.GetBytes(result, "outcome.outcome").String() == "selected" {
		option := gjson.GetBytes(result, "outcome.optionId").String()
		if id, ok := strings.CutPrefix(option, grantOption); ok && id != "" {
			r.Action, r.Grant = session.AllowOnce, id
		} else {
			r.Action = session.Action(option)
		}
	}
	return r
}

// approval is all that a person approves. Diffs are ACP's own, as far as the call has them; the rest is text in which
// hidden characters are visible.
func (c *toolCall) approval(q feed.Confirm) []toolContent {
	if q.Limit > 0 {
		return textContent(q.Message)
	}
	var list []toolContent
	for _, p := range q.Parts {
		if p.Kind == approval.DiffPart && len(c.diffs) > 0 {
			if list = append(list, c.diffs...); approval.Visible(p.Name) && approval.Visible(p.Text) {
				continue
			}
		}
		text, hidden := approval.Reveal(p.Text)
		if name, _ := approval.Reveal(p.Name); name != "" {
			text = name + ":\n" + text
		}
		if hidden > 0 {
			text += fmt.Sprintf("\n[%d characters that cannot be seen are shown by their codes]", hidden)
		}
		if text != "" {
			list = append(list, textContent(text)...)
		}
	}
	return list
}

// question asks the client what the session asks. It may have an answer of somebody else at any time, and the request is
// taken back then. u is nil where the question was open before.
func (th *thread) question(ctx context.Context, u *feed.Update, q feed.Confirm) error {
	if th.questions[q.ID] != nil {
		return nil
	}
	c := th.call(q.Reply, q.Block, q.CallID)
	call := th.toolCall(c, q.Name, q.Title, q.Arguments, "pending")
	if err := th.send(ctx, u, call); err != nil {
		return err
	}
	title, _ := approval.Reveal(call.Title)
	p := permission{Session: th.id, Call: permitted{c.id, title, call.ToolKind, "pending", c.approval(q), q.Arguments}, Options: permitWords(q),
		Meta: meta{metaKey + "/confirm": map[string]any{"confirmId": q.ID, "message": q.Message, "origin": q.Origin, "until": q.Until}}}
	r, err := th.e.ask(ctx, "session/request_permission", p)
	if err != nil {
		return err
	}
	asking, cancel := context.WithCancel(th.e.Conn.Context())
	th.questions[q.ID] = &question{r, cancel}
	th.e.Run(func() { // ends with the answer, by cancel, or with the connection; serve waits
		defer cancel()
		th.permit(asking, r, q)
	})
	return nil
}

// permit hands on the client's answer. A client that cannot ask says nothing: another may, and silence is a no.
func (th *thread) permit(ctx context.Context, r *request, q feed.Confirm) {
	e := th.e
	result, err := r.wait(ctx)
	if err != nil {
		if !errors.Is(err, errUnasked) && !errors.Is(err, conn.ErrGone) {
			e.server.config.Log.Info("an editor does not answer a question", "session", th.id, "err", err)
		}
		return
	}
	_, err = service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (bool, error) { return a.Answer(ctx, q.ID, ruling(result, e.name)) })
	if err != nil && ctx.Err() == nil {
		e.server.config.Log.Info("an editor's answer is invalid", "session", th.id, "err", err)
	}
}

// resolved takes a question back that is over.
func (th *thread) resolved(ctx context.Context, id string) error {
	q := th.questions[id]
	if q == nil {
		return nil
	}
	delete(th.questions, id)
	defer q.cancel()
	return q.asked.takeBack(ctx)
}

// unask takes all questions back; they stay open in the session.
func (th *thread) unask() {
	for id, q := range th.questions {
		q.cancel()
		delete(th.questions, id)
	}
}
