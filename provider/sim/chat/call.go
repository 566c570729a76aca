package chat

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// commonMembers are the members of a request that every host accepts.
var commonMembers = []string{"model", "messages", "stream", "stream_options", "tools", "tool_choice", "temperature", "top_p",
	"max_tokens", "max_completion_tokens", "stop", "seed", "user", "n", "response_format", "reasoning_effort",
	"presence_penalty", "frequency_penalty", "logprobs"}

func (c *call) read(v any, s sim.Sealer) error {
	f := strict.NewObject("", v)
	if f.Err != nil {
		return invalid("the body has to be an object")
	}
	for _, name := range c.host.headers {
		if c.header.Get(name) == "" {
			return invalid("missing %s header for IDE auth", name)
		}
	}
	id := f.Text("model", true)
	if f.Err != nil {
		return f.Err
	}
	if c.model = c.host.model(id); c.model == nil {
		return &sim.Error{Status: http.StatusNotFound, Kind: "invalid_request_error", Code: "model_not_found", Text: "The model `" + id + "` does not exist"}
	}
	c.stream = f.Flag("stream")
	if err := c.readOptions(f); err != nil {
		return err
	}
	if err := c.readTools(f); err != nil {
		return err
	}
	if c.model.thinks() && !c.model.silent {
		c.think(c.model.effort)
	}
	if err := c.host.think(c, f); err != nil {
		return err
	}
	if c.model.dumb {
		c.think("")
	}
	if choice := f.Members["tool_choice"]; choice != nil && c.thinks && c.host.autoOnly && choice != "auto" && choice != "none" {
		return invalid("tool_choice does not support being set to required or object in thinking mode")
	}
	if c.thinks && c.host.name == "dashscope" && c.json {
		return invalid("Json mode response is not supported when enable_thinking is true")
	}
	list := f.List("messages")
	if text := strings.ToLower(string(strict.AppendCanonical(nil, list))); c.json && !strings.Contains(text, "json") {
		return invalid("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")
	}
	f.Taken = append(f.Taken, slices.Concat(commonMembers, c.host.known)...)
	if f.Err != nil {
		return f.Err
	}
	if err := f.Done(); err != nil && c.host.strict {
		status := http.StatusBadRequest
		if c.host.errors == "mistral" {
			status = http.StatusUnprocessableEntity
		}
		return &sim.Error{Status: status, Kind: "invalid_request_error", Text: err.Error()}
	}
	if err := c.readTurns(list); err != nil {
		return err
	}
	if err := c.checkTurns(); err != nil {
		return err
	}
	if err := c.checkEcho(s); err != nil {
		return err
	}
	return c.finish()
}

func (c *call) readOptions(f *strict.Object) error {
	if v := f.Take("stream_options"); v != nil {
		if c.host.name == "mistral" {
			return &sim.Error{Status: http.StatusUnprocessableEntity, Kind: "invalid_request_error", Text: "stream_options: Extra inputs are not permitted"}
		}
		if !c.stream {
			return invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
		}
		o := strict.NewObject("stream_options", v)
		c.usage = o.Flag("include_usage")
		if o.Err != nil {
			return o.Err
		}
	}
	c.most = 32_000
	if c.model.output > 0 {
		c.most = c.model.output
	}
	if most, has := maxTokens(f); has {
		if most < 1 {
			return invalid("max_tokens must be at least 1")
		}
		c.most = most
	}
	for _, name := range c.host.refuses {
		if f.Members[name] != nil {
			return invalid("%s: the host does not take it", name)
		}
	}
	f.Number("temperature", c.host.coldest, cmp.Or(c.host.hottest, 2))
	f.Number("top_p", c.host.leastP, 1)
	f.Number("top_k", 1, 1<<20)
	f.Number("seed", -1<<53, 1<<53)
	f.Number("random_seed", 0, 1<<53)
	f.Flag("parallel_tool_calls")
	f.Word("verbosity", false, "low", "medium", "high")
	f.Word("service_tier", false, "auto", "default", "on_demand", "flex", "performance", "priority")
	stop := f.Members["stop"]
	if list, ok := stop.([]any); ok && len(list) > cmp.Or(c.host.stops, 4) {
		return invalid("stop: at most %d sequences are allowed", cmp.Or(c.host.stops, 4))
	}
	if v := f.Take("response_format"); v != nil && f.Err == nil {
		return c.readFormat(strict.NewObject("response_format", v))
	}
	return f.Err
}

