package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// ours are our names of the vendor's tools, by the toolType of their parts (SDK: ToolType).
var ours = map[string]string{"GOOGLE_SEARCH_WEB": "web_search", "URL_CONTEXT": "web_fetch"}

// served is what an answer says of the tools that the vendor ran. Searches and pages have parts only if the request asked for them;
// otherwise the metadata of the candidate are all there is (docs: google-search, url-context, tool-combination).
type served struct {
	parts   int                 // so many
	open    string              // the id of the last code, which its result belongs to
	queries []string            // of the search, each once
	found   []provider.Citation // by the search
	read    []provider.Citation // pages
	failed  int                 // pages that could not be read
	shown   map[string]bool     // the tools that have parts
}

// isServed reports whether a part is of a tool that the vendor runs.
func isServed(p gjson.Result) bool {
	for _, member := range []string{"executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if p.Get(member).IsObject() {
			return true
		}
	}
	return false
}

// servedPart takes in such a part. It goes back as it came, with its signature (docs: code-execution, thought-signatures).
func (r *reply) servedPart(p gjson.Result) error {
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	b := r.served.piece(p, r.servedID)
	var err error
	if b.State, err = r.state([]json.RawMessage{json.RawMessage(p.Raw)}); err != nil {
		return err
	}
	return r.block(provider.ServerTool{}, b, "")
}

// servedID makes an id for what has none.
func (r *reply) servedID() string {
	r.served.parts++
	return r.mint("served", r.served.parts)
}

// piece is what people are shown of a part.
func (s *served) piece(p gjson.Result, mint func() string) (b provider.ServerTool) {
	if code := p.Get("executableCode"); code.IsObject() {
		if s.open = exchange.Valid(code.Get("id").Str); s.open == "" {
			s.open = mint()
		}
		b = provider.ServerTool{ID: s.open, Name: "code_execution"}
		b.Input = arguments(map[string]any{"code": exchange.Valid(code.Get("code").Str)})
		return b
	}
	if result := p.Get("codeExecutionResult"); result.IsObject() {
		b = provider.ServerTool{ID: s.open, Name: "code_execution", Done: true, Text: provider.ServerText(result.Get("output").Str)}
		if id := exchange.Valid(result.Get("id").Str); id != "" {
			b.ID = id
		}
		b.Failed = result.Get("outcome").Str != "OUTCOME_OK"
		return b
	}
	call, done := p.Get("toolCall"), false
	if !call.IsObject() {
		call, done = p.Get("toolResponse"), true
	}
	b = provider.ServerTool{ID: exchange.Valid(call.Get("id").Str), Name: nameOf(call.Get("toolType").Str), Done: done}
	if s.shown == nil {
		s.shown = map[string]bool{}
	}
	s.shown[b.Name] = true
	if args := call.Get("args"); args.IsObject() {
		b.Input = json.RawMessage(args.Raw)
	}
	return b
}

func nameOf(kind string) string {
	if name := ours[kind]; name != "" {
		return name
	}
	return strings.ToLower(exchange.Valid(kind))
}

func arguments(members map[string]any) json.RawMessage {
	text, err := exchange.Encode(members)
	if err != nil {
		panic(err) // texts
	}
	return text
}

// ground notes what the search was asked and what it found.
func (s *served) ground(grounding gjson.Result) {
	for _, q := range grounding.Get("webSearchQueries").Array() {
		if text := exchange.Valid(q.Str); text != "" && !slices.Contains(s.queries, text) {
			s.queries = append(s.queries, text)
		}
	}
	for i := range grounding.Get("groundingChunks").Array() {
		c := page(grounding, int64(i))
		s.found = exchange.Page(s.found, c.URL, c.Title)
	}
}

// fetch notes which pages were read.
func (s *served) fetch(metadata gjson.Result) {
	for _, page := range metadata.Get("urlMetadata").Array() {
		before := len(s.read)
		s.read = exchange.Page(s.read, page.Get("retrievedUrl").Str, "")
		if len(s.read) > before && page.Get("urlRetrievalStatus").Str != "URL_RETRIEVAL_STATUS_SUCCESS" {
			s.failed++
		}
	}
}

// unseen tells what the vendor ran without a part for it. Nothing of it goes back: the vendor has no form for that.
func (r *reply) unseen() error {
	s := &r.served
	state, err := r.state([]json.RawMessage{})
	if err != nil {
		return err
	}
	var list []provider.ServerTool
	if len(s.queries) > 0 && !s.shown["web_search"] {
		list = append(list, provider.ServerTool{Name: "web_search", Input: arguments(map[string]any{"queries": s.queries}), Text: exchange.Pages(len(s.found)), Sources: s.found})
	}
	if len(s.read) > 0 && !s.shown["web_fetch"] {
		b := provider.ServerTool{Name: "web_fetch", Text: exchange.Pages(len(s.read)), Sources: s.read, Failed: s.failed >= len(s.read)}
		if s.failed > 0 {
			b.Text += fmt.Sprintf(", %d of them could not be read", s.failed)
		}
		list = append(list, b)
	}
	for _, b := range list {
		b.ID, b.Done, b.State = r.servedID(), true, state
		if err := r.block(provider.ServerTool{}, b, ""); err != nil {
			return err
		}
	}
	return nil
}
