package rpc

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

type promptParams struct {
	Session  method.ID[session.ID] `json:"session_id"`
	Text     string                `json:"text,omitempty"`
	Content  provider.Blocks       `json:"content,omitempty"`
	Level    askedLevel            `json:"thinking_level,omitempty"`
	Model    string                `json:"model_id,omitempty"`
	Display  provider.Display      `json:"display,omitempty"`
	WhenBusy whenBusy              `json:"when_busy,omitempty"`
	Client   *clientID             `json:"client_id,omitempty"`

	NotBefore moment `json:"not_before,omitempty"`
	Deadline  moment `json:"deadline,omitempty"`

	Options *askedOptions `json:"options,omitempty"` // of this turn; they come before those of the session

	Fallbacks *[]registry.FallbackModel `json:"fallbacks,omitempty"`
}

// moment is a time in Unix milliseconds; 0: none is given.
type moment int64

func (m *moment) UnmarshalJSON(data []byte) error {
	var n seqNumber
	if err := n.UnmarshalJSON(data); err != nil {
		return err
	}
	if n.n == 0 || n.n > maxMoment {
		return errors.New("is no time in Unix milliseconds")
	}
	*m = moment(n.n)
	return nil
}

// maxMoment is the end of the year 9999.
const maxMoment = 253402300799999

// JSONSchema is what rpc.discover returns for it.
func (moment) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: "Unix milliseconds", Minimum: new(float64(1))}
}

// whenBusy says how a prompt is handled while a turn runs.
type whenBusy string

const (
	queueWhenBusy  whenBusy = "queue" // it waits for a turn of its own: the default
	steerWhenBusy  whenBusy = "steer"
	rejectWhenBusy whenBusy = "reject"
)

// Words lists what there is.
func (whenBusy) Words() []string { return provider.Words(queueWhenBusy, steerWhenBusy, rejectWhenBusy) }

// stamp is that of session/prompt.
func (p promptParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	if p.WhenBusy == queueWhenBusy {
		p.WhenBusy = ""
	}
	p.Options = p.Options.plain()
	return stampOf(id, p)
}

type promptResult struct {
	Turn        session.TurnID    `json:"turn_id"`
	Message     session.MessageID `json:"message_id"`
	Disposition feed.Disposition  `json:"disposition"`
}

func prompt(ctx context.Context, c *client, p promptParams) (promptResult, error) {
	stamp, err := p.stamp()
	if err != nil {
		return promptResult{}, err
	}
	if first, err := prompted(ctx, c, p.Session.Value, stamp); err != nil || first != nil {
		return receiptOf(first), err
	}
	said, err := c.said(p)
	if err != nil {
		return promptResult{}, err
	}
	c.Attend()
	said.Stamp = stamp
	r, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Receipt, error) { return a.Prompt(ctx, said) })
	return receiptOf(&r), err
}

// prompted is the receipt of an earlier request with the same stamp, nil if there is none: what was once said is answered, though it
// might be refused today.
func prompted(ctx context.Context, c *client, id session.ID, stamp *session.Stamp) (*agent.Receipt, error) {
	if stamp == nil {
		return nil, nil
	}
	r, err := service.OnAgent(ctx, c, id, func(a *agent.Agent) (*agent.Receipt, error) { return a.Prompted(ctx, *stamp) })
	if errors.Is(err, session.ErrNotFound) {
		return nil, c.gone(ctx, id, err)
	}
	return r, err
}

// gone is the error of a repeated request to a session that is not there: whether it was deleted. The ledger knows each session that a
// model was called for.
func (c *client) gone(ctx context.Context, id session.ID, unknown error) error {
	sessions := c.Sessions()
	lines, err := sessions.Used(ctx, "", sessions.Today())
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(lines, func(l session.Line) bool { return l.Ref.ID == id }):
		return &conn.Error{Code: conn.CodeNotFound, Kind: "deleted", Message: "the session was deleted"}
	}
	return unknown
}

func receiptOf(r *agent.Receipt) promptResult {
	if r == nil {
		return promptResult{}
	}
	return promptResult{r.Turn, r.Message, r.Disposition}
}

