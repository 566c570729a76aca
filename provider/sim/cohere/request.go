package cohere

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// read checks a whole request. [docs: reference/chat]
func (c *call) read(body []byte) error {
	v, err := strict.Decode(body)
	if err != nil {
		return invalid("invalid json syntax: %s", err)
	}
	f := strict.NewObject("", v)
	id := f.Text("model", false)
	switch c.model = modelBy(id); {
	case f.Err != nil:
		return f.Err
	case id == "":
		return invalid("a model parameter is required for this endpoint.")
	case c.model == nil:
		return &sim.Error{Status: http.StatusNotFound, Text: "model '" + id + "' not found, make sure the correct model ID was used and that you have access to the model."}
	}
	c.stream = f.Flag("stream")
	for _, name := range []string{"documents", "citation_options", "safety_mode", "strict_tools", "logprobs", "priority", "frequency_penalty", "presence_penalty"} {
		f.Take(name)
	}
	for _, check := range []func(*strict.Object) error{c.readLimits, c.readTools, c.readFormat, c.readThinking, c.readMessages} {
		if err := check(f); err != nil {
			return err
		}
	}
	if err := f.Done(); err != nil {
		return err
	}
	return c.finish(v)
}

func (c *call) readLimits(f *strict.Object) error {
	c.maxTokens = c.model.output
	if n, ok := f.Integer("max_tokens", false); ok {
		if n < 1 {
			return invalid("invalid request: max_tokens must be at least 1.")
		}
		if n > c.model.output {
			return invalid("too many tokens: max tokens must be less than or equal to %d, the maximum output for this model - received %d.", c.model.output, n)
		}
		c.maxTokens = n
	}
	if _, ok := f.Number("temperature", 0, 1); !ok && f.Err != nil {
		return invalid("invalid request: temperature must be between 0 and 1.0 inclusive.")
	}
	f.Number("p", 0.01, 0.99)
	f.Number("k", 0, 500)
	f.Integer("seed", false)
	stops := f.List("stop_sequences")
	if len(stops) > 5 {
		return invalid("invalid request: at most 5 stop_sequences are allowed.")
	}
	for _, v := range stops {
		s, ok := v.(string)
		if !ok || s == "" {
			return invalid("invalid request: stop_sequences must be strings that are not empty.")
		}
		c.stops = append(c.stops, s)
	}
	return f.Err
}

func (c *call) readTools(f *strict.Object) error {
	list := f.List("tools")
	if len(list) > 0 && !c.model.tools {
		return invalid("invalid request: tool use is not supported by the provided model: %s.", c.model.id)
	}
	c.tools = map[string]map[string]any{}
	for _, v := range list {
		if err := c.readTool(strict.NewObject("tools", v)); err != nil {
			return err
		}
	}
	switch choice := f.Text("tool_choice", false); {
	case choice == "":
	case !c.model.choice:
		return invalid("invalid request: tool_choice is not supported for this model.")
	case choice == "NONE":
		c.silent = true
	case choice != "REQUIRED":
		return invalid("invalid request: tool_choice must be one of REQUIRED, NONE.")
	case len(list) == 0:
		return invalid("invalid request: tool_choice REQUIRED needs tools.")
	default:
		c.force = "*"
	}
	return f.Err
}

func (c *call) readTool(t *strict.Object) error {
	if kind := t.Text("type", true); t.Err == nil && kind != "function" {
		return invalid("invalid request: tools must be of type function.")
	}
	fn := strict.NewObject("tools.function", t.Need("function"))
	name := fn.Text("name", true)
	fn.Text("description", false)
	parameters, ok := fn.Take("parameters").(map[string]any)
	switch {
	case t.Err == nil && fn.Err == nil && !toolName().MatchString(name):
		return badName(name)
	case !ok || parameters["type"] != "object":
		return invalid("invalid request: schema must be an object")
	}
	c.tools[name] = parameters
	if err := fn.Done(); err != nil {
		return err
	}
	return t.Done()
}

func badName(name string) error {
	return invalid("invalid request: tool names can only contain certain characters (A-Za-z0-9_) and can't begin with a digit (provided name: '%s').", name)
}

