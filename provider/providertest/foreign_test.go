package providertest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/vendors"
)

// target is an API, or one dialect of Chat Completions.
type target struct {
	api, dialect string
	foreign      replay.Foreign
	never        bool // nothing goes back, not even its own thinking
}

func targets(t *testing.T) []target {
	t.Helper()
	var list []target
	for _, p := range replay.Places {
		if p.API != "chat" {
			list = append(list, target{api: p.API, foreign: p.Foreign})
			continue
		}
		ids, err := chat.Dialects()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			d, err := chat.Named(id)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, target{"chat", id, d.Echo.Foreign, d.Echo.Scope == "never"})
		}
	}
	return list
}

// TestForeignThinking sends thinking of each API to each other API and to each dialect, as full thinking and as a summary,
// and to another vendor of the same API. What becomes of it is the row of replay.Places, Convert reports it, and in no
// request is it a part of what the model said.
func TestForeignThinking(t *testing.T) {
	const thought = "thought of another"
	sources := []provider.Origin{{API: "messages", Vendor: "maker"}, {API: "responses", Vendor: "maker", Host: "elsewhere"}, {API: "chat", Vendor: "maker"}, {API: "gemini"}, {API: "ollama"}, {API: "converse"}, {API: "cohere"}}
	pairs, sent := 0, 0
	for _, from := range sources {
		for _, to := range targets(t) {
			if p := replay.PlaceOf(to.api); from.API == to.api && !p.Vendor && !p.Host && !p.Account {
				continue // the same place
			}
			for _, kind := range []provider.ThinkingKind{provider.ThinkingFull, provider.ThinkingSummary} {
				pairs++
				name := fmt.Sprintf("%s to %s %s, %s", from.API, to.api, to.dialect, kind)
				req := &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{
					{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "One"}}},
					{Role: provider.Assistant, Blocks: provider.Blocks{
						provider.Thinking{Text: thought, Kind: kind, Signed: true, State: provider.State{Origin: from, Data: json.RawMessage(`{"x":"y"}`)}}, provider.Text{Text: "said"}}},
					{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Two"}}},
				}}
				wire := &silent{}
				api, _ := vendors.APINamed(to.api)
				p, err := api.New(exchange.Config{Vendor: "vendor", BaseURL: "http://host", Client: exchange.NewClient(wire)}, to.dialect, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := p.(provider.Converter).Convert(req)
				if err != nil {
					t.Fatal(err)
				}
				providertest.Check(t, p.Stream(t.Context(), req))
				goes := to.foreign == replay.ForeignText && kind == provider.ThinkingFull
				if goes {
					sent++
				}
				if goes != (got.AsText == 1) || goes == (got.Dropped == 1) || got.Kept != 0 || len(got.Why) != 1 {
					t.Errorf("%s: %+v, want it sent: %v", name, got, goes)
				}
				if places := members(gjson.Parse(wire.body), thought); goes != (len(places) > 0) || slices.Contains(places, "content") || slices.Contains(places, "text") {
					t.Errorf("%s: the thought is in the members %q: %s", name, places, wire.body)
				}
				if !strings.Contains(wire.body, "said") {
					t.Errorf("%s: the answer is missing: %s", name, wire.body)
				}
			}
		}
	}
	fmt.Printf("foreign thinking: %d pairs and kinds, %d in the member for thinking, %d left out, 0 in what the model said\n", pairs, sent, pairs-sent)
}

// members lists the names of the members that hold a text.
func members(v gjson.Result, text string) (names []string) {
	v.ForEach(func(key, inner gjson.Result) bool {
		if inner.Type == gjson.String && strings.Contains(inner.Str, text) {
			names = append(names, key.Str)
		}
		if inner.IsObject() || inner.IsArray() {
			names = append(names, members(inner, text)...)
		}
		return true
	})
	return names
}

// docs/providers.md has the table of replay.Places and of the dialects.
func TestForeignThinkingIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"messages": "Messages", "responses": "Responses", "chat": "Chat Completions", "gemini": "Gemini", "ollama": "Ollama", "converse": "Converse", "cohere": "Cohere"}
	own := func(p replay.Place) string {
		var ties []string
		for _, tie := range []struct {
			on   bool
			name string
		}{{p.Vendor && p.API == "chat", "dialect"}, {p.Vendor && p.API != "chat", "vendor"}, {p.Host, "host"}, {p.Account, "account"}} {
			if tie.on {
				ties = append(ties, tie.name)
			}
		}
		if len(ties) == 0 {
			return "the same API"
		}
		return "the same " + strings.Join(ties, ", ")
	}
	others := map[replay.Foreign]string{replay.ForeignDrop: "left out | left out", replay.ForeignEmpty: "left out; the member is empty | left out; the member is empty",
		replay.ForeignText: "sent in the member for thinking | left out"}
	var want []string
	for _, p := range replay.Places {
		groups := map[string][]string{} // of dialects, by the rest of the row
		var order []string
		for _, to := range targets(t) {
			if to.api != p.API {
				continue
			}
			row := own(p) + " | " + others[to.foreign]
			if to.never {
				row = "never | " + others[to.foreign]
			}
			if len(groups[row]) == 0 {
				order = append(order, row)
			}
			groups[row] = append(groups[row], "`"+to.dialect+"`")
		}
		for _, row := range order {
			name := names[p.API]
			if p.API == "chat" {
				name += ": " + strings.Join(groups[row], ", ")
			}
			want = append(want, "| "+name+" | "+row+" |")
		}
	}
	if table := strings.Join(want, "\n") + "\n"; !strings.Contains(string(page), table) {
		t.Errorf("docs/providers.md lacks this table under \"Thinking after a change of model\":\n%s", table)
	}
}