// readFormat checks the form of the answer. [docs of each host: structured outputs, JSON mode]
func (c *call) readFormat(f *strict.Object) error {
	formats := c.host.formats
	if formats == nil {
		formats = []string{"json_object", "json_schema"}
	}
	kind := f.Text("type", true)
	inner := f.Take("json_schema")
	if err := f.Done(); err != nil {
		return err
	}
	switch {
	case kind == "text":
		return nil
	case !slices.Contains(formats, kind):
		return invalid("This response_format type is unavailable now: %s", kind)
	case c.host.plainOnly && c.stream:
		return invalid("response_format` does not support streaming")
	case kind == "json_object":
		c.json, c.ask.Output = true, map[string]any{"type": "object"}
		return nil
	}
	o := strict.NewObject("response_format.json_schema", inner)
	name := o.Text("name", true)
	isStrict := o.Flag("strict")
	schema, _ := o.Need("schema").(map[string]any)
	if err := o.Done(); err != nil {
		return err
	}
	if schema["type"] != "object" {
		return invalid("response_format.json_schema.schema: it must be of an object")
	}
	if err := portable.OpenAISchema(name, schema); err != nil {
		return invalid("%s", err)
	}
	if isStrict {
		if err := portable.OpenAIStrict("()", schema); err != nil {
			return invalid("%s", err)
		}
	}
	c.ask.Output = schema
	return nil
}

func maxTokens(f *strict.Object) (int, bool) {
	n, has := f.Integer("max_completion_tokens", false)
	if !has {
		n, has = f.Integer("max_tokens", false)
	}
	return n, has
}

func (c *call) readTools(f *strict.Object) error {
	c.tools = map[string]map[string]any{}
	for i, v := range f.List("tools") {
		t := strict.NewObject(fmt.Sprintf("tools.%d", i), v)
		t.Word("type", true, "function")
		function := strict.NewObject(t.At("function"), t.Need("function"))
		name := function.Text("name", true)
		function.Text("description", false)
		schema, _ := function.Take("parameters").(map[string]any)
		switch {
		case t.Err != nil:
			return t.Err
		case function.Err != nil:
			return function.Err
		case !portable.ToolName().MatchString(name) || c.tools[name] != nil:
			return invalid("%s: the name %q is wrong or comes twice", t.Path, name)
		}
		if err := c.checkSchema(function.At("parameters"), name, schema); err != nil {
			return err
		}
		c.tools[name] = schema
		if schema == nil {
			c.tools[name] = map[string]any{}
		}
	}
	if f.Err != nil {
		return f.Err
	}
	choice := f.Take("tool_choice")
	word, named := choice.(string)
	if !named {
		word = "named"
	}
	switch {
	case choice == nil:
	case c.host.noChoice:
		return invalid("tool_choice is not supported")
	case len(c.host.choices) > 0 && !slices.Contains(c.host.choices, word):
		return invalid("tool_choice: only %v are supported", c.host.choices)
	case choice != nil && len(c.tools) == 0 && choice != "none" && choice != "auto":
		return invalid("tool_choice is only allowed when tools are specified")
	case choice == "required":
		c.force = "*"
	default:
		if m, ok := choice.(map[string]any); ok {
			inner, _ := m["function"].(map[string]any)
			c.force, _ = inner["name"].(string)
		}
	}
	return nil
}

