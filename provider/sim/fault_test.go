package sim_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
	"github.com/thinkd/thinkd/provider/testgo"
)

// client is the far end of a server in memory.
type client struct {
	t *testing.T
	l *sim.Listener
	c *http.Client
}

func dial(t *testing.T, s *sim.Server) client {
	l := s.Listen()
	tr := l.Transport()
	tr.DisableCompression = true
	return client{t, l, &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (c client) close() {
	c.c.CloseIdleConnections()
	if err := c.l.Close(); err != nil {
		c.t.Error(err)
	}
}

// ask posts a streaming request with this prompt.
func (c client) ask(ctx context.Context, prompt string) (*http.Response, error) {
	c.t.Helper()
	body, err := json.Marshal(simtest.Request(obj{"stream": true, "thinking": simtest.Thinking("adaptive", "display", "summarized"), "messages": arr{simtest.Say("user", prompt)}}))
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, "POST", "http://sim/v1/messages", bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = simtest.Header()
	return c.c.Do(r)
}

// heard is an answer read to its end, or to where it breaks.
type heard struct {
	status int
	header http.Header
	body   string
	err    error
}

func (c client) hear(prompt string) heard {
	c.t.Helper()
	r, err := c.ask(c.t.Context(), prompt)
	if err != nil {
		return heard{err: err}
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return heard{r.StatusCode, r.Header, string(b), err}
}

func (h heard) deltas() int { return strings.Count(h.body, "event: content_block_delta") }

func TestFaults(t *testing.T) {
	s := sim.New(sim.Config{})
	c := dial(t, s)
	defer c.close()
	status := func(status int, kind string, retryAfter string) func(t *testing.T, h heard) {
		return func(t *testing.T, h heard) {
			r := simtest.Reply{Body: h.body}
			if h.status != status || r.ErrorType() != kind || h.header.Get("retry-after") != retryAfter {
				t.Errorf("%d, retry after %q: %s", h.status, h.header.Get("retry-after"), h.body)
			}
		}
	}
	ended := func(h heard) bool { return strings.Contains(h.body, "event: message_stop") }
	for _, f := range []struct {
		words string
		check func(t *testing.T, h heard)
	}{
		{"fault=rate_limit", status(429, "rate_limit_error", "1")},
		{"fault=rate_limit retry_after=17", status(429, "rate_limit_error", "17")},
		{"fault=spend_cap", status(429, "rate_limit_error", "")},
		{"fault=overloaded", status(529, "overloaded_error", "")},
		{"fault=server_error", status(500, "api_error", "")},
		{"fault=timeout", status(504, "timeout_error", "")},
		{"fault=conflict", status(409, "conflict_error", "")},
		{"fault=bad_request", status(400, "invalid_request_error", "")},
		{"fault=auth", status(401, "authentication_error", "")},
		{"fault=permission", status(403, "permission_error", "")},
		{"fault=billing", status(402, "billing_error", "")},
		{"fault=not_found", status(404, "not_found_error", "")},
		{"fault=too_large", status(413, "request_too_large", "")},
		{"fault=json_error", status(200, "api_error", "")},
		{"fault=overloaded after=20", func(t *testing.T, h heard) {
			if h.status != 200 || h.err != nil || h.deltas() != 20 || ended(h) || !strings.HasSuffix(h.body, `data: {"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}`+"\n\n") {
				t.Errorf("%v, %d deltas: …%s", h.err, h.deltas(), tail(h.body))
			}
		}},
		{"fault=overloaded after=0", func(t *testing.T, h heard) {
			if h.status != 200 || h.deltas() != 0 || !strings.Contains(h.body, "event: message_start") || !strings.Contains(h.body, "event: error") {
				t.Errorf("%d: …%s", h.status, tail(h.body))
			}
		}},
		{"fault=overloaded after=100000", func(t *testing.T, h heard) {
			if h.deltas() < 60 || ended(h) || !strings.Contains(h.body, "event: error") {
				t.Errorf("%d deltas: …%s", h.deltas(), tail(h.body))
			}
		}},
		{"fault=cut after=7", func(t *testing.T, h heard) {
			if !errors.Is(h.err, io.ErrUnexpectedEOF) || h.deltas() != 7 || ended(h) {
				t.Errorf("%v, %d deltas", h.err, h.deltas())
			}
		}},
		{"fault=cut bytes=777", func(t *testing.T, h heard) {
			if !errors.Is(h.err, io.ErrUnexpectedEOF) || len(h.body) != 777 {
				t.Errorf("%v, %d bytes", h.err, len(h.body))
			}
		}},
		{"fault=end after=7", func(t *testing.T, h heard) {
			if h.err != nil || h.deltas() != 7 || ended(h) {
				t.Errorf("%v, %d deltas", h.err, h.deltas())
			}
		}},
		{"fault=noise", func(t *testing.T, h heard) {
			if !ended(h) || !strings.Contains(h.body, "event: weather") || !strings.Contains(h.body, "\n: a comment") || !strings.Contains(h.body, "mood_delta") {
				t.Errorf("…%s", tail(h.body))
			}
		}},
		{"fault=whole", func(t *testing.T, h heard) {
			if m := (simtest.Reply{Body: h.body}).JSON(); h.header.Get("content-type") != "application/json" || simtest.Get[string](m, "stop_reason") != "end_turn" {
				t.Errorf("%v …%s", h.header, tail(h.body))
			}
		}},
		{"fault=html", func(t *testing.T, h heard) {
			if h.status != 200 || !strings.HasPrefix(h.header.Get("content-type"), "text/html") || !strings.HasPrefix(h.body, "<!DOCTYPE html>") {
				t.Errorf("%v …%s", h.header, tail(h.body))
			}
		}},
		{"fault=empty", func(t *testing.T, h heard) {
			if h.status != 200 || h.body != "" || h.err != nil {
				t.Errorf("%d %q %v", h.status, h.body, h.err)
			}
		}},
		{"fault=redirect", func(t *testing.T, h heard) {
			if h.status != 307 || h.header.Get("location") != "http://elsewhere.invalid/v1/messages" {
				t.Errorf("%d %v", h.status, h.header)
			}
		}},
		{"fault=gzip", func(t *testing.T, h heard) {
			z, err := gzip.NewReader(strings.NewReader(h.body))
			if err != nil || h.header.Get("content-encoding") != "gzip" {
				t.Fatalf("%v %v", err, h.header)
			}
			if b, err := io.ReadAll(z); err != nil || !ended(heard{body: string(b)}) {
				t.Errorf("%v …%s", err, tail(string(b)))
			}
		}},
		{"stop=max_tokens after=5", func(t *testing.T, h heard) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body)))
			if m["stop_reason"] != "max_tokens" || h.deltas() != 5 || simtest.Get[string](m, "content", 0, "signature") != "" || simtest.KindsOf(simtest.Get[arr](m, "content")) != "thinking" {
				t.Errorf("%v", m)
			}
		}},
		{"stop=max_tokens", func(t *testing.T, h heard) {
			if m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body))); m["stop_reason"] != "max_tokens" {
				t.Errorf("%v", m)
			}
		}},
		{"stop=model_context_window_exceeded after=9", func(t *testing.T, h heard) {
			if m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body))); m["stop_reason"] != "model_context_window_exceeded" || h.deltas() != 9 {
				t.Errorf("%v", m)
			}
		}},
		{"stop=refusal category=cyber", func(t *testing.T, h heard) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body)))
			if m["stop_reason"] != "refusal" || simtest.Get[string](m, "stop_details", "category") != "cyber" || len(simtest.Get[arr](m, "content")) != 0 || simtest.Get[float64](m, "usage", "output_tokens") != 0 {
				t.Errorf("%v", m)
			}
		}},
		{"stop=refusal after=10", func(t *testing.T, h heard) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body)))
			if m["stop_reason"] != "refusal" || h.deltas() != 10 || simtest.Get[obj](m, "stop_details")["category"] != nil {
				t.Errorf("%v", m)
			}
		}},
		{"thinking=30 text=20", func(t *testing.T, h heard) {
			thought, said := simtest.Answered(simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body))))
			if n, m := len(strings.Fields(thought)), len(strings.Fields(said)); n < 18 || n > 45 || m != 20 {
				t.Errorf("%d words of thinking, %d of text", n, m)
			}
		}},
		{"thinking=0 text=0", func(t *testing.T, h heard) {
			if m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body))); len(simtest.Get[arr](m, "content")) != 0 || m["stop_reason"] != "end_turn" {
				t.Errorf("%v", m)
			}
		}},
		{"blocks=3 redacted", func(t *testing.T, h heard) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body)))
			if got := simtest.KindsOf(simtest.Get[arr](m, "content")); got != "thinking thinking thinking redacted_thinking text" {
				t.Errorf("%s", got)
			}
		}},
		{"tool=find unchecked", func(t *testing.T, h heard) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(h.body)))
			last := simtest.Get[obj](m, "content", len(simtest.Get[arr](m, "content"))-1)
			if m["stop_reason"] != "tool_use" || last["name"] != "find" || simtest.Get[string](last, "input", "about") == "" {
				t.Errorf("%v", last)
			}
		}},
	} {
		t.Run(f.words, func(t *testing.T) { f.check(t, c.hear("[[sim: "+f.words+"]] Which date is later?")) })
	}
	if r := s.Refusals(); len(r) > 0 {
		t.Errorf("counted as refusals: %v", r)
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }

