package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/permit"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// approval is all that a person approves. Diffs are ACP's own, as far as the call has them; the rest is text in which
// hidden characters are visible.
func (c *toolCall) approval(q feed.Confirm) []blocks.Tool {
	if q.Limit > 0 {
		return blocks.Text(q.Message)
	}
	var list []blocks.Tool
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
			list = append(list, blocks.Text(text)...)
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
	options := permit.Options(q)
	if showsKinds(th.e.name) {
		options = permit.OnePerKind(options)
	}
	p := permit.Request{Session: th.id, Call: permit.Call{ID: c.id, Title: title, Kind: call.ToolKind, Status: "pending", Content: c.approval(q), Input: q.Arguments}, Options: options,
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
	_, err = service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (bool, error) { return a.Answer(ctx, q.ID, permit.Ruling(result, e.name)) })
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

// spend asks the client whether a turn may spend. ACP asks about tool calls only, so the question has the form of one: it is completed
// when the turn resumes, and failed if the turn ends. u is nil if the turn was parked before this client came.
func (th *thread) spend(ctx context.Context, u *feed.Update, turn session.TurnID, p feed.TurnParked) error {
	if err := th.spent(ctx, u, "failed"); err != nil {
		return err
	}
	if u != nil {
		if err := th.later(u); err != nil {
			return err
		}
	}
	q := *p.Spending
	id := fmt.Sprintf("%s.spend.%d", turn, p.Since)
	text := permit.SpendingText(q)
	if p.Error != nil {
		text = p.Error.Message + ".\n\n" + text
	}
	title := "Spend more?"
	if q.Limit == session.LimitPrompt {
		title = "Send an expensive prompt?"
	}
	if err := th.send(ctx, u, update{Kind: "tool_call", Call: id, Title: title, ToolKind: "other", Status: "pending", Content: blocks.Text(text)}); err != nil {
		return err
	}
	r, err := th.e.ask(ctx, "session/request_permission", permit.Request{Session: th.id, Options: permit.Spending(q),
		Call: permit.Call{ID: id, Title: title, Kind: "other", Status: "pending", Content: blocks.Text(text)}})
	if err != nil {
		return err
	}
	asking, cancel := context.WithCancel(th.e.Conn.Context())
	th.spends, th.questions[id] = id, &question{r, cancel}
	th.e.Run(func() { // ends with the answer, by cancel, or with the connection; serve waits
		defer cancel()
		th.allow(asking, r, turn, q)
	})
	return nil
}

// spent ends the question about money, if one is open.
func (th *thread) spent(ctx context.Context, u *feed.Update, status string) error {
	id := th.spends
	if th.spends = ""; id == "" {
		return nil
	}
	if err := th.resolved(ctx, id); err != nil {
		return err
	}
	return th.send(ctx, u, update{Kind: "tool_call_update", Call: id, Status: status})
}

// allow hands on the client's answer. A client that cannot ask leaves the turn as it is: another client may answer. The answer does not
// show that a person is there, because many editors can allow everything on their own.
func (th *thread) allow(ctx context.Context, r *request, turn session.TurnID, q session.Spending) {
	e := th.e
	result, err := r.wait(ctx)
	if err != nil {
		if !errors.Is(err, errUnasked) && !errors.Is(err, conn.ErrGone) {
			e.server.config.Log.Info("an editor does not answer a question about money", "session", th.id, "err", err)
		}
		return
	}
	how, option := agent.Resumption{}, permit.End
	if gjson.GetBytes(result, "outcome.outcome").String() == "selected" {
		option = gjson.GetBytes(result, "outcome.optionId").String()
	}
	switch option {
	case permit.End, permit.Once:
	case permit.Raise:
		how.Raise = q.Most
	case permit.CompactFirst:
		how.Compact = true
	default:
		e.server.config.Log.Info("an editor's answer is invalid", "session", th.id, "option", option)
		return
	}
	_, err = service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (_ session.TurnID, err error) {
		if option == permit.End {
			_, err = a.Cancel(ctx, turn)
			return turn, err
		}
		return a.ResumeTurn(ctx, turn, how)
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, agent.ErrNotParked) { // somebody else was faster
		e.server.config.Log.Info("an editor's answer is invalid", "session", th.id, "err", err)
	}
}
