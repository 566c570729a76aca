package thinkd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Settings of a client. The zero value is usable.
type Settings struct {
	Name         string              // of the program, for the daemon's log
	Version      string              // of the program
	Attended     bool                // a person uses it
	Capabilities *ClientCapabilities // nil: it runs tools, and answers questions

	// OnEvent gets events without a session, such as *AuthUpdateEvent. It must not block. May be nil.
	OnEvent func(Event)

	LongestPause time.Duration // between two attempts to connect; 0: 15 s
}

// An Event is a notification of the daemon: a pointer to one of the types whose names end with Event, or a *[Snapshot].
type Event interface {
	Method() string // its name in the protocol
	seq() int64     // its place among the events of its session; 0: it has none
}

// How requests are repeated: those that take a client_id get one; those in once are never sent twice.
var (
	once       = []string{"session/ask", "turn/resume", "session/compact", "auth/login", "confirm/answer", "tool/result"}
	remembered = []string{"session/new", "session/fork", "session/prompt", "session/append", "session/continue"}
)

// A Client is safe for concurrent use. [Connect] makes one.
//
// One goroutine reads: it settles requests and hands events to sessions, in the order of the connection. Another writes what waits in the
// outbox, so that the reader never waits for the daemon to read. Both end with the connection, and the reader opens the next one.
type Client struct {
	transport Transport
	settings  Settings
	ctx       context.Context // ends with Close
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu       sync.Mutex
	closed   error // nil: it is not
	line     Line  // nil: there is no connection
	outbox   [][]byte
	ready    chan struct{} // has a token if the outbox may have something
	nextID   int64
	pending  map[int64]*request
	sessions map[string]*Session
	daemon   *InitializeResult
	pauses   [2]time.Duration
}

type request struct {
	method  string
	message []byte
	settle  func(result json.RawMessage, err error) // called by the reader, which it must not block, or by Close
}

// Connect opens the first connection. Later the client reconnects until it is closed. ctx is for the first connection only.
func Connect(ctx context.Context, transport Transport, settings Settings) (*Client, error) {
	if settings.Name == "" {
		settings.Name = "thinkd-client-go"
	}
	if settings.LongestPause == 0 {
		settings.LongestPause = 15 * time.Second
	}
	if settings.Capabilities == nil {
		settings.Capabilities = &ClientCapabilities{Tools: To(true), Confirm: To(true)}
	}
	line, err := transport.Open(ctx)
	if err != nil {
		return nil, err
	}
	c := &Client{transport: transport, settings: settings, ready: make(chan struct{}, 1), nextID: 1, pending: make(map[int64]*request),
		sessions: make(map[string]*Session), pauses: [2]time.Duration{125 * time.Millisecond, 250 * time.Millisecond}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.begin(line)
	c.running.Go(func() { c.live(line) }) // Close ends it and waits
	return c, nil
}

// Daemon is what the daemon said of itself; nil: it has not yet.
func (c *Client) Daemon() *InitializeResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.daemon
}

// Close closes the connection. Turns continue in the daemon. Pending requests fail with [ErrClosed].
func (c *Client) Close() error {
	line := c.end(ErrClosed)
	c.stop()
	var err error
	if line != nil {
		err = line.Close()
	}
	c.running.Wait()
	return err
}

// end fails everything that is pending, and returns the connection for its caller to close.
func (c *Client) end(reason error) (line Line) {
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return nil
	}
	c.closed = reason
	pending, sessions := c.pending, c.sessions
	c.pending, c.sessions = map[int64]*request{}, map[string]*Session{}
	line, c.line = c.line, nil
	c.mu.Unlock()
	for _, r := range pending {
		r.settle(nil, reason)
	}
	for _, s := range sessions {
		s.end()
	}
	return line
}

// Call calls any method of the protocol. The methods of Client that are named like methods of the protocol have types. The error is a
// *[RPCError], [ErrLost], [ErrClosed] or the cause of ctx. result may be nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	done := make(chan error, 1)
	id, err := c.send(method, params, func(answer json.RawMessage, err error) {
		if err == nil && result != nil {
			err = json.Unmarshal(answer, result)
		}
		done <- err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if !c.forget(id) {
			return <-done // it is being settled
		}
		return context.Cause(ctx)
	}
}

// forget gives up a request, and cancels it at the daemon. It reports whether the request was still pending.
func (c *Client) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pending[id]; !ok {
		return false
	}
	delete(c.pending, id)
	if c.line != nil {
		c.post([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id)))
	}
	return true
}