// TestSilence: what never ends by itself ends with its client, and says until then what it shall say.
func TestSilence(t *testing.T) {
	for _, f := range []struct {
		words  string
		header bool
		after  time.Duration
		check  func(t *testing.T, body string)
	}{
		{"fault=stall", false, time.Hour, nil},
		{"fault=stall after=3", true, time.Hour, func(t *testing.T, body string) {
			if n := (heard{body: body}).deltas(); n != 3 {
				t.Errorf("%d deltas", n)
			}
		}},
		{"fault=pings", true, time.Minute, func(t *testing.T, body string) {
			if n := strings.Count(body, "event: ping"); n < 59 || n > 61 || strings.Count(body, "event:") != n {
				t.Errorf("%d pings in a minute", n)
			}
		}},
		{"fault=comments pace=0.1", true, time.Minute, func(t *testing.T, body string) {
			if n := strings.Count(body, ": still here\n"); n < 5 || n > 7 || strings.Contains(body, "event:") {
				t.Errorf("%d comments in a minute", n)
			}
		}},
		{"fault=endless_thinking pace=100", true, time.Minute, func(t *testing.T, body string) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(body)))
			if thought, said := simtest.Answered(m); len(thought) < 50_000 || said != "" {
				t.Errorf("%d bytes of thinking, %d of text", len(thought), len(said))
			}
		}},
		{"thinking=0 fault=endless_text pace=100", true, time.Minute, func(t *testing.T, body string) {
			m := simtest.Folded(t, simtest.Events(t, strings.NewReader(body)))
			_, said := simtest.Answered(m)
			if once := said[:20]; strings.Count(said, once) < 100 {
				t.Errorf("%d bytes, %d times %q", len(said), strings.Count(said, once), once)
			}
		}},
		{"pace=2", true, 10 * time.Second, func(t *testing.T, body string) {
			if n := (heard{body: body}).deltas(); n < 19 || n > 20 {
				t.Errorf("%d deltas in ten seconds", n)
			}
		}},
	} {
		t.Run(f.words, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := dial(t, sim.New(sim.Config{}))
				defer c.close()
				ctx, cancel := context.WithTimeout(t.Context(), f.after)
				defer cancel()
				start := time.Now()
				r, err := c.ask(ctx, "[[sim: "+f.words+"]] Which date is later?")
				if (err == nil) != f.header {
					t.Fatalf("header: %v", err)
				}
				if f.header {
					b, err := io.ReadAll(r.Body)
					r.Body.Close()
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("ended with %v", err)
					}
					f.check(t, string(b))
				}
				if d := time.Since(start); d != f.after {
					t.Errorf("took %v", d)
				}
			})
		})
	}
}