// readFormat checks response_format, which excludes tools and documents. [docs: structured-outputs]
func (c *call) readFormat(f *strict.Object) error {
	v := f.Take("response_format")
	if v == nil {
		return nil
	}
	o := strict.NewObject("response_format", v)
	kind := o.Word("type", true, "text", "json_object")
	schema, there := o.Take("json_schema").(map[string]any)
	switch {
	case o.Done() != nil:
		return o.Done()
	case kind == "text":
		return nil
	case len(c.tools) > 0 || f.Members["documents"] != nil:
		return invalid("invalid request: response_format is not supported with RAG.")
	case o.Members["json_schema"] != nil && (!there || schema["type"] != "object"):
		return invalid("invalid request: schema must be an object")
	}
	c.ask.Output = map[string]any{"type": "object"}
	if there {
		c.ask.Output = schema
	}
	return nil
}

// readThinking checks thinking, which is on unless the request says otherwise. [docs: reasoning]
func (c *call) readThinking(f *strict.Object) error {
	c.thinks = c.model.thinks
	v := f.Take("thinking")
	if v == nil {
		return nil
	}
	if !c.model.thinks {
		return invalid("invalid request: thinking is not supported for this model.")
	}
	o := strict.NewObject("thinking", v)
	kind := o.Word("type", false, "enabled", "disabled")
	budget, there := o.Integer("token_budget", false)
	if there && budget < 1 {
		return invalid("invalid request: thinking.token_budget must be a positive integer.")
	}
	c.thinks, c.budget = kind != "disabled", budget
	return o.Done()
}

// media are the limits of images. [docs: image-inputs]
var media = portable.MediaRules{Types: []string{"image/png", "image/jpeg", "image/gif", "image/webp"}, All: 20_000_000, Images: 20}

func (c *call) readMessages(f *strict.Object) error {
	ids := []string{}
	if err := media.Check(f.Members["messages"]); err != nil {
		return invalid("invalid request: %s", err)
	}
	for i, v := range f.List("messages") {
		m := strict.NewObject("messages", v)
		role := m.Text("role", true)
		now := message{role: role}
		if err := c.readTurn(i, m, &now); err != nil {
			return err
		}
		if err := c.checkOrder(&now, &ids); err != nil {
			return err
		}
		c.messages = append(c.messages, now)
	}
	last := message{}
	if len(c.messages) > 0 {
		last = c.messages[len(c.messages)-1]
	}
	if last.role != "user" && last.role != "tool" {
		return invalid("invalid request: message must be at least 1 token long or tool results must be specified.")
	}
	return f.Err
}

// readTurn reads one entry by its role.
func (c *call) readTurn(i int, m *strict.Object, now *message) error {
	var err error
	switch now.role {
	case "system":
		if i > 0 {
			return invalid("system turn must be the first in the list")
		}
		err = c.readContent(m.Take("content"), now, "text")
	case "user":
		err = c.readContent(m.Take("content"), now, "text", "image_url")
	case "assistant":
		err = c.readAssistant(m, now)
	case "tool":
		id := m.Text("tool_call_id", false)
		if id == "" {
			return invalid("tool call id must be provided with tool message")
		}
		now.results = []string{id}
		err = c.readContent(m.Take("content"), now, "text", "document")
	default:
		return invalid("invalid request: Invalid role in messages at index %d. Role must be one of the following: user, assistant, system, tool", i)
	}
	if err != nil {
		return err
	}
	return m.Done()
}

// readContent checks a string, or parts of which some types are allowed.
func (c *call) readContent(v any, now *message, allowed ...string) error {
	if text, ok := v.(string); ok {
		v = []any{map[string]any{"type": "text", "text": text}}
	}
	list, _ := v.([]any)
	for _, v := range list {
		p := strict.NewObject("messages.content", v)
		kind := p.Text("type", true)
		if !slices.Contains(allowed, kind) {
			return invalid("invalid request: content of type '%s' is not allowed in a message of role %s.", kind, now.role)
		}
		if err := c.readPart(kind, p, now); err != nil {
			return err
		}
		if err := p.Done(); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return invalid("message must not be empty in a turn")
	}
	return nil
}

func (c *call) readPart(kind string, p *strict.Object, now *message) error {
	switch kind {
	case "text":
		text := p.Text("text", true)
		if strings.TrimSpace(text) == "" {
			return invalid("message must not be empty in a turn")
		}
		now.texts = append(now.texts, text)
	case "thinking":
		if !c.model.thinks {
			return invalid("invalid request: content of type 'thinking' is not supported for this model.")
		}
		p.Text("thinking", true)
	case "image_url":
		image, _ := p.Take("image_url").(map[string]any)
		url, _ := image["url"].(string)
		kind, data, found := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
		switch {
		case !c.model.vision:
			return invalid("invalid request: images are not supported by the provided model: %s.", c.model.id)
		case !found || !portable.ImageTaken(kind, data):
			return invalid("invalid request: the image must be a data URI of type png, jpeg, gif or webp.")
		}
	case "document":
		d := strict.NewObject("messages.content.document", p.Take("document"))
		d.Text("id", false)
		data := d.Take("data")
		if object, ok := data.(map[string]any); ok && len(object) > 0 {
			now.pages = append(now.pages, object)
		} else if text, ok := data.(string); !ok || text == "" {
			return invalid("invalid request: document at index 0 cannot be empty")
		}
		return d.Done()
	}
	return nil
}

