package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/tool"
)

// answerer is how a host answers a request.
type answerer func(*http.Request) (*http.Response, error)

// reply is an answer with this body, and after it an orderly end.
func reply(status int, header http.Header, body []byte) answerer {
	return answered(status, header, body, nil).answer
}

// listing is a host that answers from a list and records when it was called. Calls come one after the other.
type listing struct {
	script []answerer // the last one answers whatever follows
	called []time.Time
}

func (l *listing) RoundTrip(r *http.Request) (*http.Response, error) {
	l.called = append(l.called, time.Now())
	return answering{l.script[min(len(l.called), len(l.script))-1]}.RoundTrip(r)
}

// clockwork is a session of a daemon's agents over one wire API. Make it in a bubble: there its clock is a fake.
type clockwork struct {
	t       *testing.T
	group   *agent.Group
	session session.ID
	updates *feed.Subscription
}

// lineTo is how a client reaches a simulator until the test ends, or its bubble.
func lineTo(t *testing.T, vendor *sim.Server) http.RoundTripper {
	l := vendor.Listen()
	through := l.Transport()
	t.Cleanup(func() {
		through.CloseIdleConnections()
		l.Close()
	})
	return through
}

// newClockwork has the provider "p" at a host, which is silent for up to patience.
func newClockwork(t *testing.T, api vendors.API, host http.RoundTripper, patience time.Duration, tools ...toolhost.Host) *clockwork {
	t.Helper()
	p, _, err := caller(api, host)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := registry.New([]registry.Provider{{ID: "p", API: api.Name}})
	if err != nil {
		t.Fatal(err)
	}
	group, err := agent.NewGroup(t.Context(), agent.Config{Store: mem.New(), Catalog: catalog, Log: discard,
		Provider: func(string) provider.Provider { return p }, Patience: func(string) time.Duration { return patience },
		Hosts: func(session.Owner, session.Session) []toolhost.Host { return tools }, Rules: tool.Policy{Effects: map[tool.Effect]tool.Rule{tool.Read: tool.Allow}}})
	if err != nil {
		t.Fatal(err)
	}
	of := session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "p", ID: proof.SimulatedModel[api.Name]}}}
	for _, h := range tools {
		more, err := h.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		of.Tools = append(of.Tools, more...)
	}
	if of, err = group.For(session.Operator).Create(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	return &clockwork{t: t, group: group, session: of.ID}
}

