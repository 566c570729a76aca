package converse

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

var (
	useID    = pattern(`^[a-zA-Z0-9_.:-]{1,64}$`)
	apiName  = pattern(`^[a-zA-Z0-9_-]{1,64}$`)
	document = pattern(`^[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*$`)
)

// read checks a whole request. [docs: API_runtime_ConverseStream]
func (c *call) read(v any) error {
	f := strict.NewObject("", v)
	if f.Err != nil {
		return invalid("The request body should be a JSON object")
	}
	if err := c.readLimits(f.Take("inferenceConfig")); err != nil {
		return err
	}
	if err := c.readFields(f.Take("additionalModelRequestFields")); err != nil {
		return err
	}
	if err := c.readTools(f.Take("toolConfig")); err != nil {
		return err
	}
	for _, name := range []string{"guardrailConfig", "requestMetadata", "performanceConfig", "additionalModelResponseFieldPaths"} {
		f.Take(name)
	}
	if t, ok := f.Take("serviceTier").(map[string]any); ok && !slices.Contains([]any{"default", "flex", "priority", "reserved"}, t["type"]) {
		return invalid("Value at 'serviceTier.type' failed to satisfy constraint: Member must satisfy enum value set: [priority, default, flex, reserved]")
	}
	if err := c.readOutput(f.Take("outputConfig")); err != nil {
		return err
	}
	for i, v := range f.List("system") {
		b, _ := v.(map[string]any)
		if err := c.readBlock(fmt.Sprintf("system.%d", i), b, "text", "cachePoint", "guardContent"); err != nil {
			return err
		}
	}
	if err := c.readMessages(f.List("messages")); err != nil {
		return err
	}
	if err := f.Done(); err != nil {
		return err
	}
	return c.finish(v)
}

