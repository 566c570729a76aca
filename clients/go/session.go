package thinkd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// Follow says how a client follows a session.
type Follow struct {
	Tools []Tool // that run in this process

	// Approve decides about a call: it returns one of the question's actions, such as "allow" or "deny". ctx ends with the client. Nil: other
	// clients decide.
	Approve func(ctx context.Context, question Confirm) ConfirmAction
}

// A Snapshot is the state of a session. It replaces everything that a program has of unfinished turns.
type Snapshot struct{ State SessionAttachResult }

// Method is "snapshot", which is no name of the protocol.
func (*Snapshot) Method() string { return "snapshot" }

func (*Snapshot) seq() int64 { return 0 }

// A Session follows one conversation. [Client.NewSession] and [Client.Attach] make it. It is safe for concurrent use.
type Session struct {
	ID     string
	client *Client
	follow Follow

	// delivery is held while listeners are called. It comes before mu. The first Listen holds it, too, so that an event that arrives meanwhile
	// comes after those that waited. Later ones do not: a listener may call Listen.
	delivery sync.Mutex

	mu        sync.Mutex
	last      int64 // seq of the last event
	resuming  bool
	later     *time.Timer // of the next try to resume; nil: there is none. end stops it
	ended     bool
	listeners []*listener
	early     []Event         // before the first listener; nil at its end: the client ended
	listened  bool            // nothing is added to early any more
	handled   map[string]bool // calls and questions
	state     *SessionAttachResult
}

type listener struct{ take func(Event) } // nil: no more events

// NewSession creates a session and follows it. params has no tools: those of follow are offered.
func (c *Client) NewSession(ctx context.Context, params SessionNewParams, follow Follow) (*Session, error) {
	if len(follow.Tools) > 0 {
		offers, err := json.Marshal(offersOf(follow.Tools))
		if err != nil {
			return nil, err
		}
		params.Tools = offers
	}
	return c.follow(ctx, "session/new", params, func(answer json.RawMessage) (*Session, error) {
		var made SessionNewResult
		err := json.Unmarshal(answer, &made)
		return &Session{ID: made.SessionID, client: c, follow: follow, handled: make(map[string]bool)}, err
	})
}

// Attach follows a session: State is its state now, and events follow.
func (c *Client) Attach(ctx context.Context, id string, follow Follow) (*Session, error) {
	return c.follow(ctx, "session/attach", SessionAttachParams{SessionID: id}, func(answer json.RawMessage) (*Session, error) {
		var state SessionAttachResult
		err := json.Unmarshal(answer, &state)
		s := &Session{ID: id, client: c, follow: follow, handled: make(map[string]bool), last: state.Seq, state: &state}
		s.serveOpen(state)
		return s, err
	})
}

// follow makes a request, and the session from its answer, before the next message is read.
func (c *Client) follow(ctx context.Context, method string, params any, build func(json.RawMessage) (*Session, error)) (*Session, error) {
	type outcome struct {
		s   *Session
		err error
	}
	done := make(chan outcome, 1)
	_, err := c.send(method, params, func(answer json.RawMessage, err error) {
		var s *Session
		if err == nil {
			s, err = build(answer)
		}
		if err == nil {
			c.mu.Lock()
			c.sessions[s.ID] = s
			c.mu.Unlock()
		}
		done <- outcome{s, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case o := <-done:
		return o.s, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx) // a session that is created nevertheless stays in the daemon
	}
}

// State is the newest snapshot; nil: there was none.
func (s *Session) State() *SessionAttachResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// mostEarly is how many events wait for the first listener.
const mostEarly = 1000

// Listen calls take for each event, in the order of the connection, and with nil after the last one. take must not block, nor close the client.
// stop ends it. Events that came before the first Listen of the session wait: that one calls take for them before it returns. At most 1,000 wait,
// and with more it gets none of them.
func (s *Session) Listen(take func(Event)) (stop func()) {
	s.mu.Lock()
	first := !s.listened
	s.mu.Unlock()
	if first {
		s.delivery.Lock()
		defer s.delivery.Unlock()
	}
	l := &listener{take}
	s.mu.Lock()
	waiting := s.early
	s.early, s.listened = nil, true
	s.listeners = append(s.listeners, l)
	if s.ended && len(waiting) == 0 {
		waiting = []Event{nil}
	}
	s.mu.Unlock()
	for _, e := range waiting {
		take(e)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(have *listener) bool { return have == l })
	}
}

// Queue returns the prompts that wait.
func (s *Session) Queue(ctx context.Context) ([]Queued, error) {
	r, err := s.client.SessionQueue(ctx, SessionQueueParams{SessionID: s.ID})
	return r.Queue, err
}