func (c *call) readTurns(list []any) error {
	if len(list) == 0 {
		return invalid("messages: at least one message is required")
	}
	for i, v := range list {
		t := turn{path: fmt.Sprintf("messages.%d", i)}
		f := strict.NewObject(t.path, v)
		t.m = f.Members
		if err := c.checkMembers(f, t.path); err != nil {
			return err
		}
		t.role = f.Word("role", true, "system", "developer", "user", "assistant", "tool")
		if f.Err != nil {
			return f.Err
		}
		if t.role == "developer" && !c.host.developer {
			return invalid("%s.role: unknown variant `developer`", t.path)
		}
		if err := c.readContent(&t, f.Take("content")); err != nil {
			return err
		}
		if err := c.readCalls(&t, f); err != nil {
			return err
		}
		f.Text("tool_call_id", t.role == "tool")
		f.Text("name", false)
		if t.role == "assistant" {
			for _, name := range c.host.members {
				f.Take(name)
			}
		}
		if f.Err != nil {
			return f.Err
		}
		if err := f.Done(); err != nil && c.host.closed {
			status := http.StatusBadRequest
			if c.host.errors == "mistral" {
				status = http.StatusUnprocessableEntity
			}
			return &sim.Error{Status: status, Kind: "invalid_request_error", Text: err.Error()}
		}
		c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, v)))
		c.turns = append(c.turns, t)
	}
	return nil
}

// marking lists the hosts that accept marks for a prompt cache.
var marking = []string{"openrouter", "dashscope", "generic"}

// checkMarks checks the marks for a prompt cache in a message and its parts. A request has four at most. A strict host that does
// not know the member refuses them. [docs: openrouter, prompt-caching]
func (c *call) checkMarks(m map[string]any, path string) error {
	holders := []any{m}
	if parts, ok := m["content"].([]any); ok {
		holders = append(holders, parts...)
	}
	for i, h := range holders {
		at := path
		if i > 0 {
			at = fmt.Sprintf("%s.content.%d", path, i-1)
		}
		part, _ := h.(map[string]any)
		v, there := part["cache_control"]
		switch {
		case !there:
			continue
		case !slices.Contains(marking, c.host.name):
			if c.host.strict || c.host.closed {
				return invalid("%s.cache_control: Extra inputs are not permitted", at)
			}
			continue
		case i > 0 && part["type"] != "text":
			return invalid("%s: cache_control can only be set on text parts", at)
		}
		mark := strict.NewObject(at+".cache_control", v)
		mark.Word("type", true, "ephemeral")
		mark.Word("ttl", false, "5m", "1h")
		if err := mark.Done(); err != nil {
			return err
		}
		if c.marks++; c.marks > portable.MarksMost {
			return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", portable.MarksMost, c.marks)
		}
	}
	return nil
}

// checkMembers refuses members of other hosts in a message, as Mistral does, even if they are null.
func (c *call) checkMembers(f *strict.Object, path string) error {
	if err := c.checkMarks(f.Members, path); err != nil || c.host.errors != "mistral" {
		return err
	}
	extra := func(at string) error {
		return &sim.Error{Status: http.StatusUnprocessableEntity, Kind: "invalid_request_error", Text: at + ": Extra inputs are not permitted"}
	}
	for _, name := range []string{"name", "tool_calls"} {
		if _, there := f.Members[name]; there && (f.Members["role"] == "user" || f.Members["role"] == "system") {
			return extra(path + "." + name)
		}
	}
	calls, _ := f.Members["tool_calls"].([]any)
	for i, v := range calls {
		call, _ := v.(map[string]any)
		for name := range call {
			if !slices.Contains([]string{"id", "type", "function", "index"}, name) {
				return extra(fmt.Sprintf("%s.tool_calls.%d.%s", path, i, name))
			}
		}
	}
	return nil
}