// said is what the params of a prompt amount to.
func (c *client) said(p promptParams) (said agent.Prompt, err error) {
	if said.Content, err = p.content(); err != nil {
		return said, err
	}
	said.Override = session.Override{Level: p.Level.level(), Display: p.Display, Options: p.Options.orNil()}
	if p.Model != "" {
		m, err := c.Model(p.Model, "")
		if err != nil {
			return said, err
		}
		said.Override.Model = &m
	}
	if said.Override.Fallbacks, err = c.Fallbacks("fallbacks", p.Fallbacks); err != nil {
		return said, err
	}
	said.NotBefore, said.Deadline = int64(p.NotBefore), int64(p.Deadline)
	if p.Deadline != 0 && p.Deadline <= p.NotBefore {
		return said, conn.InvalidParams("deadline", "must be later than not_before")
	}
	switch p.WhenBusy {
	case rejectWhenBusy:
		said.Reject = true
	case steerWhenBusy:
		said.Steer = true
		if p.NotBefore != 0 || p.Deadline != 0 {
			return said, conn.InvalidParams("when_busy", "cannot be \"steer\" with not_before or deadline: these are times of a turn of its own")
		}
		if p.Fallbacks != nil {
			return said, conn.InvalidParams("fallbacks", "are for a turn of its own: leave them out, or use when_busy \"queue\"")
		}
		for _, member := range []struct {
			name   string
			stated bool
		}{{"thinking_level", p.Level != ""}, {"model_id", p.Model != ""}, {"display", p.Display != ""}, {"options", p.Options != nil}} {
			if member.stated {
				return said, conn.InvalidParams(member.name, "goes with a turn of its own, and a prompt that steers has the model, the level and the options of the turn that runs. Leave it out, or use when_busy \"queue\"")
			}
		}
	}
	return said, c.server.tellable(p.Session.Value, said.Content)
}

// tellable refuses a prompt that no notification could tell. Long text is cut there, but many small blocks may take more
// than they took in the request.
func (s *Server) tellable(id session.ID, content provider.Blocks) error {
	longest := &feed.Update{Session: id, Seq: math.MaxUint64, Time: math.MaxInt64, Turn: session.NewTurnID(),
		Event: feed.PromptStored{Message: session.NewMessageID(), Content: content, Disposition: feed.Started,
			Into: session.NewTurnID()}}
	if len(s.out.Update(longest)) > s.config.MessageBytes {
		return conn.TooLarge("the prompt's notification", s.config.MessageBytes)
	}
	return nil
}

// content is what the client says. Nobody but a vendor gives a block its state.
func (p promptParams) content() (provider.Blocks, error) {
	switch {
	case p.Text != "" && len(p.Content) > 0:
		return nil, conn.InvalidParams("content", "cannot be combined with text; give one of them")
	case strings.TrimSpace(p.Text) != "":
		return provider.Blocks{provider.Text{Text: p.Text}}, nil
	case len(p.Content) == 0:
		return nil, conn.InvalidParams("text", "is missing or empty; give text or content")
	}
	var content provider.Blocks
	for i, b := range p.Content {
		switch b := b.(type) {
		case provider.Text:
			if strings.TrimSpace(b.Text) == "" {
				return nil, conn.InvalidParams("content", "block %d is an empty text", i)
			}
		case provider.Media:
			if len(b.Data) == 0 {
				return nil, conn.InvalidParams("content", "block %d has no data", i)
			}
			if len(b.Name) > maxFileName {
				return nil, conn.InvalidParams("content", "block %d has a name of more than %d bytes", i, maxFileName)
			}
			p.Content[i] = provider.Media{Type: b.Type, Name: b.Name, Data: b.Data} // only the log refers to stored media
		default:
			return nil, conn.InvalidParams("content", "block %d is a %s; a prompt has text and media", i, provider.KindOf(b))
		}
		content = append(content, provider.WithoutState(p.Content[i]))
	}
	return content, nil
}

// maxFileName bounds the name of a file, in bytes.
const maxFileName = 255

