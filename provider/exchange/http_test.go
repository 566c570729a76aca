package exchange_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

const canary = "sk-canary-4711-never-to-be-seen"

func caller() *exchange.Caller {
	c := exchange.NewCaller("test", exchange.Config{
		Provider: "acme", Client: exchange.NewClient(nil), Key: provider.NewSecret(canary),
		Headers: map[string]string{"Authorization": "Bearer tok-canary-0815"},
	})
	return &c
}

func header() http.Header { return http.Header{"X-Api-Key": {canary}} }

func asError(t *testing.T, err error) *provider.Error {
	t.Helper()
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		t.Fatalf("error %v of type %T, want a *provider.Error", err, err)
	}
	if text := fmt.Sprintf("%v %+v %q", e, *e, e.Message); strings.Contains(text, "canary") {
		t.Errorf("a secret is in the error: %s", text)
	}
	return e
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, follow := range []bool{false, true} {
			t.Run(fmt.Sprint(status, follow), func(t *testing.T) {
				var reached atomic.Int64
				second := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
				defer second.Close()
				to := strings.Replace(second.URL, "127.0.0.1", "localhost", 1) // another host, and another port
				first := httptest.NewServer(http.RedirectHandler(to+"/"+canary, status))
				defer first.Close()
				c := caller()
				if follow {
					c.Client = &http.Client{} // as it comes, it would follow
				}
				_, err := c.Post(t.Context(), first.URL, header(), []byte("{}"))
				e := asError(t, err)
				if e.Kind != provider.KindBadRequest || e.Status != status || !strings.Contains(e.Message, strings.TrimPrefix(to, "http://")) {
					t.Errorf("error %v of kind %s", e, e.Kind)
				}
				if n := reached.Load(); n != 0 {
					t.Errorf("the second server got %d requests", n)
				}
			})
		}
	}
}

