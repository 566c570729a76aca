package acp

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session/tool"
)

// What a call tells replaces what it told before, so it is all there is, up to a bound.
func TestACPOutput(t *testing.T) {
	th := &thread{calls: map[string][]*toolCall{}, tools: map[string]tool.Tool{}}
	c := th.call("M", 0, "c1")
	if th.call("M", 0, "c1") != c || th.call("M", 1, "c1") == c {
		t.Error("calls are told apart by their place")
	}
	for range 3 {
		c.output = blocks.Tail(c.output+strings.Repeat("é", 10_000), blocks.MaxChunk)
	}
	if len(c.output) > blocks.MaxChunk || !utf8.ValidString(c.output) {
		t.Errorf("%d bytes", len(c.output))
	}
	got := blocks.Result(provider.Blocks{provider.Text{Text: strings.Repeat("x", 2*blocks.MaxChunk)}, provider.Media{Type: "image/png", Data: []byte("png")},
		provider.Media{Type: "application/pdf", Data: []byte("pdf")}})
	want := []blocks.Content{{Type: "text", Text: strings.Repeat("x", blocks.MaxChunk) + "\n[65536 bytes in all]"},
		{Type: "image", MIME: "image/png", Data: base64.StdEncoding.EncodeToString([]byte("png"))}, {Type: "text", Text: "[application/pdf, 3 bytes]"}}
	for i, c := range got {
		if diff := cmp.Diff(want[i], *c.Content); diff != "" {
			t.Error(diff)
		}
	}
}

// The list of ACP's words for how a turn ended is closed.
func TestStopWords(t *testing.T) {
	words := map[string]bool{"end_turn": true, "max_tokens": true, "max_turn_requests": true, "refusal": true, "cancelled": true}
	for stop, word := range stopWords {
		if !words[word] {
			t.Errorf("%s: ACP has no word %s", stop, word)
		}
	}
}

// A method that is about a session names it in sessionId, and nowhere else: a router looks there.
func TestTableNamesTheSession(t *testing.T) {
	for _, m := range table() {
		for _, f := range method.FieldsOf(m.Params) {
			is := m.Params.FieldByIndex(f.Index).Type == reflect.TypeFor[sessionID]()
			if is != (f.Name == "sessionId") {
				t.Errorf("%s: the member %s is a session: %v", m.Name, f.Name, is)
			}
			if is && m.Session != "sessionId" {
				t.Errorf("%s: the router reads the session from %q", m.Name, m.Session)
			}
		}
	}
}