func (c *call) readContent(t *turn, v any) error {
	switch v := v.(type) {
	case nil:
		if t.role != "assistant" {
			return invalid("%s.content: Field required", t.path)
		}
	case string:
		t.text = v
	case []any:
		for i, p := range v {
			m, ok := p.(map[string]any)
			kind, _ := m["type"].(string)
			if !ok || !c.takesPart(t.role, kind) {
				return invalid("%s.content.%d: a part of type %q is not taken", t.path, i, kind)
			}
			for _, name := range []string{"text", "image_url"} {
				if m[name] != nil && name != kind {
					return invalid("%s.content.%d has invalid field(s): %s", t.path, i, name)
				}
			}
			if kind == "text" {
				text, ok := m["text"].(string)
				if !ok {
					return invalid("%s.content.%d.text: Field required", t.path, i)
				}
				t.text += text
			}
			if kind == "image_url" {
				inner, _ := m["image_url"].(map[string]any)
				if url, _ := inner["url"].(string); !strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "https://") {
					return invalid("%s.content.%d.image_url: this is no image", t.path, i)
				} else if kind, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); ok && !portable.ImageTaken(kind, data) {
					return invalid("You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
				}
				t.images = true
			}
			t.parts = append(t.parts, m)
		}
	default:
		return invalid("%s.content: Input should be a string or a list", t.path)
	}
	if t.images && c.host.blind {
		return invalid("%s: unknown variant `image_url`, expected `text`", t.path)
	}
	if t.images && c.host.name == "copilot" && c.header.Get("Copilot-Vision-Request") != "true" {
		return invalid("missing required Copilot-Vision-Request header for vision requests")
	}
	return nil
}

func (c *call) takesPart(role, kind string) bool {
	switch kind {
	case "text":
		return true
	case "image_url":
		return role == "user"
	case "file":
		return role == "user" && c.host.files
	case "input_audio":
		return role == "user" && len(c.host.sounds()) > 0
	case "thinking":
		return role == "assistant" && c.host.array
	}
	return false
}

