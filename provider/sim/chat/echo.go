package chat

import (
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bypass is what the vendor accepts instead of a missing thought signature. [docs: ai.google.dev, thought-signatures]
const bypass = "skip_thought_signature_validator"

// checkEcho checks the earlier thinking that a request returns.
func (c *call) checkEcho(s sim.Sealer) error {
	seen := map[string]bool{}
	last := c.lastUser()
	if c.host.details == "openrouter" || c.host.opaque {
		last = c.lastPrompt()
	}
	for i, t := range c.turns {
		if t.role != "assistant" {
			continue
		}
		inLoop := i > last
		if field := c.host.echo; field != "" && c.thinks && len(t.calls) > 0 {
			if _, ok := t.m[field].(string); !ok {
				if c.host.name == "kimi" {
					return invalid("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
				}
				return invalid("The `reasoning_content` in the thinking mode must be passed back to the API.")
			}
		}
		var err error
		switch {
		case c.host.details == "openrouter":
			err = c.checkDetails(t, seen, inLoop, s)
		case c.host.opaque:
			err = c.checkOpaque(t, inLoop, s)
		case c.host.signed:
			err = c.checkSigned(t, inLoop, s)
		case c.host.array:
			err = checkChunks(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maker returns the maker of a model: the first word of its id.
func maker(id string) string {
	if n := strings.IndexAny(id, "/-. "); n >= 0 {
		return id[:n]
	}
	return id
}

// opened reports whether this server sealed a value for a model of the same maker.
func (c *call) opened(s sim.Sealer, kind, value string) (sim.Seal, bool) {
	v, _, ok := s.Open(value)
	return v, ok && v.Kind == kind && maker(v.Model) == maker(c.model.id)
}

// checkDetails checks reasoning_details. Text of a vendor that signs needs its signature, sealed data may only go back to its
// maker, and no item may occur twice. [docs: openrouter.ai, reasoning-tokens]
func (c *call) checkDetails(t turn, seen map[string]bool, inLoop bool, s sim.Sealer) error {
	list, _ := t.m["reasoning_details"].([]any)
	if t.m["reasoning_details"] != nil && list == nil {
		return invalid("%s.reasoning_details: Input should be a list", t.path)
	}
	for i, v := range list {
		d, ok := v.(map[string]any)
		if !ok {
			return invalid("%s.reasoning_details.%d: Input should be an object", t.path, i)
		}
		kind, _ := d["type"].(string)
		signature, _ := d["signature"].(string)
		data, _ := d["data"].(string)
		id, _ := d["id"].(string)
		format, _ := d["format"].(string)
		switch kind {
		case "reasoning.text":
			text, _ := d["text"].(string)
			sealed, ok := c.opened(s, "chat text", signature)
			if strings.HasPrefix(format, "anthropic") && (!ok || sealed.Text != strict.DigestOf(text)) {
				return invalid("%s: Invalid `signature` in `thinking` block", t.path)
			}
		case "reasoning.encrypted":
			if _, ok := c.opened(s, "chat data", data); !ok {
				if strings.HasPrefix(format, "google") {
					return invalid("Corrupted thought signature.")
				}
				return invalid("The encrypted content for item %s could not be verified.", id)
			}
			if id != "" && seen[id] {
				return invalid("Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
			}
			seen[id] = true
		case "reasoning.summary":
		default:
			return invalid("%s.reasoning_details.%d.type: %q is not known", t.path, i, kind)
		}
	}
	if inLoop && len(t.calls) > 0 && len(list) == 0 && maker(c.model.id) == "google" {
		return invalid("Gemini models require OpenRouter reasoning details to be preserved in each request.")
	}
	return nil
}

// checkOpaque checks reasoning_opaque. It must come back unchanged, and only to a model of the same family. Gemini requires it
// in a tool loop, and the text of thinking may not come without it. [vscode-copilot-chat: thinkingUtils.ts]
func (c *call) checkOpaque(t turn, inLoop bool, s sim.Sealer) error {
	value, has := t.m["reasoning_opaque"].(string)
	_, ok := c.opened(s, "chat opaque", value)
	switch {
	case has && !ok:
		return invalid("Corrupted thought signature.")
	case !has && t.m["reasoning_text"] != nil:
		return invalid("%s: reasoning_text without reasoning_opaque", t.path)
	case !has && inLoop && len(t.calls) > 0 && maker(c.model.id) == "gemini":
		return invalid("Function call is missing a thought_signature in functionCall parts.")
	}
	return nil
}

// checkSigned checks that the first call of each step of the current turn has a signature, or its message has one.
// [docs: thought-signatures]
func (c *call) checkSigned(t turn, inLoop bool, s sim.Sealer) error {
	whole, onMessage := t.m["thought_signature"].(string)
	if _, ok := c.opened(s, "chat call", whole); onMessage && !ok {
		return invalid("Thought signature is not valid.")
	}
	for i, call := range t.calls {
		extra, _ := call.m["extra_content"].(map[string]any)
		google, _ := extra["google"].(map[string]any)
		signature, has := google["thought_signature"].(string)
		_, ok := c.opened(s, "chat call", signature)
		switch {
		case has && signature != bypass && !ok:
			return invalid("Thought signature is not valid.")
		case i == 0 && !has && !onMessage && inLoop && !strings.HasPrefix(c.model.id, "gemini-2"):
			return invalid("Function call `%s` is missing a thought_signature in functionCall parts.", call.name)
		}
	}
	return nil
}

// checkChunks checks a thinking part: a closed list of texts. [docs: docs.mistral.ai, reasoning]
func checkChunks(t turn) error {
	for i, p := range t.parts {
		if p["type"] != "thinking" {
			continue
		}
		list, ok := p["thinking"].([]any)
		if !ok || p["closed"] != true {
			return invalid("%s.content.%d: a thinking part needs its list of texts and closed", t.path, i)
		}
		for _, v := range list {
			if m, ok := v.(map[string]any); !ok || m["type"] != "text" {
				return invalid("%s.content.%d.thinking: a list of texts", t.path, i)
			}
		}
	}
	return nil
}
