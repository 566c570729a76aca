package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// maxQuestion bounds a side question, in bytes: several of them wait in memory for their answers.
const maxQuestion = 1 << 20

type askParams struct {
	Session method.ID[session.ID] `json:"session_id"`
	Text    string                `json:"text,omitempty"`
	Content provider.Blocks       `json:"content,omitempty"`
	Level   askedLevel            `json:"thinking_level,omitempty"`
	Model   string                `json:"model_id,omitempty"`
	Keep    bool                  `json:"keep,omitempty"`
	Ask     *clientID             `json:"ask_id,omitempty"`    // names the answer's stream; without one there is no stream
	Client  *clientID             `json:"client_id,omitempty"` // with keep only: otherwise nothing is left that a repeated request could find
}

type askResult struct {
	Model      *feed.Model        `json:"model,omitempty"`
	Reasoning  *provider.Decision `json:"reasoning,omitempty"`
	feed.Cache                    // empty: no vendor has the conversation yet
	Thinking   string             `json:"thinking,omitempty"`
	Text       string             `json:"text,omitempty"`
	StopReason session.StopReason `json:"stop_reason,omitempty"`
	Usage      *provider.Usage    `json:"usage,omitempty"`
	DurationMS int64              `json:"duration_ms,omitempty"`
	Error      *conn.Error        `json:"error,omitempty"`

	// With keep there are only these.
	Session session.ID        `json:"session_id,omitempty"`
	Turn    session.TurnID    `json:"turn_id,omitempty"`
	Message session.MessageID `json:"message_id,omitempty"`
	Deleted bool              `json:"deleted,omitempty"` // the request is repeated, and the fork was deleted since
}

// ask makes a side question ready in the order of the requests, and asks it on the goroutine of the late answer. So the asker's
// $/cancelRequest ends it, and so does the end of its connection.
func ask(ctx context.Context, c *client, p askParams) (func(context.Context) (askResult, error), error) {
	q, err := c.question(p)
	if err != nil {
		return nil, err
	}
	if p.Client != nil && !p.Keep {
		return nil, conn.InvalidParams("client_id", "goes with keep: without it the question is asked again each time")
	}
	c.Attend()
	if p.Keep {
		r, err := c.keepQuestion(ctx, p, q)
		return func(context.Context) (askResult, error) { return r, nil }, err
	}
	ready, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (*agent.Aside, error) { return a.Aside(ctx, q) })
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (askResult, error) {
		said := func(provider.BlockKind, string) {}
		if p.Ask != nil {
			s := c.streamAnswer(p.Session.Value, string(*p.Ask))
			defer s.sub.Close()
			said = s.said
		}
		begun := time.Now()
		a, err := ready.Ask(ctx, said)
		switch {
		case err != nil:
			return askResult{}, err
		case ctx.Err() != nil:
			return askResult{}, context.Cause(ctx)
		case errors.Is(a.Err, feed.ErrClosed):
			return askResult{}, a.Err
		}
		r := askResult{Model: &ready.Model, Reasoning: wire.NewReasoning(ready.Reasoning), Cache: ready.Cache, Thinking: a.Thinking, Text: a.Text,
			StopReason: session.StopReason(a.Reason), Usage: &a.Usage, DurationMS: time.Since(begun).Milliseconds()}
		if a.Err != nil {
			r.StopReason, r.Error = session.StopError, c.ErrorOf(ctx, "session/ask", a.Err)
		}
		return r, nil
	}, nil
}

// question is what the params of a side question amount to.
func (c *client) question(p askParams) (q agent.Question, err error) {
	if q.Content, err = (promptParams{Text: p.Text, Content: p.Content}).content(); err != nil {
		return q, err
	}
	if room.OfBlocks(q.Content) > maxQuestion {
		return q, conn.TooLarge("the question", maxQuestion)
	}
	q.Override.Level = p.Level.level()
	if p.Model != "" {
		m, err := c.Model(p.Model, "")
		if err != nil {
			return q, err
		}
		q.Override.Model = &m
	}
	return q, nil
}

// stamp is that of a kept question.
func (p askParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return creationStamp("session/ask", id, p)
}