// Append adds a message without a model call. The next prompt sends it.
func (s *Session) Append(ctx context.Context, text string) (SessionAppendResult, error) {
	return s.client.SessionAppend(ctx, SessionAppendParams{SessionID: s.ID, Text: text})
}

// Ask asks a side question, which is not recorded.
func (s *Session) Ask(ctx context.Context, text string) (SessionAskResult, error) {
	return s.client.SessionAsk(ctx, SessionAskParams{SessionID: s.ID, Text: text})
}

// Cancel cancels the running turn. It reports whether there was one.
func (s *Session) Cancel(ctx context.Context) (bool, error) {
	r, err := s.client.SessionCancel(ctx, SessionCancelParams{SessionID: s.ID})
	return r.Cancelled, err
}

// resume attaches after the last event, on a new connection or after stale. A node of a cluster may be unable to serve the session for a while:
// then it is asked again after the time that it names.
func (s *Session) resume() {
	s.mu.Lock()
	if s.later != nil {
		s.later.Stop()
		s.later = nil
	}
	if s.resuming || s.ended {
		s.mu.Unlock()
		return
	}
	s.resuming = true
	params := SessionAttachParams{SessionID: s.ID, AfterSeq: To(s.last)}
	s.mu.Unlock()
	s.client.send("session/attach", params, s.resumed) // its error is that the client was closed
}

func (s *Session) resumed(answer json.RawMessage, err error) {
	var state SessionAttachResult
	var missed struct {
		Updates []struct {
			Method string
			Params json.RawMessage
		}
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(answer, &state), json.Unmarshal(answer, &missed))
	}
	pause, later := retryAfter(err)
	s.mu.Lock()
	s.resuming = false
	if later && !s.ended {
		s.later = time.AfterFunc(pause, s.resume)
	}
	s.mu.Unlock()
	if later {
		return
	}
	if err != nil { // the session was deleted, or the client closed
		s.client.mu.Lock()
		delete(s.client.sessions, s.ID)
		s.client.mu.Unlock()
		s.end()
		return
	}
	for _, u := range missed.Updates {
		s.receive(u.Method, u.Params)
	}
	s.mu.Lock()
	s.last = state.Seq
	s.mu.Unlock()
	if state.Updates == nil {
		s.mu.Lock()
		s.state = &state
		s.mu.Unlock()
		s.serveOpen(state)
		s.tell(&Snapshot{state})
	}
}

// Bounds of the pause before a session is asked for again.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
)

// retryAfter is the time after which a refused request can be sent again.
func retryAfter(err error) (pause time.Duration, ok bool) {
	var refused *RPCError
	if !errors.As(err, &refused) || refused.Code != closing {
		return 0, false
	}
	var data struct {
		RetryAfter *int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal(refused.Data, &data) != nil || data.RetryAfter == nil {
		return 0, false
	}
	ms := min(max(*data.RetryAfter, shortestPause.Milliseconds()), longestPause.Milliseconds())
	return time.Duration(ms) * time.Millisecond, true
}

// closing is the code of what can be tried again, see protocol.md.
const closing = 1006

// receive takes an event, unless it is known or of a newer daemon.
func (s *Session) receive(method string, params json.RawMessage) {
	e := decode(method, params)
	if e == nil {
		return
	}
	s.mu.Lock()
	known := e.seq() <= s.last
	if !known {
		s.last = e.seq()
	}
	s.mu.Unlock()
	if known {
		return
	}
	switch e := e.(type) {
	case *ToolStartEvent:
		s.run(e.CallID, e.Name, string(e.Host), e.Arguments)
	case *ConfirmEvent:
		var question Confirm
		if json.Unmarshal(params, &question) == nil {
			s.decide(question)
		}
	}
	s.tell(e)
}

func (s *Session) tell(e Event) {
	s.delivery.Lock()
	defer s.delivery.Unlock()
	s.mu.Lock()
	listeners := s.listeners
	s.keep(e)
	s.mu.Unlock()
	for _, l := range listeners {
		l.take(e)
	}
}

// keep has an event wait for the first listener. The caller holds mu.
func (s *Session) keep(e Event) {
	if s.listened {
		return
	}
	if _, replaces := e.(*Snapshot); replaces {
		s.early = nil
	}
	s.early = append(s.early, e)
	if len(s.early) > mostEarly { // the program does not listen
		s.early, s.listened = nil, true
	}
}

func (s *Session) end() {
	s.delivery.Lock()
	defer s.delivery.Unlock()
	s.mu.Lock()
	if s.ended { // by the answer to a pending resume, and then by the client
		s.mu.Unlock()
		return
	}
	listeners := s.listeners
	s.listeners, s.ended = nil, true
	s.keep(nil)
	if s.later != nil {
		s.later.Stop()
	}
	s.mu.Unlock()
	for _, l := range listeners {
		l.take(nil)
	}
}
