package messages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
)

func TestModels(t *testing.T) {
	api, server := simulated(t)
	list, err := api.Models(t.Context())
	if err != nil || len(server.Refusals()) > 0 {
		t.Fatalf("%v, refusals %+v", err, server.Refusals())
	}
	got := map[string]provider.Model{}
	for _, m := range list {
		got[m.ID] = m
	}
	row := func(id, name string, window, output int, c provider.Capability) provider.Model {
		return provider.Model{Provider: "sim", ID: id, Name: name, Window: window, MaxOutput: output, Tools: true, Input: []string{"text", "image", "pdf"},
			Source: provider.FromRefreshed, AsOf: provider.Today(), Thinking: c, Lifecycle: &provider.Lifecycle{State: provider.LifecycleCurrent}}
	}
	for _, want := range []provider.Model{
		row("claude-opus-5-5", "Claude Opus 5.5", 1_000_000, 128_000, provider.Capability{Control: "effort", Levels: []provider.Level{"low", "medium", "high", "xhigh", "max"}}),
		row("claude-sonnet-5-5", "Claude Sonnet 5.5", 1_000_000, 128_000, provider.Capability{Control: "effort", Off: "up_front", Levels: []provider.Level{"off", "low", "medium", "high", "xhigh", "max"}}),
		row("claude-opus-4-6", "Claude Opus 4.6", 1_000_000, 128_000, provider.Capability{Control: "effort", Off: "full", Levels: []provider.Level{"off", "low", "medium", "high", "max"}}),
		row("claude-haiku-4-5-20251001", "Claude Haiku 4.5", 200_000, 64_000, provider.Capability{Control: "budget", Off: "full"}),
		row("claude-opus-4-5-20251101", "Claude Opus 4.5", 200_000, 64_000, provider.Capability{Control: "budget", Off: "full", EffortToo: true}),
	} {
		if diff := cmp.Diff(want, got[want.ID]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.ID, diff)
		}
	}
}

// Pages are read to the last, retired models have that state, and a list that does not end is.
func TestModelPages(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		switch after := r.URL.Query().Get("after_id"); {
		case r.Header.Get("x-api-key") == "endless":
			fmt.Fprintf(w, `{"data":[{"id":"m%d"}],"has_more":true,"last_id":"m%d"}`, asked, asked)
		case after == "":
			fmt.Fprint(w, `{"data":[{"id":"a"},{"id":"old","lifecycle":"retired"}],"has_more":true,"last_id":"old"}`)
		case after == "old":
			fmt.Fprint(w, `{"data":[{"id":"b","capabilities":{"thinking":{"supported":false}}}],"has_more":false,"last_id":"b"}`)
		}
	}))
	defer server.Close()
	for key, want := range map[string]int{"sk": 3, "endless": 20} {
		api := messages.New(exchange.Config{Provider: "p", BaseURL: server.URL, Key: provider.NewSecret(key)}, messages.Host{})
		list, err := api.Models(t.Context())
		if err != nil || len(list) != want {
			t.Errorf("%s: %d models, %v", key, len(list), err)
		}
		if key == "sk" && (list[0].Thinking.Control != "" || list[1].Lifecycle.State != provider.LifecycleRetired || list[2].Thinking.Control != provider.ControlNone) {
			t.Errorf("%+v", list)
		}
	}
	_, err := messages.New(exchange.Config{Provider: "p", BaseURL: "https://api.example.com", KeyVar: "KEY"}, messages.Host{}).Models(t.Context())
	if err == nil || !strings.Contains(err.Error(), "set KEY") {
		t.Errorf("without a key: %v", err)
	}
}
