package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// script is what a session publishes, in order.
type script struct {
	sub *subscription

	mu     sync.Mutex
	list   []*feed.Update
	err    error // behind them
	closed bool
}

func (s *script) TryNext() (*feed.Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil, s.err
	}
	u := s.list[0]
	s.list = s.list[1:]
	return u, nil
}

func (s *script) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// followScript has a client follow a session that publishes what the test says.
func followScript(c *client, id session.ID) *script {
	s := &script{}
	s.sub = c.subscription(id, 0, s, nil)
	return s
}

// following serves a client that follows session a.
func following(t *testing.T, config Config) (*conntest.Peer, *script) {
	t.Helper()
	s := testServer(t, config)
	var followed *script
	s.byName["subscribe"] = method.Define("subscribe", method.Use, "", method.Now(func(_ context.Context, c *client, p followParams) (method.Nothing, error) {
		followed = followScript(c, p.Session)
		return method.Nothing{}, nil
	}))
	p := connect(t, t.Context(), s)
	p.Send(conntest.Request(1, "subscribe", `{"session_id":"a","updates":0}`))
	p.Expect(fmt.Sprintf(conntest.Pong, "1"))
	return p, followed
}

// shown is an update as its session and seq, or as the seq after which the session is stale.
func shown(message string) string {
	p := gjson.Get(message, "params")
	if gjson.Get(message, "method").Str == "stale" {
		return fmt.Sprint("stale after ", p.Get("after_seq"))
	}
	return p.Get("session_id").Str + p.Get("seq").Raw
}

// A subscription ends with the session, with updates that were dropped, and with one that is too large.
func TestEndOfSubscription(t *testing.T) {
	queue := func(seq uint64) *feed.Update {
		return &feed.Update{Session: "a", Seq: seq, Event: feed.QueueUpdate{}}
	}
	for name, tc := range map[string]struct {
		updates []*feed.Update
		err     error
		want    []string
	}{
		"updates were dropped":        {[]*feed.Update{queue(1)}, &feed.Stale{After: 5}, []string{"a1", "stale after 5"}},
		"the session has been closed": {[]*feed.Update{queue(1)}, feed.ErrClosed, []string{"a1", "stale after 1"}},
		"another node has it":         {[]*feed.Update{queue(1)}, session.ErrFenced, []string{"a1", "stale after 1"}},
		"the session was deleted": {[]*feed.Update{{Session: "a", Seq: 1, Event: feed.SessionUpdate{Deleted: true}}, queue(2)}, nil,
			[]string{"a1"}},
		"an update is too large": {[]*feed.Update{queue(4), {Session: "a", Seq: 5, Event: feed.MessageDelta{Delta: strings.Repeat("x", 2000)}}}, nil,
			[]string{"a4", "stale after 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, a := following(t, Config{MessageBytes: 2000})
			a.mu.Lock()
			a.list, a.err = tc.updates, tc.err
			a.mu.Unlock()
			a.sub.conn.Ready()
			for _, want := range tc.want {
				if got := shown(p.Receive()); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			c := a.sub.c
			if err := c.server.Drain(t.Context()); err != nil { // it has ended then
				t.Error(err)
			}
			p.Send(conntest.Ping("2"))
			p.Expect(fmt.Sprintf(conntest.Pong, "2"))
			if !a.closed || c.Follows("a") {
				t.Error("it is still followed")
			}
			if err := p.HangUp(); err != nil {
				t.Errorf("Serve ended with %v", err)
			}
		})
	}
}

// A second subscription to a session ends the first, whose end does not end the second.
func TestSecondSubscription(t *testing.T) {
	c := testServer(t, Config{}).newClient(t.Context(), method.Operator(), conn.NewByteFrames(conntest.NewTranscript(nil), 100))
	a := followScript(c, "a")
	next := followScript(c, "a")
	if !a.closed || next.closed {
		t.Errorf("the first is closed: %v, the second: %v", a.closed, next.closed)
	}
	a.sub.End() // again is harmless
	if c.Leave("a", a.sub); !c.Follows("a") {
		t.Error("the end of the first has ended the second")
	}
	c.Unfollow("a")
	c.Unfollow("a") // again is harmless
	if !next.closed || c.Follows("a") {
		t.Error("it is still followed")
	}
	if err := c.server.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// An update that cannot be shown ends the connection, since its client would wait for it.
func TestSubscriptionThatFailsEndsTheConnection(t *testing.T) {
	var log conntest.Log
	p, a := following(t, Config{Config: service.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}})
	a.mu.Lock()
	a.list = []*feed.Update{{Session: "a", Seq: 1}} // of no event
	a.mu.Unlock()
	a.sub.conn.Ready()
	if err := <-p.Served; err == nil || !strings.Contains(log.String(), "panic in a session's updates") {
		t.Errorf("Serve ended with %v:\n%s", err, testgo.Excerpt(log.String()))
	}
	p.Conn.Close()
}