// TestPace: a paced answer takes as long as it has deltas, whole or in pieces.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sim.New(sim.Config{Pace: 10})
		c := dial(t, s)
		defer c.close()
		start := time.Now()
		h := c.hear("Which date is later?")
		streamed := time.Since(start)
		deltas := h.deltas() - strings.Count(h.body, "signature_delta")
		if want := time.Duration(deltas) * time.Second / 10; h.err != nil || streamed != want {
			t.Errorf("%v, %d deltas in %v", h.err, deltas, streamed)
		}
		start = time.Now()
		c.hear("[[sim: fault=whole]] Which date is later?")
		if d := time.Since(start); d < streamed/2 {
			t.Errorf("whole in %v, in pieces in %v", d, streamed)
		}
		start = time.Now()
		c.hear("[[sim: pace=0]] Which date is later?")
		if d := time.Since(start); d != 0 {
			t.Errorf("without a pace in %v", d)
		}
	})
}

// TestClose: closing ends what is on its way, for good.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, sim.New(sim.Config{}))
		r, err := c.ask(t.Context(), "[[sim: fault=stall after=1]] hello")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		testgo.Go(t, func() { // ends with the body, which Close breaks; awaited below
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})
		synctest.Wait()
		c.close()
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the body ended with %v", err)
		}
		if err := c.l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.ask(t.Context(), "hello"); err == nil {
			t.Error("an answer after Close")
		}
		r.Body.Close()
	})
}

