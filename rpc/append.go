package rpc

import (
	"context"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

type appendParams struct {
	Session  method.ID[session.ID] `json:"session_id"`
	Text     string                `json:"text,omitempty"`
	Content  provider.Blocks       `json:"content,omitempty"`
	WhenBusy waitOrReject          `json:"when_busy,omitempty"`
	Client   *clientID             `json:"client_id,omitempty"`
}

// waitOrReject says what becomes of an added message while a turn runs.
type waitOrReject string

// A message for the running turn is a prompt that steers.
const (
	appendLater  waitOrReject = "queue" // it waits for its place: the default
	appendOrFail waitOrReject = "reject"
)

// Words lists what there is.
func (waitOrReject) Words() []string { return provider.Words(appendLater, appendOrFail) }

// stamp is that of session/append. The digest names the method, so that a session/prompt with the same id and params is not taken for
// a repeated session/append.
func (p appendParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return stampOf(id, struct {
		Append appendParams `json:"append"`
	}{p})
}

// appendMessage adds what a user says without a model call.
func appendMessage(ctx context.Context, c *client, p appendParams) (promptResult, error) {
	stamp, err := p.stamp()
	if err != nil {
		return promptResult{}, err
	}
	if first, err := prompted(ctx, c, p.Session.Value, stamp); err != nil || first != nil {
		return receiptOf(first), err
	}
	said, err := c.said(promptParams{Session: p.Session, Text: p.Text, Content: p.Content, WhenBusy: whenBusy(p.WhenBusy)})
	if err != nil {
		return promptResult{}, err
	}
	said.Stamp = stamp
	r, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Receipt, error) { return a.Append(ctx, said) })
	return receiptOf(&r), err
}
