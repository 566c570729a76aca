package rpc

import (
	"context"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

type toolResultParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Call    string                `json:"call_id"`
	Content provider.Blocks       `json:"content"`
	Failed  bool                  `json:"is_error,omitempty"`
}

func toolResult(ctx context.Context, c *client, p toolResultParams) (method.Nothing, error) {
	content := provider.Blocks{}
	for i, b := range p.Content {
		switch b := b.(type) {
		case provider.Text:
		case provider.Media:
			if len(b.Data) == 0 {
				return method.Nothing{}, conn.InvalidParams("content", "block %d has no data", i)
			}
			p.Content[i] = provider.Media{Type: b.Type, Name: strings.ToValidUTF8(b.Name[:min(len(b.Name), maxFileName)], ""), Data: b.Data} // as in a prompt
		default:
			return method.Nothing{}, conn.InvalidParams("content", "block %d is a %s; a result has text and media", i, provider.KindOf(b))
		}
		content = append(content, provider.WithoutState(p.Content[i]))
	}
	return service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (method.Nothing, error) {
		return method.Nothing{}, a.ToolResult(ctx, p.Call, content, p.Failed)
	})
}

type confirmParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Confirm method.ID[string]     `json:"confirm_id"`
	Action  session.Action        `json:"action"`
	Grant   string                `json:"grant,omitempty"`
	Reason  string                `json:"reason,omitempty"`
}

// maxReason bounds why a person denies a call, in bytes: a model reads it.
const maxReason = 4 << 10

type confirmResult struct {
	Accepted bool `json:"accepted"`
}

func answerConfirm(ctx context.Context, c *client, p confirmParams) (confirmResult, error) {
	switch {
	case p.Reason != "" && p.Action != session.Deny:
		return confirmResult{}, conn.InvalidParams("reason", "is for the action deny alone")
	case len(p.Reason) > maxReason:
		return confirmResult{}, conn.InvalidParams("reason", "is longer than %d bytes", maxReason)
	}
	c.Attend()
	ok, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (bool, error) {
		return a.Answer(ctx, p.Confirm.Value, agent.Ruling{Action: p.Action, Grant: p.Grant, Reason: p.Reason, Client: c.name})
	})
	return confirmResult{ok}, err
}

type grantsParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Revoke  []method.ID[string]   `json:"revoke,omitempty"`
}

type grantsResult struct {
	Grants []tool.Grant `json:"grants"`
}

func grants(ctx context.Context, c *client, p grantsParams) (grantsResult, error) {
	ids := make([]string, len(p.Revoke))
	for i, id := range p.Revoke {
		ids[i] = id.Value
	}
	st, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.State, error) {
		if len(ids) == 0 {
			return a.State(ctx)
		}
		return a.Set(ctx, agent.Change{Revoke: ids})
	})
	return grantsResult{append([]tool.Grant{}, st.Grants...)}, err
}
