package chat

import (
	"net/http"
	"slices"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Each function here reads the members that control thinking at one host. It refuses or ignores what the host refuses or ignores,
// and sets how much the model thinks.

// effortWord returns reasoning_effort; empty: there is none.
func effortWord(f *strict.Object) string { return f.Text("reasoning_effort", false) }

// typed reads the object thinking, with its type and further members.
func typed(f *strict.Object, more ...string) (kind string, o *strict.Object) {
	v := f.Take("thinking")
	if v == nil {
		return "", nil
	}
	o = strict.NewObject("thinking", v)
	kind = o.Word("type", true, "enabled", "disabled", "adaptive")
	for _, name := range more {
		o.Take(name)
	}
	if err := o.Done(); err != nil && f.Err == nil {
		f.Err = err
	}
	return kind, o
}

func unsupportedEffort(m *model, word string) error {
	return &sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "unsupported_value", Text: "Unsupported value: 'reasoning_effort' does not support '" + word + "' with " + m.id + ". Supported values are: " + strict.OneOf(m.efforts)}
}

// strictEffort accepts only the model's words. The word none means off if the model has that.
func strictEffort(c *call, f *strict.Object) error {
	word := effortWord(f)
	switch {
	case f.Err != nil:
		return f.Err
	case word == "":
	case word == "none" && c.model.off:
		c.think("")
	case !slices.Contains(c.model.efforts, word):
		return unsupportedEffort(c.model, word)
	default:
		c.think(word)
	}
	return nil
}

