package gemini

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bypass lists what the vendor accepts instead of a signature. [docs: thought-signatures]
var bypass = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// see adds a content to the input of the model.
func (c *call) see(one content) {
	for _, p := range one.parts {
		bare := strict.Without(p, "thoughtSignature")
		c.context = c.context.With([]byte(one.role), strict.AppendCanonical(nil, bare))
		if text, ok := p["text"].(string); ok {
			c.tokens += sim.Tokens(text)
		} else {
			c.tokens += sim.Tokens(string(strict.AppendCanonical(nil, bare)))
		}
	}
}

// checkOrder checks the order of contents: results after their calls, and the role of the last content.
// [docs: function-calling]
func (c *call) checkOrder() error {
	var open []map[string]any
	for i := range c.contents {
		one := &c.contents[i]
		results := one.all("functionResponse")
		switch {
		case len(open) > 0 && len(results) == 0:
			return invalid("Please ensure that function call turn is followed immediately by a function response turn.")
		case len(open) == 0 && len(results) > 0:
			return invalid("Please ensure that function response turn comes immediately after a function call turn.")
		case len(open) != len(results):
			return invalid("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		if err := c.checkResults(one, open, results); err != nil {
			return err
		}
		open = one.all("functionCall")
		if len(open) > 0 && (i == 0 || c.contents[i-1].role != "user") {
			return invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
	}
	last := c.contents[len(c.contents)-1]
	switch {
	case len(open) > 0:
		return invalid("Please ensure that function call turn is followed immediately by a function response turn.")
	case last.role != "user" && c.model.noPrefill:
		return invalid("The last turn must be a user turn.")
	}
	return nil
}

// checkResults compares results with their calls. Each has the name of its call, and its id if there is one.
func (c *call) checkResults(one *content, calls, results []map[string]any) error {
	for i, call := range calls {
		if results[i]["name"] != call["name"] {
			return invalid("%s: the function response %d is not that of %v", one.path, i, call["name"])
		}
		if c.model.signs && results[i]["id"] != call["id"] {
			return invalid("%s: the function response of %v has the id %v, the call has %v", one.path, call["name"], results[i]["id"], call["id"])
		}
	}
	return nil
}

// checkSignatures checks that each signature of this server is at the part that it was made for, and that the first call of each
// step of the current turn has one. Earlier turns need none. [docs: thought-signatures]
func (c *call) checkSignatures() error {
	start := 0
	for i := range c.contents {
		if c.contents[i].plain() {
			start = i
		}
	}
	for i := range c.contents {
		if err := c.checkServed(&c.contents[i], i == len(c.contents)-1); err != nil {
			return err
		}
		first := true
		for _, p := range c.contents[i].parts {
			signature, _ := p["thoughtSignature"].(string)
			call, isCall := p["functionCall"].(map[string]any)
			wanted := isCall && first && i > start && c.model.signs
			first = first && !isCall
			if err := c.checkSignature(p, signature, wanted); err != nil {
				return err
			}
			if wanted && signature == "" {
				return invalid("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly. Additional data, function call `%v`, position %d.", call["name"], i+1)
			}
		}
	}
	return nil
}

func (c *call) checkSignature(p map[string]any, signature string, wanted bool) error {
	if signature == "" || slices.Contains(bypass, signature) {
		return nil
	}
	v, _, ok := c.sealer.Open(signature)
	writer := modelBy(v.Model)
	switch {
	case !ok && !wanted:
		return nil // not checked
	case !ok, v.Kind != "gemini", writer == nil, v.Text != digestPart(p):
		return invalid("Thought signature is not valid.")
	case wanted && !c.model.reads(writer):
		return invalid("Thought signature is not valid.")
	}
	return nil
}

// continuation marks a place in an answer: the number of deltas of the answer to exactly this request.
func (c *call) continuation(deltas int) string {
	token, _ := c.sealer.Sign(sim.Seal{Kind: "continuation", Model: c.model.id, Context: c.context.String(), Tokens: deltas})
	return token
}

// takeUp reads the mark of an earlier request. Except for the mark, both requests must be equal. [docs: get-started-with-gemini-4]
func (c *call) takeUp(token string) error {
	if token == "" {
		return nil
	}
	v, _, ok := c.sealer.Open(token)
	if !ok || !c.model.continues || v.Kind != "continuation" || v.Model != c.model.id || v.Context != c.context.String() {
		return invalid("The continuation_token is not valid for this request.")
	}
	c.resume = v.Tokens
	return nil
}

// finish decides what to answer.
func (c *call) finish() {
	c.ask.Seed = c.context.With([]byte(c.model.id))
	start := 0
	for i := range c.contents {
		one := &c.contents[i]
		if !one.plain() {
			continue
		}
		start = i
		var texts []string
		for _, p := range one.parts {
			if text, ok := p["text"].(string); ok {
				texts = append(texts, text)
			}
		}
		c.ask.Prompt = strings.Join(texts, "\n")
	}
	inLoop := false
	for _, one := range c.contents[start+1:] {
		if len(one.all("functionCall")) > 0 {
			c.ask.Rounds++
		}
		for _, r := range one.all("functionResponse") {
			inLoop = true
			response, _ := r["response"].(map[string]any)
			text, _ := response["output"].(string)
			if text == "" {
				text = string(strict.AppendCanonical(nil, response))
			}
			c.ask.Results = append(c.ask.Results, text)
		}
	}
	c.ask.ThinkingWords, c.ask.ThinkingBlocks = c.amount(inLoop)
	c.ask.Tools = c.tools
	c.ask.Force(c.force)
}

// amount returns how much thinking the answer has for a level or a budget.
func (c *call) amount(inLoop bool) (words, blocks int) {
	switch {
	case c.model.levels != nil:
		words = map[string]int{"MINIMAL": 20, "LOW": 40, "MEDIUM": 120, "HIGH": 300}[c.level]
	case c.budget < 0:
		words = 120
	default:
		words = min(c.budget/6, 700)
	}
	if inLoop {
		words /= 3
	}
	return words, 1
}
