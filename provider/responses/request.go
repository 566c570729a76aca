package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// call is what a request has that its answer and its refusal are read by.
type call struct {
	api     *API
	model   string
	body    json.RawMessage
	last    string // names the last item of the vendor's own that went with its id; empty: none did
	summary bool   // a summary was asked for
	changes int    // of effort inside of the conversation
	effort  string // that was asked for, where the host may not have it; empty: none
	opaque  bool   // see [provider.Request]
}

type body struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions,omitempty"`
	Input        []any           `json:"input"`
	Tools        []any           `json:"tools,omitempty"` // hosted, then tool
	Include      []string        `json:"include,omitempty"`
	Store        bool            `json:"store"`
	Stream       bool            `json:"stream"`
	Options      *streamOptions  `json:"stream_options,omitempty"`
	MaxOutput    int             `json:"max_output_tokens,omitempty"`
	CacheKey     string          `json:"prompt_cache_key,omitempty"`
	Context      json.RawMessage `json:"context_management,omitempty"`
	control
	asked
}

type streamOptions struct {
	Obfuscation bool `json:"include_obfuscation"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // left out it would mean true, which few schemas fulfil
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	c, err := a.control(req)
	if err != nil {
		return nil, err
	}
	h := a.newHistory(req)
	if err := h.messages(); err != nil {
		return nil, err
	}
	asked, lost := askedOf(req)
	b := body{Model: req.Model.ID, Input: h.input, Stream: true, MaxOutput: a.caller.Fit(req, req.Options.MaxOutput), Context: a.caller.Context, control: c, asked: asked}
	if req.Whole {
		b.Context = nil
	}
	own := &call{api: a, model: req.Model.ID, last: h.last, summary: c.Reasoning != nil && c.Reasoning.Summary != "", changes: h.changes, opaque: req.Opaque}
	if c.Reasoning != nil {
		own.effort = c.Reasoning.Effort
	}
	out := &exchange.Call{URL: a.address(), Dialect: own, Prompt: exchange.Prompt{Tools: "tools", System: "instructions", List: "input", Cache: a.terms(req)}}
	if word := wordOf(req.Decision.Control); nearest(word, req) != word {
		out.Override("%s has no effort %s: %s was sent, the nearest that it names", req.Model.ID, word, nearest(word, req))
	}
	if req.Model.Thinking.Thinks() || !req.Model.Known {
		b.Include = []string{"reasoning.encrypted_content"} // refused by models that do not think
	}
	var shown []string
	b.Tools, shown = servedTools(req.Options)
	b.Include = append(b.Include, shown...)
	if a.host.Unpadded {
		b.Options = &streamOptions{}
	}
	session := conversation(req)
	if a.host.CacheKey {
		b.CacheKey = session
	}
	a.system(req, &b, out)
	offered, reduced := schema.Tools(req.Tools, schema.OpenAI(), req.Model.ID)
	for _, t := range offered {
		parameters := t.Schema
		if len(parameters) == 0 {
			parameters = schema.Empty
		}
		b.Tools = append(b.Tools, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	out.LeftOut(a.strip(req, &b), req.Model.ID)
	b.withhold(exchange.Withheld(req, wireAPI))
	out.Limit = b.MaxOutput
	out.Notices = slices.Concat(out.Notices, reduced, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	if out.Body, err = exchange.EncodeBody(req, b); err != nil {
		return nil, err
	}
	own.body, out.Header = out.Body, a.header(h.list, session, req.Initiator())
	return out, nil
}

// system puts the system prompt where the host wants it.
func (a *API) system(req *provider.Request, b *body, out *exchange.Call) {
	text := req.System
	if provider.Blank(text) {
		text = ""
	}
	if text == "" && a.host.Instructions != "" {
		text = a.host.Instructions
		out.Override("sent %q as instructions: %s does not answer without any", text, a.caller.Provider)
	}
	switch {
	case text == "":
	case a.host.Developer:
		b.Input = slices.Insert(b.Input, 0, any(message{Type: "message", Role: "developer", Content: []part{{Type: "input_text", Text: text}}}))
	default:
		b.Instructions = text
	}
}

// strip takes out what the model's row or the host refuses, and names it. The API has no top_k.
func (a *API) strip(req *provider.Request, b *body) []string {
	var left []string
	if a.host.Unsampled || req.RefusesSampling() {
		left = exchange.StripSampling(&b.Temperature, &b.TopP, nil)
	}
	if req.Options.TopK != nil {
		left = append(left, "top_k")
	}
	if b.MaxOutput > 0 && a.host.Unlimited {
		b.MaxOutput, left = 0, append(left, "max_output_tokens")
	}
	return left
}

// conversation is a name for the conversation that all its calls share: a prompt cache needs one for its routing
// (docs: prompt-caching). Made of how it begins, it is the same for whatever has that prefix.
func conversation(req *provider.Request) string {
	hash := sha256.New()
	hash.Write([]byte(req.System))
	if len(req.Messages) > 0 {
		for _, b := range req.Messages[0].Blocks {
			if text, ok := b.(provider.Text); ok {
				hash.Write([]byte("\x00" + text.Text))
			}
		}
	}
	return "thinkd-" + hex.EncodeToString(hash.Sum(nil)[:12])
}

func (a *API) header(list []provider.Message, session, who string) http.Header {
	h := a.caller.Header(a.host.KeyHeader)
	for name, value := range a.host.Headers {
		h.Set(name, value)
	}
	if a.host.AccountHeader != "" && a.plan != "" {
		h.Set(a.host.AccountHeader, a.plan)
	}
	for _, name := range a.host.Sessions {
		h.Set(name, session)
	}
	if a.host.Initiator {
		h.Set("X-Initiator", who)
		if replay.Pictured(list) {
			h.Set("Copilot-Vision-Request", "true")
		}
	}
	return h
}

// withhold takes out what a host has refused by name.
func (b *body) withhold(members []string) {
	for _, member := range members {
		switch member {
		case "max_output_tokens":
			b.MaxOutput = 0
		case "prompt_cache_key":
			b.CacheKey = ""
		case "include":
			b.Include = nil
		case "stream_options":
			b.Options = nil
		case "context_management":
			b.Context = nil
		}
	}
}
