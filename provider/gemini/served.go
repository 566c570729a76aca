package gemini

import (
	"encoding/json"
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
	for _, chunk := range grounding.Get("groundingChunks").Array() {
		s.found = exchange.Page(s.found, chunk.Get("web.uri").Str, chunk.Get("web.title").Str)
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
