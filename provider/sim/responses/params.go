package responses

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// unimitatedMembers are members of the API that the simulator knows and does not imitate.
var unimitatedMembers = []string{"conversation", "prompt", "moderation", "multi_agent"}

// ignoredMembers are members that have no effect here.
var ignoredMembers = []string{"metadata", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"safety_identifier", "top_logprobs", "truncation", "user", "max_tool_calls"}

// planRefuses are members that the ChatGPT plan's backend refuses. [docs: Sign in with ChatGPT, preview limitations]
var planRefuses = []string{"background", "conversation", "previous_response_id", "max_output_tokens", "max_tool_calls", "metadata",
	"moderation", "multi_agent", "prompt", "prompt_cache_retention", "safety_identifier", "temperature", "top_p", "top_logprobs", "truncation", "user"}

// read checks the whole request.
func (c *call) read(v any, s sim.Sealer) error {
	f := strict.NewObject("", v)
	if f.Err != nil {
		return unfit("", "", "The request body should be a JSON object.")
	}
	if err := c.readModel(f); err != nil {
		return err
	}
	if err := c.checkMembers(f); err != nil {
		return err
	}
	if err := c.readReasoning(f.Take("reasoning")); err != nil {
		return err
	}
	if err := c.readState(f); err != nil {
		return err
	}
	if err := c.readLimit(f); err != nil {
		return err
	}
	if err := c.readTools(f); err != nil {
		return err
	}
	instructions, input := f.Text("instructions", false), f.Need("input")
	if c.door.plan && instructions == "" {
		return unfit("instructions", "missing_required_parameter", "Instructions are required")
	}
	c.tokens += sim.Tokens(instructions)
	if err := f.Done(); err != nil {
		return err
	}
	if err := c.readInput(input); err != nil {
		return err
	}
	if err := c.replay(s); err != nil {
		return err
	}
	return c.finish(instructions)
}

func (c *call) readModel(f *strict.Object) error {
	id := f.Text("model", true)
	if f.Err != nil {
		return f.Err
	}
	c.model, c.name = modelBy(id, c.door)
	if c.model == nil {
		return &sim.Error{Status: http.StatusNotFound, Kind: "invalid_request_error", Code: "model_not_found", Param: "model", Text: fmt.Sprintf("The model '%s' does not exist or you do not have access to it.", id)}
	}
	return nil
}

// checkMembers refuses the members that are not imitated, and skips those without effect.
func (c *call) checkMembers(f *strict.Object) error {
	for _, name := range planRefuses {
		if c.door.plan && f.Members[name] != nil {
			return unfit(name, "unsupported_parameter", "Unsupported parameter: %s", name)
		}
	}
	for _, name := range unimitatedMembers {
		if f.Members[name] != nil {
			return unfit(name, "", "the simulator does not imitate '%s'", name)
		}
	}
	if f.Members["max_tokens"] != nil {
		return unfit("max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens'. In the Responses API, this parameter has moved to 'max_output_tokens'.")
	}
	if err := c.readContext(f); err != nil {
		return err
	}
	if f.Flag("background") {
		return unfit("background", "", "the simulator does not imitate 'background'")
	}
	for _, name := range ignoredMembers {
		f.Take(name)
	}
	f.Flag("parallel_tool_calls")
	if tier := f.Word("service_tier", false, "auto", "default", "flex", "scale", "priority", "fast", "ultrafast"); tier != "" && c.door.copilot {
		return unfit("service_tier", "unsupported_parameter", "Unsupported parameter: 'service_tier'")
	}
	if v := f.Take("text"); v != nil && f.Err == nil {
		return c.readText(strict.NewObject("text", v))
	}
	return f.Err
}