// TestCloseWhileDialing: a connection that comes in at the last moment holds up nobody.
func TestCloseWhileDialing(t *testing.T) {
	s := sim.New(sim.Config{NoJournal: true})
	for range 300 {
		c := dial(t, s)
		done := make(chan struct{})
		testgo.Go(t, func() { // ends with Close, awaited below
			defer close(done)
			if r, err := c.ask(t.Context(), "[[sim: fault=stall after=0]] hello"); err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		})
		if err := c.l.Close(); err != nil {
			t.Fatal(err)
		}
		<-done
	}
}

func TestBomb(t *testing.T) {
	c := dial(t, sim.New(sim.Config{}))
	defer c.close()
	r, err := c.ask(t.Context(), "[[sim: fault=gzip_bomb]] hello")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, z, 8<<20); n != 8<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestTimes: a fault that goes away after some tries.
func TestTimes(t *testing.T) {
	c := dial(t, sim.New(sim.Config{}))
	defer c.close()
	for _, prompt := range []string{"first", "second"} {
		for i, want := range []int{529, 529, 200, 200} {
			if h := c.hear("[[sim: fault=overloaded times=2]] " + prompt); h.status != want {
				t.Errorf("%s, try %d: %d", prompt, i, h.status)
			}
		}
	}
}

// TestScripts: queued answers come first and once, then the function's, then the usual one.
func TestScripts(t *testing.T) {
	s := sim.New(sim.Config{})
	s.ScriptFunc(func(r sim.Request) *sim.Answer {
		if strings.Contains(string(r.Body), "special") {
			return &sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: "no signature", Unsigned: true}, {Text: "from the function"}}}
		}
		return nil
	})
	s.Script(sim.Answer{Parts: []sim.Part{{Text: "queued"}}}, sim.Answer{Fault: sim.FaultOverloaded, Head: http.Header{"X-Should-Retry": {"false"}}})
	special := obj{"messages": arr{simtest.Say("user", "special")}}
	if _, said := simtest.Answered(simtest.Stream(t, s, simtest.Header(), special)); said != "queued" {
		t.Errorf("%q", said)
	}
	simtest.Create(t, s, simtest.Header(), obj{"model": "claude-next"}) // refused: uses nothing up
	if r := simtest.Create(t, s, simtest.Header(), special); r.Status != 529 || r.Header.Get("x-should-retry") != "false" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	m := simtest.Stream(t, s, simtest.Header(), special)
	if _, said := simtest.Answered(m); said != "from the function" || simtest.Get[string](m, "content", 0, "signature") != "" {
		t.Errorf("%v", m)
	}
	if _, said := simtest.Answered(simtest.Stream(t, s, simtest.Header(), nil)); !strings.HasPrefix(said, "## ") {
		t.Errorf("%q", said)
	}
	raw := json.RawMessage(`{"type":"hologram","light":[1,2]}`)
	s.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Raw, Raw: raw}, {Kind: sim.Call, Name: "now"}, {Kind: sim.Call, Name: "add", Input: json.RawMessage(`{"a":"1€"}`)}}})
	m = simtest.Stream(t, s, simtest.Header(), nil)
	if simtest.Get[string](m, "content", 0, "type") != "hologram" || simtest.Get[string](m, "content", 2, "input", "a") != "1€" || simtest.Get[obj](m, "content", 1, "input") == nil || m["stop_reason"] != "tool_use" {
		t.Errorf("%v", m)
	}
}

// TestMarkerAfterAnUnansweredPrompt: what an earlier prompt asked for is over, with or without an answer.
func TestMarkerAfterAnUnansweredPrompt(t *testing.T) {
	s := sim.New(sim.Config{})
	got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{
		simtest.Say("user", "First. [[sim: fault=overloaded]]"), simtest.Say("user", "Second. [[sim: text=60]]")}})
	if got.Status != 200 || !strings.Contains(string(got.Body), "You asked: *Second.*") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	got = simtest.Create(t, s, simtest.Header(), obj{"messages": arr{simtest.Say("user", "First. [[sim: fault=overloaded]]"), simtest.Say("user", "Second.")}})
	if got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestMarkersInARecord: the record of a conversation, as a client sends it for a summary, has the markers of its prompts. They were for the
// answers to those, and one may be cut off.
func TestMarkersInARecord(t *testing.T) {
	s := sim.New(sim.Config{})
	for _, record := range []string{
		"[user]\nFirst. [[sim: text=3]]\n\n[assistant]\nA.\n\n[user, pinned]\nSecond. [[sim: fault=overloaded]]\n\n[assistant]\nB.",
		"[The beginning was cut.]\n\n[assistant]\nA.\n\n[user]\nSecond. [[sim: thinking=3",
	} {
		got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{simtest.Say("user", record)}})
		if got.Status != 200 || strings.Contains(string(got.Body), "[[sim:") || len(got.Body) < 200 {
			t.Errorf("%q: %d %s", record, got.Status, got.Body)
		}
	}
}

