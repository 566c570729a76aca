package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// call is what a request has that its answer and its refusal are read by.
type call struct {
	api      *API
	req      *provider.Request
	model    string
	body     json.RawMessage
	off      bool // thinking was asked to be off
	streamed bool
	tools    bool
	options  bool // stream_options were sent
	limit    int  // on output, as it was sent; 0: none was
	images   bool
	marked   bool // for the prompt cache
	opaque   bool // opaque data of earlier turns was sent
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	d := a.dialect
	body, err := d.control(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(d, req)
	messages, err := h.messages(req)
	if err != nil {
		return nil, err
	}
	own := &call{api: a, req: req, model: req.Model.ID, off: req.Decision.Control.Mode == provider.ModeOff,
		tools: len(req.Tools) > 0, images: h.images, opaque: h.opaque}
	own.streamed = !slices.Contains(req.Repairs, NotStreamed) && !(d.Request.NoStreamTools && own.tools)
	out := &exchange.Call{URL: a.caller.BaseURL + d.path(req.Model.ID, own.streamed), Header: a.header(h), Dialect: own,
		Prompt: exchange.Prompt{Tools: "tools", List: "messages", Cache: a.terms(req)}}
	if mark := a.mark(req); mark != nil {
		own.marked = true
		markCache(messages, mark, d.Request.Cache.Tool)
	}
	body["model"], body["messages"], body["stream"] = req.Model.ID, messages, own.streamed
	if own.options = own.streamed && d.Request.IncludeUsage && !slices.Contains(req.Repairs, NoStreamOptions); own.options {
		body["stream_options"] = tree{"include_usage": true}
	}
	if own.tools {
		offered, reduced := schema.Tools(req.Tools, d.schemas(req.Model.ID), req.Model.ID)
		body["tools"], out.Notices = tools(offered), reduced
		if err := body.merge(d.Request.WithTools); err != nil {
			return nil, err
		}
		if req.NoTools && d.Request.ChoiceKeepsCache {
			body["tool_choice"] = "none"
		}
	}
	if field, most := d.limit(req); most > 0 && field != "" {
		own.limit = a.caller.Fit(req, most)
		out.Limit, body[field] = own.limit, own.limit
	}
	if h.closed {
		out.Notices = append(out.Notices, provider.Notice{Kind: provider.NoticeRepaired,
			Text: fmt.Sprintf("tool calls of another model are sent as over: %s would refuse to continue behind them", req.Model.ID)})
	}
	lost := d.options(req, body)
	if body.has("response_format") && req.Options.Output == provider.OutputJSON {
		if err := sayJSON(messages); err != nil {
			return nil, err
		}
	}
	out.LeftOut(d.sampling(req, body), req.Model.ID)
	body.without(exchange.Withheld(req, wireAPI))
	out.Notices = slices.Concat(out.Notices, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	out.Body, err = exchange.EncodeBody(req, body)
	own.body = out.Body
	return out, err
}

// schemas is what the host takes in the schema of a tool.
func (d *Dialect) schemas(model string) schema.Rules {
	if d.ID == "gemini" {
		return schema.Gemini()
	}
	return schema.For(model)
}

func tools(list []provider.Tool) []tree {
	var out []tree
	for _, t := range list {
		function := tree{"name": t.Name, "parameters": t.Schema}
		if len(t.Schema) == 0 {
			function["parameters"] = schema.Empty
		}
		if t.Description != "" {
			function["description"] = t.Description
		}
		out = append(out, tree{"type": "function", "function": function})
	}
	return out
}

// limit is the member and the number that bound thinking and answer together. Where neither request nor row names a
// number, the host knows better.
func (d *Dialect) limit(req *provider.Request) (field string, tokens int) {
	field = d.Request.MaxTokensField
	if field != "" && slices.Contains(req.Repairs, OtherMaxTokens) {
		field = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[field]
	}
	row, want := req.Model.MaxOutput, req.Decision.Control
	switch {
	case req.Options.MaxOutput > 0:
		return field, req.Options.MaxOutput
	case row == 0:
		return field, 0
	case want.Mode == provider.ModeBudget:
		return field, min(want.Budget+provider.MostOutput, row)
	}
	return field, min(row, provider.MostOutput)
}

// sampling puts in the parameters that the model takes and names those that were left out.
func (d *Dialect) sampling(req *provider.Request, body tree) (left []string) {
	on, refused := req.Thinks(), req.RefusesSampling()
	put := func(name string, given bool, value any) {
		switch {
		case !given:
		case refused, slices.Contains(d.Request.Drop, name), on && slices.Contains(d.Request.DropWhenThinking, name):
			left = append(left, name)
		default:
			body[name] = value
		}
	}
	o := req.Options
	put("temperature", o.Temperature != nil, o.Temperature)
	put("top_p", o.TopP != nil, o.TopP)
	put("top_k", o.TopK != nil, o.TopK)
	return left
}

// options puts the options into a body, except for sampling and the limit on output, and says what of a schema is lost.
func (d *Dialect) options(req *provider.Request, body tree) (lost []provider.Notice) {
	o := req.Options
	if len(o.Stop) > 0 {
		body["stop"] = o.Stop
	}
	if o.Seed != nil {
		body[cmp.Or(d.Request.SeedField, "seed")] = *o.Seed
	}
	if o.Verbosity != "" {
		body["verbosity"] = o.Verbosity
	}
	if tier := o.ServiceTier; tier != "" {
		body["service_tier"] = cmp.Or(d.Request.ServiceTiers[tier], string(tier))
	}
	if len(req.Tools) > 0 {
		if name := o.ToolChoice.Tool(); name != "" {
			body["tool_choice"] = tree{"type": "function", "function": tree{"name": name}}
		} else if o.ToolChoice != "" && !req.NoTools {
			body["tool_choice"] = o.ToolChoice
		}
		if o.ParallelTools != nil {
			body["parallel_tool_calls"] = *o.ParallelTools
		}
	}
	switch {
	case o.Schema != nil:
		rules := schema.OpenAIOutput()
		if d.ID == "gemini" {
			rules = schema.Gemini()
		}
		fit, strict, dropped := schema.Output(*o.Schema, rules, req.Model.ID)
		lost = dropped
		body["response_format"] = tree{"type": "json_schema", "json_schema": tree{"name": o.Schema.Named(), "schema": fit, "strict": strict}}
	case o.Output == provider.OutputJSON:
		body["response_format"] = tree{"type": "json_object"}
	}
	return lost
}

// wantsJSON is said where nobody says it: hosts refuse their JSON mode for a conversation without the word (docs: json mode).
const wantsJSON = "Answer with one JSON object."

// sayJSON adds that to the last message of the user's, if no message has the word.
func sayJSON(messages []tree) error {
	text, err := json.Marshal(messages)
	if err != nil || bytes.Contains(bytes.ToLower(text), []byte("json")) {
		return err
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i]["role"] != "user" {
			continue
		}
		switch content := messages[i]["content"].(type) {
		case string:
			messages[i]["content"] = content + "\n\n" + wantsJSON
		case []tree:
			messages[i]["content"] = append(content, tree{"type": "text", "text": wantsJSON})
		}
		break
	}
	return nil
}

func (a *API) header(h *history) http.Header {
	keyHeader := ""
	if a.dialect.Auth == "api-key" {
		keyHeader = "api-key"
	}
	header := a.caller.Header(keyHeader)
	for name, value := range a.dialect.Headers {
		if header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	if name := a.dialect.InitiatorHeader; name != "" {
		header.Set(name, h.who)
	}
	if name := a.dialect.VisionHeader; name != "" && h.images {
		header.Set(name, "true")
	}
	return header
}

// mark is what marks the end of a prefix for the host's prompt cache; nil: the host wants no marks, or none for this model.
func (a *API) mark(req *provider.Request) *replay.CacheMark {
	form, id := a.dialect.Request.Cache, strings.ToLower(req.Model.ID)
	if form == nil || exchange.Withholds(req, wireAPI, "cache_control") ||
		!slices.ContainsFunc(form.Models, func(part string) bool { return strings.Contains(id, strings.ToLower(part)) }) {
		return nil
	}
	mark := replay.Mark(a.caller.Cache, req.Options.Cache)
	if mark != nil && !form.Long {
		mark.TTL = ""
	}
	return mark
}

// terms is how the host caches what the request marks: for 5 minutes, or for an hour if that can be asked for (docs: prompt-caching of
// Anthropic and of DashScope).
func (a *API) terms(req *provider.Request) provider.CacheTerms {
	mark := a.mark(req)
	switch {
	case mark == nil:
		return provider.CacheTerms{}
	case mark.TTL == string(provider.CacheLong):
		return provider.CacheTerms{Marked: true, Long: true, Keeps: time.Hour}
	}
	return provider.CacheTerms{Marked: true, Keeps: 5 * time.Minute}
}

// markCache marks the system prompt, the last message, and the last one of the request before, which stands in front of the
// model's last answer: the vendor looks for what it has only up to 20 blocks before a mark. Of the four marks that are
// taken, one stays free.
func markCache(list []tree, mark *replay.CacheMark, tool string) {
	if len(list) == 0 {
		return
	}
	role := func(i int) string { word, _ := list[i]["role"].(string); return word }
	put := func(i int) {
		m := list[i]
		if role(i) == "tool" && tool == "message" {
			m["cache_control"] = mark
			return
		}
		switch content := m["content"].(type) {
		case string:
			if content != "" {
				m["content"] = []tree{{"type": "text", "text": content, "cache_control": mark}}
			}
		case []tree: // only text can carry it
			for _, part := range slices.Backward(content) {
				if part["type"] == "text" {
					part["cache_control"] = mark
					break
				}
			}
		}
	}
	if role(0) == "system" || role(0) == "developer" {
		put(0)
	}
	last := len(list) - 1
	for i := last - 1; i > 0; i-- {
		if role(i) == "assistant" && role(i-1) != "assistant" {
			if role(i-1) != "system" && role(i-1) != "developer" {
				put(i - 1)
			}
			break
		}
	}
	if role(last) == "user" || role(last) == "tool" {
		put(last)
	}
}

// control turns the decision into the form that the model takes, less what the host has refused.
func (d *Dialect) control(req *provider.Request) (tree, error) {
	t, err := d.decided(req)
	if err == nil {
		t.without(exchange.Withheld(req, wireAPI))
	}
	return t, err
}

func (d *Dialect) decided(req *provider.Request) (tree, error) {
	want, row := req.Decision.Control, req.Model
	form, out := d.form(row.ID), tree{}
	if row.Known && !row.Thinking.Thinks() || !row.Known && (want.Mode == provider.ModeOmit || want.Mode == "") {
		return out, nil // no parameter for a model that does not think, or that is not known
	}
	if err := out.merge(form.Show); err != nil {
		return nil, err
	}
	switch want.Mode {
	case provider.ModeOmit, "":
		return out, nil
	case provider.ModeOff:
		if form.Off == nil {
			return nil, fmt.Errorf("decision on thinking: %s of dialect %s cannot be off", row.ID, d.ID)
		}
		if err := out.merge(form.Off); err != nil {
			return nil, err
		}
		for _, path := range form.OffOmits {
			out.remove(path)
		}
		return out, nil
	case provider.ModeOn, provider.ModeEffort, provider.ModeBudget:
	default:
		return nil, fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
	}
	if err := out.merge(form.On); err != nil {
		return nil, err
	}
	switch {
	case form.Effort == nil:
	case want.Effort != "":
		out.set(form.Effort.Path, form.Effort.word(want.Effort))
	case row.Thinking.Control == provider.ControlEffort:
		out.remove(form.Effort.Path) // on without a degree, where there are some: the degree is the host's to choose
	}
	if want.Mode == provider.ModeBudget {
		if form.Budget == nil {
			return nil, fmt.Errorf("decision on thinking: dialect %s has no budget for %s", d.ID, row.ID)
		}
		out.set(form.Budget.Path, want.Budget)
	}
	out.exclude(form.Exclusive)
	return out, nil
}

func (e *Effort) word(level provider.Level) string {
	if word, ok := e.Map[level]; ok {
		return word
	}
	return string(level)
}