func (c *call) readLimits(v any) error {
	c.maxTokens = c.model.output
	if v == nil {
		return nil
	}
	f := strict.NewObject("inferenceConfig", v)
	for _, name := range []string{"temperature", "topP", "stopSequences"} {
		if err := c.without(name, f.Members[name] != nil); err != nil {
			return err
		}
	}
	if f.Members["temperature"] != nil && f.Members["topP"] != nil && c.model.control == claude && !strings.Contains(c.model.id, "claude-3") {
		return returned("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	if n, ok := f.Integer("maxTokens", false); ok {
		if n < 1 {
			return invalid("Value '%d' at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1", n)
		}
		if n > c.model.output {
			return invalid("The maximum tokens you requested exceeds the model limit of %d. Try again with a maximum tokens value that is lower than %d.", c.model.output, c.model.output)
		}
		c.maxTokens = n
	}
	f.Number("temperature", 0, 1)
	f.Number("topP", 0, 1)
	for _, v := range f.List("stopSequences") {
		if s, ok := v.(string); ok && s != "" {
			c.stops = append(c.stops, s)
			continue
		}
		return invalid("Value at 'inferenceConfig.stopSequences' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	return f.Done()
}

// without refuses a member that is there and that the model does not take.
func (c *call) without(name string, there bool) error {
	if there && slices.Contains(c.model.lacks, name) {
		return invalid("This model doesn't support the %[1]s field. Remove %[1]s and try again.", name)
	}
	return nil
}

// readFields checks the members of the model's maker. One that the model does not know is refused.
func (c *call) readFields(v any) error {
	c.thinks = c.model.control != never && !c.model.calm
	f := strict.NewObject("additionalModelRequestFields", v)
	if v == nil {
		return nil
	}
	switch c.model.control {
	case claude:
		f.Take("anthropic_beta")
		f.Integer("top_k", false)
		return c.readClaude(f)
	case nova:
		if t, ok := f.Take("reasoningConfig").(map[string]any); ok {
			effort, _ := t["maxReasoningEffort"].(string)
			c.thinks = t["type"] == "enabled"
			if t["type"] != "enabled" && t["type"] != "disabled" || c.thinks && !slices.Contains(three, effort) {
				return returned("reasoningConfig: type is enabled or disabled, and maxReasoningEffort one of low, medium, high")
			}
		}
		f.Take("inferenceConfig")
	case flat:
		c.readEffort(f.Text("reasoning_effort", false))
	case nestling:
		if r, ok := f.Take("reasoning").(map[string]any); ok {
			effort, _ := r["effort"].(string)
			c.readEffort(effort)
		}
	default:
		f.Take("inferenceConfig")
	}
	for name := range f.Members {
		if !slices.Contains(f.Taken, name) {
			return returned("Malformed input request: extraneous key [%s] is not permitted, please reformat your input and try again.", name)
		}
	}
	return f.Err
}

func (c *call) readEffort(effort string) {
	if effort != "" {
		c.thinks = effort != "none"
	}
}

func (c *call) readClaude(f *strict.Object) error {
	if t, ok := f.Take("thinking").(map[string]any); ok {
		budget, _ := strict.NewObject("thinking", t).Integer("budget_tokens", false)
		switch t["type"] {
		case "enabled":
			if c.model.adaptive {
				return returned(`"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`)
			}
			if budget < 1024 {
				return returned("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
			}
			c.thinks = true
		case "adaptive":
			if len(c.model.efforts) == 0 {
				return returned("adaptive thinking is not supported on this model")
			}
			c.thinks = true
		case "disabled":
		default:
			return returned("thinking: Input tag found using 'type' does not match any of the expected tags")
		}
	}
	if o, ok := f.Take("output_config").(map[string]any); ok && o["effort"] != nil {
		if word, _ := o["effort"].(string); !slices.Contains(c.model.efforts, word) {
			return returned("output_config.effort: Input should be one of %v", c.model.efforts)
		}
	}
	if err := f.Done(); err != nil {
		return returned("%v", err)
	}
	return nil
}

func (c *call) readTools(v any) error {
	if v == nil {
		return nil
	}
	c.tools = map[string]map[string]any{}
	f := strict.NewObject("toolConfig", v)
	for i, v := range f.List("tools") {
		t, _ := v.(map[string]any)
		if t["cachePoint"] != nil {
			if c.model.control != claude {
				return unmarkable(fmt.Sprintf("toolConfig/tools/%d", i))
			}
			c.marks++
			continue
		}
		spec, ok := t["toolSpec"].(map[string]any)
		if !ok {
			return invalid("toolConfig.tools.%d: a tool has a toolSpec", i)
		}
		name, _ := spec["name"].(string)
		if err := c.checkName(fmt.Sprintf("toolConfig.tools.%d.member.toolSpec.name", i+1), name); err != nil {
			return err
		}
		schema, _ := spec["inputSchema"].(map[string]any)
		object, ok := schema["json"].(map[string]any)
		if !ok || object["type"] != "object" {
			return invalid("The value at toolConfig.tools.%d.toolSpec.inputSchema.json.type must be one of the following: object.", i)
		}
		if d, there := spec["description"]; there && d == "" {
			return invalid("Value '' at 'toolConfig.tools.%d.member.toolSpec.description' failed to satisfy constraint: Member must have length greater than or equal to 1", i+1)
		}
		c.tools[name] = object
	}
	if len(c.tools) == 0 {
		return invalid("Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1")
	}
	if choice, ok := f.Take("toolChoice").(map[string]any); ok {
		for name := range choice {
			if err := c.without("toolConfig.toolChoice."+name, true); err != nil {
				return err
			}
		}
		switch {
		case choice["any"] != nil:
			c.force = "*"
		case choice["tool"] != nil:
			t, _ := choice["tool"].(map[string]any)
			c.force, _ = t["name"].(string)
			if c.tools[c.force] == nil {
				return invalid("toolConfig.toolChoice.tool.name: there is no tool %q", c.force)
			}
		case choice["auto"] == nil:
			return invalid("toolConfig.toolChoice: one of auto, any, tool is needed")
		}
		if c.force != "" && c.thinks && c.model.control == claude {
			return returned("Thinking may not be enabled when tool_choice forces tool use.")
		}
	}
	return f.Done()
}

func (c *call) checkName(path, name string) error {
	rule := apiName
	if c.model.toolName != nil {
		rule = c.model.toolName
	}
	if !rule().MatchString(name) {
		return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: %s", name, path, strings.Trim(rule().String(), "^$"))
	}
	return nil
}

func (c *call) readOutput(v any) error {
	if v == nil {
		return nil
	}
	format, _ := strict.NewObject("outputConfig", v).Take("textFormat").(map[string]any)
	structure, _ := format["structure"].(map[string]any)
	named, _ := structure["jsonSchema"].(map[string]any)
	text, _ := named["schema"].(string)
	schema, err := strict.Decode([]byte(text))
	object, ok := schema.(map[string]any)
	if format["type"] != "json_schema" || err != nil || !ok {
		return invalid("outputConfig.textFormat: type is json_schema, and structure.jsonSchema.schema is a schema as text")
	}
	c.ask.Output = object
	return nil
}

// readBlock checks a block of which one member is allowed.
func (c *call) readBlock(path string, b map[string]any, allowed ...string) error {
	if len(b) != 1 {
		return invalid("The content block at %s must have one member of %v.", path, allowed)
	}
	for name, v := range b {
		if !slices.Contains(allowed, name) {
			return invalid("The content block at %s must not have %s.", path, name)
		}
		switch name {
		case "text":
			if s, ok := v.(string); !ok || strings.TrimSpace(s) == "" {
				return invalid("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", path)
			}
		case "cachePoint":
			c.marks++
			if m, _ := v.(map[string]any); m["type"] != "default" || !c.model.caches {
				return invalid("This model does not support the cachePoint field at %s.", path)
			}
		case "image", "document":
			return c.readFile(path, name, v)
		}
	}
	return nil
}

func (c *call) readFile(path, kind string, v any) error {
	m, _ := v.(map[string]any)
	source, _ := m["source"].(map[string]any)
	data, _ := source["bytes"].(string)
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" && source["text"] == nil {
		return invalid("%s.%s.source.bytes: not base64", path, kind)
	}
	formats := []any{"png", "jpeg", "gif", "webp"}
	if kind == "document" {
		formats = []any{"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"}
		if name, _ := m["name"].(string); !document().MatchString(name) {
			return invalid("The value of %s.document.name has characters that are not allowed.", path)
		}
	}
	if !slices.Contains(formats, m["format"]) {
		return invalid("Value at '%s.%s.format' failed to satisfy constraint: Member must satisfy enum value set: %v", path, kind, formats)
	}
	return nil
}

// readMessages checks the history: roles, blocks, and the pairs of calls and results.
func (c *call) readMessages(list []any) error {
	names := map[string]bool{}
	for i, v := range list {
		m, _ := v.(map[string]any)
		role, _ := m["role"].(string)
		content, _ := m["content"].([]any)
		now := message{path: fmt.Sprintf("messages.%d", i), role: role}
		switch {
		case role != "user" && role != "assistant":
			return invalid("Value '%s' at '%s.role' failed to satisfy constraint: Member must satisfy enum value set: [user, assistant]", role, now.path)
		case i == 0 && role != "user":
			return invalid("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		case i > 0 && role == c.messages[i-1].role:
			return invalid("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
		case len(content) == 0:
			return invalid("The content field in the Message object at %s is empty. Add a ContentBlock object to the content field and try again.", now.path)
		}
		for j, v := range content {
			b, _ := v.(map[string]any)
			if err := c.readContent(fmt.Sprintf("%s.content.%d", now.path, j), role, b); err != nil {
				return err
			}
			now.blocks = append(now.blocks, b)
		}
		if err := c.checkMarks(now, names); err != nil {
			return err
		}
		if err := c.checkPairs(i, now); err != nil {
			return err
		}
		c.messages = append(c.messages, now)
	}
	if len(c.messages) == 0 {
		return invalid("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	return c.checkLast(c.messages[len(c.messages)-1])
}

func (c *call) readContent(path, role string, b map[string]any) error {
	switch {
	case role == "user" && b["toolResult"] != nil:
		r, _ := b["toolResult"].(map[string]any)
		content, _ := r["content"].([]any)
		if s, there := r["status"]; there && s != "success" && s != "error" {
			return invalid("Value at '%s.toolResult.status' failed to satisfy constraint: Member must satisfy enum value set: [success, error]", path)
		}
		for k, v := range content {
			inner, _ := v.(map[string]any)
			if err := c.readBlock(fmt.Sprintf("%s.toolResult.content.%d", path, k), inner, "text", "json", "image", "document"); err != nil {
				return err
			}
		}
		if len(content) == 0 {
			return invalid("The content field in the ToolResultBlock object at %s is empty.", path)
		}
		return nil
	case role == "user":
		return c.readBlock(path, b, "text", "image", "document", "cachePoint", "guardContent", "video")
	case b["toolUse"] != nil:
		u, _ := b["toolUse"].(map[string]any)
		id, _ := u["toolUseId"].(string)
		name, _ := u["name"].(string)
		if !useID().MatchString(id) {
			return invalid("Value '%s' at '%s.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+", id, path)
		}
		if _, ok := u["input"].(map[string]any); !ok {
			return invalid("The format of the value at %s.toolUse.input is invalid. Provide a json object for the field and try again.", path)
		}
		return c.checkName(path+".toolUse.name", name)
	case b["reasoningContent"] != nil:
		return c.readReasoning(path, b["reasoningContent"])
	}
	return c.readBlock(path, b, "text", "cachePoint")
}

// readReasoning checks reasoning that comes back: only that of this maker, and as it was.
func (c *call) readReasoning(path string, v any) error {
	r, _ := v.(map[string]any)
	signature, ok := "", false
	text := ""
	if t, isText := r["reasoningText"].(map[string]any); isText {
		text, _ = t["text"].(string)
		signature, ok = t["signature"].(string)
	} else if data, isData := r["redactedContent"].(string); isData {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return invalid("%s.reasoningContent.redactedContent: not base64", path)
		}
		signature, ok = string(raw), true
	} else {
		return invalid("The value at %s.reasoningContent is empty.", path)
	}
	switch {
	case c.model.refuses || c.model.control == never:
		return invalid("This model doesn't support the reasoningContent field. Remove reasoningContent and try again.")
	case ok && !c.model.signs && !c.model.hides:
		return invalid("This model doesn't support the reasoningContent.reasoningText.signature field. Remove reasoningContent.reasoningText.signature and try again.")
	case !ok && (c.model.signs || c.model.hides):
		return returned("%s: thinking.signature: Field required", path)
	case !ok:
		return nil
	}
	seal, _, good := c.sealer.Open(signature)
	if !good || seal.Kind != "converse" || seal.Model != c.model.maker || seal.Shown && seal.Text != digest(text) {
		return returned("%s: Invalid `signature` in `thinking` block", path)
	}
	return nil
}

// unmarkable refuses a mark where Nova takes none: among tools, and behind a block of a message that is no text.
// [danny-avila/LibreChat#13838, NousResearch/hermes-agent#97289; users' reports on results]
func unmarkable(path string) error {
	return invalid("Malformed input request: #/%s: extraneous key [cachePoint] is not permitted, please reformat your input and try again.", path)
}

func (c *call) checkMarks(m message, names map[string]bool) error {
	said := false
	for i, b := range m.blocks {
		if d, ok := b["document"].(map[string]any); ok {
			name, _ := d["name"].(string)
			if names[name] {
				return invalid("messages contain duplicate document names: %s", name)
			}
			names[name] = true
		}
		said = said || b["text"] != nil || b["toolResult"] != nil || b["toolUse"] != nil
		if b["cachePoint"] == nil {
			continue
		}
		before := map[string]any{}
		if i > 0 {
			before, _ = m.blocks[i-1]["document"].(map[string]any)
		}
		if i > 0 && c.model.control != claude && m.blocks[i-1]["text"] == nil {
			return unmarkable(strings.ReplaceAll(fmt.Sprintf("%s.content.%d", m.path, i), ".", "/"))
		}
		switch {
		case i == 0 || !said:
			return invalid("There is nothing available to cache. Please remove the invalid cache point and try again.")
		case before != nil && before["format"] != nil && before["format"] != "pdf":
			return returned("%s.content.%d.type: Field required", m.path, i)
		}
	}
	if len(m.all("document")) > 0 && !said {
		return invalid("The document in %s needs a text block beside it.", m.path)
	}
	if c.marks > 4 {
		return invalid("A maximum of 4 blocks with cachePoint may be provided.")
	}
	return nil
}

// checkPairs compares the results of a message with the calls before it.
func (c *call) checkPairs(i int, m message) error {
	var calls []string
	if i > 0 {
		for _, u := range c.messages[i-1].all("toolUse") {
			id, _ := u["toolUseId"].(string)
			if slices.Contains(calls, id) {
				return invalid("messages.%d: toolUse ids must be unique: %s", i-1, id)
			}
			calls = append(calls, id)
		}
	}
	results := m.all("toolResult")
	uses := m.all("toolUse")
	switch {
	case (len(results) > 0 || len(uses) > 0) && c.tools == nil:
		return invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	case len(results) > len(calls):
		return invalid("The number of toolResult blocks at %s.content exceeds the number of toolUse blocks of previous turn.", m.path)
	case m.role == "user" && len(results) < len(calls):
		return invalid("Expected toolResult blocks at %s.content for the following Ids: %s", m.path, strings.Join(calls, ", "))
	}
	for _, r := range results {
		if id, _ := r["toolUseId"].(string); !slices.Contains(calls, id) {
			return invalid("Expected toolResult blocks at %s.content for the following Ids: %s", m.path, strings.Join(calls, ", "))
		}
	}
	if len(results) > 0 && !c.model.mixes && slices.ContainsFunc(m.blocks, func(b map[string]any) bool { return b["text"] != nil || b["image"] != nil || b["document"] != nil }) {
		return invalid("%s.content: Conversation blocks and tool result blocks cannot be provided in the same turn.", m.path)
	}
	return nil
}

// checkLast judges an answer that the model is to continue.
func (c *call) checkLast(m message) error {
	if m.role != "assistant" {
		return nil
	}
	last := m.blocks[len(m.blocks)-1]
	text, ok := last["text"].(string)
	switch {
	case !ok:
		return returned("messages: the final block of an answer must be text")
	case strings.TrimRight(text, " \n\t\r") != text:
		return returned("messages: final assistant content cannot end with trailing whitespace")
	}
	return nil
}

// finish fills in what the answer is made from.
func (c *call) finish(v any) error {
	body := strict.AppendCanonical(nil, v)
	c.tokens = sim.Tokens(string(body))
	c.prompt = c.prefixes(v)
	c.ask.Seed, c.ask.Tools = strict.Digest{}.With(body), c.tools
	c.ask.ThinkingWords = 0
	if c.thinks {
		c.ask.ThinkingWords = 60
	}
	for _, m := range c.messages {
		if results := m.all("toolResult"); len(results) > 0 {
			c.ask.Rounds++
			for _, r := range results {
				content, _ := r["content"].([]any)
				for _, b := range content {
					if text, ok := b.(map[string]any)["text"].(string); ok {
						c.ask.Results = append(c.ask.Results, text)
					}
				}
			}
		}
		var said []string
		for _, b := range m.blocks {
			if text, ok := b["text"].(string); ok && m.role == "user" {
				said = append(said, text)
			}
		}
		if len(said) > 0 {
			c.ask.Prompt = sim.LastMarked(strings.Join(said, "\n")) // clients join prompts of which one had no answer
			if len(m.all("toolResult")) == 0 {
				c.ask.Rounds, c.ask.Results = 0, nil
			}
		}
	}
	c.ask.Force(c.force)
	return nil
}