// turn is a prompt with its end.
func (c *clockwork) turn() (end agent.Ended) {
	c.t.Helper()
	err := c.group.For(session.Operator).Do(c.t.Context(), c.session, func(a *agent.Agent) (err error) {
		if c.updates, err = a.Subscribe(c.t.Context()); err != nil {
			return err
		}
		r, err := a.Prompt(c.t.Context(), agent.Prompt{Content: provider.Blocks{provider.Text{Text: "Which date is later?"}}})
		if err == nil {
			end, err = a.Wait(c.t.Context(), r.Turn)
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return end
}

// told returns what was published to clients meanwhile: the waits that were announced, and the kinds of notices.
func (c *clockwork) told() (waits []time.Duration, notices []string) {
	for {
		u, err := c.updates.TryNext()
		if u == nil || err != nil {
			return waits, notices
		}
		switch e := u.Event.(type) {
		case feed.Retry:
			waits = append(waits, time.Duration(e.AfterMS)*time.Millisecond)
		case feed.Notice:
			notices = append(notices, e.Kind)
		}
	}
}

// retries counts the retries that clients were notified of, and the blocks that these discard.
func (c *clockwork) retries() (n, void int) {
	for {
		u, err := c.updates.TryNext()
		if u == nil || err != nil {
			return n, void
		}
		if e, ok := u.Event.(feed.Retry); ok {
			n, void = n+1, void+len(e.Discarded)
		}
	}
}

// howEnded is the word for how a turn ended.
func howEnded(e agent.Ended) string {
	if e.End.Error != nil {
		return e.End.Error.Kind
	}
	return string(e.End.StopReason)
}

// retried is a row of the table of TestRetryTimes.
type retried struct {
	name    string
	script  []answerer
	waits   []time.Duration // each is this, or up to a fifth shorter or longer; negative: exactly this
	outcome string
}

// retryTable is what calls are made again for, and when (docs of the vendors: errors, rate-limits). whole is an answer.
func retryTable(t *testing.T, api vendors.API, stream http.Header, whole []byte) (rows []retried) {
	const s = time.Second
	said := []byte(`{"error":{"message":"no"}}`)
	status := func(n int, header ...string) answerer {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return reply(n, h, said)
	}
	ok := reply(200, stream, whole)
	add := func(name, outcome string, waits []time.Duration, script ...answerer) {
		rows = append(rows, retried{name, script, waits, outcome})
	}
	doubled, load := []time.Duration{s, 2 * s, 4 * s, 8 * s}, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s}
	for _, row := range []struct {
		status int
		waits  []time.Duration
		kind   string
	}{
		{408, doubled, "transport"}, {409, doubled, "transport"}, {500, doubled, "transport"}, {502, doubled, "transport"},
		{504, doubled, "transport"}, {503, load, "overloaded"}, {529, load, "overloaded"},
	} {
		add(fmt.Sprint(row.status, " for ever"), row.kind, row.waits, status(row.status))
		add(fmt.Sprint(row.status, " once"), "end_turn", row.waits[:1], status(row.status), ok)
	}
	broken := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	add("no connection for ever", "transport", doubled, broken)
	add("no connection once", "end_turn", doubled[:1], broken, ok)
	add("cut before content, once", "end_turn", doubled[:1], answered(200, stream, whole[:1], errors.New("connection reset by peer")).answer, ok)

	exactly := func(d time.Duration, n int) []time.Duration { return slices.Repeat([]time.Duration{-d}, n) }
	for _, n := range []int{429, 503, 529} {
		kind := map[int]string{429: "rate_limit"}[n]
		if kind == "" {
			kind = "overloaded"
		}
		add(fmt.Sprint(n, ", Retry-After: 20, for ever"), kind, exactly(20*s, 4), status(n, "Retry-After", "20"))
		add(fmt.Sprint(n, ", Retry-After: 60, once"), "end_turn", exactly(60*s, 1), status(n, "Retry-After", "60"), ok)
		add(fmt.Sprint(n, ", Retry-After: 61"), kind, nil, status(n, "Retry-After", "61"))
		add(fmt.Sprint(n, ", Retry-After a date in 20 s"), "end_turn", exactly(20*s, 1), func(r *http.Request) (*http.Response, error) {
			return status(n, "Retry-After", time.Now().Add(20*s).UTC().Format(http.TimeFormat))(r)
		}, ok)
		add(fmt.Sprint(n, ", Retry-After a date in 10 min"), kind, nil, func(r *http.Request) (*http.Response, error) {
			return status(n, "Retry-After", time.Now().Add(600*s).UTC().Format(http.TimeFormat))(r)
		})
	}
	add("429 without a time, for ever", "rate_limit", load, status(429))
	add("429 without a time, once", "end_turn", load[:1], status(429), ok)
	add("429 without a time, 503, for ever", "overloaded", load, status(429), status(503))
	in := func(text string) answerer {
		return reply(429, http.Header{"Content-Type": {"application/json"}}, []byte(`{"error":{"message":"Rate limit reached. Please try again in `+text+`."}}`))
	}
	add("429, 4 s in its text", "end_turn", exactly(4*s, 1), in("4s"), ok)
	add("429, 59.5 s in its text", "end_turn", exactly(59500*time.Millisecond, 1), in("59.5s"), ok)
	add("429, more than 60 s in its text", "rate_limit", nil, in("1m12.5s"))
	for _, row := range []struct {
		status int
		kind   string
	}{{400, "bad_request"}, {401, "auth"}, {402, "quota"}, {403, "auth"}, {404, "bad_request"}, {405, "bad_request"},
		{410, "bad_request"}, {413, "context_too_long"}, {415, "bad_request"}, {418, "bad_request"}, {422, "bad_request"}, {451, "bad_request"},
		{501, "transport"}, {505, "transport"}, {507, "transport"}, {508, "transport"}, {511, "transport"}, {520, "transport"}, {521, "transport"},
		{522, "transport"}, {523, "transport"}, {524, "transport"}, {525, "transport"}, {526, "transport"}, {530, "transport"}, {599, "transport"}} {
		add(fmt.Sprint(row.status), row.kind, nil, status(row.status, "Retry-After", "1"))
	}
	page := reply(522, http.Header{"Content-Type": {"text/html"}}, []byte("<!DOCTYPE html><title>Connection timed out</title>"))
	add("522, the page of a proxy", "transport", nil, page)
	add("400, called too much", "rate_limit", nil, reply(400, http.Header{"Content-Type": {"application/json"}}, []byte(`{"error":{"code":"rate_limit_exceeded","message":"no"}}`)))
	add("522, to be asked again, once", "end_turn", doubled[:1], status(522, "X-Should-Retry", "true"), ok)

	// An overload inside an answer with status 200.
	for _, row := range []struct {
		name    string
		after   int
		parts   []sim.Part
		outcome string
	}{
		{"overload in a 200, before content", 0, []sim.Part{{Kind: sim.Thinking, Text: "Both dates."}}, "end_turn"},
		{"overload in a 200, in thinking", 2, []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Compare both dates. ", 40)}}, "end_turn"},
		{"overload in a 200, after text", 2, []sim.Part{{Kind: sim.Text, Text: strings.Repeat("The second. ", 40)}}, "overloaded"},
	} {
		header, body, stops, err := played(t, api, sim.Answer{Parts: append(row.parts, sim.Part{Kind: sim.Text, Text: "The second."}),
			Fault: sim.FaultOverloaded, After: sim.After(row.after)})
		if e, ok := errors.AsType[*provider.Error](err); !ok || stops > 0 || e.Kind != provider.KindOverloaded {
			t.Errorf("%s: %d stops, %v", row.name, stops, err)
		}
		var waits []time.Duration
		if row.outcome == "end_turn" {
			waits = load[:1]
		}
		add(row.name, row.outcome, waits, reply(200, header, body), ok)
	}
	return rows
}

// near reports whether a wait is that of a row.
func near(waited, want time.Duration) bool {
	return waited == -want || waited >= want*4/5 && waited <= want*6/5
}

// Which failures make a call again, how often, and after exactly how long: over each wire API, on a fake clock. With -v
// the table is printed.
func TestRetryTimes(t *testing.T) {
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			stream, whole := recorded(t, api)
			for _, row := range retryTable(t, api, stream, whole) {
				synctest.Test(t, func(t *testing.T) {
					host := &listing{script: row.script}
					c := newClockwork(t, api, host, 0)
					defer c.group.Close()
					e := c.turn()
					announced, _ := c.told()
					var waits []string
					good := howEnded(e) == row.outcome && len(host.called) == len(row.waits)+1 && len(announced) == len(row.waits)
					for i := 0; good && i < len(row.waits); i++ {
						waited := host.called[i+1].Sub(host.called[i])
						good = waited.Truncate(time.Millisecond) == announced[i] && near(waited, row.waits[i])
						waits = append(waits, waited.Round(time.Millisecond).String())
					}
					verdict := "ok  "
					if !good {
						verdict = "FAIL"
						t.Errorf("%s: %d calls, announced %v, %s; want waits of about %v (negative: exactly), %s", row.name, len(host.called), announced, howEnded(e), row.waits, row.outcome)
					}
					t.Logf("%s %-10s %-38s calls %d  %-12s waits %s", verdict, api.Name, row.name, len(host.called), howEnded(e), strings.Join(waits, " "))
				})
			}
		})
	}
}