// keepQuestion makes a fork with the question as its first turn. Nothing is left if the turn cannot begin. A repeated request gets the
// same fork, and begins its turn if a crash came in between.
func (c *client) keepQuestion(ctx context.Context, p askParams, q agent.Question) (r askResult, err error) {
	sessions := c.Sessions()
	stamp, err := p.stamp()
	if err != nil {
		return r, err
	}
	var made session.ID
	first := agent.Prompt{Content: q.Content, Override: q.Override}
	if stamp == nil {
		fork, err := sessions.Fork(ctx, p.Session.Value, "")
		if err != nil {
			return r, err
		}
		made = fork.ID
	} else {
		if made, err = c.keptFork(ctx, p.Session.Value, q, *stamp); err != nil {
			return r, err
		}
		first.Stamp = &session.Stamp{ID: "kept question " + stamp.ID, Digest: stamp.Digest} // a stamp of the shared turns may have the id
	}
	turn, err := service.OnAgent(ctx, c, made, func(a *agent.Agent) (agent.Receipt, error) { return a.Prompt(ctx, first) })
	if stamp != nil && errors.Is(err, session.ErrNotFound) {
		return askResult{Session: made, Deleted: true}, nil
	}
	if err != nil && stamp == nil {
		err = errors.Join(err, sessions.Delete(context.WithoutCancel(ctx), made))
	}
	if err != nil {
		return r, err
	}
	return askResult{Session: made, Turn: turn.Turn, Message: turn.Message}, nil
}

// keptFork is the fork of a stamped request: the one that the first request made, or a new one. A question that cannot be asked makes none.
func (c *client) keptFork(ctx context.Context, id session.ID, q agent.Question, stamp session.Stamp) (session.ID, error) {
	sessions := c.Sessions()
	made, ok, err := sessions.Creation(ctx, stamp)
	if !ok && err == nil {
		if _, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (*agent.Aside, error) { return a.Aside(ctx, q) }); err != nil {
			return "", err
		}
		made, err = sessions.ForkOnce(ctx, id, "", stamp, func(id session.ID) (json.RawMessage, error) { return json.Marshal(forkResult{Session: id}) })
	}
	return made.Session, err
}

// answerStream carries the pieces of an answer to the asker alone. It is the source of a conn.Subscription: pieces join while the asker
// does not read, and the answer bounds them.
type answerStream struct {
	session session.ID
	ask     string
	sub     *conn.Subscription // set before the first piece

	mu      sync.Mutex
	waiting []askPiece
}

// askPiece is text that the asker does not have yet.
type askPiece struct {
	kind askKind
	text []byte
}

// askDelta tells one connection how the answer to its side question grows. It has no number.
type askDelta struct {
	Session session.ID `json:"session_id"`
	Ask     string     `json:"ask_id"`
	Kind    askKind    `json:"kind"`
	Delta   string     `json:"delta"`
}

// askKind is what grows.
type askKind string

const (
	askThinking askKind = "thinking"
	askText     askKind = "text"
)

// Words lists both kinds.
func (askKind) Words() []string { return provider.Words(askThinking, askText) }

func (c *client) streamAnswer(id session.ID, ask string) *answerStream {
	s := &answerStream{session: id, ask: ask}
	s.sub = c.Conn.Subscribe(s)
	return s
}

// said takes in a piece. The goroutine of the call uses it, and it never waits.
func (s *answerStream) said(kind provider.BlockKind, text string) {
	as := askText
	if kind == provider.KindThinking {
		as = askThinking
	}
	s.mu.Lock()
	if n := len(s.waiting); n > 0 && s.waiting[n-1].kind == as {
		s.waiting[n-1].text = append(s.waiting[n-1].text, text...)
	} else {
		s.waiting = append(s.waiting, askPiece{as, []byte(text)})
	}
	s.mu.Unlock()
	s.sub.Ready()
}

// maxAskDelta bounds one notification, in bytes.
const maxAskDelta = 16 << 10

// Next is the next notification, as [conn.Source] wants it.
func (s *answerStream) Next() (message []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, false
	}
	first := &s.waiting[0]
	n := len(first.text)
	if n > maxAskDelta {
		for n = maxAskDelta; !utf8.RuneStart(first.text[n]); n-- {
		}
	}
	params, err := json.Marshal(askDelta{s.session, s.ask, first.kind, string(first.text[:n])})
	if first.text = first.text[n:]; len(first.text) == 0 {
		s.waiting = s.waiting[1:]
	}
	if err != nil {
		panic(err) // strings alone
	}
	return append(append([]byte(`{"jsonrpc":"2.0","method":"ask_delta","params":`), params...), '}'), false
}

// Close is called once, by the connection. The answer goes on without its stream until its context ends.
func (s *answerStream) Close() {}