func TestMarkerGrammar(t *testing.T) {
	s := sim.New(sim.Config{})
	for words, says := range map[string]string{
		"thought=300":                   sim.Usages(),
		"thinking":                      sim.Usages(),
		"redacted=yes":                  sim.Usages(),
		"thinking=1 thinking=2":         "at most once",
		"thinking=-1":                   "a number from 0",
		"thinking=many":                 "a number from 0",
		"text=200001":                   "a number from 0 to 200000",
		"blocks=0":                      "a number from 1 to 20",
		"pace=NaN":                      "deltas a second",
		"fault=fire":                    string(sim.FaultEndlessText),
		"stop=end":                      "max_tokens, refusal",
		"tool=a.b":                      "letters, digits",
		"after=3":                       `"after" in the marker needs`,
		"fault=html after=3":            `"after" in the marker needs`,
		"bytes=3":                       "fault=cut",
		"fault=cut after=1 bytes=3":     "fault=cut",
		"times=3":                       "a fault",
		"category=cyber":                "stop=refusal",
		"stop=refusal category=rude":    "general_harms",
		"rounds=3":                      "tool=NAME",
		"calls=3":                       "tool=NAME",
		"unchecked":                     "tool=NAME",
		"tool=a args={":                 "must be a JSON object",
		"tool=a args=null":              "must be a JSON object",
		"retry_after=3":                 "a fault that has an HTTP status",
		"]] [[sim: text=3":              "more than one marker",
		"tool=a]] and [[sim: tool=a":    "more than one marker",
		"thinking=3 ] text=4":           "at most once",
		"fault=rate_limit retry_after=": "a number from 0",
	} {
		got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{simtest.Say("user", "[[sim: "+words+"]] hello")}})
		if got.Status != 400 || !strings.Contains(got.ErrorText(), says) {
			t.Errorf("%s: %d %s\nwant …%s…", words, got.Status, got.Body, says)
		}
	}
	if got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{simtest.Say("user", "[[sim: text=3")}}); !strings.Contains(got.ErrorText(), "has no ]]") {
		t.Errorf("%s", got.Body)
	}
	// Only the last prompt is looked at, and the marker is no part of it.
	got := simtest.Create(t, s, simtest.Header(), obj{"messages": arr{simtest.Say("user", "[[sim: fault=fire]]"), simtest.Say("assistant", "hm"), simtest.Say("user", "a lighthouse [[sim: text=100]]")}})
	_, said := simtest.Answered(got.JSON())
	if got.Status != 200 || !strings.Contains(said, "ighthouse") || strings.Contains(said, "sim:") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	for _, w := range sim.WordUsages() {
		if !strings.Contains(sim.Help(), w) {
			t.Errorf("Help is silent about %s", w)
		}
	}
	for _, model := range []string{"claude ", "claude-always ", "claude-budget ", "claude-between-tools "} {
		if !strings.Contains(sim.Help(), "  "+model) {
			t.Errorf("Help is silent about %s", model)
		}
	}
	for i, f := range sim.Faults {
		if !strings.Contains(sim.Help(), string(f)) || f.Refuses() != (i < 12) {
			t.Errorf("Help is silent or wrong about %s", f)
		}
	}
}

func TestJournal(t *testing.T) {
	s := sim.New(sim.Config{})
	simtest.Create(t, s, simtest.Header(), nil)
	simtest.Create(t, s, simtest.Header(), obj{"model": "claude-next"})
	s.Script(sim.Answer{Fault: sim.FaultOverloaded})
	simtest.Create(t, s, simtest.Header(), nil)
	got := s.Requests()
	if len(got) != 3 || got[0].Status != 200 || got[1].Status != 404 || got[2].Status != 529 || got[0].Path != "/v1/messages" ||
		got[0].Header.Get("x-api-key") != "key-1" || !strings.Contains(string(got[1].Body), "claude-next") {
		t.Errorf("%v", got)
	}
	if r := s.Refusals(); len(r) != 1 || r[0].Type != "not_found_error" {
		t.Errorf("%v", r)
	}
	s = sim.New(sim.Config{NoJournal: true})
	simtest.Create(t, s, simtest.Header(), obj{"model": "claude-next"})
	if len(s.Requests())+len(s.Refusals()) != 0 {
		t.Error("kept, though nothing was to be kept")
	}
}
