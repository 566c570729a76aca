package rpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// told is a subscription: what a session tells, in order.
type told struct {
	tap *tap

	mu     sync.Mutex
	list   []*feed.Update
	err    error // behind them
	closed bool
}

func (s *told) TryNext() (*feed.Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil, s.err
	}
	u := s.list[0]
	s.list = s.list[1:]
	return u, nil
}

func (s *told) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *told) tell(seqs ...uint64) {
	s.mu.Lock()
	for _, n := range seqs {
		s.list = append(s.list, &feed.Update{Session: s.tap.id, Seq: n, Event: feed.QueueUpdate{}})
	}
	s.mu.Unlock()
	s.tap.c.stream.out.offer(s.tap)
}

func (s *told) end(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.tap.c.stream.out.offer(s.tap)
}

// lastEvent is an event in whose encoding the connection ends, and what waits is forgotten.
type lastEvent struct{ q *queue }

func (e lastEvent) Method() string {
	e.q.close()
	e.q.forget()
	return "last"
}

// tapped is a client without a writer, which follows a session.
func tapped(t *testing.T, id session.ID) (*client, *told) {
	c := testServer(t, Config{MessageBytes: 2 * bounds[update]}).newClient(t.Context(), newByteFrames(&transcript{}, 100))
	return c, tapInto(c, id)
}

func tapInto(c *client, id session.ID) *told {
	s := &told{}
	s.tap = c.tapInto(id, 0, s)
	return s
}

// shown is what was taken: the seqs of updates by their session, and answers as they are.
func shown(messages [][]byte) string {
	var list []string
	for _, m := range messages {
		switch p := gjson.GetBytes(m, "params"); {
		case !p.Exists():
			list = append(list, string(m))
		case gjson.GetBytes(m, "method").Str == "stale":
			list = append(list, fmt.Sprint("stale after ", p.Get("after_seq")))
		default:
			list = append(list, p.Get("session_id").Str+p.Get("seq").Raw)
		}
	}
	return strings.Join(list, " ")
}