type appendParams struct {
	Session  method.ID[session.ID] `json:"session_id"`
	Text     string                `json:"text,omitempty"`
	Content  provider.Blocks       `json:"content,omitempty"`
	WhenBusy waitOrReject          `json:"when_busy,omitempty"`
	Client   *clientID             `json:"client_id,omitempty"`
}

// waitOrReject says how an added message is handled while a turn runs.
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
	if p.WhenBusy == appendLater {
		p.WhenBusy = ""
	}
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
	c.Attend()
	said.Stamp = stamp
	r, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Receipt, error) { return a.Append(ctx, said) })
	return receiptOf(&r), err
}

type waitParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id"`
}

type waitResult struct {
	Turn       session.TurnID     `json:"turn_id"`
	StopReason session.StopReason `json:"stop_reason"`
	Limit      string             `json:"limit,omitempty"`
	Message    *wire.Message      `json:"message,omitempty"`
	Usage      provider.Usage     `json:"usage"`
	Reasoning  *provider.Decision `json:"reasoning,omitempty"`
	Error      *conn.Error        `json:"error,omitempty"`
	Mismatch   []string           `json:"output_errors,omitempty"`
}

func wait(_ context.Context, c *client, p waitParams) (func(context.Context) (waitResult, error), error) {
	return func(ctx context.Context) (waitResult, error) {
		e, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Ended, error) { return a.Wait(ctx, p.Turn.Value) })
		if err != nil {
			return waitResult{}, err
		}
		r := waitResult{Turn: e.Turn, StopReason: e.End.StopReason, Limit: e.End.Limit, Usage: e.End.Usage, Error: failure.OfTurn(e.End.Error), Mismatch: e.End.Mismatch}
		if e.Start != nil {
			r.Reasoning = wire.NewReasoning(e.Start.Reasoning)
		}
		if e.Message != nil {
			m, err := c.server.out.Message(*e.Message, c.server.out.MessageRoom())
			if err != nil {
				return waitResult{}, err
			}
			r.Message = &m
		}
		return r, nil
	}, nil
}

type resumeParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id"`
	Model   string                    `json:"model_id,omitempty"`
	Raise   float64                   `json:"raise,omitempty"` // USD
	Compact bool                      `json:"compact_first,omitempty"`
}

type resumeResult struct {
	Turn session.TurnID `json:"turn_id"` // that goes on
}

// resumeTurn resumes a parked turn.
func resumeTurn(ctx context.Context, c *client, p resumeParams) (resumeResult, error) {
	how := agent.Resumption{Raise: provider.MoneyOf(p.Raise), Compact: p.Compact}
	if p.Raise != 0 && how.Raise == 0 {
		return resumeResult{}, conn.InvalidParams("raise", "must be an amount of USD above 0")
	}
	if p.Model != "" {
		m, err := c.Model(p.Model, "")
		if err != nil {
			return resumeResult{}, err
		}
		how.Model = &m
	}
	c.Attend()
	id, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (session.TurnID, error) { return a.ResumeTurn(ctx, p.Turn.Value, how) })
	return resumeResult{id}, err
}

type cancelParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id,omitzero"`
}

type cancelResult struct {
	Cancelled bool `json:"cancelled"`
}

func cancel(ctx context.Context, c *client, p cancelParams) (cancelResult, error) {
	ok, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (bool, error) { return a.Cancel(ctx, p.Turn.Value) })
	return cancelResult{ok}, err
}

type queueParams struct {
	Session method.ID[session.ID]       `json:"session_id"`
	Remove  []method.ID[session.TurnID] `json:"remove,omitempty"`
	Resume  bool                        `json:"resume,omitempty"`
}

func queueOf(ctx context.Context, c *client, p queueParams) (wire.Waiting, error) {
	return queueAfter(ctx, c, p.Session.Value, func(a *agent.Agent) error {
		for _, t := range p.Remove {
			if err := a.Dequeue(ctx, t.Value); err != nil {
				return err
			}
		}
		if p.Resume {
			return a.Resume(ctx)
		}
		return nil
	})
}

type updateQueuedParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id"`
	Text    string                    `json:"text,omitempty"`
	Content provider.Blocks           `json:"content,omitempty"`
	Level   askedLevel                `json:"thinking_level,omitempty"`
	Model   string                    `json:"model_id,omitempty"`
	Display provider.Display          `json:"display,omitempty"`
	Options *askedOptions             `json:"options,omitempty"`

	Fallbacks *[]registry.FallbackModel `json:"fallbacks,omitempty"`
}

