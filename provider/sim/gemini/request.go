package gemini

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// read checks the whole request. It refuses unknown members, like the vendor.
func (c *call) read(v any) error {
	f := strict.NewObject("", v)
	if f.Err != nil {
		return invalid("Invalid JSON payload received.")
	}
	if f.Members["cachedContent"] != nil {
		return invalid("cachedContent: the simulator does not imitate this")
	}
	f.Word("serviceTier", false, "standard", "flex", "priority")
	f.List("safetySettings")
	f.Flag("store")
	f.Take("labels")
	config, choice := f.Take("generationConfig"), f.Take("toolConfig")
	tools, system, token := f.List("tools"), f.Take("systemInstruction"), f.Text("continuationToken", false)
	contents := f.List("contents")
	if err := f.Done(); err != nil {
		return err
	}
	if err := c.readConfig(config); err != nil {
		return err
	}
	if err := c.readTools(tools, choice); err != nil {
		return err
	}
	if err := c.checkServedTools(); err != nil {
		return err
	}
	switch {
	case c.ask.Output == nil:
	case len(c.tools) > 0 && !c.model.signs:
		return invalid("Function calling with a response mime type: 'application/json' is unsupported")
	case c.force != "":
		return invalid("Forced function calling (ANY mode) with a response mime type: 'application/json' is unsupported")
	}
	if system != nil {
		s, err := readContent("systemInstruction", system)
		if err != nil {
			return err
		}
		c.see(s)
	}
	if len(contents) == 0 {
		return invalid("* GenerateContentRequest.contents: contents is not specified")
	}
	for i, e := range contents {
		one, err := readContent(fmt.Sprintf("contents[%d]", i), e)
		if err != nil {
			return err
		}
		c.contents = append(c.contents, one)
		c.see(one)
	}
	if err := c.checkOrder(); err != nil {
		return err
	}
	if err := c.checkSignatures(); err != nil {
		return err
	}
	if c.tokens > inputLimit {
		return invalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", c.tokens, inputLimit)
	}
	if err := c.takeUp(token); err != nil {
		return err
	}
	c.finish()
	return nil
}

// readConfig checks generationConfig. [docs: thinking, whats-new-gemini-3.6]
func (c *call) readConfig(v any) error {
	c.maxTokens, c.level, c.budget = outputLimit, c.model.level, -1
	if c.model.calm {
		c.budget = 0
	}
	if v == nil {
		return nil
	}
	f := strict.NewObject("generation_config", v)
	if n, ok := f.Integer("maxOutputTokens", false); ok {
		if n < 1 || n > outputLimit {
			f.Fail("maxOutputTokens", fmt.Sprintf("Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 (inclusive) to %d (exclusive). Update the value and try again.", n, outputLimit+1))
		}
		c.maxTokens = n
	}
	f.Number("temperature", 0, 2) // the newest models accept and ignore it
	f.Number("topP", 0, 1)
	f.Number("topK", 0, 1<<20)
	f.Number("seed", -1<<31, 1<<31)
	kind := f.Word("responseMimeType", false, "text/plain", "application/json")
	schema, _ := f.Take("responseJsonSchema").(map[string]any)
	switch {
	case schema != nil && kind != "application/json":
		f.Fail("responseJsonSchema", "a response schema is only allowed with the response mime type application/json")
	case schema != nil:
		if err := portable.GeminiSchema("generation_config.response_json_schema", schema); err != nil {
			return err
		}
		c.ask.Output = schema
	case kind == "application/json":
		c.ask.Output = map[string]any{"type": "object"}
	}
	if n, ok := f.Integer("candidateCount", false); ok && n > 1 {
		f.Fail("candidateCount", "Multiple candidates is not enabled for this model")
	}
	for _, name := range []string{"presencePenalty", "frequencyPenalty"} {
		if _, ok := f.Number(name, -2, 2); ok && c.model.noBudget {
			f.Fail(name, "Penalty is not enabled for this model")
		}
	}
	if stops, _ := f.Members["stopSequences"].([]any); len(stops) > 5 {
		f.Fail("stopSequences", "the number of stop sequences must be at most 5")
	}
	for _, v := range f.List("stopSequences") {
		s, ok := v.(string)
		if !ok || s == "" {
			f.Fail("stopSequences", "must not be empty")
		}
		c.stops = append(c.stops, s)
	}
	thinking := f.Take("thinkingConfig")
	if err := f.Done(); err != nil {
		return err
	}
	if thinking == nil {
		return nil
	}
	return c.readThinking(strict.NewObject("generation_config.thinking_config", thinking))
}

