package cohere

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// document is a part of a tool's result that the model can cite by name (docs: tool-use-citations).
type document struct {
	Data json.RawMessage `json:"data"`
}

// mostDocuments bounds how many documents become of one result.
const mostDocuments = 100

// documents are the pages of a result that is JSON: an object, or a list of objects, each with its address. Other results are text.
func documents(text string) (list []document) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || !gjson.Valid(text) {
		return nil
	}
	pages := []gjson.Result{gjson.Parse(text)}
	if pages[0].IsArray() {
		pages = pages[0].Array()
	}
	if len(pages) > mostDocuments {
		return nil
	}
	for _, page := range pages {
		if !page.IsObject() || !strings.Contains(page.Get("url").Str, "://") {
			return nil
		}
		list = append(list, document{json.RawMessage(page.Raw)})
	}
	return list
}

// cited are the sources of a citation that have an address (docs: reference/chat-stream, citation-start). Its place counts characters of
// the text that it stands in.
func cited(c gjson.Result, text string) (list []provider.Citation) {
	for _, s := range c.Get("sources").Array() {
		from := s.Get("tool_output")
		if !from.IsObject() {
			from = s.Get("document")
		}
		page := provider.Citation{URL: from.Get("url").Str, Title: from.Get("title").Str}
		if page.URL == "" {
			page.URL = s.Get("id").Str
		}
		if !strings.Contains(page.URL, "://") {
			continue // a result without an address
		}
		page.Place(text, c.Get("start").Int(), c.Get("end").Int())
		list = exchange.Cite(list, page)
	}
	return list
}