// A place on the same server is no other: nobody but the operator says where a prompt and a key go.
func TestSameOriginRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, client := range map[string]*http.Client{"ours": exchange.NewClient(nil), "any": {}} {
			var paths []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.URL.Path)
				if r.URL.Path == "/v1" {
					http.Redirect(w, r, "/other", status)
				}
			}))
			c := caller()
			c.Client = client
			_, err := c.Post(t.Context(), server.URL+"/v1", header(), []byte("{}"))
			if e := asError(t, err); e.Status != status {
				t.Errorf("%s, %d: error %v", name, status, e)
			}
			server.Close()
			if len(paths) != 1 {
				t.Errorf("%s, %d: requests to %q", name, status, paths)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	typed := func(word, text string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_body"}`, word, text)
	}
	tests := []struct {
		status  int
		body    string
		kind    provider.Kind
		code    string
		message string
	}{
		{400, typed("invalid_request_error", "no such member"), provider.KindBadRequest, "invalid_request_error", "no such member"},
		{400, typed("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), provider.KindTooLong, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"},
		{400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, provider.KindTooLong, "context_length_exceeded", "too long"},
		{401, typed("authentication_error", "invalid x-api-key "+canary), provider.KindAuth, "authentication_error", "invalid x-api-key [secret]"},
		{402, typed("billing_error", "pay"), provider.KindQuota, "billing_error", "pay"},
		{403, typed("permission_error", "no"), provider.KindAuth, "permission_error", "no"},
		{404, typed("not_found_error", "model: x"), provider.KindBadRequest, "not_found_error", "model: x (is the model's id right, and base_url?)"},
		{408, "", provider.KindTransport, "", "Request Timeout"},
		{409, typed("conflict_error", "c"), provider.KindTransport, "conflict_error", "c"},
		{413, typed("request_too_large", "32 MB"), provider.KindTooLong, "request_too_large", "32 MB"},
		{413, "<html>nginx</html>", provider.KindTooLong, "", "an HTML page in place of an error"},
		{429, typed("rate_limit_error", "slow down"), provider.KindRateLimit, "rate_limit_error", "slow down"},
		{429, `{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.KindQuota, "insufficient_quota", "quota"},
		{500, typed("api_error", "oops"), provider.KindTransport, "api_error", "oops"},
		{502, "bad gateway: tok-canary-0815\x1b[31m\n", provider.KindTransport, "", "bad gateway: [secret] [31m"},
		{503, `{"error":"loading"}`, provider.KindOverloaded, "", "loading"},
		{504, `{"detail":"late"}`, provider.KindTransport, "", "late"},
		{529, typed("overloaded_error", "Overloaded"), provider.KindOverloaded, "overloaded_error", "Overloaded"},
		{418, `[{"error":{"code":418,"message":"teapot","status":"TEAPOT"}}]`, provider.KindBadRequest, "TEAPOT", "teapot"},
		{400, strings.Repeat("é", 2000) + canary, provider.KindBadRequest, "", strings.Repeat("é", 1024) + "…"},
		{400, strings.Repeat("x", 2040) + canary, provider.KindBadRequest, "", strings.Repeat("x", 2040) + "[secret]"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, " ", test.code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("request-id", "req_header")
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			_, err := caller().Post(t.Context(), server.URL, header(), nil)
			got := asError(t, err)
			want := &provider.Error{API: "test", Provider: "acme", Kind: test.kind, Status: test.status, Code: test.code,
				RequestID: "req_header", Message: test.message}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(provider.Error{}, "Subject", "Bare")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.ContainsFunc(got.Error(), unicode.IsControl) {
				t.Errorf("control characters in %q", got.Error())
			}
		})
	}
}

// TestRequestIDHoldsNoSecret: a server may repeat anything that it received, also in its request id.
func TestRequestIDHoldsNoSecret(t *testing.T) {
	c := caller()
	h := http.Header{"Request-Id": {"req " + canary}}
	if got := c.RequestID(h); got != "req [secret]" {
		t.Errorf("request id %q", got)
	}
	for _, e := range []*provider.Error{
		c.Refusal(500, h, nil),
		c.Refusal(500, nil, []byte(`{"request_id":"req `+canary+`"}`)),
		c.NoAnswer(&http.Response{StatusCode: 200, Header: h}, "nothing"),
	} {
		if e.RequestID != "req [secret]" {
			t.Errorf("the error has the request id %q", e.RequestID)
		}
	}
}

func TestRetryHeaders(t *testing.T) {
	tests := []struct {
		name, value string
		want        time.Duration
		hint        provider.Hint
	}{
		{"Retry-After", "30", 30 * time.Second, ""},
		{"Retry-After", "0.5", 500 * time.Millisecond, ""},
		{"Retry-After", "-1", 0, ""},
		{"Retry-After", "NaN", 0, ""},
		{"Retry-After", "1e300", 24 * time.Hour, ""},
		{"Retry-After", "soon", 0, ""},
		{"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", 0, ""},
		{"retry-after-ms", "250", 250 * time.Millisecond, ""},
		{"x-should-retry", "true", 0, provider.HintRetry},
		{"x-should-retry", "false", 0, provider.HintFinal},
		{"x-should-retry", "maybe", 0, ""},
	}
	for _, test := range tests {
		e := caller().Refusal(429, http.Header{http.CanonicalHeaderKey(test.name): {test.value}}, nil)
		if e.RetryAfter != test.want || e.Hint != test.hint {
			t.Errorf("%s: %s: %v and hint %q, want %v and %q", test.name, test.value, e.RetryAfter, e.Hint, test.want, test.hint)
		}
	}
	at := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	if e := caller().Refusal(429, http.Header{"Retry-After": {at}}, nil); e.RetryAfter < 80*time.Second || e.RetryAfter > 90*time.Second {
		t.Errorf("date in 90 s: %v", e.RetryAfter)
	}
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // between the vendor's clock and ours
		there := time.Now().Add(off).UTC().Truncate(time.Second)
		header := http.Header{"Date": {there.Format(http.TimeFormat)}, "Retry-After": {there.Add(20 * time.Second).Format(http.TimeFormat)}}
		if e := caller().Refusal(429, header, nil); e.RetryAfter != 20*time.Second {
			t.Errorf("20 s on by a clock that is off by %s: %v", off, e.RetryAfter)
		}
		header.Del("Retry-After")
		body := fmt.Appendf(nil, `{"error":{"type":"usage_limit_reached","resets_at":%d}}`, there.Add(30*time.Second).Unix())
		if e := caller().Refusal(429, header, body); e.RetryAfter != 30*time.Second {
			t.Errorf("filled again in 30 s by a clock that is off by %s: %v", off, e.RetryAfter)
		}
	}
}

// endless is an answer that never ends, and counts what was read of it.
type endless struct {
	unit string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.unit)
	}
	e.read += int64(n)
	return n, nil
}

func TestForm(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "data: {}\n\n")
	z.Close()
	bomb := &endless{unit: packed.String()}
	tests := []struct {
		name     string
		header   http.Header
		body     io.Reader
		want     exchange.Form
		errorHas string
	}{
		{"stream", http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, strings.NewReader("data: 1\n\n"), exchange.Streamed, ""},
		{"stream without a type", nil, strings.NewReader("event: x\ndata: 1\n\n"), exchange.Streamed, ""},
		{"stream of wrong type", http.Header{"Content-Type": {"text/plain"}}, strings.NewReader(": hi\n\n"), exchange.Streamed, ""},
		{"stream labelled as JSON", http.Header{"Content-Type": {"application/json"}}, strings.NewReader("data: 1\n\n"), exchange.Streamed, ""},
		{"stream labelled as JSON behind blank lines", http.Header{"Content-Type": {"application/json"}}, strings.NewReader("\r\n\n\nid: 1\ndata: 1\n\n"), exchange.Streamed, ""},
		{"stream without a type behind a blank line", nil, strings.NewReader("\n: hi\n\n"), exchange.Streamed, ""},
		{"stream with a byte order mark, labelled as JSON", http.Header{"Content-Type": {"application/json"}}, strings.NewReader("\uFEFFdata: 1\n\n"), exchange.Streamed, ""},
		{"JSON behind blank lines", nil, strings.NewReader(strings.Repeat("\n", 2000) + "{}"), exchange.Whole, ""},
		{"HTML behind a blank line", nil, strings.NewReader("\n<html>"), 0, "HTML page"},
		{"stream cut at once", http.Header{"Content-Type": {"text/event-stream"}}, strings.NewReader(""), exchange.Streamed, ""},
		{"JSON", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(" {}"), exchange.Whole, ""},
		{"JSON without a type", nil, strings.NewReader("{}"), exchange.Whole, ""},
		{"JSON error as a stream", http.Header{"Content-Type": {"text/event-stream"}}, strings.NewReader(`{"error":1}`), exchange.Streamed, ""},
		{"HTML", http.Header{"Content-Type": {"text/html"}}, strings.NewReader("<!doctype html>"), 0, "HTML page"},
		{"HTML as a stream", http.Header{"Content-Type": {"text/event-stream"}}, strings.NewReader("<html>"), 0, "HTML page"},
		{"empty", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(""), 0, "empty"},
		{"wrong type", http.Header{"Content-Type": {"image/png"}}, strings.NewReader("\x89PNG"), 0, `type "image/png"`},
		{"gzip", http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, &packed, 0, "gzip-encoded"},
		{"bomb", http.Header{"Content-Encoding": {"gzip"}}, bomb, 0, "gzip-encoded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.header == nil {
				test.header = http.Header{}
			}
			test.header.Set("request-id", "req_7")
			resp := &http.Response{StatusCode: 200, Header: test.header, Body: io.NopCloser(test.body)}
			form, body, err := caller().Form(t.Context(), resp, "text/event-stream", func() error { return nil })
			if test.errorHas == "" {
				if err != nil || form != test.want || body == nil {
					t.Fatalf("form %v, error %v; want %v", form, err, test.want)
				}
				return
			}
			e := asError(t, err)
			if e.Kind != provider.KindBadRequest || e.Status != 200 || e.RequestID != "req_7" || e.Provider != "acme" || !strings.Contains(e.Message, test.errorHas) {
				t.Errorf("error %v of kind %s, want one with %q", e, e.Kind, test.errorHas)
			}
		})
	}
	if bomb.read != 0 {
		t.Errorf("%d bytes of the bomb were read", bomb.read)
	}
}

// A server's answer is not inflated behind our back either.
func TestNothingIsInflated(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if got := req.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding: %q", got)
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusInternalServerError)
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"error":{"message":"hidden"}}`)
		z.Close()
	}))
	defer server.Close()
	c := caller()
	c.Client = &http.Client{Transport: &http.Transport{}}
	_, err := c.Post(t.Context(), server.URL, header(), nil)
	if e := asError(t, err); e.Kind != provider.KindTransport || e.Message != "Internal Server Error" {
		t.Errorf("error %v of kind %s", e, e.Kind)
	}
}

