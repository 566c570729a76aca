package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// notImitated are members of the API that this server does not implement. It refuses them by name, because an answer that
// ignores them would mislead a test.
var notImitated = []string{"container", "mcp_servers", "diagnostics", "speed", "fallbacks", "output_format"}

// read checks the whole request.
func (c *call) read(v any, s sim.Sealer) error {
	f := strict.NewObject("", v)
	if f.Err != nil {
		return invalid("The request body should be a JSON object")
	}
	if err := c.readModel(f); err != nil {
		return err
	}
	for _, name := range notImitated {
		if f.Members[name] == nil {
			continue
		}
		if name == "speed" && !c.betas["fast-mode-2026-02-01"] {
			return invalid("%s: Extra inputs are not permitted", name)
		}
		return invalid("%s: the simulator does not imitate this", name)
	}
	if err := c.readContext(f.Take("context_management")); err != nil {
		return err
	}
	if err := c.readLimits(f); err != nil {
		return err
	}
	if err := c.readThinking(f.Take("thinking")); err != nil {
		return err
	}
	if c.edits.clears && c.thinking.kind == "disabled" {
		return invalid("context_management: `clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive")
	}
	if err := c.readEffort(f.Take("output_config")); err != nil {
		return err
	}
	if !c.count {
		if err := c.readSampling(f); err != nil {
			return err
		}
	}
	if err := c.readTools(f); err != nil {
		return err
	}
	if v := f.Take("cache_control"); v != nil {
		if err := cacheControl("cache_control", v); err != nil {
			return err
		}
	}
	system, messages := f.Take("system"), f.Need("messages")
	if err := f.Done(); err != nil {
		return err
	}
	if err := c.readSystem(system); err != nil {
		return err
	}
	if err := c.readMessages(messages); err != nil {
		return err
	}
	if err := c.checkTurns(); err != nil {
		return err
	}
	if err := c.replay(s); err != nil {
		return err
	}
	return c.finish()
}

func (c *call) readModel(f *strict.Object) error {
	id := f.Text("model", true)
	if f.Err != nil {
		return f.Err
	}
	if c.copilot {
		if c.model, c.name = copilotModel(id), id; c.model == nil {
			return &sim.Error{Status: 400, Kind: "model_not_supported", Text: "The requested model is not supported."}
		}
		return nil
	}
	own := id
	if c.bedrock {
		own = bedrockModel(id)
	}
	c.model, c.name = modelBy(own)
	if c.bedrock && c.model != nil {
		here := *c.model
		here.turnwise = slices.Contains(bedrockTurnwise, here.id)
		c.model = &here
	}
	if c.model == nil || c.model.lifecycle == "retired" {
		return &sim.Error{Status: 404, Kind: "not_found_error", Text: "model: " + id}
	}
	return nil
}

// readLimits checks the members that only a request for a message has: max_tokens, stop_sequences and others.
func (c *call) readLimits(f *strict.Object) error {
	if c.count {
		return f.Err
	}
	c.stream = f.Flag("stream")
	c.maxTokens, _ = f.Integer("max_tokens", true)
	if c.maxTokens < 0 {
		f.Fail("max_tokens", "Input should be greater than or equal to 0")
	}
	if c.maxTokens > c.model.output {
		f.Fail("max_tokens", fmt.Sprintf("%d > %d, which is the maximum allowed number of output tokens for %s", c.maxTokens, c.model.output, c.name))
	}
	if v := f.Take("metadata"); v != nil {
		m := strict.NewObject("metadata", v)
		m.Text("user_id", false)
		if err := m.Done(); err != nil {
			return err
		}
	}
	for _, v := range f.List("stop_sequences") {
		s, ok := v.(string)
		if !ok || strings.TrimSpace(s) == "" {
			f.Fail("stop_sequences", "each stop sequence must contain non-whitespace")
		}
		c.stops = append(c.stops, s)
	}
	f.Word("service_tier", false, "auto", "standard_only")
	f.Text("inference_geo", false)
	return f.Err
}

var thinkingTypes = []string{"adaptive", "between_tools", "disabled", "enabled"}

// readThinking checks the form of `thinking`, and whether the model takes it. [docs: thinking, thinking-troubleshooting]
func (c *call) readThinking(v any) error {
	t := &c.thinking
	t.display = "summarized"
	if c.model.modern {
		t.display = "omitted"
	}
	if v == nil {
		return nil
	}
	f := strict.NewObject("thinking", v)
	t.kind = f.Text("type", true)
	if f.Err != nil {
		return f.Err
	}
	if !slices.Contains(thinkingTypes, t.kind) {
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: %s", t.kind, strict.OneOf(thinkingTypes))
	}
	f.Path = "thinking." + t.kind
	if t.kind == "adaptive" || t.kind == "enabled" {
		displays := []string{"summarized", "omitted"}
		if c.betas[betaUpdates] {
			displays = append(displays, "updates")
		}
		if d := f.Word("display", false, displays...); d != "" {
			t.display = d
		}
	}
	if t.kind == "adaptive" && c.betas[betaBinding] {
		if v := f.Take("block_binding"); v != nil {
			b := strict.NewObject(f.At("block_binding"), v)
			t.mismatch = b.Word("prefix_mismatch_behavior", true, "error", "drop_block")
			if err := b.Done(); err != nil {
				return err
			}
		}
	}
	if t.kind == "enabled" {
		t.budget, _ = f.Integer("budget_tokens", true)
	}
	if err := f.Done(); err != nil {
		return err
	}
	if err := c.checkType(); err != nil {
		return err
	}
	if t.kind == "enabled" {
		return c.checkBudget()
	}
	return nil
}

