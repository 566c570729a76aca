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

func testMethods() []method {
	return []method{
		define("echo", use, "Says it again.", now(func(_ context.Context, _ *client, p echoParams) (echoResult, error) {
			return echoResult{strings.Repeat(p.Text, max(p.Times, 1))}, nil
		})),
		define("panic", use, "", now(func(context.Context, *client, nothing) (nothing, error) { panic("canary /etc/shadow") })),
		define("fail", use, "", now(func(context.Context, *client, nothing) (nothing, error) {
			return nothing{}, errors.New("canary /etc/shadow")
		})),
		define("late", use, "", late(func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return func(ctx context.Context) (nothing, error) {
				<-ctx.Done()
				return nothing{}, ctx.Err()
			}, nil
		})),
		define("late_panic", use, "", late(func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return func(context.Context) (nothing, error) { panic("late") }, nil
		})),
		define("late_refused", use, "", late(func(context.Context, *client, nothing) (func(context.Context) (nothing, error), error) {
			return nil, session.ErrNotFound
		})),
		define("follow", use, "", now(func(_ context.Context, c *client, p followParams) (nothing, error) {
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
		})),
		define("unfollow", use, "", now(func(_ context.Context, c *client, p followParams) (nothing, error) {
			c.unfollow(p.Session)
			return nothing{}, nil
		})),
	}
}

// connect serves one client over an in-memory pipe. The client hangs up at the test's end, if it has not before.
func connect(t *testing.T, ctx context.Context, s *Server) *conntest.Peer {
	return conntest.Connect(t, func(pipe net.Conn) error { return s.Serve(ctx, pipe) })
}