func TestConnectionErrors(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := caller().Post(t.Context(), server.URL+"/"+canary, header(), nil)
	if e := asError(t, err); e.Kind != provider.KindTransport || e.Status != 0 || e.Err == nil {
		t.Errorf("error %v of kind %s", e, e.Kind)
	}
	_, err = caller().Post(t.Context(), "http://127.0.0.1:x/"+canary, header(), nil)
	if e := asError(t, err); e.Kind != provider.KindBadRequest {
		t.Errorf("error %v of kind %s", e, e.Kind)
	}
	c := caller()
	c.Client = exchange.NewClient(roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("it knows " + canary) }))
	_, err = c.Post(t.Context(), "http://api", header(), nil)
	if e := asError(t, err); e.Error() != "acme: it knows [secret]" {
		t.Errorf("error %v", e)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := caller().Post(ctx, "http://127.0.0.1:1", header(), nil); err != gone {
		t.Errorf("cancelled: error %v, want its cause", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestNoKey(t *testing.T) {
	c := &exchange.Caller{API: "test", Config: exchange.Config{Provider: "acme"}}
	missing := func(base, variable string) error {
		c.BaseURL, c.KeyVar = base, variable
		return c.NoKey()
	}
	e := asError(t, missing("https://api.example.com", "ACME_API_KEY"))
	if e.Kind != provider.KindAuth || !strings.Contains(e.Error(), "run `thinkd auth set acme`, or set ACME_API_KEY") {
		t.Errorf("error %v of kind %s", e, e.Kind)
	}
	for _, local := range []string{"http://127.0.0.1:9000", "http://localhost:1", "http://[::1]:1/v1", "http://192.168.1.5", "http://box", "http://box.local", "http://a.localhost"} {
		if err := missing(local, ""); err != nil {
			t.Errorf("%s: %v", local, err)
		}
	}
	for _, far := range []string{"https://8.8.8.8", "https://localhost.example.com", "https://api.example.com/localhost", "", "::"} {
		if err := missing(far, ""); err == nil {
			t.Errorf("%s: no error", far)
		}
	}
	c.Headers = map[string]string{"authorization": "Bearer x"}
	if err := missing("https://api.example.com", ""); err != nil {
		t.Errorf("with its own header: %v", err)
	}
	c = caller()
	c.BaseURL = "https://api.example.com"
	if err := c.NoKey(); err != nil {
		t.Errorf("with a key: %v", err)
	}
}