// checkType refuses the types that the model does not take.
func (c *call) checkType() error {
	kind := c.thinking.kind
	switch {
	case c.model.takes(kind):
		return nil
	case kind == "adaptive":
		return invalid("adaptive thinking is not supported on this model")
	case kind == "between_tools":
		return invalid(`"thinking.type.between_tools" is not supported for this model.`)
	case kind == "disabled" && c.model.takes("between_tools"):
		return invalid(`"thinking.type.disabled" is not supported for this model. Send "between_tools" in place of "disabled".`)
	}
	return invalid(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, kind)
}

// checkBudget checks that the budget is at least 1024 and below max_tokens. With interleaving it applies to all thinking of
// a turn and may exceed max_tokens. [docs: extended-thinking]
func (c *call) checkBudget() error {
	switch n := c.thinking.budget; {
	case n < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case c.count:
		return nil
	case c.maxTokens == 0:
		return invalid("`max_tokens` must not be 0 when thinking is enabled with `thinking.budget_tokens`.")
	case n >= c.maxTokens && !c.betas[betaInterleaved]:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation on extended thinking.")
	}
	return nil
}

// readEffort checks output_config. [docs: effort]
func (c *call) readEffort(v any) error {
	c.effort = c.model.effort
	if v == nil {
		return nil
	}
	f := strict.NewObject("output_config", v)
	effort := f.Word("effort", false, effortsAll...)
	format := f.Take("format")
	if err := f.Done(); err != nil {
		return err
	}
	if format != nil {
		if err := c.readFormat(strict.NewObject("output_config.format", format)); err != nil {
			return err
		}
	}
	if effort == "" {
		return nil
	}
	if err := c.checkEffort("output_config", effort); err != nil {
		return err
	}
	c.effort = effort
	return nil
}

// readFormat checks the schema of the answer. [docs: structured-outputs]
func (c *call) readFormat(f *strict.Object) error {
	f.Word("type", true, "json_schema")
	schema, _ := f.Need("schema").(map[string]any)
	if err := f.Done(); err != nil {
		return err
	}
	if schema["type"] != "object" {
		return invalid("output_config.format.schema: Input should be an object schema")
	}
	if err := outputSchema("output_config.format.schema", schema); err != nil {
		return err
	}
	c.ask.Output = schema
	return nil
}

// outputKeywords are what a schema of an answer may not have. [docs: structured-outputs]
var outputKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems", "oneOf", "not", "if", "patternProperties"}

func outputSchema(path string, v any) error {
	schema, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range outputKeywords {
		if schema[name] != nil {
			return invalid("%s: For '%v' type, property '%s' is not supported", path, schema["type"], name)
		}
	}
	if schema["type"] == "object" && schema["additionalProperties"] != false {
		return invalid("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", path)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, inner := range properties {
		if err := outputSchema(path+".properties."+name, inner); err != nil {
			return err
		}
	}
	alternatives, _ := schema["anyOf"].([]any)
	for _, inner := range append(alternatives, schema["items"]) {
		if err := outputSchema(path, inner); err != nil {
			return err
		}
	}
	return nil
}

// readSampling checks temperature, top_p and top_k against the model and against thinking.
// [docs: thinking, thinking-troubleshooting, extended-thinking]
func (c *call) readSampling(f *strict.Object) error {
	temperature, hasTemperature := f.Number("temperature", 0, 1)
	topP, hasTopP := f.Number("top_p", 0, 1)
	topK, hasTopK := f.Integer("top_k", false)
	if hasTopK && topK < 0 {
		f.Fail("top_k", "Input should be greater than or equal to 0")
	}
	if f.Err != nil {
		return f.Err
	}
	thinking := c.thinks(false) || c.thinks(true)
	switch {
	case c.model.modern && hasTemperature && temperature != 1:
		return invalid("`temperature` may only be set to its default of 1 for this model.")
	case c.model.modern && hasTopP && topP != 1:
		return invalid("`top_p` may not be set for this model.")
	case c.model.modern && hasTopK:
		return invalid("`top_k` may not be set for this model.")
	case thinking && hasTemperature && temperature != 1:
		return invalid("`temperature` may only be set to 1 when thinking is enabled.")
	case thinking && hasTopP && topP < 0.95:
		return invalid("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
	case thinking && hasTopK:
		return invalid("`top_k` must be unset when thinking is enabled.")
	case hasTemperature && hasTopP && c.model.single:
		return invalid("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
	}
	return nil
}
