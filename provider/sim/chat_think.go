package sim

import (
	"net/http"
	"slices"
)

// These read what asks for thinking, host by host, and refuse or ignore what the host refuses or ignores. Each ends by
// saying whether the model thinks, and how much.

// effortWord is reasoning_effort, empty if it is not there.
func effortWord(f *fields) string { return f.text("reasoning_effort", false) }

// typed is the object thinking:{type} with further members.
func typed(f *fields, more ...string) (kind string, o *fields) {
	v := f.take("thinking")
	if v == nil {
		return "", nil
	}
	o = objectAt("thinking", v)
	kind = o.word("type", true, "enabled", "disabled", "adaptive")
	for _, name := range more {
		o.take(name)
	}
	if err := o.done(); err != nil && f.err == nil {
		f.err = err
	}
	return kind, o
}

func unsupportedEffort(m *chatModel, word string) error {
	return &Error{Status: http.StatusBadRequest, Kind: "invalid_request_error", Code: "unsupported_value", Text: "Unsupported value: 'reasoning_effort' does not support '" + word + "' with " + m.id + ". Supported values are: " + oneOf(m.efforts)}
}

// strictEffort takes the model's words alone; none is off where the model can be.
func strictEffort(c *chatCall, f *fields) error {
	word := effortWord(f)
	switch {
	case f.err != nil:
		return f.err
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

func thinkOpenAI(c *chatCall, f *fields) error {
	if err := strictEffort(c, f); err != nil {
		return err
	}
	if c.thinks && (f.m["temperature"] != nil || f.m["top_p"] != nil) {
		return &Error{Status: 400, Kind: "invalid_request_error", Code: "unsupported_parameter", Text: "Unsupported parameter: 'temperature' is not supported with this model."}
	}
	if c.model.thinks() && f.m["max_tokens"] != nil {
		return &Error{Status: 400, Kind: "invalid_request_error", Code: "unsupported_parameter", Text: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}
	}
	return nil
}

// thinkDeepSeek ignores words that it does not know. [docs: thinking_mode]
func thinkDeepSeek(c *chatCall, f *fields) error {
	word, known := map[string]string{"minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "max", "ultra": "max"}[effortWord(f)]
	if known {
		c.think(word)
	}
	switch kind, _ := typed(f); kind {
	case "disabled":
		c.think("")
	case "adaptive":
		return chatInvalid("thinking.type: unknown variant `adaptive`, expected `enabled` or `disabled`")
	}
	return f.err
}

func thinkDashScope(c *chatCall, f *fields) error {
	f.flag("preserve_thinking")
	on := f.m["enable_thinking"]
	f.flag("enable_thinking")
	budget, has := f.integer("thinking_budget", false)
	word := effortWord(f)
	switch {
	case f.err != nil:
		return f.err
	case on == false && !c.model.off && c.model.thinks():
		return chatInvalid("parameter.enable_thinking: the model %s does not support enable_thinking=false", c.model.id)
	case on == false:
		c.think("")
	case on == true && c.model.thinks():
		c.think(c.model.effort)
	}
	if word != "" && len(c.model.efforts) > 0 && c.thinks { // elsewhere it is ignored
		if !slices.Contains(c.model.efforts, word) {
			return unsupportedEffort(c.model, word)
		}
		c.think(word)
	}
	if has && (budget < 1 || budget > max(c.model.budget, 38_912)) {
		return chatInvalid("parameter.thinking_budget: %d is not in the range of %s", budget, c.model.id)
	}
	if has && c.thinks {
		c.words = min(c.words, budget/3+1)
	}
	if c.thinks && c.model.stream && !c.stream {
		return chatInvalid("parameter.enable_thinking must be set to false for non-streaming calls")
	}
	return nil
}

// thinkOpenRouter drops what a route does not take, unless it is told to require it. [docs: reasoning-tokens]
func thinkOpenRouter(c *chatCall, f *fields) error {
	require := false
	if v := f.take("provider"); v != nil {
		p := objectAt("provider", v)
		require = p.flag("require_parameters")
		if p.err != nil {
			return p.err
		}
	}
	word := effortWord(f)
	v := f.take("reasoning")
	if v == nil && word == "" {
		return f.err
	}
	o := &fields{path: "reasoning", m: map[string]any{}}
	if v != nil {
		o = objectAt("reasoning", v)
	}
	if given := o.word("effort", false, "none", "minimal", "low", "medium", "high", "xhigh", "max"); given != "" {
		word = given
	}
	budget, has := o.integer("max_tokens", false)
	enabled := o.m["enabled"]
	o.flag("enabled")
	o.flag("exclude")
	o.word("summary", false, "auto", "concise", "detailed")
	switch {
	case f.err != nil:
		return f.err
	case o.done() != nil:
		return o.done()
	case word != "" && has:
		return chatInvalid("Only one of \"reasoning.effort\" and \"reasoning.max_tokens\" may be specified")
	case !c.model.thinks() && require:
		return &Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "No endpoints found that can handle the requested parameters."}
	case !c.model.thinks():
		return nil
	case (enabled == false || word == "none") && !c.model.off:
		return chatInvalid("Reasoning is mandatory for this endpoint and cannot be disabled.")
	case enabled == false || word == "none":
		c.think("")
	case has && c.model.budget > 0 && budget < 1024:
		return chatInvalid("reasoning.max_tokens must be at least 1024")
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

// thinkKimi: each model has one kind of control. [docs: platform.kimi.ai]
func thinkKimi(c *chatCall, f *fields) error {
	word := effortWord(f)
	kind, o := typed(f, "keep")
	switch {
	case f.err != nil:
		return f.err
	case kind == "adaptive":
		return chatInvalid("invalid thinking type")
	case word != "" && kind != "" && c.model.form != "effort":
		return chatInvalid("cannot specify both thinking and reasoning_effort")
	case word == "none":
		return chatInvalid("invalid reasoning_effort: none")
	case kind == "disabled" && !c.model.off:
		return chatInvalid("the model %s does not support disabling thinking", c.model.id)
	case o != nil && o.m["keep"] != nil && c.model.form == "type":
		return chatInvalid("thinking.keep is not supported by %s", c.model.id)
	case kind == "disabled":
		c.think("")
	case c.model.form == "effort" && slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	for _, name := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty"} {
		if f.m[name] != nil {
			return chatInvalid("invalid %s: only the default is allowed for this model", name)
		}
	}
	return nil
}

// thinkZAI: the newest model refuses one form of off, accepts the other with 200 and thinks at its most.
// [docs: thinking-mode]
func thinkZAI(c *chatCall, f *fields) error {
	word := effortWord(f)
	kind, _ := typed(f, "clear_thinking")
	switch {
	case f.err != nil:
		return f.err
	case kind == "adaptive":
		return chatInvalid("thinking.type: adaptive is not supported")
	case kind == "disabled" && c.model.form == "effort":
		return chatInvalid("%s cannot disable thinking; use reasoning_effort low, high or max", c.model.id)
	case kind == "disabled" && c.model.off:
		c.think("")
	case c.model.form == "effort" && (word == "none" || word == "off"):
		c.think("max")
	case slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	if most, has := maxTokens(f); has && c.model.output > 0 && most > c.model.output {
		return chatInvalid("max_tokens: the limit of %s is %d", c.model.id, c.model.output)
	}
	return nil
}

// thinkMiniMax: off is taken, refused or ignored. [docs: text-openai-api]
func thinkMiniMax(c *chatCall, f *fields) error {
	c.split = f.flag("reasoning_split")
	word := effortWord(f)
	kind, _ := typed(f)
	switch {
	case f.err != nil:
		return f.err
	case kind == "disabled" && c.model.form == "effort":
		return chatInvalid("invalid params, %s requires adaptive thinking", c.model.id)
	case kind == "disabled" && c.model.off:
		c.think("")
	case c.model.form == "effort" && slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	return nil
}

func thinkXAI(c *chatCall, f *fields) error {
	if f.m["reasoning_effort"] != nil && len(c.model.efforts) == 0 {
		return chatInvalid("Model %s does not support parameter reasoningEffort.", c.model.id)
	}
	if word := effortWord(f); word == "none" && !c.model.off {
		return chatInvalid("This model does not support 'reasoning_effort' value 'none'.")
	}
	for _, name := range []string{"stop", "presence_penalty", "frequency_penalty"} {
		if f.m[name] != nil && c.model.thinks() {
			return chatInvalid("Model %s does not support parameter %s.", c.model.id, name)
		}
	}
	return strictEffort(c, f)
}

// thinkGroq: the place of thinking is chosen by one of two parameters, never both. [docs: reasoning]
func thinkGroq(c *chatCall, f *fields) error {
	format := f.word("reasoning_format", false, "parsed", "raw", "hidden")
	include := f.m["include_reasoning"]
	f.flag("include_reasoning")
	switch {
	case f.err != nil:
		return f.err
	case format != "" && include != nil:
		return chatInvalid("cannot specify both reasoning_format and include_reasoning")
	case (format != "" || include != nil || f.m["reasoning_effort"] != nil) && c.model.dumb:
		return chatInvalid("reasoning_format and reasoning_effort are not supported with this model")
	case format != "" && c.model.form == "oss":
		return chatInvalid("reasoning_format is not supported with this model")
	case format == "raw" && len(c.tools) > 0:
		return chatInvalid("reasoning_format raw is not supported with tools")
	}
	c.split = format == "parsed" || c.model.form == "oss" || format == "" && len(c.tools) > 0
	c.mute = format == "hidden" || include == false
	return strictEffort(c, f)
}

func thinkMistral(c *chatCall, f *fields) error {
	if f.m["reasoning_effort"] != nil && len(c.model.efforts) == 0 {
		return chatInvalid("reasoning_effort is not supported for this model")
	}
	return strictEffort(c, f)
}

func thinkCopilot(c *chatCall, f *fields) error {
	budget, has := f.integer("thinking_budget", false)
	has = has && !c.model.dumb // ignored where no key makes it think [pydantic/pydantic-ai #8232]
	if has && (c.model.budget == 0 || budget < 128 || budget > c.model.budget) {
		return chatInvalid("thinking_budget: %d is not supported by %s", budget, c.model.id)
	}
	if word := effortWord(f); word != "" && len(c.model.efforts) == 0 {
		return &Error{Status: 400, Kind: "invalid_request_error", Code: "invalid_reasoning_effort", Text: "invalid_reasoning_effort"}
	}
	if has {
		c.think(c.model.effort)
		c.words = min(c.words, budget/3+1)
		return nil
	}
	return strictEffort(c, f)
}

// thinkGemini: thoughts are shown where it is asked to include them. [docs: openai]
func thinkGemini(c *chatCall, f *fields) error {
	c.mute = true
	if v := f.take("extra_body"); v != nil {
		body := objectAt("extra_body", v)
		google := objectAt("extra_body.google", body.need("google"))
		config := objectAt("extra_body.google.thinking_config", google.need("thinking_config"))
		c.mute = !config.flag("include_thoughts")
		leveled := config.take("thinking_level") != nil || config.take("thinking_budget") != nil
		for _, o := range []*fields{body, google, config} {
			if err := o.done(); err != nil {
				return err
			}
		}
		if leveled && f.m["reasoning_effort"] != nil {
			return chatInvalid("Expected one of either `reasoning_effort` or custom `thinking_config`; found both.")
		}
	}
	word := effortWord(f)
	if word == "none" && !c.model.off { // accepted, and the lowest level
		c.think("low")
		return nil
	}
	if word != "" && word != "none" && !slices.Contains(c.model.efforts, word) {
		return chatInvalid("Invalid reasoning_effort: %s. Valid values are: high, low, medium, none", word)
	}
	return strictEffort(c, f)
}

// thinkOllamaV1 knows all words and refuses them to models that do not think; some models do not listen.
// [ollama: openai/openai.go]
func thinkOllamaV1(c *chatCall, f *fields) error {
	word := effortWord(f)
	if v, ok := f.take("reasoning").(map[string]any); ok {
		word, _ = v["effort"].(string)
	}
	switch {
	case f.err != nil:
		return f.err
	case word == "":
	case !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"}, word):
		return chatInvalid("invalid reasoning value: '%s' (must be \"high\", \"medium\", \"low\", \"max\", or \"none\")", word)
	case word == "none" && c.model.off:
		c.think("")
	case word == "none":
	case c.model.dumb:
		return chatInvalid("%q does not support thinking", c.model.id)
	case slices.Contains(c.model.efforts, word):
		c.think(word)
	}
	return nil
}

// templateSwitch reads chat_template_kwargs.
func templateSwitch(c *chatCall, f *fields) (word string, err error) {
	v := f.take("chat_template_kwargs")
	if v == nil {
		return effortWord(f), f.err
	}
	o := objectAt("chat_template_kwargs", v)
	for _, name := range []string{"enable_thinking", "thinking"} {
		on := o.m[name]
		o.flag(name)
		if on == false && c.model.off {
			c.think("")
		}
	}
	if err := c.bounded(o, "thinking_budget", 0); err != nil { // a hint to the template [SGLang docs: thinking_budget]
		return "", err
	}
	if o.err != nil {
		return "", o.err
	}
	return effortWord(f), f.err
}

// bounded reads a budget of thinking: so many tokens, from least up. Below 0 there is none.
func (c *chatCall) bounded(f *fields, name string, least int) error {
	budget, has := f.integer(name, false)
	if has && budget < least {
		return chatInvalid("%s must be at least %d", name, least)
	}
	if has && budget >= 0 {
		c.words = min(c.words, budget/3+1)
	}
	return nil
}

func thinkVLLM(c *chatCall, f *fields) error {
	word, err := templateSwitch(c, f)
	f.flag("include_reasoning")
	if err := c.bounded(f, "thinking_token_budget", 0); err != nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case f.err != nil:
		return f.err
	case word != "" && word != "none" && !slices.Contains(words6, word):
		return chatInvalid("reasoning_effort: Input should be 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'")
	case word == "none" && c.model.off && f.m["chat_template_kwargs"] == nil:
		c.think("")
	case word != "" && word != "none" && c.thinks:
		c.think(word)
	}
	return nil
}

func thinkSGLang(c *chatCall, f *fields) error {
	if _, wrong := f.m["reasoning_effort"].(bool); wrong {
		return chatInvalid("reasoning_effort must be a string or a number")
	}
	word, err := templateSwitch(c, f)
	f.flag("stream_reasoning")
	f.flag("separate_reasoning")
	switch {
	case err != nil:
		return err
	case word == "none" && c.model.off:
		c.think("")
	case word != "" && word != "none" && c.thinks:
		c.think(word)
	}
	return f.err
}

func thinkLlamaCPP(c *chatCall, f *fields) error {
	word, err := templateSwitch(c, f)
	c.split = f.word("reasoning_format", false, "none", "auto", "deepseek", "deepseek-legacy") != "none"
	if err := c.bounded(f, "reasoning_budget_tokens", -1); err != nil {
		return err
	}
	switch {
	case err != nil:
		return err
	case word == "none":
		c.think("")
	}
	return f.err
}

// thinkLMStudio accepts every word and listens to none that means off. [lmstudio: bug tracker]
func thinkLMStudio(c *chatCall, f *fields) error {
	if word := effortWord(f); slices.Contains(c.model.efforts, word) {
		c.think(word)
	}
	return f.err
}

func thinkGeneric(c *chatCall, f *fields) error { return strictEffort(c, f) }