// updateQueued changes a prompt that waits. What the params leave out stays as it is.
func updateQueued(ctx context.Context, c *client, p updateQueuedParams) (wire.Waiting, error) {
	changed := promptParams{Session: p.Session, Text: p.Text, Content: p.Content, Level: p.Level, Model: p.Model, Display: p.Display, Options: p.Options, Fallbacks: p.Fallbacks}
	kept := p.Text == "" && len(p.Content) == 0
	if kept && p.Level == "" && p.Model == "" && p.Display == "" && p.Options == nil && p.Fallbacks == nil {
		return wire.Waiting{}, conn.InvalidParams("text", "is missing; give text, content, thinking_level, model_id, display, options or fallbacks")
	}
	if kept {
		changed.Text = "unchanged" // a prompt has text
	}
	said, err := c.said(changed)
	if err != nil {
		return wire.Waiting{}, err
	}
	if kept {
		said.Content = nil
	}
	return queueAfter(ctx, c, p.Session.Value, func(a *agent.Agent) error {
		return a.EditQueued(ctx, p.Turn.Value, agent.Edit{Content: said.Content, Override: said.Override})
	})
}

type moveQueuedParams struct {
	Session method.ID[session.ID]     `json:"session_id"`
	Turn    method.ID[session.TurnID] `json:"turn_id"`
	Before  method.ID[session.TurnID] `json:"before,omitzero"` // absent: to the end
}

func moveQueued(ctx context.Context, c *client, p moveQueuedParams) (wire.Waiting, error) {
	return queueAfter(ctx, c, p.Session.Value, func(a *agent.Agent) error { return a.MoveQueued(ctx, p.Turn.Value, p.Before.Value) })
}

// queueAfter is the queue after a change.
func queueAfter(ctx context.Context, c *client, id session.ID, change func(*agent.Agent) error) (wire.Waiting, error) {
	q, err := service.OnAgent(ctx, c, id, func(a *agent.Agent) (feed.QueueUpdate, error) {
		if err := change(a); err != nil {
			return feed.QueueUpdate{}, err
		}
		return a.Queue(ctx)
	})
	return wire.NewWaiting(q), err
}

type continueParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Client  *clientID             `json:"client_id,omitempty"`
	Dry     bool                  `json:"dry_run,omitempty"`
}

type continueResult struct {
	Turn      session.TurnID  `json:"turn_id,omitempty"` // absent: none was started
	Continues session.TurnID  `json:"continues"`
	Parts     []continuedPart `json:"parts"`
}

// continuedPart says how one block, or one result of a tool, is sent when its turn is continued.
type continuedPart struct {
	Message session.MessageID       `json:"message_id"`
	Block   int                     `json:"block"`
	Type    provider.BlockKind      `json:"type"`
	Action  provider.ContinueAction `json:"action"`
}

// continueTurn starts a turn that goes on with an unfinished one.
func continueTurn(ctx context.Context, c *client, p continueParams) (continueResult, error) {
	stamp, err := p.stamp()
	if err != nil {
		return continueResult{}, err
	}
	if !p.Dry {
		c.Attend()
	}
	on, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.Continued, error) { return a.Continue(ctx, stamp, p.Dry) })
	r := continueResult{Turn: on.Turn, Continues: on.Continuation.Turn, Parts: []continuedPart{}}
	for _, part := range on.Parts {
		if part.Type != provider.KindOpaque { // nobody may see it
			r.Parts = append(r.Parts, continuedPart(part))
		}
	}
	return r, err
}

// stamp is that of session/continue. A dry run has none: it may be repeated as it is.
func (p continueParams) stamp() (*session.Stamp, error) {
	if p.Dry {
		return nil, nil
	}
	return stampOf(p.Client, struct {
		Method  string                `json:"method"` // the other params are those of a prompt that says nothing
		Session method.ID[session.ID] `json:"session_id"`
	}{"session/continue", p.Session})
}
