package rpc

import (
	"bytes"
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
	"github.com/thinkd/thinkd/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transcript is a connection whose client says everything at once and goes, and whose answers are kept.
type transcript struct {
	io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (c *transcript) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

func (c *transcript) Close() error { return nil }

// converse is what the server answers to a client that sends input and goes, byte for byte, and how Serve ended.
func converse(t *testing.T, s *Server, input io.Reader) (string, error) {
	t.Helper()
	c := &transcript{Reader: input}
	err := s.Serve(t.Context(), c)
	return c.out.String(), err
}

// framing is one of the two ways in which messages lie in bytes.
type framing struct {
	name string
	wrap func(message string) string
}

var framings = []framing{
	{"lines", func(m string) string { return m + "\n" }},
	{"headers", func(m string) string { return "Content-Length: " + strconv.Itoa(len(m)) + "\r\n\r\n" + m }},
}

func (f framing) all(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(f.wrap(m))
	}
	return b.String()
}

// testServer has the methods of the JSON-RPC specification's examples and some that behave badly.
func testServer(t testing.TB, config Config) *Server {
	if config.Log == nil {
		config.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if config.Version == "" {
		config.Version = "1.2.3"
	}
	return newServer(config, append(coreMethods(), testMethods()...))
}

type echoParams struct {
	Text  string   `json:"text"`
	Times int      `json:"times,omitempty"`
	List  []string `json:"list,omitempty"`
}

type echoResult struct {
	Text string `json:"text"`
}

type followParams struct {
	Session session.ID `json:"session_id"`
	Updates int        `json:"updates"`
}

func testMethods() []method {
	return []method{
		raw("subtract", subtract), raw("sum", sum), raw("update", count), raw("notify_hello", count),
		raw("get_data", func(json.RawMessage) (any, error) { return []any{"hello", 5}, nil }),
		define(method{name: "echo", later: []string{"shout"}}, func(_ context.Context, _ *client, p echoParams) (echoResult, error) {
			return echoResult{strings.Repeat(p.Text, max(p.Times, 1))}, nil
		}),
		define(method{name: "panic"}, func(context.Context, *client, nothing) (nothing, error) { panic("canary /etc/shadow") }),
		define(method{name: "fail"}, func(context.Context, *client, nothing) (nothing, error) {
			return nothing{}, errors.New("canary /etc/shadow")
		}),
		defineLate(method{name: "late"}, func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return func(ctx context.Context) (nothing, error) {
				<-ctx.Done()
				return nothing{}, ctx.Err()
			}, nil
		}),
		defineLate(method{name: "late_panic"}, func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return func(context.Context) (nothing, error) { panic("late") }, nil
		}),
		defineLate(method{name: "late_refused"}, func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return nil, session.ErrNotFound
		}),
		define(method{name: "follow"}, func(_ context.Context, c *client, p followParams) (nothing, error) {
			c.follow(p.Session, func(ctx context.Context) error {
				for i := range p.Updates {
					update := `{"jsonrpc":"2.0","method":"tick","params":{"session_id":"` + string(p.Session) + `","n":` + strconv.Itoa(i) + `}}`
					if err := c.notify(ctx, []byte(update)); err != nil {
						return err
					}
				}
				return nil
			})
			return nothing{}, nil
		}),
		define(method{name: "unfollow"}, func(_ context.Context, c *client, p followParams) (nothing, error) {
			c.unfollow(p.Session)
			return nothing{}, nil
		}),
	}
}

// raw is a method that reads its params itself, as those of the specification's examples must: they are positional.
func raw(name string, run func(json.RawMessage) (any, error)) method {
	m := define(method{name: name}, func(context.Context, *client, nothing) (nothing, error) { return nothing{}, nil })
	m.now = func(_ context.Context, _ *client, params json.RawMessage) (any, error) { return run(params) }
	return m
}

func subtract(params json.RawMessage) (any, error) {
	var named struct{ Minuend, Subtrahend int }
	if json.Unmarshal(params, &named) == nil {
		return named.Minuend - named.Subtrahend, nil
	}
	var list [2]int
	if err := json.Unmarshal(params, &list); err != nil {
		return nil, invalidParams("", "two numbers")
	}
	return list[0] - list[1], nil
}

func sum(params json.RawMessage) (any, error) {
	var list []int
	if err := json.Unmarshal(params, &list); err != nil {
		return nil, invalidParams("", "numbers")
	}
	total := 0
	for _, n := range list {
		total += n
	}
	return total, nil
}

func count(json.RawMessage) (any, error) { return nil, nil }

// peer is a client that is there: it sends and reads by turns.
type peer struct {
	t      *testing.T
	conn   net.Conn
	in     *json.Decoder
	served chan error
}

// connect serves one client over an in-memory pipe. The client hangs up at the test's end, if it has not before.
func connect(t *testing.T, ctx context.Context, s *Server) *peer {
	ours, theirs := net.Pipe()
	p := &peer{t: t, conn: ours, in: json.NewDecoder(ours), served: make(chan error, 1)}
	testgo.Go(t, func() { p.served <- s.Serve(ctx, theirs) }) // hangUp waits
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) receive() string {
	p.t.Helper()
	var message json.RawMessage
	if err := p.in.Decode(&message); err != nil {
		p.t.Fatalf("receive: %v", err)
	}
	return string(message)
}

func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.receive(); got != want {
		p.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// hangUp closes the client's end and is how Serve ended.
func (p *peer) hangUp() error {
	p.conn.Close()
	return <-p.served
}
