package gemini_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/providertest"
)

// cloud is Google Cloud: it answers at its own address, to a bearer token.
type cloud struct{ t *testing.T }

func (c cloud) RoundTrip(req *http.Request) (*http.Response, error) {
	const address = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
	status, kind, body := http.StatusOK, "text/event-stream", `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"finishReason":"STOP"}]}`+"\n\n"
	if req.URL.String() != address || req.Header.Get("Authorization") != "Bearer key-fixture" || req.Header.Get("x-goog-api-key") != "" {
		c.t.Errorf("called at %s with the headers %v", req.URL, req.Header)
		status, kind, body = http.StatusNotFound, "application/json", `{"error":{"code":404,"message":"no"}}`
	}
	return &http.Response{StatusCode: status, Request: req, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestCloud(t *testing.T) {
	api := gemini.New(exchange.Config{Provider: "cloud", Vendor: "gemini", BaseURL: "https://aiplatform.googleapis.com/v1/projects/p/locations/global/", Key: provider.NewSecret("key-fixture"), Client: &http.Client{Transport: cloud{t}}}, gemini.HostNamed("cloud"))
	reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{
		Model: leveled("gemini-3.8-flash", provider.Low, provider.High), Messages: []provider.Message{providertest.User("Hello?")}}))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	if text, _ := reply.Blocks[0].(provider.Text); text.Text != "Hello" {
		t.Errorf("got %+v", reply.Blocks)
	}
	if _, err := api.Models(t.Context()); !errors.Is(err, provider.ErrNoList) {
		t.Errorf("its list: %v", err)
	}
}