// readText checks the form of the answer. [docs: structured-outputs, latest-model]
func (c *call) readText(f *strict.Object) error {
	verbosity := f.Word("verbosity", false, "low", "medium", "high")
	format := f.Take("format")
	if err := f.Done(); err != nil {
		return err
	}
	if verbosity != "" && !strings.HasPrefix(c.model.id, "gpt-5") && !strings.HasPrefix(c.model.id, "gpt-6") && !strings.HasPrefix(c.model.id, "gpt-daybreak") {
		return unsupported("text.verbosity", c.name)
	}
	if format == nil {
		return nil
	}
	o := strict.NewObject("text.format", format)
	kind := o.Word("type", true, "text", "json_object", "json_schema")
	if kind == "json_schema" {
		name := o.Text("name", true)
		isStrict := o.Flag("strict")
		o.Text("description", false)
		schema, _ := o.Need("schema").(map[string]any)
		if err := o.Done(); err != nil {
			return err
		}
		if !portable.ToolName().MatchString(name) || schema["type"] != "object" {
			return unfit("text.format.schema", "invalid_json_schema", "Invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"'.", name)
		}
		if err := portable.OpenAISchema(name, schema); err != nil {
			return unfit("text.format.schema", "invalid_json_schema", "%s", err)
		}
		if isStrict {
			if err := portable.OpenAIStrict("()", schema); err != nil {
				return unfit("text.format.schema", "invalid_json_schema", "Invalid schema for response_format '%s': %s", name, err)
			}
		}
		c.ask.Output = schema
	}
	if kind == "json_object" {
		c.ask.Output = map[string]any{"type": "object"}
	}
	return o.Done()
}

// readReasoning checks the member about thinking. [docs: reasoning]
func (c *call) readReasoning(v any) error {
	c.effort = c.model.effort
	if v == nil {
		return nil
	}
	f := strict.NewObject("reasoning", v)
	effort := f.Word("effort", false, "none", "minimal", "low", "medium", "high", "xhigh", "max")
	summary := f.Word("summary", false, "auto", "concise", "detailed")
	c.context = f.Word("context", false, "auto", "current_turn", "all_turns")
	f.Word("mode", false, "standard", "pro")
	if err := f.Done(); err != nil {
		return err
	}
	c.summary = summary != ""
	switch {
	case effort != "" && len(c.model.efforts) == 0:
		return unsupported("reasoning.effort", c.name)
	case summary != "" && !c.model.reasons():
		return unsupported("reasoning.summary", c.name)
	case effort != "" && !c.model.takes(effort):
		return c.noEffort("reasoning.effort", effort)
	case summary == "concise" && !c.model.concise:
		return unfit("reasoning.summary", "unsupported_value", "Unsupported value: 'concise' is not supported with the '%s' model. Supported values are: 'detailed'.", c.name)
	case c.context == "all_turns" && !c.model.recalls:
		return unsupported("reasoning.context", c.name)
	}
	if effort != "" {
		c.effort = effort
	}
	return nil
}

// includes are the values of include.
var includes = []string{"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url",
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "code_interpreter_call.outputs",
	"computer_call_output.output.image_url"}

// readState checks the members about stored state. This server stores nothing, so no id can be referred to. [docs:
// conversation-state]
func (c *call) readState(f *strict.Object) error {
	c.stream = f.Flag("stream")
	if v := f.Take("stream_options"); v != nil {
		o := strict.NewObject("stream_options", v)
		c.plain = o.Members["include_obfuscation"] == false
		o.Flag("include_obfuscation")
		if err := o.Done(); err != nil {
			return err
		}
	}
	stores := f.Members["store"] == nil || f.Flag("store")
	f.Take("store")
	previous := f.Text("previous_response_id", false)
	for _, v := range f.List("include") {
		word, _ := v.(string)
		if !slices.Contains(includes, word) {
			return unfit("include", "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", word, strings.Join(includes, "', '"))
		}
		if word == "reasoning.encrypted_content" && !c.model.reasons() {
			return unfit("include", "unsupported_value", "Encrypted content is not supported with this model.")
		}
		c.sealed = c.sealed || word == "reasoning.encrypted_content"
		c.sources = c.sources || word == "web_search_call.action.sources"
		c.outputs = c.outputs || word == "code_interpreter_call.outputs"
	}
	switch {
	case f.Err != nil:
		return f.Err
	case c.door.plan && stores:
		return unfit("store", "unsupported_value", "Store must be set to false")
	case c.door.plan && !c.stream:
		return unfit("stream", "unsupported_value", "Stream must be set to true")
	case c.door.copilot && f.Members["store"] == true:
		return unfit("store", "unsupported_value", "store is not supported")
	case previous != "":
		return unfit("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", previous)
	}
	return nil
}

// readLimit checks the limit of the output and the sampling. [docs: reasoning, latest-model]
func (c *call) readLimit(f *strict.Object) error {
	most, present := f.Integer("max_output_tokens", false)
	switch {
	case f.Err != nil:
		return f.Err
	case present && most < 16:
		return unfit("max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", most)
	case most > c.model.output:
		return unfit("max_output_tokens", "invalid_value", "max_output_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", most, c.model.output, most)
	}
	c.maxOutput = most
	for _, p := range []struct {
		name string
		most float64
	}{{"temperature", 2}, {"top_p", 1}} {
		_, present := f.Number(p.name, 0, p.most)
		if f.Err != nil {
			return f.Err
		}
		if present && c.model.reasons() && !c.model.open && !strings.HasPrefix(c.model.id, "grok") && (c.effort != "none" || !c.model.sampled) {
			return unsupported(p.name, c.name)
		}
	}
	return nil
}

// readTools checks tools and tool_choice. [docs: function-calling]
func (c *call) readTools(f *strict.Object) error {
	c.tools = map[string]map[string]any{}
	for i, v := range f.List("tools") {
		path := fmt.Sprintf("tools[%d]", i)
		t := strict.NewObject(path, v)
		kind := t.Text("type", true)
		if served, err := c.readServedTool(t, kind); served || err != nil {
			if err != nil {
				return err
			}
			c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, t.Members)))
			continue
		}
		if t.Err == nil && kind != "function" {
			return unfit(path+".type", "", "the simulator does not imitate tools of type '%s'", kind)
		}
		name := t.Text("name", true)
		t.Text("description", false)
		isStrict := t.Members["strict"] == nil || t.Flag("strict")
		t.Take("strict")
		schema, _ := t.Take("parameters").(map[string]any)
		if err := t.Done(); err != nil {
			return err
		}
		switch {
		case !portable.ToolName().MatchString(name) || len(name) > 64:
			return unfit(path+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", path)
		case schema["type"] != "object":
			return unfit(path+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.", name, schema["type"])
		case schema["properties"] == nil:
			return unfit(path+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': In context=(), object schema missing properties.", name)
		case isStrict && schema["additionalProperties"] != false:
			return unfit(path+".parameters", "invalid_function_parameters", "Invalid schema for function '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", name)
		}
		if err := portable.OpenAISchema(name, schema); err != nil {
			return unfit(path+".parameters", "invalid_function_parameters", "%s", err)
		}
		c.tools[name] = schema
		c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, t.Members)))
	}
	return c.readChoice(f)
}

func (c *call) readChoice(f *strict.Object) error {
	if f.Err != nil {
		return f.Err
	}
	switch choice := f.Take("tool_choice").(type) {
	case nil:
		return nil
	case string:
		if !slices.Contains([]string{"auto", "none", "required"}, choice) {
			return unfit("tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", choice)
		}
		if choice == "required" {
			c.force = "*"
		}
	default:
		t := strict.NewObject("tool_choice", choice)
		t.Word("type", true, "function")
		c.force = t.Text("name", true)
		if err := t.Done(); err != nil {
			return err
		}
		if c.tools[c.force] == nil {
			return unfit("tool_choice", "invalid_value", "Tool choice '%s' not found in 'tools' parameter.", c.force)
		}
	}
	if c.force == "*" && len(c.tools) == 0 {
		return unfit("tool_choice", "invalid_value", "Tool choice 'required' must be specified with 'tools' parameter.")
	}
	return nil
}
