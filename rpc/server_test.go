package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// converse is what the server answers to a client that sends input and goes, byte for byte, and how Serve ended.
func converse(t *testing.T, s *Server, input io.Reader) (string, error) {
	t.Helper()
	c := conntest.NewTranscript(input)
	err := s.Serve(t.Context(), c)
	return c.String(), err
}

// testServer has the methods of the connection itself and some that behave badly.
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

func testMethods() []method.Method[*client] {
	return []method.Method[*client]{
		method.Define("echo", method.Use, "Says it again.", method.Now(func(_ context.Context, _ *client, p echoParams) (echoResult, error) {
			return echoResult{strings.Repeat(p.Text, max(p.Times, 1))}, nil
		})),
		method.Define("panic", method.Use, "", method.Now(func(context.Context, *client, method.Nothing) (method.Nothing, error) { panic("canary /etc/shadow") })),
		method.Define("fail", method.Use, "", method.Now(func(context.Context, *client, method.Nothing) (method.Nothing, error) {
			return method.Nothing{}, errors.New("canary /etc/shadow")
		})),
		method.Define("late", method.Use, "", method.Late(func(context.Context, *client, method.Nothing) (func(context.Context) (method.Nothing, error), error) {
			return func(ctx context.Context) (method.Nothing, error) {
				<-ctx.Done()
				return method.Nothing{}, ctx.Err()
			}, nil
		})),
		method.Define("late_panic", method.Use, "", method.Late(func(context.Context, *client, method.Nothing) (func(context.Context) (method.Nothing, error), error) {
			return func(context.Context) (method.Nothing, error) { panic("late") }, nil
		})),
		method.Define("late_refused", method.Use, "", method.Late(func(context.Context, *client, method.Nothing) (func(context.Context) (method.Nothing, error), error) {
			return nil, session.ErrNotFound
		})),
		method.Define("follow", method.Use, "", method.Now(func(_ context.Context, c *client, p followParams) (method.Nothing, error) {
			c.Follow(p.Session, func(ctx context.Context) error {
				for i := range p.Updates {
					update := `{"jsonrpc":"2.0","method":"tick","params":{"session_id":"` + string(p.Session) + `","n":` + strconv.Itoa(i) + `}}`
					if err := c.Notify(ctx, []byte(update)); err != nil {
						return err
					}
				}
				return nil
			})
			return method.Nothing{}, nil
		})),
		method.Define("unfollow", method.Use, "", method.Now(func(_ context.Context, c *client, p followParams) (method.Nothing, error) {
			c.Unfollow(p.Session)
			return method.Nothing{}, nil
		})),
	}
}

// connect serves one client over an in-memory pipe. The client hangs up at the test's end, if it has not before.
func connect(t *testing.T, ctx context.Context, s *Server) *conntest.Peer {
	return conntest.Connect(t, func(pipe net.Conn) error { return s.Serve(ctx, pipe) })
}
