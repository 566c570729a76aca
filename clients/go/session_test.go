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

// script is a daemon on one connection that gives the next of its answers to each attach, and the last one to all that follow.
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
	s.out <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, request.ID, answer)
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

// A node that cannot serve a session for a while says when to ask again: the session is followed on from where it was, and nobody asks for
// one whose client has closed.
func TestResumeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cutOff := func(ms int) string {
			return fmt.Sprintf(`"error":{"code":1006,"message":"cut off","data":{"kind":"cut_off","retry_after_ms":%d}}`, ms)
		}
		s := &script{out: make(chan []byte, 10), answers: []string{`"result":{"seq":4}`, cutOff(1000), cutOff(0),
			`"result":{"seq":5,"updates":[{"method":"session_update","params":{"session_id":"s","seq":5,"title":"later"}}]}`, cutOff(60_000)}}
		c, err := Connect(t.Context(), s, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		session, err := c.Attach(t.Context(), "s", Follow{})
		if err != nil {
			t.Fatal(err)
		}
		var heard []int64
		session.Listen(func(e Event) {
			if e != nil {
				heard = append(heard, e.seq())
			}
		})
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
		if want := []time.Duration{0, time.Second, 1100 * time.Millisecond}; !slices.Equal(after, want) || !slices.Equal(heard, []int64{5}) {
			t.Errorf("attach after %v, want %v; updates %v, want 5", after, want, heard)
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