func thinkOpenAI(c *call, f *strict.Object) error {
	if err := strictEffort(c, f); err != nil {
		return err
	}
	if c.thinks && (f.Members["temperature"] != nil || f.Members["top_p"] != nil) {
		return &sim.Error{Status: 400, Kind: "invalid_request_error", Code: "unsupported_parameter", Text: "Unsupported parameter: 'temperature' is not supported with this model."}
	}
	if c.model.thinks() && f.Members["max_tokens"] != nil {
		return &sim.Error{Status: 400, Kind: "invalid_request_error", Code: "unsupported_parameter", Text: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
	}
	return nil
}

// thinkDeepSeek ignores unknown words. [docs: thinking_mode]
func thinkDeepSeek(c *call, f *strict.Object) error {
	word, known := map[string]string{"minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "max", "ultra": "max"}[effortWord(f)]
	if known {
		c.think(word)
	}
	switch kind, _ := typed(f); kind {
	case "disabled":
		c.think("")
	case "adaptive":
		return invalid("thinking.type: unknown variant `adaptive`, expected `enabled` or `disabled`")
	}
	return f.Err
}

func thinkDashScope(c *call, f *strict.Object) error {
	f.Flag("preserve_thinking")
	on := f.Members["enable_thinking"]
	f.Flag("enable_thinking")
	budget, has := f.Integer("thinking_budget", false)
	word := effortWord(f)
	switch {
	case f.Err != nil:
		return f.Err
	case on == false && !c.model.off && c.model.thinks():
		return invalid("parameter.enable_thinking: the model %s does not support enable_thinking=false", c.model.id)
	case on == false:
		c.think("")
	case on == true && c.model.thinks():
		c.think(c.model.effort)
	}
	if word != "" && len(c.model.efforts) > 0 && c.thinks { // otherwise it is ignored
		if !slices.Contains(c.model.efforts, word) {
			return unsupportedEffort(c.model, word)
		}
		c.think(word)
	}
	if has && (budget < 1 || budget > max(c.model.budget, 38_912)) {
		return invalid("parameter.thinking_budget: %d is not in the range of %s", budget, c.model.id)
	}
	if has && c.thinks {
		c.words = min(c.words, budget/3+1)
	}
	if c.thinks && c.model.stream && !c.stream {
		return invalid("parameter.enable_thinking must be set to false for non-streaming calls")
	}
	return nil
}

// thinkOpenRouter drops what a route does not accept, unless the request requires it. [docs: reasoning-tokens]
func thinkOpenRouter(c *call, f *strict.Object) error {
	require := false
	if v := f.Take("provider"); v != nil {
		p := strict.NewObject("provider", v)
		require = p.Flag("require_parameters")
		if p.Err != nil {
			return p.Err
		}
	}
	word := effortWord(f)
	v := f.Take("reasoning")
	if v == nil && word == "" {
		return f.Err
	}
	o := &strict.Object{Path: "reasoning", Members: map[string]any{}}
	if v != nil {
		o = strict.NewObject("reasoning", v)
	}
	if given := o.Word("effort", false, "none", "minimal", "low", "medium", "high", "xhigh", "max"); given != "" {
		word = given
	}
	budget, has := o.Integer("max_tokens", false)
	enabled := o.Members["enabled"]
	o.Flag("enabled")
	o.Flag("exclude")
	o.Word("summary", false, "auto", "concise", "detailed")
	switch {
	case f.Err != nil:
		return f.Err
	case o.Done() != nil:
		return o.Done()
	case word != "" && has:
		return invalid("Only one of \"reasoning.effort\" and \"reasoning.max_tokens\" may be specified")
	case !c.model.thinks() && require:
		return &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "No endpoints found that can handle the requested parameters."}
	case !c.model.thinks():
		return nil
	case (enabled == false || word == "none") && !c.model.off:
		return invalid("Reasoning is mandatory for this endpoint and cannot be disabled.")
	case enabled == false || word == "none":
		c.think("")
	case has && c.model.budget > 0 && budget < 1024:
		return invalid("reasoning.max_tokens must be at least 1024")
	case has:
		c.think(c.model.effort)
		c.words = min(c.words, budget/3+1)
	case slices.Contains(c.model.efforts, word):
		c.think(word)
	default:
		c.think(c.model.effort)
	}
	return nil
}

// thinkKimi accepts one kind of control for each model. [docs: platform.kimi.ai]
func thinkKimi(c *call, f *strict.Object) error {
	word := effortWord(f)
	kind, o := typed(f, "keep")
	switch {
	case f.Err != nil:
		return f.Err
	case kind == "adaptive":
		return invalid("invalid thinking type")
	case word != "" && kind != "" && c.model.form != "effort":
		return invalid("cannot specify both thinking and reasoning_effort")
	case word == "none":
		return invalid("invalid reasoning_effort: none")
	case kind == "disabled" && !c.model.off:
		return invalid("the model %s does not support disabling thinking", c.model.id)
	case o != nil && o.Members["keep"] != nil && c.model.form == "type":
		return invalid("thinking.keep is not supported by %s", c.model.id)
	case kind == "disabled":
		c.think("")
	case c.model.form == "effort" && slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	for _, name := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty"} {
		if f.Members[name] != nil {
			return invalid("invalid %s: only the default is allowed for this model", name)
		}
	}
	return nil
}

// thinkZAI refuses one form of off for the newest model. It accepts the other form, and the model then thinks at its highest
// effort. [docs: thinking-mode]
func thinkZAI(c *call, f *strict.Object) error {
	word := effortWord(f)
	kind, _ := typed(f, "clear_thinking")
	switch {
	case f.Err != nil:
		return f.Err
	case kind == "adaptive":
		return invalid("thinking.type: adaptive is not supported")
	case kind == "disabled" && c.model.form == "effort":
		return invalid("%s cannot disable thinking; use reasoning_effort low, high or max", c.model.id)
	case kind == "disabled" && c.model.off:
		c.think("")
	case c.model.form == "effort" && (word == "none" || word == "off"):
		c.think("max")
	case slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	if most, has := maxTokens(f); has && c.model.output > 0 && most > c.model.output {
		return invalid("max_tokens: the limit of %s is %d", c.model.id, c.model.output)
	}
	return nil
}

// thinkMiniMax accepts, refuses or ignores off, depending on the model. [docs: text-openai-api]
func thinkMiniMax(c *call, f *strict.Object) error {
	c.split = f.Flag("reasoning_split")
	word := effortWord(f)
	kind, _ := typed(f)
	switch {
	case f.Err != nil:
		return f.Err
	case kind == "disabled" && c.model.form == "effort":
		return invalid("invalid params, %s requires adaptive thinking", c.model.id)
	case kind == "disabled" && c.model.off:
		c.think("")
	case c.model.form == "effort" && slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	return nil
}

func thinkXAI(c *call, f *strict.Object) error {
	if f.Members["reasoning_effort"] != nil && len(c.model.efforts) == 0 {
		return invalid("Model %s does not support parameter reasoningEffort.", c.model.id)
	}
	if word := effortWord(f); word == "none" && !c.model.off {
		return invalid("This model does not support 'reasoning_effort' value 'none'.")
	}
	for _, name := range []string{"stop", "presence_penalty", "frequency_penalty"} {
		if f.Members[name] != nil && c.model.thinks() {
			return invalid("Model %s does not support parameter %s.", c.model.id, name)
		}
	}
	return strictEffort(c, f)
}

// thinkGroq accepts one of two parameters for the place of thinking, and refuses both together. [docs: reasoning]
func thinkGroq(c *call, f *strict.Object) error {
	format := f.Word("reasoning_format", false, "parsed", "raw", "hidden")
	include := f.Members["include_reasoning"]
	f.Flag("include_reasoning")
	switch {
	case f.Err != nil:
		return f.Err
	case format != "" && include != nil:
		return invalid("cannot specify both reasoning_format and include_reasoning")
	case (format != "" || include != nil || f.Members["reasoning_effort"] != nil) && c.model.dumb:
		return invalid("reasoning_format and reasoning_effort are not supported with this model")
	case format != "" && c.model.form == "oss":
		return invalid("reasoning_format is not supported with this model")
	case format == "raw" && len(c.tools) > 0:
		return invalid("reasoning_format raw is not supported with tools")
	}
	c.split = format == "parsed" || c.model.form == "oss" || format == "" && len(c.tools) > 0
	c.mute = format == "hidden" || include == false
	return strictEffort(c, f)
}

func thinkMistral(c *call, f *strict.Object) error {
	if f.Members["reasoning_effort"] != nil && len(c.model.efforts) == 0 {
		return invalid("reasoning_effort is not supported for this model")
	}
	return strictEffort(c, f)
}

func thinkCopilot(c *call, f *strict.Object) error {
	budget, has := f.Integer("thinking_budget", false)
	has = has && !c.model.dumb // ignored for models that never think [pydantic/pydantic-ai #8232]
	if has && (c.model.budget == 0 || budget < 128 || budget > c.model.budget) {
		return invalid("thinking_budget: %d is not supported by %s", budget, c.model.id)
	}
	if word := effortWord(f); word != "" && len(c.model.efforts) == 0 {
		return &sim.Error{Status: 400, Kind: "invalid_request_error", Code: "invalid_reasoning_effort", Text: "invalid_reasoning_effort"}
	}
	if has {
		c.think(c.model.effort)
		c.words = min(c.words, budget/3+1)
		return nil
	}
	return strictEffort(c, f)
}

// thinkGemini shows thoughts if the request asks to include them. [docs: openai]
func thinkGemini(c *call, f *strict.Object) error {
	c.mute = true
	if v := f.Take("extra_body"); v != nil {
		body := strict.NewObject("extra_body", v)
		google := strict.NewObject("extra_body.google", body.Need("google"))
		config := strict.NewObject("extra_body.google.thinking_config", google.Need("thinking_config"))
		c.mute = !config.Flag("include_thoughts")
		leveled := config.Take("thinking_level") != nil || config.Take("thinking_budget") != nil
		for _, o := range []*strict.Object{body, google, config} {
			if err := o.Done(); err != nil {
				return err
			}
		}
		if leveled && f.Members["reasoning_effort"] != nil {
			return invalid("Expected one of either `reasoning_effort` or custom `thinking_config`; found both.")
		}
	}
	word := effortWord(f)
	if word == "none" && !c.model.off { // accepted, and means the lowest level
		c.think("low")
		return nil
	}
	if word != "" && word != "none" && !slices.Contains(c.model.efforts, word) {
		return invalid("Invalid reasoning_effort: %s. Valid values are: high, low, medium, none", word)
	}
	return strictEffort(c, f)
}

// thinkOllamaV1 accepts all words, except for models that do not think. Some models ignore them. [ollama: openai/openai.go]
func thinkOllamaV1(c *call, f *strict.Object) error {
	word := effortWord(f)
	if v, ok := f.Take("reasoning").(map[string]any); ok {
		word, _ = v["effort"].(string)
	}
	switch {
	case f.Err != nil:
		return f.Err
	case word == "":
	case !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}, word):
		return invalid("invalid reasoning value: '%s' (must be \"high\", \"medium\", \"low\", \"max\", or \"none\")", word)
	case word == "none" && c.model.off:
		c.think("")
	case word == "none":
	case c.model.dumb:
		return invalid("%q does not support thinking", c.model.id)
	case slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	return nil
}

// templateSwitch reads chat_template_kwargs.
func templateSwitch(c *call, f *strict.Object) (word string, err error) {
	v := f.Take("chat_template_kwargs")
	if v == nil {
		return effortWord(f), f.Err
	}
	o := strict.NewObject("chat_template_kwargs", v)
	for _, name := range []string{"enable_thinking", "thinking"} {
		on := o.Members[name]
		o.Flag(name)
		if on == false && c.model.off {
			c.think("")
		}
	}
	if err := c.bounded(o, "thinking_budget", 0); err != nil { // a hint to the template [SGLang docs: thinking_budget]
		return "", err
	}
	if o.Err != nil {
		return "", o.Err
	}
	return effortWord(f), f.Err
}

// bounded reads a budget for thinking, in tokens: least or more. A negative number means no budget.
func (c *call) bounded(f *strict.Object, name string, least int) error {
	budget, has := f.Integer(name, false)
	if has && budget < least {
		return invalid("%s must be at least %d", name, least)
	}
	if has && budget >= 0 {
		c.words = min(c.words, budget/3+1)
	}
	return nil
}

func thinkVLLM(c *call, f *strict.Object) error {
	word, err := templateSwitch(c, f)
	f.Flag("include_reasoning")
	if err := c.bounded(f, "thinking_token_budget", 0); err != nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case f.Err != nil:
		return f.Err
	case word != "" && word != "none" && !slices.Contains(words6, word):
		return invalid("reasoning_effort: Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'")
	case word == "none" && c.model.off && f.Members["chat_template_kwargs"] == nil:
		c.think("")
	case word != "" && word != "none" && c.thinks:
		c.think(word)
	}
	return nil
}

func thinkSGLang(c *call, f *strict.Object) error {
	if _, wrong := f.Members["reasoning_effort"].(bool); wrong {
		return invalid("reasoning_effort must be a string or a number")
	}
	word, err := templateSwitch(c, f)
	f.Flag("stream_reasoning")
	f.Flag("separate_reasoning")
	switch {
	case err != nil:
		return err
	case word == "none" && c.model.off:
		c.think("")
	case word != "" && word != "none" && c.thinks:
		c.think(word)
	}
	return f.Err
}

func thinkLlamaCPP(c *call, f *strict.Object) error {
	word, err := templateSwitch(c, f)
	c.split = f.Word("reasoning_format", false, "none", "auto", "deepseek", "deepseek-legacy") != "none"
	if err := c.bounded(f, "reasoning_budget_tokens", -1); err != nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case word == "none":
		c.think("")
	}
	return f.Err
}

// thinkLMStudio accepts every word, and ignores those that mean off. [lmstudio: bug tracker]
func thinkLMStudio(c *call, f *strict.Object) error {
	if word := effortWord(f); slices.Contains(c.model.efforts, word) {
		c.think(word)
	}
	return f.Err
}

func thinkGeneric(c *call, f *strict.Object) error { return strictEffort(c, f) }

// thinkCloud is Google Cloud's endpoint for models of partners. No document says which word about thinking it takes, so it takes none.
func thinkCloud(c *call, f *strict.Object) error {
	if word := effortWord(f); word != "" && f.Err == nil {
		return invalid("reasoning_effort: Extra inputs are not permitted")
	}
	if !c.model.dumb {
		c.think("on")
	}
	return f.Err
}
