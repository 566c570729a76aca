package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
)

// A late answer is an error as any other: that of the handler, or that the client cancelled it.
func TestLateErrors(t *testing.T) {
	p := connect(t, t.Context(), testServer(t, Config{}))
	p.Send(conntest.Request(1, "late", "{}"), conntest.CancelRequest("1"))
	p.Expect(fmt.Sprintf(conntest.Cancelled, "1"))
	p.Send(conntest.Request(3, "late_refused", "{}"))
	p.Expect(`{"jsonrpc":"2.0","id":3,"error":{"code":1001,"message":"no such session","data":{"kind":"not_found"}}}`)
	p.Send("[" + conntest.Request(4, "late", "{}") + "]")
	p.Expect("[" + fmt.Sprintf(conntest.Refused, "4", "late answers late and cannot be part of a batch") + "]")
	if err := p.HangUp(); err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// Serve returns when all that runs for its client has ended, and writes no answer that the end itself caused.
func TestServeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, Config{})
		linger := func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return ctx.Err()
		}
		s.byName["linger"] = method.Define("linger", method.Use, "", method.Late(func(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (method.Nothing, error), error) {
			c.Follow("a", linger)
			return func(ctx context.Context) (method.Nothing, error) { return method.Nothing{}, linger(ctx) }, nil
		}))
		began := time.Now()
		got, err := converse(t, s, strings.NewReader(conntest.Request(1, "linger", "{}")))
		if waited := time.Since(began); err != nil || got != "" || waited != time.Minute {
			t.Errorf("Serve ended with %v after %v and wrote %q", err, waited, got)
		}
	})
}

// Drain returns when nothing runs for any client, and gives up with its context.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, Config{})
		if err := s.Drain(t.Context()); err != nil {
			t.Errorf("nothing runs, and Drain ends with %v", err)
		}
		release := make(chan struct{})
		s.byName["linger"] = method.Define("linger", method.Use, "", method.Late(func(_ context.Context, c *client, _ method.Nothing) (func(context.Context) (method.Nothing, error), error) {
			c.Follow("a", func(context.Context) error { <-release; return nil })
			return func(context.Context) (method.Nothing, error) {
				<-release
				time.Sleep(time.Second)
				return method.Nothing{}, nil
			}, nil
		}))
		p := connect(t, t.Context(), s)
		p.Send(conntest.Request(1, "linger", "{}"))
		synctest.Wait()
		for range 2 {
			short, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := s.Drain(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Drain does not wait: %v", err)
			}
			cancel()
		}
		close(release)
		began := time.Now()
		if err := s.Drain(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("Drain ended after %v with %v", time.Since(began), err)
		}
		p.Expect(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if err := p.HangUp(); err != nil {
			t.Errorf("Serve ended with %v", err)
		}
	})
}

// A panic or an unknown error fails one request and tells the client nothing but a reference, which the log has.
func TestInternalErrors(t *testing.T) {
	var log conntest.Log
	p := connect(t, t.Context(), testServer(t, Config{Config: service.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}))
	defer p.HangUp()
	shape := regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":1,"error":\{"code":-32603,"message":"internal error","data":\{"kind":"internal","ref":"([A-Z2-7]{26})"\}\}\}$`)
	for method, secret := range map[string]string{"panic": "canary", "fail": "canary", "late_panic": "late"} {
		p.Send(conntest.Request(1, method, "{}"))
		got := p.Receive()
		m := shape.FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("%s: got %s", method, got)
		}
		if text := log.String(); !strings.Contains(text, m[1]) || !strings.Contains(text, secret) {
			t.Errorf("%s: the log has neither %s nor the cause:\n%s", method, m[1], testgo.Excerpt(text))
		}
		p.Send(conntest.Ping("2"))
		p.Expect(fmt.Sprintf(conntest.Pong, "2"))
	}
	if !strings.Contains(log.String(), "server_test.go") {
		t.Error("the log has no stack")
	}
}

func TestSenderThatFailsEndsTheConnection(t *testing.T) {
	var log conntest.Log
	s := testServer(t, Config{Config: service.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, MessageBytes: 100})
	answered := make(chan struct{})
	s.byName["bad_sender"] = method.Define("bad_sender", method.Use, "", method.Now(func(_ context.Context, c *client, _ method.Nothing) (method.Nothing, error) {
		c.Follow("a", func(ctx context.Context) error { <-answered; panic("canary") })
		return method.Nothing{}, nil
	}))
	p := connect(t, t.Context(), s)
	p.Send(conntest.Request(1, "bad_sender", "{}"))
	p.Expect(fmt.Sprintf(conntest.Pong, "1"))
	close(answered)
	if err := <-p.Served; err == nil {
		t.Error("Serve ended well")
	}
	if !strings.Contains(log.String(), "canary") {
		t.Errorf("the log has no cause:\n%s", testgo.Excerpt(log.String()))
	}
	p.Conn.Close()
}
