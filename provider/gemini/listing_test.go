package gemini_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
)

func TestModels(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1beta/models" || r.Header.Get("x-goog-api-key") != "sk" {
			t.Errorf("asked at %s with the key %q", r.URL, r.Header.Get("x-goog-api-key"))
		}
		if r.URL.Query().Get("pageToken") == "" {
			fmt.Fprint(w, `{"models":[{"name":"models/gemini-3.8-flash","displayName":"Gemini 3.8 Flash","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"],"thinking":true},
				{"name":"models/embedding","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"2"}`)
			return
		}
		fmt.Fprint(w, `{"models":[{"name":"models/gemini-2.0-flash","supportedGenerationMethods":["generateContent"]}],"nextPageToken":""}`)
	}))
	defer server.Close()
	list, err := gemini.New(exchange.Config{Provider: "p", BaseURL: server.URL, Key: provider.NewSecret("sk")}, gemini.Host{}).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Model{
		{Provider: "p", ID: "gemini-3.8-flash", Name: "Gemini 3.8 Flash", Window: 1_048_576, MaxOutput: 65_536, Tools: true, Source: provider.FromRefreshed, AsOf: provider.Today()},
		{Provider: "p", ID: "gemini-2.0-flash", Tools: true, Source: provider.FromRefreshed, AsOf: provider.Today(), Thinking: provider.Capability{Control: provider.ControlNone}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	api, sim := simulated(t)
	if list, err = api.Models(t.Context()); err != nil || len(list) < 15 || len(sim.Refusals()) > 0 {
		t.Errorf("%d models, %v, refusals %+v", len(list), err, sim.Refusals())
	}
}