func TestTap(t *testing.T) {
	put := func(t *testing.T, c *client, text string) {
		t.Helper()
		if err := c.stream.out.put(t.Context(), answer, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(t *testing.T, c *client, want string) {
		t.Helper()
		if got := shown(c.stream.out.take()); got != want {
			t.Errorf("took %s, want %s", got, want)
		}
		c.stream.out.written()
	}

	t.Run("is drawn by the writer, by turns with others", func(t *testing.T) {
		c, a := tapped(t, "a")
		b := tapInto(c, "b")
		a.tell(1, 2, 3)
		b.tell(1, 2)
		expect(t, c, "a1 b1 a2 b2 a3")
	})

	t.Run("comes behind the answer to what caused it", func(t *testing.T) {
		c, a := tapped(t, "a")
		c.stream.out.hold(true)
		a.tell(1)
		put(t, c, "answer")
		c.stream.out.hold(false)
		a.tell(2)
		expect(t, c, "answer a1 a2")
	})

	t.Run("comes between two requests, however close", func(t *testing.T) {
		c, a := tapped(t, "a")
		c.stream.out.hold(true)
		a.tell(1)
		c.stream.out.hold(false)
		c.stream.out.hold(true)
		a.tell(2)
		put(t, c, "answer")
		expect(t, c, "a1 answer")
	})

	t.Run("waits for the writer where there is no room", func(t *testing.T) {
		c, a := tapped(t, "a")
		if err := c.stream.out.put(t.Context(), update, make([]byte, bounds[update])); err != nil {
			t.Fatal(err)
		}
		a.tell(1)
		if got := c.stream.out.take(); len(got) != 1 {
			t.Errorf("took %d messages", len(got))
		}
		if a.list == nil {
			t.Error("it was drawn")
		}
		c.stream.out.written()
		expect(t, c, "a1")
	})

	t.Run("is silent when it has ended", func(t *testing.T) {
		c, a := tapped(t, "a")
		a.tell(1)
		c.unfollow("a")
		put(t, c, "detached")
		expect(t, c, "detached")
		if !a.closed || c.follows("a") {
			t.Error("it is still followed")
		}
		c.unfollow("a")
		a.tap.end() // twice is harmless
	})

	t.Run("gives way to the next one", func(t *testing.T) {
		c, a := tapped(t, "a")
		a.tell(1)
		next := tapInto(c, "a")
		a.tell(2)
		next.tell(7)
		expect(t, c, "a7")
		if a.tap.c.leave("a", a.tap); !c.follows("a") {
			t.Error("the end of the one before has ended the next")
		}
	})

	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"tells that updates were dropped":        {&feed.Stale{After: 5}, "a1 stale after 5"},
		"tells that the session has been closed": {feed.ErrClosed, "a1 stale after 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, a := tapped(t, "a")
			a.tell(1)
			a.end(test.err)
			expect(t, c, test.want)
			if !a.closed || c.follows("a") {
				t.Error("it is still followed")
			}
			if err := c.server.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}

	t.Run("ends with the session", func(t *testing.T) {
		c, a := tapped(t, "a")
		a.list = []*feed.Update{{Session: "a", Seq: 1, Event: feed.SessionUpdate{Deleted: true}}, {Session: "a", Seq: 2, Event: feed.QueueUpdate{}}}
		a.tell()
		expect(t, c, "a1")
		if !a.closed || c.follows("a") {
			t.Error("it is still followed")
		}
	})

	t.Run("comes in no more where the queue was closed while it was encoded", func(t *testing.T) {
		c, a := tapped(t, "a")
		a.tell(1)
		a.list = append(a.list, &feed.Update{Session: "a", Seq: 2, Event: lastEvent{c.stream.out}})
		expect(t, c, "")
	})

	t.Run("ends where an update is too large", func(t *testing.T) {
		c, a := tapped(t, "a")
		a.tell(4)
		a.list = append(a.list, &feed.Update{Session: "a", Seq: 5, Event: feed.MessageDelta{Delta: strings.Repeat("x", c.server.config.MessageBytes)}})
		expect(t, c, "a4 stale after 4")
	})
}

// An update that cannot be shown ends the connection, since its client would wait for it.
func TestTapThatFailsEndsTheConnection(t *testing.T) {
	var log logged
	s := testServer(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := s.newClient(t.Context(), newByteFrames(&transcript{}, 100))
	a := tapInto(c, "a")
	a.list = []*feed.Update{{Session: "a", Seq: 1}} // of no event
	a.tell()
	if got := c.stream.out.takeUntil(c.stream.ctx.Done()); len(got) > 0 {
		t.Errorf("took %s", got)
	}
	if c.stream.ctx.Err() == nil || !strings.Contains(log.String(), "panic in a session's updates") {
		t.Errorf("the connection goes on:\n%s", log.String())
	}
}

// Whoever follows a session and takes nothing can still be answered, and neither its detaching nor the session waits.
func TestDetachOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, Config{})
		var subs []*told
		s.byName["tap"] = define(method{name: "tap"}, func(_ context.Context, c *client, _ nothing) (nothing, error) {
			subs = append(subs, tapInto(c, "a"))
			return nothing{}, nil
		})
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		testgo.Go(t, func() { served <- s.Serve(t.Context(), theirs) }) // ends with the connection, below
		io.WriteString(ours, request(1, "tap", "{}")+"\n")
		synctest.Wait()
		subs[0].tell(1)
		synctest.Wait()
		io.WriteString(ours, request(2, "unfollow", `{"session_id":"a","updates":0}`)+"\n")
		synctest.Wait()
		if !subs[0].closed {
			t.Error("detaching waits for a client that does not read")
		}
		subs[0].tell(2) // returns
		ours.Close()
		<-served
	})
}

// Whichever goroutine draws, a session's updates stay in order, and none is lost.
func TestTapKeepsOrder(t *testing.T) {
	const updates = 2000
	c, a := tapped(t, "a")
	var all sync.WaitGroup
	all.Go(testgo.Guard(t, func() {
		for n := range uint64(updates) {
			a.tell(n + 1)
		}
	}))
	all.Go(testgo.Guard(t, func() { // a client that asks and asks
		for range updates {
			c.stream.out.hold(true)
			c.stream.out.hold(false)
		}
	}))
	var last uint64
	for last < updates {
		for _, m := range c.stream.out.take() {
			if seq := gjson.GetBytes(m, "params.seq").Uint(); seq != last+1 {
				t.Fatalf("%d came behind %d", seq, last)
			}
			last++
		}
		c.stream.out.written()
	}
	all.Wait()
}
