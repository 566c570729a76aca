package gemini

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// sources are the pages that the vendor's search found for a text that ends now, each with the passages that it supports
// (docs: google-search). Places are in bytes of a part, so a passage is looked for by its text as well.
func (r *reply) sources(text string) (list []provider.Citation) {
	chunks := r.grounding.Get("groundingChunks").Array()
	placed := map[int64]bool{}
	page := func(i int64) provider.Citation {
		if i < 0 || i >= int64(len(chunks)) {
			return provider.Citation{}
		}
		return provider.Citation{URL: chunks[i].Get("web.uri").Str, Title: chunks[i].Get("web.title").Str}
	}
	r.grounding.Get("groundingSupports").ForEach(func(_, support gjson.Result) bool {
		said := support.Get("segment.text").Str
		start, end := int(support.Get("segment.startIndex").Int()), int(support.Get("segment.endIndex").Int())
		if start < 0 || end > len(text) || start >= end || text[start:end] != said {
			start = strings.Index(text, said)
			end = start + len(said)
		}
		for _, i := range support.Get("groundingChunkIndices").Array() {
			c := page(i.Int())
			if start >= 0 && end > start {
				c.Start, c.End = start, end
			}
			list, placed[i.Int()] = provider.Cite(list, c), true
		}
		return len(list) < provider.MaxCitations
	})
	for i := range chunks {
		if !placed[int64(i)] {
			list = provider.Cite(list, page(int64(i)))
		}
	}
	r.grounding = gjson.Result{}
	return list
}

// media takes in a part that is an image or a sound. Its state is the part without the data: a signature on it goes
// back with it (docs: thought-signatures).
func (r *reply) media(p gjson.Result, b provider.Media) error {
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	members := map[string]json.RawMessage{}
	p.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "inlineData" {
			members[name.Str] = json.RawMessage(value.Raw)
		}
		return true
	})
	raw, err := provider.Encode(members)
	if err != nil {
		return err
	}
	if b.State, err = r.state([]json.RawMessage{raw}); err != nil {
		return err
	}
	r.said = true
	return r.block(provider.Media{Type: b.Type}, b, "")
}

// withData is a part of this vendor's with the data that its state does not hold.
func withData(p json.RawMessage, b provider.Media) (json.RawMessage, error) {
	var members map[string]any
	if err := json.Unmarshal(p, &members); err != nil {
		return nil, err
	}
	members["inlineData"] = inline{b.Type, b.Data}
	return provider.Encode(members)
}
