package converse

import (
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// request is what a call has that its answer and its refusal are read by.
type request struct {
	api     *API
	req     *provider.Request
	names   *replay.Names
	fields  fields
	options settled
	kept    int // blocks of reasoning that went back
	marked  bool
}

type body struct {
	Messages  []message       `json:"messages"`
	System    []block         `json:"system,omitempty"`
	Inference *inference      `json:"inferenceConfig,omitempty"`
	Tools     *toolConfig     `json:"toolConfig,omitempty"`
	Output    *outputConfig   `json:"outputConfig,omitempty"`
	Fields    json.RawMessage `json:"additionalModelRequestFields,omitempty"`
	Tier      *tier           `json:"serviceTier,omitempty"`
	Guardrail json.RawMessage `json:"guardrailConfig,omitempty"` // of the operator's extra_body
}

type toolConfig struct {
	Tools  []toolEntry `json:"tools"`
	Choice *toolChoice `json:"toolChoice,omitempty"`
}

// toolEntry is a tool, or a mark for the cache behind tools.
type toolEntry struct {
	Spec  *toolSpec   `json:"toolSpec,omitempty"`
	Cache *cachePoint `json:"cachePoint,omitempty"`
}

type toolSpec struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Schema      inputSchema `json:"inputSchema"`
}

type inputSchema struct {
	JSON json.RawMessage `json:"json"`
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	f, clamped, err := control(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(req)
	list, err := h.messages(req.Messages)
	if err != nil {
		return nil, err
	}
	mark := a.mark(req, h.family)
	own := &request{api: a, req: req, names: h.names, kept: h.count.Kept, marked: mark != nil}
	out := &exchange.Call{URL: a.address(req.Model.ID), Header: a.header(), Framing: aws.EventStream(), Dialect: own,
		Prompt: exchange.Prompt{Tools: "toolConfig", System: "system", List: "messages"}}
	tools, reduced := toolsOf(req, h, mark)
	s := settle(req, h.family, f, len(req.Tools), h.names.Wire)
	out.LeftOut(s.left, req.Model.ID)
	limits := s.limits
	limits.MaxTokens = a.caller.Fit(req, req.OutputLimit())
	if f.Nova != nil && f.Nova.Effort == "high" { // which refuses a limit (docs: nova, extended-thinking)
		limits.MaxTokens = 0
	}
	f.topK(h.family, s.topK)
	if changed := f.shrink(limits.MaxTokens); changed != "" {
		out.Override("%s", changed)
	}
	if clamped != "" {
		out.Override("%s", clamped)
	}
	if tools != nil {
		tools.Choice = s.choice
	}
	own.fields, own.options, out.Limit = f, s, limits.MaxTokens
	b := body{Messages: markLast(list, mark, h.family), Inference: limits.orNil(), Tools: tools, Output: s.format, Fields: raw(f), Tier: s.tier}
	if !provider.Blank(req.System) {
		b.System = []block{text(req.System)}
		if mark != nil {
			b.System = append(b.System, block{Cache: mark})
		}
	}
	out.Notices = slices.Concat(out.Notices, reduced, s.lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	out.Body, err = exchange.EncodeBody(req, b)
	return out, err
}

// mark is what marks the end of a prefix to cache; nil: nothing is marked.
func (a *API) mark(req *provider.Request, by family) *cachePoint {
	mark := replay.Mark(a.caller.Cache, req.Options.Cache)
	if mark == nil || !by.caches() || exchange.Withholds(req, wireAPI, "cachePoint") {
		return nil
	}
	if by == nova { // which has one time
		return &cachePoint{Type: "default"}
	}
	return &cachePoint{Type: "default", TTL: mark.TTL}
}

// marked is how many of the user's messages carry a mark, as in Messages.
const marked = 2

// markLast marks the user's last messages behind a text, or behind a result where the family takes that: a mark behind a document, or
// alone with one, is refused. Nova's results stay without, so its marks are those of the last prompts.
func markLast(list []message, mark *cachePoint, by family) []message {
	left := marked
	for i := len(list) - 1; i >= 0 && left > 0 && mark != nil; i-- {
		if list[i].Role != provider.User {
			continue
		}
		b, ok := list[i].Content[len(list[i].Content)-1].(block)
		if ok && b.Result != nil && !by.marksResults() {
			continue
		}
		left--
		if ok && (b.Text != nil || b.Result != nil) {
			list[i].Content = append(list[i].Content, block{Cache: mark})
		}
	}
	return list
}

// noLonger describes a tool of the history that is not offered any more. Without a definition the API refuses the history.
const noLonger = "This tool is no longer available. Do not call it."

// toolsOf are the tools of a request, with those that only its history knows.
func toolsOf(req *provider.Request, h *history, mark *cachePoint) (*toolConfig, []provider.Notice) {
	offered, reduced := schema.Tools(req.Tools, schema.Anthropic(), req.Model.ID)
	var config toolConfig
	var known []string
	for _, t := range offered {
		input := t.Schema
		if len(input) == 0 {
			input = schema.Empty
		}
		known = append(known, h.names.Wire(t.Name))
		config.Tools = append(config.Tools, toolEntry{Spec: &toolSpec{h.names.Wire(t.Name), t.Description, inputSchema{input}}})
	}
	for _, name := range h.used {
		if len(offered) == 0 && !slices.Contains(known, name) {
			known = append(known, name)
			config.Tools = append(config.Tools, toolEntry{Spec: &toolSpec{name, noLonger, inputSchema{schema.Empty}}})
		}
	}
	if len(config.Tools) == 0 {
		return nil, reduced
	}
	if mark != nil && h.family == claude && provider.Blank(req.System) { // the mark of a system prompt holds the tools as well
		config.Tools = append(config.Tools, toolEntry{Cache: mark})
	}
	return &config, reduced
}
