package exchange_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// scripted is a dialect whose answers are what event does with each event. A terminal event is the word done.
type scripted struct {
	*exchange.Answer
	event func(a *exchange.Answer) error
	text  func(a *exchange.Answer, data string) error // instead of event, if it is not nil
	over  bool
	ended bool // event has emitted the Stop
}

func (s *scripted) Reply(a *exchange.Answer) exchange.Reply {
	s.Answer = a
	return s
}

func (s *scripted) Refine(*provider.Error) {}

func (s *scripted) Event(_ string, data []byte) error {
	if string(data) == "done" {
		return exchange.ErrDone
	}
	if s.text != nil {
		return s.text(s.Answer, string(data))
	}
	return s.event(s.Answer)
}

func (s *scripted) Over() bool               { return s.over }
func (s *scripted) Value(gjson.Result) error { return exchange.ErrDone }

func (s *scripted) Finish() error {
	if s.ended {
		return nil
	}
	return s.End(s.Stop("m"))
}

// stream calls an address that answers with a body.
func stream(ctx context.Context, req *provider.Request, body io.Reader, s *scripted) iter.Seq2[provider.Event, error] {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
	})}
	c := exchange.NewCaller("test", exchange.Config{Provider: "p", BaseURL: "http://localhost", Client: client})
	return c.Stream(ctx, req, func(*provider.Request) (*exchange.Call, error) {
		return &exchange.Call{URL: "http://localhost/v1", Header: http.Header{}, Dialect: s}, nil
	})
}

// An error of the adapter is the last thing that the loop gets, unless the loop was left.
func TestStream(t *testing.T) {
	failure := errors.New("broken")
	for _, tt := range []struct {
		name         string
		leave        int // after so many events; 0: never
		events, errs int
	}{
		{"to its end", 0, 3, 1},
		{"left", 2, 2, 0},
	} {
		var events, errs int
		s := &scripted{event: func(a *exchange.Answer) error {
			for range 2 {
				if err := a.Emit(provider.Notice{}); err != nil {
					return err
				}
			}
			return failure
		}}
		for _, err := range stream(t.Context(), &provider.Request{}, strings.NewReader("data: {}\n\n"), s) {
			if err == nil {
				events++
			} else {
				errs++
			}
			if events == tt.leave {
				break
			}
		}
		if events != tt.events || errs != tt.errs {
			t.Errorf("%s: %d events, %d errors", tt.name, events, errs)
		}
	}
}

// How a body ends decides whether the reply is whole: by its terminal event, or by its end if the reply is over by then.
func TestEndOfStream(t *testing.T) {
	lost := errors.New("connection reset")
	for _, tt := range []struct {
		name  string
		body  io.Reader
		over  bool
		whole bool
	}{
		{"terminal event", strings.NewReader("data: {}\n\ndata: done\n\n"), false, true},
		{"end, over", strings.NewReader("data: {}\n\n"), true, true},
		{"end, not over", strings.NewReader("data: {}\n\n"), false, false},
		{"lost, over", io.MultiReader(strings.NewReader("data: {}\n\n"), failing{lost}), true, true},
		{"lost, not over", io.MultiReader(strings.NewReader("data: {}\n\n"), failing{lost}), false, false},
		{"cut inside of an event", strings.NewReader("data: {}\n\ndata: {\"a"), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &scripted{over: tt.over, event: func(a *exchange.Answer) error { return a.Alive() }}
			reply := providertest.Check(t, stream(t.Context(), &provider.Request{}, tt.body, s))
			if whole := reply.Stop != nil; whole != tt.whole {
				t.Errorf("stop %v, error %v", reply.Stop, reply.Err)
			}
			if e, ok := errors.AsType[*provider.Error](reply.Err); !tt.whole && (!ok || e.Kind != provider.KindTransport || e.Status != 200) {
				t.Errorf("error %v", reply.Err)
			}
		})
	}
}

// failing is a connection that breaks.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// slow is an answer of which a comment comes ten times a second.
type slow struct{ left int }

func (s *slow) Read(p []byte) (int, error) {
	if s.left--; s.left < 0 {
		return 0, io.EOF
	}
	time.Sleep(100 * time.Millisecond)
	return copy(p, ": wait\n"), nil
}

func TestAliveOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reply := providertest.Check(t, stream(t.Context(), &provider.Request{}, &slow{29}, &scripted{}))
		if reply.Alives != 3 {
			t.Errorf("%d times in three seconds", reply.Alives)
		}
	})
}

// steady is an answer with an event each 10 ms. A read returns all that are due, and waits for the first.
type steady struct {
	began       time.Time
	sent, reads int
}

func (s *steady) due() time.Duration { return 10 * time.Millisecond * time.Duration(s.sent) }

func (s *steady) Read(p []byte) (n int, err error) {
	time.Sleep(s.due() - time.Since(s.began))
	for s.reads++; time.Since(s.began) >= s.due() && s.sent <= 100; s.sent++ {
		event := "data: {}\n\n"
		if s.sent == 100 {
			event = "data: done\n\n"
		}
		n += copy(p[n:], event)
	}
	return n, nil
}