var nineAlphanumerics = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]{9}$`) })

func (c *call) readCalls(t *turn, f *strict.Object) error {
	list := f.List("tool_calls")
	if list != nil && t.role != "assistant" {
		return invalid("%s.tool_calls: only the assistant calls tools", t.path)
	}
	for i, v := range list {
		o := strict.NewObject(fmt.Sprintf("%s.tool_calls.%d", t.path, i), v)
		id := o.Text("id", true)
		o.Word("type", true, "function")
		function := strict.NewObject(o.At("function"), o.Need("function"))
		name := function.Text("name", true)
		arguments := function.Text("arguments", true)
		switch {
		case o.Err != nil:
			return o.Err
		case function.Err != nil:
			return function.Err
		case c.host.ids9 && !nineAlphanumerics().MatchString(id):
			return invalid("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", id)
		case id == "":
			return invalid("%s.id: it is empty", o.Path)
		case c.host.short && len(id) > 40:
			return invalid("Invalid '%s.id': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", o.Path, len(id))
		}
		if err := portable.HistoryName(o.At("function.name"), name); err != nil {
			return invalid("%s", err)
		}
		if parsed, err := strict.Decode([]byte(arguments)); c.host.parsed {
			if _, ok := parsed.(map[string]any); err != nil || !ok {
				return invalid("%s.function.arguments: they are no JSON object", o.Path)
			}
		}
		t.calls = append(t.calls, toolCall{id, name, o.Members})
	}
	return nil
}

// checkTurns checks that each call has one result, in the messages that follow it, and that the last message is not an answer.
func (c *call) checkTurns() error {
	open := map[string]bool{}
	for i, t := range c.turns {
		if t.role != "tool" && len(open) > 0 {
			return unansweredCalls(open)
		}
		if err := c.checkRoles(i); err != nil {
			return err
		}
		switch t.role {
		case "tool":
			id, _ := t.m["tool_call_id"].(string)
			if !open[id] {
				return invalid("%s: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.", t.path)
			}
			delete(open, id)
		case "assistant":
			if t.text == "" && len(t.calls) == 0 && t.m["content"] == nil {
				return invalid("%s: an assistant message must have content or tool_calls", t.path)
			}
			if len(t.calls) > 0 && c.host.noEmpty && t.m["content"] == "" {
				return invalid("text content is empty at %s", t.path)
			}
			for _, call := range t.calls {
				if open[call.id] {
					return invalid("%s: the id %s comes twice", t.path, call.id)
				}
				open[call.id] = true
			}
		}
		if i == len(c.turns)-1 && t.role == "assistant" {
			if len(t.calls) > 0 {
				return unansweredCalls(open)
			}
			return invalid("the last message is the assistant's: prefill is not supported here")
		}
	}
	if len(open) > 0 {
		return unansweredCalls(open)
	}
	return nil
}

// checkRoles checks that the model's template accepts a message after those before it. Calls and results do not count.
// [templates of Gemma, Ministral and Mistral; mistral-common]
func (c *call) checkRoles(i int) error {
	t := c.turns[i]
	if t.text == "" && len(t.parts) == 0 && c.host.filled && (t.role != "assistant" || len(t.calls) == 0) {
		return invalid("An empty message was provided. Every message needs at least one non-empty content element.")
	}
	if i == 0 || !c.host.turns {
		return nil
	}
	before := c.turns[i-1]
	switch {
	case t.role == "user" && before.role == "tool" && c.host.errors == "mistral":
		return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_message_order", Code: "3230", Text: "Unexpected role 'user' after role 'tool'"}
	case t.role == "user" && (before.role == "tool" || before.role == "user"),
		t.role == "assistant" && before.role == "assistant":
		return invalid("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.")
	}
	return nil
}

// checkSchema checks the schema of a tool by the rules of the host, or of the host behind it.
func (c *call) checkSchema(path, tool string, schema map[string]any) error {
	if c.host.name == "gemini" || strings.Contains(c.model.id, "gemini") {
		if len(schema) == 0 {
			return nil
		}
		return portable.GeminiSchema(path, schema)
	}
	if c.host.name == "minimax" && len(schema) == 0 {
		return invalid("invalid params, function parameters is empty (2013)")
	}
	if err := portable.OpenAISchema(tool, schema); err != nil {
		return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "invalid_function_parameters", Text: err.Error()}
	}
	if c.host.name == "kimi" {
		if err := kimiSchema("", schema); err != nil {
			return invalid("%s", err)
		}
	}
	return nil
}

func unansweredCalls(open map[string]bool) error {
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following did not have response messages: %s", slices.Min(slices.Collect(maps.Keys(open))))
}

// finish decides what to answer, after all messages were read.
func (c *call) finish() error {
	if c.tokens > window {
		return &sim.Error{Status: 400, Kind: "invalid_request_error", Code: "context_length_exceeded", Text: fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", window, c.tokens)}
	}
	seed := strict.Digest{}.With([]byte(c.host.name), []byte(c.model.id), fmt.Append(nil, c.words))
	for _, t := range c.turns {
		seed = seed.With([]byte(t.role), []byte(t.text))
		for _, call := range t.calls {
			seed = seed.With(strict.AppendCanonical(nil, call.m["function"]))
		}
	}
	c.ask.Seed = seed
	start := c.lastUser()
	if start >= 0 {
		c.ask.Prompt = c.turns[start].text
		if c.host.turns {
			c.ask.Prompt = sim.LastMarked(c.ask.Prompt)
		}
	}
	for _, t := range c.turns[start+1:] {
		if len(t.calls) > 0 {
			c.ask.Rounds++
		}
		if t.role == "tool" {
			c.ask.Results = append(c.ask.Results, t.text)
		}
	}
	c.ask.ThinkingWords, c.ask.ThinkingBlocks = c.words, 1
	if c.ask.Rounds > 0 {
		c.ask.ThinkingWords /= 3
	}
	c.ask.Tools = c.tools
	c.ask.Force(c.force)
	return nil
}

// kimiSchema checks the rule that Moonshot has in addition to those of OpenAI.
func kimiSchema(at string, schema map[string]any) error {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner, _ := properties[name].(map[string]any)
		path := strings.TrimPrefix(at+".properties."+name, ".")
		if inner["type"] == nil && inner["anyOf"] == nil {
			return fmt.Errorf("Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '%s': type is not defined>", path)
		}
		if err := kimiSchema(path, inner); err != nil {
			return err
		}
	}
	return nil
}
