package exchange_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sse"
	"github.com/thinkd/thinkd/provider/testgo"
)

// grants are credentials of which each refusal makes new ones.
type grants struct {
	all   []string
	fails error
}

func (k *grants) Authorize(_ context.Context, req *http.Request, body []byte) error {
	req.Header.Set("Authorization", k.all[0]+" for "+string(body))
	return k.fails
}

func (k *grants) Refused(*provider.Error) bool {
	if len(k.all) == 1 {
		return false
	}
	k.all = k.all[1:]
	return true
}

func (k *grants) Scrub(text string) string { return strings.ReplaceAll(text, k.all[0], "[secret]") }

// gate lets one token in.
type gate struct {
	token string
	calls int
}

func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	g.calls++
	host := providertest.Host{Body: `{}`, Type: "application/json"}
	if got := req.Header.Get("Authorization"); got != g.token+" for {}" {
		host.Status, host.Body = http.StatusForbidden, `{"message":"wrong: `+got+`"}`
	}
	return host.RoundTrip(req)
}

func TestAuthorizer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		keys  grants
		calls int
		err   string // in the error
	}{
		{"the first token", grants{all: []string{"right"}}, 1, ""},
		{"a token that is renewed", grants{all: []string{"expired", "right"}}, 2, ""},
		{"no other token", grants{all: []string{"forged"}}, 1, "wrong: [secret]"},
		{"two wrong tokens are two tries", grants{all: []string{"expired", "wrong", "right"}}, 2, "[secret]"},
		{"no token", grants{all: []string{"x"}, fails: errors.New("run login again")}, 0, "run login again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := &gate{token: "right"}
			c := exchange.NewCaller("messages", exchange.Config{Provider: "cloud", BaseURL: "https://llm.example.com", Authorizer: &tt.keys, Client: &http.Client{Transport: host}})
			if err := c.NoKey(); err != nil {
				t.Errorf("an authorizer needs no key: %v", err)
			}
			resp, err := c.Post(t.Context(), "https://llm.example.com/call", http.Header{}, []byte("{}"))
			if err == nil {
				resp.Body.Close()
			}
			if e, ok := errors.AsType[*provider.Error](err); tt.err != "" && (!ok || e.Kind != provider.KindAuth || !strings.Contains(e.Error(), tt.err)) {
				t.Errorf("error %v, want one of kind auth with %q", err, tt.err)
			} else if tt.err == "" && err != nil {
				t.Error(err)
			}
			if host.calls != tt.calls {
				t.Errorf("%d requests, want %d", host.calls, tt.calls)
			}
		})
	}
}

// framed is a call whose stream has one event for each byte.
type framed struct{ events *[]string }

func (framed) Refine(*provider.Error) {}
func (f framed) Reply(a *exchange.Answer) exchange.Reply {
	return &framedReply{Answer: a, events: f.events}
}

type framedReply struct {
	*exchange.Answer
	events *[]string
}

func (r *framedReply) Event(name string, data []byte) error {
	*r.events = append(*r.events, string(data))
	return nil
}
func (r *framedReply) Over() bool               { return len(*r.events) == 3 }
func (r *framedReply) Finish() error            { return r.End(r.Stop("m")) }
func (r *framedReply) Value(gjson.Result) error { return io.ErrUnexpectedEOF }

func TestFraming(t *testing.T) {
	bytewise := &exchange.Framing{Type: "application/x-bytes", First: 'a', Read: func(r io.Reader) iter.Seq2[sse.Event, error] {
		return func(yield func(sse.Event, error) bool) {
			for b := make([]byte, 1); ; {
				if _, err := io.ReadFull(r, b); err == io.EOF {
					return
				} else if b[0] == '!' {
					yield(sse.Event{}, &exchange.Failed{Status: 429, Body: []byte(`{"message":"Too many grants, please wait before trying again."}`)})
					return
				}
				if !yield(sse.Event{Kind: sse.Message, Data: b}, nil) {
					return
				}
			}
		}
	}}
	for _, tt := range []struct {
		name, mime, body, events string
		kind                     provider.Kind // of the error; empty: none
	}{
		{"whole", "application/x-bytes", "abc", "a b c", ""},
		{"wrong type", "application/json", "abc", "a b c", ""},
		{"cut", "application/x-bytes", "ab", "a b", provider.KindTransport},
		{"the host fails", "application/x-bytes", "a!", "a", provider.KindRateLimit},
		{"another format", "text/plain", "xyz", "", provider.KindBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var events []string
			c := exchange.NewCaller("converse", exchange.Config{Provider: "cloud", BaseURL: "http://127.0.0.1", Client: &http.Client{Transport: &providertest.Host{Type: tt.mime, Body: tt.body}}})
			reply := providertest.Check(t, c.Stream(t.Context(), &provider.Request{}, func(*provider.Request) (*exchange.Call, error) {
				return &exchange.Call{URL: "http://127.0.0.1/call", Header: http.Header{}, Framing: bytewise, Dialect: framed{&events}}, nil
			}))
			if got := strings.Join(events, " "); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
			e, _ := errors.AsType[*provider.Error](reply.Err)
			if (e != nil) != (tt.kind != "") || e != nil && e.Kind != tt.kind {
				t.Errorf("error %v, want the kind %q", reply.Err, tt.kind)
			}
		})
	}
}

// waiting is an issuer of credentials that never answers.
type waiting struct{ asked chan struct{} }

func (w waiting) Authorize(ctx context.Context, _ *http.Request, _ []byte) error {
	close(w.asked)
	<-ctx.Done()
	return context.Cause(ctx)
}
func (waiting) Refused(*provider.Error) bool { return false }
func (waiting) Scrub(text string) string     { return text }

// TestAuthorizeEnds cancels a call while credentials are asked for.
func TestAuthorizeEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why, w := errors.New("somebody pressed stop"), waiting{make(chan struct{})}
	done := testgo.Go(t, func() {
		<-w.asked
		cancel(why)
	})
	c := exchange.NewCaller("messages", exchange.Config{Provider: "cloud", BaseURL: "https://llm.example.com", Authorizer: w, Client: &http.Client{Transport: &gate{}}})
	if _, err := c.Post(ctx, "https://llm.example.com/call", http.Header{}, []byte("{}")); err != why {
		t.Errorf("error %v, want %v", err, why)
	}
	<-done
}
