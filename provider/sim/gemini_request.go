package sim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// geminiCall is a request to generate: read, checked, and reduced to what the answer needs.
type geminiCall struct {
	model  *geminiModel
	sealer sealer

	maxTokens int
	include   bool   // thoughts are shown
	level     string // in force; empty: a budget is
	budget    int    // -1: the model chooses
	stops     []string
	tools     map[string]map[string]any // name to schema
	force     string                    // a tool that must be called; "*": any
	contents  []geminiContent
	resume    int // deltas that an earlier request has given

	tokens  int // input
	context digest
	ask     ask
}

// geminiContent is what one side says.
type geminiContent struct {
	path  string
	role  string
	parts []map[string]any
}

func (c *geminiContent) all(member string) []map[string]any {
	var found []map[string]any
	for _, p := range c.parts {
		if m, ok := p[member].(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// plain reports whether a content is a user's own word, which begins a turn. [docs: thought-signatures]
func (c *geminiContent) plain() bool { return c.role == "user" && len(c.all("functionResponse")) == 0 }

// read checks the whole request. Unknown members are refused, as the vendor does.
func (c *geminiCall) read(v any) error {
	f := objectAt("", v)
	if f.err != nil {
		return geminiInvalid("Invalid JSON payload received.")
	}
	for _, name := range []string{"cachedContent", "serviceTier"} {
		if f.m[name] != nil {
			return geminiInvalid("%s: the simulator does not imitate this", name)
		}
	}
	f.list("safetySettings")
	f.flag("store")
	f.take("labels")
	config, choice := f.take("generationConfig"), f.take("toolConfig")
	tools, system, token := f.list("tools"), f.take("systemInstruction"), f.text("continuationToken", false)
	contents := f.list("contents")
	if err := f.done(); err != nil {
		return err
	}
	if err := c.readConfig(config); err != nil {
		return err
	}
	if err := c.readGeminiTools(tools, choice); err != nil {
		return err
	}
	if system != nil {
		s, err := readGeminiContent("systemInstruction", system)
		if err != nil {
			return err
		}
		c.see(s)
	}
	if len(contents) == 0 {
		return geminiInvalid("* GenerateContentRequest.contents: contents is not specified")
	}
	for i, e := range contents {
		one, err := readGeminiContent(fmt.Sprintf("contents[%d]", i), e)
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
	if c.tokens > geminiWindow {
		return geminiInvalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", c.tokens, geminiWindow)
	}
	if err := c.takeUp(token); err != nil {
		return err
	}
	c.finish()
	return nil
}

// readConfig checks generationConfig. [docs: thinking, whats-new-gemini-3.6]
func (c *geminiCall) readConfig(v any) error {
	c.maxTokens, c.level, c.budget = geminiOutput, c.model.level, -1
	if c.model.calm {
		c.budget = 0
	}
	if v == nil {
		return nil
	}
	f := objectAt("generation_config", v)
	if n, ok := f.integer("maxOutputTokens", false); ok {
		if n < 1 || n > geminiOutput {
			f.fail("maxOutputTokens", fmt.Sprintf("Unable to submit request because it has a maxOutputTokens value of %d but the supported range is from 1 (inclusive) to %d (exclusive). Update the value and try again.", n, geminiOutput+1))
		}
		c.maxTokens = n
	}
	f.number("temperature", 0, 2) // from the newest line on it is taken and ignored
	f.number("topP", 0, 1)
	f.number("topK", 0, 1<<20)
	f.number("seed", -1<<31, 1<<31)
	f.take("responseMimeType")
	if n, ok := f.integer("candidateCount", false); ok && n > 1 {
		f.fail("candidateCount", "Multiple candidates is not enabled for this model")
	}
	for _, name := range []string{"presencePenalty", "frequencyPenalty"} {
		if _, ok := f.number(name, -2, 2); ok && c.model.noBudget {
			f.fail(name, "Penalty is not enabled for this model")
		}
	}
	for _, v := range f.list("stopSequences") {
		s, ok := v.(string)
		if !ok || s == "" {
			f.fail("stopSequences", "must not be empty")
		}
		c.stops = append(c.stops, s)
	}
	thinking := f.take("thinkingConfig")
	if err := f.done(); err != nil {
		return err
	}
	if thinking == nil {
		return nil
	}
	return c.readGeminiThinking(objectAt("generation_config.thinking_config", thinking))
}

func (c *geminiCall) readGeminiThinking(f *fields) error {
	c.include = f.flag("includeThoughts")
	level := strings.ToUpper(f.text("thinkingLevel", false))
	budget, budgeted := f.integer("thinkingBudget", false)
	if err := f.done(); err != nil {
		return err
	}
	m := c.model
	switch {
	case level != "" && budgeted:
		return geminiInvalid("You can only set only one of thinking budget and thinking level.")
	case level != "" && !slices.Contains(geminiLevels, level):
		return geminiInvalid("Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), %q", level)
	case level != "" && m.levels == nil:
		return geminiInvalid("Thinking level is not supported for this model.")
	case level != "" && !slices.Contains(m.levels, level):
		return geminiInvalid("Thinking level %s is not supported for this model. Please retry with other thinking level.", level)
	case budgeted && m.noBudget:
		return geminiInvalid("Thinking budget is not supported for this model.")
	case budgeted && budget == 0 && m.levels == nil && !m.off:
		return geminiInvalid("Budget 0 is invalid. This model only works in thinking mode.")
	case budgeted && budget == 0 && m.levels != nil:
		return geminiInvalid("Budget 0 is invalid. This model only works in thinking mode.")
	case budgeted && budget != 0 && budget != -1 && m.levels == nil && (budget < m.least || budget > m.most):
		return geminiInvalid("The thinking budget %d is invalid. Please choose a value between %d and %d.", budget, m.least, m.most)
	}
	if level != "" {
		c.level = level
	}
	if budgeted && m.levels == nil {
		c.budget = budget
	}
	return nil
}

// readGeminiTools checks tools and toolConfig. [docs: function-calling]
func (c *geminiCall) readGeminiTools(list []any, choice any) error {
	c.tools = map[string]map[string]any{}
	for i, v := range list {
		f := objectAt(fmt.Sprintf("tools[%d]", i), v)
		functions := f.list("functionDeclarations")
		if err := f.done(); err != nil {
			return err
		}
		for j, v := range functions {
			f := objectAt(fmt.Sprintf("tools[%d].function_declarations[%d]", i, j), v)
			name := f.text("name", true)
			if f.err == nil {
				f.err = geminiName(f.at("name"), name)
			}
			if f.err == nil && c.tools[name] != nil {
				return geminiInvalid("Duplicate function declaration found: %s", name)
			}
			f.text("description", false)
			open, _ := f.take("parameters").(map[string]any)
			schema, _ := f.take("parametersJsonSchema").(map[string]any)
			if open != nil && schema != nil {
				f.fail("parameters", "only one of parameters and parametersJsonSchema may be set")
			}
			f.take("response")
			f.take("behavior")
			if err := f.done(); err != nil {
				return err
			}
			if schema == nil {
				schema = map[string]any{}
				maps.Copy(schema, open)
			}
			if len(schema) > 0 {
				if err := geminiSchema(f.at("parameters"), schema); err != nil {
					return err
				}
			}
			c.tools[name] = schema
			c.context = c.context.with([]byte("tool"), canonical(nil, v))
			c.tokens += tokens(string(canonical(nil, v)))
		}
	}
	if choice == nil {
		return nil
	}
	f := objectAt("tool_config", choice)
	config := objectAt("tool_config.function_calling_config", f.need("functionCallingConfig"))
	mode := config.word("mode", false, "MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
	names := config.list("allowedFunctionNames")
	if err := f.done(); err != nil {
		return err
	}
	if err := config.done(); err != nil {
		return err
	}
	if mode == "ANY" {
		c.force = "*"
		if len(c.tools) == 0 {
			return geminiInvalid("Function calling config is set without function_declarations.")
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

var geminiNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`) })

// geminiName judges the name of a function, declared or called.
func geminiName(path, name string) error {
	if geminiNames().MatchString(name) {
		return nil
	}
	return geminiInvalid("The GenerateContentRequest proto is invalid:\n  * %s: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.", path)
}

// geminiData are the members of which a part has one.
var geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse", "audioTranscription"}

func readGeminiContent(path string, v any) (geminiContent, error) {
	f := objectAt(path, v)
	c := geminiContent{path: path, role: f.text("role", false)}
	if c.role == "" {
		c.role = "user"
	}
	list := f.list("parts")
	if err := f.done(); err != nil {
		return c, err
	}
	if c.role != "user" && c.role != "model" && path != "systemInstruction" {
		return c, geminiInvalid("Please use a valid role: user, model.")
	}
	if len(list) == 0 {
		return c, geminiInvalid("* GenerateContentRequest.%s.parts: contents.parts must not be empty.", path)
	}
	for i, v := range list {
		p := objectAt(fmt.Sprintf("%s.parts[%d]", path, i), v)
		if err := checkPart(p, c.role); err != nil {
			return c, err
		}
		c.parts = append(c.parts, p.m)
	}
	return c, nil
}

// checkPart checks one part by itself.
func checkPart(f *fields, role string) error {
	data := ""
	for _, name := range geminiData {
		v := f.take(name)
		switch _, text := v.(string); {
		case v == nil:
		case data != "":
			f.fail("data", "oneof field 'data' is already set. Cannot set '"+name+"'")
		case name == "text" && !text:
			f.fail(name, "Input should be a valid string")
		default:
			data = name
		}
	}
	thought := f.flag("thought")
	signature := f.text("thoughtSignature", false)
	f.take("videoMetadata")
	for _, name := range []string{"partMetadata", "mediaProcessing", "mediaResolution", "speechMetadata"} {
		f.take(name)
	}
	if err := f.done(); err != nil {
		return err
	}
	switch {
	case data == "":
		return geminiInvalid("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", f.path)
	case role != "model" && (thought || signature != "" || data == "functionCall"):
		return geminiInvalid("%s: only the model's parts are thoughts, are signed or call functions", f.path)
	case role != "user" && data == "functionResponse":
		return geminiInvalid("%s: a function response is the user's", f.path)
	}
	switch data {
	case "inlineData":
		inner := objectAt(f.at(data), f.m[data])
		kind, data := inner.text("mimeType", true), inner.text("data", true)
		if inner.err == nil && strings.HasPrefix(kind, "image/") && (kind == "image/gif" || !imageTaken(kind, data)) && kind != "image/heic" && kind != "image/heif" {
			return geminiInvalid("Unsupported MIME type: %s", kind)
		}
		inner.text("displayName", false)
		return inner.done()
	case "functionCall":
		inner := objectAt(f.at(data), f.m[data])
		inner.text("id", false)
		if name := inner.text("name", true); inner.err == nil {
			inner.err = geminiName(inner.at("name"), name)
		}
		if v := inner.take("args"); v != nil {
			if _, ok := v.(map[string]any); !ok {
				inner.fail("args", "Input should be an object")
			}
		}
		return inner.done()
	case "functionResponse":
		inner := objectAt(f.at(data), f.m[data])
		inner.text("id", false)
		inner.text("name", true)
		if _, ok := inner.need("response").(map[string]any); !ok {
			inner.fail("response", "Input should be an object")
		}
		inner.list("parts")
		return inner.done()
	}
	return nil
}
