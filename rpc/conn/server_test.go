package conn

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server has the methods of the JSON-RPC specification's examples and some that behave badly.
type server struct {
	t       testing.TB
	limit   int
	methods map[string]method
}

// method answers at once with the value, or with what late returns.
type method func(c *client, params json.RawMessage) (value any, late func(context.Context) (any, error), err error)

// client is a connection as the methods see it.
type client struct {
	*Conn
	t       testing.TB
	running sync.WaitGroup // late answers and followed sessions
	follows map[string]context.CancelFunc
}

// testServer takes messages of limit bytes; 0: of DefaultMessageBytes.
func testServer(t testing.TB, limit int) *server {
	if limit == 0 {
		limit = DefaultMessageBytes
	}
	late := func(*client, json.RawMessage) (any, func(context.Context) (any, error), error) {
		return nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, context.Cause(ctx) }, nil
	}
	empty := func(json.RawMessage) (any, error) { return nil, nil }
	return &server{t: t, limit: limit, methods: map[string]method{
		"ping": named(func(struct{}) (any, error) { return struct{}{}, nil }),
		"echo": named(func(p struct {
			Text  string
			Times int
		}) (any, error) {
			return map[string]string{"text": strings.Repeat(p.Text, max(p.Times, 1))}, nil
		}),
		"fail":  named(func(struct{}) (any, error) { return nil, errors.New("canary") }),
		"panic": named(func(struct{}) (any, error) { panic("canary") }),
		"late":  late,
		"follow": func(c *client, params json.RawMessage) (any, func(context.Context) (any, error), error) {
			return struct{}{}, nil, c.follow(params)
		},
		"unfollow": func(c *client, params json.RawMessage) (any, func(context.Context) (any, error), error) {
			return struct{}{}, nil, c.unfollow(params)
		},
		"subtract": raw(subtract), "sum": raw(sum), "update": raw(empty), "notify_hello": raw(empty),
		"get_data": raw(func(json.RawMessage) (any, error) { return []any{"hello", 5}, nil }),
	}}
}

func raw(run func(json.RawMessage) (any, error)) method {
	return func(_ *client, params json.RawMessage) (any, func(context.Context) (any, error), error) {
		value, err := run(params)
		return value, nil, err
	}
}

// named is a method whose params are an object.
func named[P any](run func(P) (any, error)) method {
	return raw(func(params json.RawMessage) (any, error) {
		var p P
		if len(params) > 0 && json.Unmarshal(params, &p) != nil {
			return nil, &Error{Code: CodeInvalidParams, Message: "params must be an object"}
		}
		return run(p)
	})
}

func subtract(params json.RawMessage) (any, error) {
	var named struct{ Minuend, Subtrahend int }
	if json.Unmarshal(params, &named) == nil {
		return named.Minuend - named.Subtrahend, nil
	}
	var list [2]int
	err := json.Unmarshal(params, &list)
	return list[0] - list[1], err
}

func sum(params json.RawMessage) (any, error) {
	var list []int
	err := json.Unmarshal(params, &list)
	total := 0
	for _, n := range list {
		total += n
	}
	return total, err
}

type followParams struct {
	Session string `json:"session_id"`
	Updates int
}

// follow sends updates behind the answer. A second follow of a session ends the first.
func (c *client) follow(params json.RawMessage) error {
	var p followParams
	if err := c.unfollow(params); err != nil {
		return err
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(c.Context())
	done := make(chan struct{})
	c.follows[p.Session] = func() { stop(); <-done }
	c.running.Go(testgo.Guard(c.t, func() { // ended by unfollow or the connection; Serve waits
		defer close(done)
		for i := range p.Updates {
			update := `{"jsonrpc":"2.0","method":"tick","params":{"session_id":"` + p.Session + `","n":` + strconv.Itoa(i) + `}}`
			if c.Notify(ctx, []byte(update)) != nil {
				return
			}
		}
	}))
	return nil
}

func (c *client) unfollow(params json.RawMessage) error {
	var p followParams
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	if end := c.follows[p.Session]; end != nil {
		end()
	}
	return nil
}

// Serve is one life of a client.
func (s *server) Serve(ctx context.Context, pipe io.ReadWriteCloser) error {
	return s.serve(ctx, NewByteFrames(pipe, s.limit))
}

func (s *server) serve(ctx context.Context, f Frames) error {
	c := &client{t: s.t, follows: make(map[string]context.CancelFunc)}
	c.Conn = New(ctx, f, Config{Log: slog.New(slog.DiscardHandler), Limit: s.limit,
		Protocol: Protocol{Cancel: "$/cancelRequest", CancelID: "id", Urgent: "session/cancel"}})
	err := c.Serve(func(call *Call) { s.handle(c, call) })
	c.running.Wait()
	for _, end := range c.follows {
		end()
	}
	return err
}

func (s *server) handle(c *client, call *Call) {
	m := s.methods[call.Method()]
	if m == nil {
		answer(call, nil, ErrMethodNotFound)
		return
	}
	value, late, err := guarded(func() (any, func(context.Context) (any, error), error) { return m(c, call.Params()) })
	switch {
	case late == nil:
		answer(call, value, err)
	case call.InBatch():
		answer(call, nil, InvalidRequest("%s answers late and cannot be part of a batch", call.Method()))
	default:
		c.running.Go(testgo.Guard(c.t, func() { // ends with the request or the connection; Serve waits
			value, err := late(call.Context())
			answer(call, value, err)
		}))
	}
}

func guarded[T, U any](run func() (T, U, error)) (a T, b U, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("panic")
		}
	}()
	return run()
}

// answer sends the answer. Where that fails, the connection has ended.
func answer(call *Call, value any, err error) {
	failure, known := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, ErrCancelled):
		failure = &Error{Code: CodeCancelled, Message: "the request was cancelled"}
	case err != nil && !known:
		failure = &Error{Code: CodeInternal, Message: "internal error"}
	}
	var message []byte
	if failure != nil {
		message, err = call.Failure(failure)
	} else {
		message, err = call.Result(value, nil)
	}
	if err == nil {
		_ = call.Send(message)
	}
}

// converse is what the server answers to a client that sends input and leaves, byte for byte, and how Serve ended.
func converse(t *testing.T, s *server, input io.Reader) (string, error) {
	t.Helper()
	c := conntest.NewTranscript(input)
	err := s.Serve(t.Context(), c)
	return c.String(), err
}

// connect serves one client over an in-memory pipe.
func connect(t *testing.T, ctx context.Context, s *server) *conntest.Peer {
	return conntest.Connect(t, func(pipe net.Conn) error { return s.Serve(ctx, pipe) })
}