// quietBody is the body of an answer that goes on with beat each period, for ever or until the request ends.
type quietBody struct {
	ctx    context.Context
	before io.Reader
	beat   []byte // nil: none
	period time.Duration
}

func (s *quietBody) Read(p []byte) (int, error) {
	if n, err := s.before.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	if s.beat == nil {
		<-s.ctx.Done()
		return 0, context.Cause(s.ctx)
	}
	select {
	case <-time.After(s.period):
		return copy(p, s.beat), nil
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	}
}

// If a vendor falls silent in any phase of its answer, the turn ends in time, with a notice before, and nothing hangs. This is tested
// for each wire API, on a fake clock. With -v, the test prints the table.
func TestStallTimes(t *testing.T) {
	const s = time.Second
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			header, body, _, err := played(t, api, sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: strings.Repeat("Compare both dates. ", 40)},
				{Kind: sim.Text, Text: "The second."}}, Fault: sim.FaultEnd, After: sim.After(3)})
			if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.KindTransport {
				t.Fatalf("half an answer: %v", err)
			}
			comment := keepAlive(api.Name)
			stalled := func(before, beat []byte) answerer {
				return func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: header.Clone(), ContentLength: -1,
						Body: io.NopCloser(&quietBody{r.Context(), bytes.NewReader(before), beat, 15 * s})}, nil
				}
			}
			nothing := func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}
			for _, row := range []struct {
				name     string
				patience time.Duration // of the provider's row
				script   answerer
				limit    time.Duration
				told     bool
			}{
				{"no header", 0, nothing, 120 * s, true},
				{"no header, a server that loads models", 600 * s, nothing, 600 * s, true},
				{"a header and no byte", 0, stalled(nil, nil), 300 * s, true},
				{"silence in mid-thinking", 0, stalled(body, nil), 300 * s, true},
				{"silence in mid-thinking, patient", 600 * s, stalled(body, nil), 600 * s, true},
				{"keep-alives and nothing else", 0, stalled(nil, comment), 600 * s, false},
				{"keep-alives from mid-thinking on", 0, stalled(body, comment), 600 * s, false},
				{"an event that does not end", 0, stalled(slices.Concat(body, endless(api.Name)), []byte("x")), 600 * s, false},
			} {
				synctest.Test(t, func(t *testing.T) {
					host := &listing{script: []answerer{row.script}}
					c := newClockwork(t, api, host, row.patience)
					defer c.group.Close()
					begun := time.Now()
					e := c.turn()
					took := time.Since(begun)
					_, notices := c.told()
					told := slices.Contains(notices, "stalled")
					verdict := "ok  "
					if howEnded(e) != "stalled" || took < row.limit || took > row.limit+s || told != row.told || len(host.called) != 1 {
						verdict = "FAIL"
						t.Errorf("%s: %s after %v, clients got %v, %d calls; want stalled after %v", row.name, howEnded(e), took, told, len(host.called), row.limit)
					}
					t.Logf("%s %-10s %-38s %-12s after %v, told before: %v", verdict, api.Name, row.name, howEnded(e), took, told)
				})
			}
		})
	}
}