// send makes a request. settle is called by the reader before it reads the next message.
func (c *Client) send(method string, params any, settle func(json.RawMessage, error)) (id int64, err error) {
	text, err := json.Marshal(params)
	if err != nil {
		return 0, err
	}
	if slices.Contains(remembered, method) {
		if text, err = withClientID(text); err != nil {
			return 0, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return 0, c.closed
	}
	id = c.nextID
	c.nextID++
	message := encode(id, method, text)
	c.pending[id] = &request{method, message, settle}
	if c.line != nil { // otherwise after the next connect
		c.post(message)
	}
	return id, nil
}

func encode(id int64, method string, params json.RawMessage) []byte {
	text, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      int64           `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}{"2.0", id, method, params})
	if err != nil {
		panic(err) // params are JSON already
	}
	return text
}

func withClientID(params []byte) ([]byte, error) {
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(params, &members); err != nil {
		return nil, err
	}
	if members["client_id"] == nil {
		members["client_id"] = json.RawMessage(`"` + rand.Text() + `"`)
	}
	return json.Marshal(members)
}

// post adds to the outbox. The caller holds mu.
func (c *Client) post(message []byte) {
	c.outbox = append(c.outbox, message)
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// begin puts into the outbox what the daemon must get on a new connection: the greeting, the places of the sessions, and the requests
// without a response, in the order in which they were made.
func (c *Client) begin(line Line) {
	greeting, err := json.Marshal(InitializeParams{ProtocolVersion: To[int64](1), Capabilities: c.settings.Capabilities,
		Client: &ClientInfo{Name: c.settings.Name, Version: c.settings.Version, Attended: &c.settings.Attended}})
	if err != nil {
		panic(err) // it has texts and booleans only
	}
	c.mu.Lock()
	unanswered := slices.Sorted(maps.Keys(c.pending))
	c.line, c.outbox = line, nil
	c.post(encode(0, "initialize", greeting))
	sessions := slices.Collect(maps.Values(c.sessions))
	c.mu.Unlock()
	for _, s := range sessions {
		s.resume()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range unanswered {
		if r := c.pending[id]; r != nil {
			c.post(r.message)
		}
	}
}

// live reads connections, one after the other, until the client is closed.
func (c *Client) live(line Line) {
	for {
		gone, stop := context.WithCancel(c.ctx)
		c.running.Go(func() { c.write(gone, line) }) // ends with gone, or with the connection
		err := c.read(line)
		stop()
		c.lost()
		if errors.Is(err, ErrRefused) {
			c.end(err)
		}
		line.Close() // it may be closed already; the connection has ended in any case
		if line = c.reopen(); line == nil {
			return
		}
	}
}

func (c *Client) read(line Line) error {
	for {
		text, err := line.Receive(c.ctx)
		if len(text) > 0 {
			c.receive(text)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Client) write(ctx context.Context, line Line) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ready:
		}
		c.mu.Lock()
		messages := c.outbox
		if c.line != line { // what waits is for another connection
			messages = nil
			c.ready <- struct{}{}
			c.mu.Unlock()
			return
		}
		c.outbox = nil
		c.mu.Unlock()
		for _, m := range messages {
			if line.Send(ctx, m) != nil {
				return // the reader sees the end as well
			}
		}
	}
}

// lost fails the requests that must not be repeated.
func (c *Client) lost() {
	c.mu.Lock()
	c.line = nil
	var failed []*request
	for id, r := range c.pending {
		if slices.Contains(once, r.method) {
			failed = append(failed, r)
			delete(c.pending, id)
		}
	}
	c.mu.Unlock()
	for _, r := range failed {
		r.settle(nil, fmt.Errorf("%s: %w", r.method, ErrLost))
	}
}

// reopen connects again after random pauses whose bounds double: all clients lose a daemon at the same moment (protocol.md, Reconnect). It
// returns nil when the client is closed.
func (c *Client) reopen() Line {
	c.mu.Lock()
	low, high := c.pauses[0], c.pauses[1]
	c.mu.Unlock()
	for {
		longest := min(high, c.settings.LongestPause)
		shortest := min(low, longest/2)
		select {
		case <-c.ctx.Done():
			return nil
		case <-time.After(shortest + mathrand.N(longest-shortest+1)):
		}
		low, high = 2*low, 2*high
		line, err := c.transport.Open(c.ctx)
		if err != nil {
			continue
		}
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if closed != nil {
			line.Close()
			return nil
		}
		c.begin(line)
		return line
	}
}

// receive handles a message of the daemon.
func (c *Client) receive(text []byte) {
	var m struct {
		ID     *int64
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  *RPCError
	}
	if json.Unmarshal(text, &m) != nil {
		return // no message of the protocol
	}
	switch {
	case m.Method != "":
		c.notify(m.Method, m.Params)
	case m.ID == nil:
	case *m.ID == 0:
		c.greeted(m.Result)
	default:
		c.mu.Lock()
		r := c.pending[*m.ID]
		delete(c.pending, *m.ID)
		c.mu.Unlock()
		switch {
		case r == nil:
		case m.Error != nil:
			r.settle(nil, m.Error)
		default:
			r.settle(m.Result, nil)
		}
	}
}

func (c *Client) greeted(result json.RawMessage) {
	var daemon InitializeResult
	if json.Unmarshal(result, &daemon) != nil {
		return // initialize failed: every other request fails as well
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.daemon = &daemon
	if r := daemon.Reconnect; r.MaxMS > 0 {
		c.pauses = [2]time.Duration{time.Duration(r.MinMS) * time.Millisecond, time.Duration(r.MaxMS) * time.Millisecond}
	}
}

func (c *Client) notify(method string, params json.RawMessage) {
	var of struct {
		SessionID string `json:"session_id"`
	}
	if json.Unmarshal(params, &of) != nil {
		return // no message of the protocol
	}
	c.mu.Lock()
	s := c.sessions[of.SessionID]
	c.mu.Unlock()
	switch {
	case method == "stale" && s != nil:
		s.resume()
	case s != nil:
		s.receive(method, params)
	case c.settings.OnEvent != nil:
		if e := decode(method, params); e != nil {
			c.settings.OnEvent(e)
		}
	}
}

// decode returns nil for an event of a newer daemon.
func decode(method string, params json.RawMessage) Event {
	build := events[method]
	if build == nil {
		return nil
	}
	e := build()
	if json.Unmarshal(params, e) != nil {
		return nil
	}
	return e
}
