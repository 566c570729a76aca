package exchange_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/quota"
)

// The limits in each answer are recorded, also those of a refusal. One notice is sent when little is left.
func TestLimitsOfAnswers(t *testing.T) {
	meter := quota.NewMeter(nil)
	status, used := 200, "50"
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}, "X-Codex-Primary-Used-Percent": {used}, "X-Codex-Primary-Reset-After-Seconds": {"7200"}}
		return &http.Response{StatusCode: status, Request: r, Header: h, Body: io.NopCloser(strings.NewReader("data: done\n\n"))}, nil
	})}
	c := exchange.NewCaller("test", exchange.Config{Provider: "p", BaseURL: "http://localhost", Client: client, Account: "me", Quota: meter, Key: provider.NewSecret("sk")})
	call := func() (notices []string) {
		for e := range c.Stream(t.Context(), &provider.Request{}, func(*provider.Request) (*exchange.Call, error) {
			return &exchange.Call{URL: "http://localhost/v1", Header: http.Header{}, Dialect: &scripted{}}, nil
		}) {
			if n, ok := e.(provider.Notice); ok && n.Kind == provider.NoticeLimit {
				notices = append(notices, n.Text)
			}
		}
		return notices
	}
	for _, step := range []struct {
		status  int
		used    string
		notices int
	}{{200, "50", 0}, {200, "93", 1}, {200, "94", 0}, {429, "100", 0}} {
		status, used = step.status, step.used
		notices := call()
		limits := meter.Limits()
		if len(notices) != step.notices || len(limits) != 1 || slices.ContainsFunc(notices, func(n string) bool { return !strings.HasPrefix(n, "p: 93 % of the limit primary is used, until ") }) {
			t.Errorf("%v: notices %q, limits %v", step, notices, limits)
		}
	}
	if got := *meter.Limits()[0].Used; got != 100 {
		t.Errorf("after the refusal %v %% are used", got)
	}
}
