package conn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// script is a source: messages in order. The last one is "end".
type script struct {
	sub *Subscription

	mu     sync.Mutex
	list   []string
	closed int
	next   func() // called by Next; nil: nothing is
}

func (s *script) Next() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		s.next()
	}
	if len(s.list) == 0 {
		return nil, false
	}
	m := s.list[0]
	s.list = s.list[1:]
	return []byte(m), m == "end"
}

func (s *script) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}

func (s *script) publish(messages ...string) {
	s.mu.Lock()
	s.list = append(s.list, messages...)
	s.mu.Unlock()
	s.sub.Ready()
}

func subscribed(q *Queue) *script {
	s := &script{}
	s.sub = q.subscribe(s)
	return s
}

func TestSubscription(t *testing.T) {
	put := func(t *testing.T, q *Queue, text string) {
		t.Helper()
		if err := q.Put(t.Context(), Answer, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(t *testing.T, q *Queue, want string) {
		t.Helper()
		var got []string
		for _, m := range q.Take() {
			got = append(got, string(m))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("took %s, want %s", got, want)
		}
		q.Written()
	}

	for _, tc := range []struct {
		name string
		test func(t *testing.T, q *Queue, a *script)
	}{
		{"the writer takes from several sources in turn", func(t *testing.T, q *Queue, a *script) {
			b := subscribed(q)
			a.publish("a1", "a2", "a3")
			b.publish("b1", "b2")
			expect(t, q, "a1 b1 a2 b2 a3")
		}},
		{"comes behind the answer to what caused it", func(t *testing.T, q *Queue, a *script) {
			q.hold(true)
			a.publish("a1")
			put(t, q, "answer")
			q.hold(false)
			a.publish("a2")
			expect(t, q, "answer a1 a2")
		}},
		{"comes between two requests, however close", func(t *testing.T, q *Queue, a *script) {
			q.hold(true)
			a.publish("a1")
			q.hold(false)
			q.hold(true)
			a.publish("a2")
			put(t, q, "answer")
			expect(t, q, "a1 answer")
		}},
		{"waits for the writer where there is no room", func(t *testing.T, q *Queue, a *script) {
			if err := q.Put(t.Context(), Update, make([]byte, bounds[Update])); err != nil {
				t.Fatal(err)
			}
			a.publish("a1")
			if got := q.Take(); len(got) != 1 {
				t.Errorf("took %d messages", len(got))
			}
			if a.list == nil {
				t.Error("its source was asked")
			}
			q.Written()
			expect(t, q, "a1")
		}},
		{"is silent when it has ended", func(t *testing.T, q *Queue, a *script) {
			a.publish("a1")
			a.sub.Close()
			put(t, q, "detached")
			expect(t, q, "detached")
			a.sub.Close()
			if a.closed != 1 {
				t.Errorf("its source was closed %d times", a.closed)
			}
		}},
		{"gives way to the next one", func(t *testing.T, q *Queue, a *script) {
			a.publish("a1")
			a.sub.Close()
			next := subscribed(q)
			a.publish("a2")
			next.publish("n7")
			expect(t, q, "n7")
		}},
		{"ends with the last message", func(t *testing.T, q *Queue, a *script) {
			a.publish("a1", "end", "a2")
			expect(t, q, "a1 end")
			if a.closed != 1 {
				t.Errorf("its source was closed %d times", a.closed)
			}
		}},
		{"comes in no more where the queue was closed while its source was asked", func(t *testing.T, q *Queue, a *script) {
			a.publish("a1")
			a.next = func() { q.Close(); q.forget() }
			expect(t, q, "")
		}},
		{"comes in no more where it was closed while its source was asked", func(t *testing.T, q *Queue, a *script) {
			a.publish("a1")
			a.next = func() { a.mu.Unlock(); a.sub.Close(); a.mu.Lock() }
			put(t, q, "answer")
			expect(t, q, "answer")
		}},
		{"a source that becomes ready during Next is asked again", func(t *testing.T, q *Queue, a *script) {
			once := sync.OnceFunc(func() { a.list = append(a.list, "a1"); a.sub.Ready() })
			a.next = once
			a.sub.Ready()
			expect(t, q, "a1")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := NewQueue()
			tc.test(t, q, subscribed(q))
		})
	}
}

// A client that follows a session and takes nothing can still be answered, and neither the end of its subscription nor
// the source waits.
func TestUnsubscribeOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testServer(t, 0)
		var source *script
		s.methods["subscribe"] = func(c *client, _ json.RawMessage) (any, func(context.Context) (any, error), error) {
			source = &script{}
			source.sub = c.Subscribe(source)
			return struct{}{}, nil, nil
		}
		s.methods["unsubscribe"] = named(func(struct{}) (any, error) { source.sub.Close(); return struct{}{}, nil })
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		testgo.Go(t, func() { served <- s.Serve(t.Context(), theirs) }) // ends with the connection, below
		io.WriteString(ours, conntest.Request(1, "subscribe", "{}")+"\n")
		synctest.Wait()
		source.publish("1")
		synctest.Wait()
		io.WriteString(ours, conntest.Request(2, "unsubscribe", "{}")+"\n")
		synctest.Wait()
		if source.closed != 1 {
			t.Error("the end of the subscription waits for a client that does not read")
		}
		source.publish("2") // returns
		ours.Close()
		<-served
	})
}

// Whichever goroutine takes from a source, its messages stay in order, and none is lost.
func TestSubscriptionKeepsOrder(t *testing.T) {
	const updates = 2000
	q := NewQueue()
	a := subscribed(q)
	var all sync.WaitGroup
	all.Go(testgo.Guard(t, func() {
		for n := range updates {
			a.publish(fmt.Sprint(n))
		}
	}))
	all.Go(testgo.Guard(t, func() { // a client that asks and asks
		for range updates {
			q.hold(true)
			q.hold(false)
		}
	}))
	next := 0
	for next < updates {
		for _, m := range q.Take() {
			if string(m) != fmt.Sprint(next) {
				t.Fatalf("%s came, want %d", m, next)
			}
			next++
		}
		q.Written()
	}
	all.Wait()
}
