package thinkd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// script is a daemon on one connection that gives the next of its answers to each attach, and the last one to all that follow. An empty one is none.
type script struct {
	answers []string
	asked   []time.Time // when each attach came
	out     chan []byte
}

func (s *script) Open(context.Context) (Line, error) { return s, nil }
func (s *script) Close() error                       { return nil }

func (s *script) Send(_ context.Context, message []byte) error {
	var request struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(message, &request); err != nil {
		return err
	}
	answer := `"result":{}`
	if request.Method == "session/attach" {
		s.asked = append(s.asked, time.Now())
		answer = s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
	}
	if answer != "" {
		s.out <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answer)
	}
	return nil
}

func (s *script) Receive(ctx context.Context) ([]byte, error) {
	select {
	case message := <-s.out:
		return message, nil
	case <-ctx.Done():
		return nil, io.EOF
	}
}

// update sends a notification of the session.
func (s *script) update(seq int64) {
	s.out <- fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session_update","params":{"session_id":"s","seq":%d}}`, seq)
}

// follow connects to the daemon and attaches to its session. The client ends with the test.
func (s *script) follow(t *testing.T) (*Client, *Session) {
	t.Helper()
	c, err := Connect(t.Context(), s, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	session, err := c.Attach(t.Context(), "s", Follow{})
	if err != nil {
		t.Fatal(err)
	}
	return c, session
}

// heard listens to a session: to the seq of each event.
func heard(s *Session) *[]int64 {
	var list []int64
	s.Listen(func(e Event) {
		if e != nil {
			list = append(list, e.seq())
		}
	})
	return &list
}

// A node that cannot serve a session for a while says when to ask again: the session is followed on from where it was, and nobody asks for
// one whose client has closed.
func TestResumeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cutOff := func(ms int) string {
			return fmt.Sprintf(`"error":{"code":1006,"message":"cut off","data":{"kind":"cut_off","retry_after_ms":%d}}`, ms)
		}
		s := &script{out: make(chan []byte, 10), answers: []string{`"result":{"seq":4}`, cutOff(1000), cutOff(0),
			`"result":{"seq":5,"updates":[{"method":"session_update","params":{"session_id":"s","seq":5,"title":"later"}}]}`, cutOff(60_000)}}
		c, session := s.follow(t)
		heard := heard(session)
		stale := func() {
			s.out <- []byte(`{"jsonrpc":"2.0","method":"stale","params":{"session_id":"s","after_seq":4}}`)
		}
		began := time.Now()
		stale()
		time.Sleep(time.Minute)
		synctest.Wait()
		var after []time.Duration
		for _, at := range s.asked[1:] {
			after = append(after, at.Sub(began))
		}
		if want := []time.Duration{0, time.Second, 1100 * time.Millisecond}; !slices.Equal(after, want) || !slices.Equal(*heard, []int64{5}) {
			t.Errorf("attach after %v, want %v; updates %v, want 5", after, want, *heard)
		}
		stale()
		synctest.Wait()
		before := len(s.asked)
		time.Sleep(10*time.Second - time.Nanosecond) // the longest pause
		c.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.asked) != before {
			t.Errorf("%d more requests after Close", len(s.asked)-before)
		}
	})
}

// Events that come before a program listens wait for its first listener.
func TestFirstListener(t *testing.T) {
	for _, early := range []int64{0, 2, mostEarly, mostEarly + 1} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				daemon := &script{out: make(chan []byte, 10), answers: []string{`"result":{"seq":0}`}}
				_, session := daemon.follow(t)
				var want []int64
				for seq := range early {
					want = append(want, seq+1)
					daemon.update(seq + 1)
				}
				if early > mostEarly {
					want = nil
				}
				synctest.Wait()
				first, second := heard(session), heard(session)
				if !slices.Equal(*first, want) || len(*second) != 0 {
					t.Errorf("the first listener got %d events and the second %d, want %d and none", len(*first), len(*second), len(want))
				}
				daemon.update(early + 1)
				synctest.Wait()
				if !slices.Equal(*first, append(want, early+1)) || !slices.Equal(*second, []int64{early + 1}) {
					t.Errorf("then they have %d and %d events, want %d and 1", len(*first), len(*second), len(want)+1)
				}
			})
		})
	}
}

// Events that come while those before them go to the first listener come after them. A listener may listen again.
func TestFirstListenerOrder(t *testing.T) {
	const all = 200
	daemon := &script{out: make(chan []byte, all), answers: []string{`"result":{"seq":0}`}}
	_, session := daemon.follow(t)
	for seq := range int64(all) {
		daemon.update(seq + 1)
	}
	done := make(chan struct{})
	var last int64
	session.Listen(func(e Event) {
		if e == nil {
			return
		}
		if e.seq() != last+1 {
			t.Errorf("event %d came after %d", e.seq(), last)
		}
		session.Listen(func(Event) {})()
		if last = e.seq(); last == all {
			close(done)
		}
	})
	<-done
}

// A listener that comes after the end of the client still gets what came before it.
func TestFirstListenerAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon := &script{out: make(chan []byte, 10), answers: []string{`"result":{"seq":4}`, ""}}
		c, session := daemon.follow(t)
		daemon.update(5)
		daemon.out <- []byte(`{"jsonrpc":"2.0","method":"stale","params":{"session_id":"s","after_seq":4}}`)
		synctest.Wait()
		c.Close() // the session is being resumed: it ends only once
		var got []Event
		session.Listen(func(e Event) { got = append(got, e) })
		if len(got) != 2 || got[0] == nil || got[1] != nil {
			t.Errorf("got %v, want one event and the end", got)
		}
	})
}