func (c *call) readAssistant(m *strict.Object, now *message) error {
	m.Take("citations")
	plan := m.Text("tool_plan", false)
	if plan != "" && c.model.thinks {
		return invalid("invalid request: tool_plan is not supported for this model.")
	}
	for _, v := range m.List("tool_calls") {
		t := strict.NewObject("messages.tool_calls", v)
		id, kind := t.Text("id", true), t.Text("type", true)
		fn := strict.NewObject("messages.tool_calls.function", t.Need("function"))
		name, arguments := fn.Text("name", true), fn.Text("arguments", true)
		parsed, err := strict.Decode([]byte(arguments))
		_, object := parsed.(map[string]any)
		switch {
		case t.Done() != nil:
			return t.Done()
		case fn.Done() != nil:
			return fn.Done()
		case kind != "function":
			return invalid("tool call must be of type function")
		case !toolName().MatchString(name):
			return badName(name)
		case err != nil || !object:
			return invalid("invalid json syntax: the arguments of the tool call %s are no object", id)
		}
		now.calls = append(now.calls, id)
	}
	if content := m.Take("content"); content != nil || len(now.calls) == 0 {
		if err := c.readContent(content, now, "text", "thinking"); err != nil {
			return err
		}
	}
	if len(now.texts) == 0 && len(now.calls) == 0 {
		return invalid("message must not be empty in a turn")
	}
	return nil
}

// checkOrder judges an entry by those before it: results answer the calls before them, and all calls have results.
func (c *call) checkOrder(now *message, ids *[]string) error {
	var open []string
	before := ""
	for _, m := range c.messages {
		before = m.role
		if m.role == "assistant" {
			open = slices.Clone(m.calls)
		}
		open = slices.DeleteFunc(open, func(id string) bool { return slices.Contains(m.results, id) })
	}
	for _, id := range now.calls {
		if slices.Contains(*ids, id) {
			return invalid("cannot have duplicate tool ids")
		}
		*ids = append(*ids, id)
	}
	switch {
	case now.role == "tool" && !slices.Contains(open, now.results[0]):
		return invalid("tool call id not found in previous tool calls")
	case now.role != "tool" && len(open) > 0:
		return invalid("invalid request: each tool call must be followed by a tool message with its id: %s", strings.Join(open, ", "))
	case now.role == "user" && before == "tool":
		return invalid("invalid request: cannot specify both message and tool_results in multistep mode")
	}
	return nil
}

// finish fills in what the answer is made from.
func (c *call) finish(v any) error {
	body := strict.AppendCanonical(nil, v)
	c.tokens = sim.Tokens(string(body))
	if over := c.tokens - c.model.window; over > 0 {
		return &sim.Error{Status: http.StatusBadRequest, Code: tooLong,
			Text: fmt.Sprintf("too many tokens: size limit exceeded by %d tokens. Try using shorter or fewer inputs. The limit for this model is %d tokens.", over, c.model.window)}
	}
	c.ask.Seed = strict.Digest{}.With(body)
	if !c.silent {
		c.ask.Tools = c.tools
	}
	c.ask.NotesInThinking = !c.model.thinks // a plan
	if c.thinks {
		c.ask.ThinkingWords = 60
		if c.budget > 0 {
			c.ask.ThinkingWords = min(60, max(1, c.budget/2))
		}
	}
	for i, m := range c.messages {
		switch {
		case m.role == "user":
			c.ask.Prompt = sim.LastMarked(strings.Join(m.texts, "\n")) // clients join prompts of which one had no answer
			c.ask.Rounds, c.ask.Results = 0, nil
		case m.role == "tool":
			c.ask.Results = append(c.ask.Results, strings.Join(m.texts, "\n"))
			if i == 0 || c.messages[i-1].role != "tool" {
				c.ask.Rounds++
			}
		}
	}
	c.ask.Force(c.force)
	return nil
}