func (c *call) readThinking(f *strict.Object) error {
	c.include = f.Flag("includeThoughts")
	level := strings.ToUpper(f.Text("thinkingLevel", false))
	budget, budgeted := f.Integer("thinkingBudget", false)
	if err := f.Done(); err != nil {
		return err
	}
	m := c.model
	switch {
	case level != "" && budgeted:
		return invalid("You can only set only one of thinking budget and thinking level.")
	case level != "" && !slices.Contains(levels, level):
		return invalid("Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), %q", level)
	case level != "" && m.levels == nil:
		return invalid("Thinking level is not supported for this model.")
	case level != "" && !slices.Contains(m.levels, level):
		return invalid("Thinking level %s is not supported for this model. Please retry with other thinking level.", level)
	case budgeted && m.noBudget:
		return invalid("Thinking budget is not supported for this model.")
	case budgeted && budget == 0 && m.levels == nil && !m.off:
		return invalid("Budget 0 is invalid. This model only works in thinking mode.")
	case budgeted && budget == 0 && m.levels != nil:
		return invalid("Budget 0 is invalid. This model only works in thinking mode.")
	case budgeted && budget != 0 && budget != -1 && m.levels == nil && (budget < m.least || budget > m.most):
		return invalid("The thinking budget %d is invalid. Please choose a value between %d and %d.", budget, m.least, m.most)
	}
	if level != "" {
		c.level = level
	}
	if budgeted && m.levels == nil {
		c.budget = budget
	}
	return nil
}

// readTools checks tools and toolConfig. [docs: function-calling]
func (c *call) readTools(list []any, choice any) error {
	c.tools = map[string]map[string]any{}
	for i, v := range list {
		f := strict.NewObject(fmt.Sprintf("tools[%d]", i), v)
		functions := f.List("functionDeclarations")
		if err := c.readServedTools(f); err != nil {
			return err
		}
		if err := f.Done(); err != nil {
			return err
		}
		for j, v := range functions {
			f := strict.NewObject(fmt.Sprintf("tools[%d].function_declarations[%d]", i, j), v)
			name := f.Text("name", true)
			if f.Err == nil {
				f.Err = checkName(f.At("name"), name)
			}
			if f.Err == nil && c.tools[name] != nil {
				return invalid("Duplicate function declaration found: %s", name)
			}
			f.Text("description", false)
			open, _ := f.Take("parameters").(map[string]any)
			schema, _ := f.Take("parametersJsonSchema").(map[string]any)
			if open != nil && schema != nil {
				f.Fail("parameters", "only one of parameters and parametersJsonSchema may be set")
			}
			f.Take("response")
			f.Take("behavior")
			if err := f.Done(); err != nil {
				return err
			}
			if schema == nil {
				schema = map[string]any{}
				maps.Copy(schema, open)
			}
			if len(schema) > 0 {
				if err := portable.GeminiSchema(f.At("parameters"), schema); err != nil {
					return err
				}
			}
			c.tools[name] = schema
			c.context = c.context.With([]byte("tool"), strict.AppendCanonical(nil, v))
			c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, v)))
		}
	}
	if choice == nil {
		return nil
	}
	f := strict.NewObject("tool_config", choice)
	if c.exposes = f.Flag("includeServerSideToolInvocations"); c.exposes && c.cloud {
		return invalid("Invalid JSON payload received. Unknown name \"includeServerSideToolInvocations\" at 'tool_config': Cannot find field.")
	}
	calling := f.Take("functionCallingConfig")
	if calling == nil {
		return f.Done()
	}
	config := strict.NewObject("tool_config.function_calling_config", calling)
	mode := config.Word("mode", false, "MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
	names := config.List("allowedFunctionNames")
	if err := f.Done(); err != nil {
		return err
	}
	if err := config.Done(); err != nil {
		return err
	}
	if mode == "ANY" {
		c.force = "*"
		if len(c.tools) == 0 {
			return invalid("Function calling config is set without function_declarations.")
		}
		for _, v := range names {
			if name, _ := v.(string); c.tools[name] != nil {
				c.force = name
				break
			}
		}
	}
	return nil
}

var namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`) })

// checkName checks the name of a function, in a declaration or a call.
func checkName(path, name string) error {
	if namePattern().MatchString(name) {
		return nil
	}
	return invalid("The GenerateContentRequest proto is invalid:\n  * %s: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.", path)
}

// dataMembers are the kinds of content. A part has exactly one of them.
var dataMembers = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "audioTranscription"}

func readContent(path string, v any) (content, error) {
	f := strict.NewObject(path, v)
	c := content{path: path, role: f.Text("role", false)}
	if c.role == "" {
		c.role = "user"
	}
	list := f.List("parts")
	if err := f.Done(); err != nil {
		return c, err
	}
	if c.role != "user" && c.role != "model" && path != "systemInstruction" {
		return c, invalid("Please use a valid role: user, model.")
	}
	if len(list) == 0 {
		return c, invalid("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", path)
	}
	for i, v := range list {
		p := strict.NewObject(fmt.Sprintf("%s.parts[%d]", path, i), v)
		if err := checkPart(p, c.role); err != nil {
			return c, err
		}
		c.parts = append(c.parts, p.Members)
	}
	return c, nil
}

// checkPart checks one part alone.
func checkPart(f *strict.Object, role string) error {
	data := ""
	for _, name := range dataMembers {
		v := f.Take(name)
		switch _, text := v.(string); {
		case v == nil:
		case data != "":
			f.Fail("data", "oneof field 'data' is already set. Cannot set '"+name+"'")
		case name == "text" && !text:
			f.Fail(name, "Input should be a valid string")
		default:
			data = name
		}
	}
	thought := f.Flag("thought")
	signature := f.Text("thoughtSignature", false)
	f.Take("videoMetadata")
	for _, name := range []string{"partMetadata", "mediaProcessing", "mediaResolution", "speechMetadata"} {
		f.Take(name)
	}
	if err := f.Done(); err != nil {
		return err
	}
	switch {
	case data == "":
		return invalid("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", f.Path)
	case role != "model" && (thought || signature != "" || data == "functionCall"):
		return invalid("%s: only the model's parts are thoughts, are signed or call functions", f.Path)
	case role != "user" && data == "functionResponse":
		return invalid("%s: a function response is the user's", f.Path)
	}
	switch data {
	case "inlineData":
		inner := strict.NewObject(f.At(data), f.Members[data])
		kind, data := inner.Text("mimeType", true), inner.Text("data", true)
		if inner.Err == nil && strings.HasPrefix(kind, "image/") && (kind == "image/gif" || !portable.ImageTaken(kind, data)) && kind != "image/heic" && kind != "image/heif" {
			return invalid("Unsupported MIME type: %s", kind)
		}
		inner.Text("displayName", false)
		return inner.Done()
	case "functionCall":
		inner := strict.NewObject(f.At(data), f.Members[data])
		inner.Text("id", false)
		if name := inner.Text("name", true); inner.Err == nil {
			inner.Err = checkName(inner.At("name"), name)
		}
		if v := inner.Take("args"); v != nil {
			if _, ok := v.(map[string]any); !ok {
				inner.Fail("args", "Input should be an object")
			}
		}
		return inner.Done()
	case "functionResponse":
		inner := strict.NewObject(f.At(data), f.Members[data])
		inner.Text("id", false)
		inner.Text("name", true)
		if _, ok := inner.Need("response").(map[string]any); !ok {
			inner.Fail("response", "Input should be an object")
		}
		inner.List("parts")
		return inner.Done()
	}
	return nil
}