// TestPace reads an answer at the pace of its request: what arrives meanwhile comes in one read. The first event is not late.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			pace        time.Duration
			least, most int // reads
		}{{0, 101, 101}, {50 * time.Millisecond, 17, 22}} {
			body := &steady{began: time.Now()}
			var came []time.Duration
			s := &scripted{event: func(a *exchange.Answer) error {
				came = append(came, time.Since(body.began))
				return a.Alive()
			}}
			req := &provider.Request{Pace: func() time.Duration { return tt.pace }}
			if reply := providertest.Check(t, stream(t.Context(), req, body, s)); reply.Err != nil {
				t.Fatal(reply.Err)
			}
			if len(came) != 100 || body.reads < tt.least || body.reads > tt.most || came[0] != 0 {
				t.Errorf("pace %v: %d events in %d reads, the first after %v", tt.pace, len(came), body.reads, came[0])
			}
		}
	})
}

// TestPaceOfFastAnswers has an answer that is faster than any pace: nothing waits.
func TestPaceOfFastAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		body := strings.NewReader(strings.Repeat("data: {}\n\n", 100_000) + "data: done\n\n")
		req := &provider.Request{Pace: func() time.Duration { return time.Hour }}
		s := &scripted{event: func(a *exchange.Answer) error { return a.Alive() }}
		if reply := providertest.Check(t, stream(t.Context(), req, body, s)); reply.Err != nil {
			t.Fatal(reply.Err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestPaceEnds ends a call while it waits.
func TestPaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		req := &provider.Request{Pace: func() time.Duration { return time.Hour }}
		s := &scripted{event: func(a *exchange.Answer) error { return a.Alive() }}
		reply := providertest.Check(t, stream(ctx, req, io.MultiReader(strings.NewReader("data: {}\n\n"), failing{context.DeadlineExceeded}), s))
		if took := time.Since(began); took != time.Second || !errors.Is(reply.Err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", took, reply.Err)
		}
	})
}

// arriving is an answer whose reads return what is in the list, and then the error.
type arriving struct {
	list []string
	err  error
}

func (a *arriving) Read(p []byte) (int, error) {
	if len(a.list) == 0 {
		return 0, a.err
	}
	n := copy(p, a.list[0])
	if a.list[0] = a.list[0][n:]; a.list[0] == "" {
		a.list = a.list[1:]
	}
	return n, nil
}

// TestJoins reads growth that arrives in several ways. What comes in one read is one Delta if the request allows it, and all of it comes
// before what follows, an error included.
func TestJoins(t *testing.T) {
	event := func(text string) string { return "data: " + text + "\n\n" }
	many := strings.Repeat(event("ten bytes."), 40)
	for _, tt := range []struct {
		name  string
		joins bool
		reads []string
		want  string // deltas, and how it ended
	}{
		{"one read", true, []string{event("a") + event("b") + event("c") + event("done")}, "abc|stop"},
		{"not allowed", false, []string{event("a") + event("b") + event("done")}, "a|b|stop"},
		{"two reads", true, []string{event("a") + event("b"), event("c") + event("done")}, "ab|c|stop"},
		{"cut inside", true, []string{event("a") + "data: b", "c\n\n" + event("d"), event("done")}, "a|bcd|stop"},
		{"another block", true, []string{event("a") + event("B") + event("b") + event("done")}, "a|B|b|stop"},
		{"an error", true, []string{event("a") + event("b")}, "ab|error"},
		{"long", true, []string{event("a"), many + event("done")}, "a|" + strings.Repeat("ten bytes.", 25) + "|" + strings.Repeat("ten bytes.", 15) + "|stop"},
	} {
		s := &scripted{}
		s.text = func(a *exchange.Answer, text string) error {
			index := 0
			if text == "B" {
				index = 1
			}
			return a.Delta(index, text)
		}
		var got []string
		for ev, err := range stream(t.Context(), &provider.Request{Joins: tt.joins}, &arriving{tt.reads, io.EOF}, s) {
			switch ev := ev.(type) {
			case provider.Delta:
				got = append(got, ev.Text)
			case provider.Stop:
				got = append(got, "stop")
			}
			if err != nil {
				got = append(got, "error")
			}
		}
		if list := strings.Join(got, "|"); list != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, list, tt.want)
		}
	}
}

// TestJoinsLeft leaves the loop at growth that is emitted before a read.
func TestJoinsLeft(t *testing.T) {
	s := &scripted{text: func(a *exchange.Answer, text string) error { return a.Delta(0, text) }}
	body := &arriving{[]string{"data: a\n\n", "data: b\n\n", "data: done\n\n"}, io.EOF}
	for ev := range stream(t.Context(), &provider.Request{Joins: true}, body, s) {
		if _, ok := ev.(provider.Delta); ok {
			break
		}
	}
	if len(body.list) != 2 {
		t.Errorf("%d reads are left, want 2", len(body.list))
	}
}
