package exchange_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/exchange"
)

// Each host's own members are read, and what is no model of conversation is left out.
func TestPlainList(t *testing.T) {
	page := `{"object":"list","data":[
		{"id":"gpt-7","shutdown_date":null},
		{"id":"gpt-4o","shutdown_date":"2027-01-14"},
		{"id":"text-embedding-3-large"},{"id":"gpt-image-2"},{"id":"gpt-4o-mini-tts"},{"id":"whisper-large-v3","context_window":448},{"id":7},{},
		{"id":"qwen/qwen3.8-27b","active":true,"context_window":131072,"max_completion_tokens":40960},
		{"id":"gone","active":false},
		{"id":"mistral-large-3","capabilities":{"completion_chat":true,"function_calling":true,"vision":true},"max_context_length":262144,
			"deprecation":"2027-02-27T12:00:00Z","deprecation_replacement_model":"mistral-large-4"},
		{"id":"mistral-ocr","capabilities":{"completion_chat":false}},
		{"id":"claude-old","lifecycle":"retired","retires_at":"2026-01-05T00:00:00Z"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, page)
	}))
	defer server.Close()
	caller := exchange.NewCaller("", exchange.Config{Provider: "p", Client: server.Client()})
	list, err := caller.PlainList(t.Context(), server.URL, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		line := fmt.Sprintf("%s %d/%d %v", m.ID, m.Window, m.MaxOutput, m.Input)
		if l := m.Lifecycle; l != nil {
			line += strings.TrimRight(fmt.Sprintf(" %s %s %s", l.State, l.Retires, l.ReplacedBy), " ")
		}
		got = append(got, line)
	}
	want := []string{
		"gpt-7 0/0 [] current",
		"gpt-4o 0/0 [] deprecated 2027-01-14",
		"qwen/qwen3.8-27b 131072/40960 []",
		"mistral-large-3 262144/0 [text image] deprecated 2027-02-27 mistral-large-4",
		"claude-old 0/0 [] retired 2026-01-05",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	page = `{"data":[` + strings.Repeat(`{"id":"x"},`, 1<<20) + `{"id":"y"}]}`
	if _, err := caller.PlainList(t.Context(), server.URL, http.Header{}); err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("a list of %d bytes: %v", len(page), err)
	}
}
