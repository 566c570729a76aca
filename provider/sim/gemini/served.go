package gemini

import (
	"fmt"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// servedTools are the vendor's own tools, by the name that scripts have for them.
var servedTools = map[string]string{"googleSearch": "web_search", "urlContext": "web_fetch", "codeExecution": "code_execution"}

// readServedTools checks the vendor's own tools in an element of tools. [docs: google-search, url-context, code-execution]
func (c *call) readServedTools(f *strict.Object) error {
	for _, member := range []string{"googleSearch", "urlContext", "codeExecution"} {
		v := f.Take(member)
		if v == nil {
			continue
		}
		inner := strict.NewObject(f.At(member), v)
		if member == "googleSearch" {
			inner.Take("searchTypes")
			inner.Take("timeRangeFilter")
		}
		if err := inner.Done(); err != nil {
			return err
		}
		c.ask.Served = append(c.ask.Served, servedTools[member])
		c.context = c.context.With([]byte("tool"), []byte(member))
	}
	return nil
}

// checkServedTools refuses what the vendor does not combine. [report: withceleste/celeste-python 197, owndev/Open-WebUI-Functions 159;
// docs: tool-combination]
func (c *call) checkServedTools() error {
	switch {
	case len(c.ask.Served) == 0:
		return nil
	case !c.model.signs && c.ask.Output != nil:
		return invalid("Tool use with a response mime type: 'application/json' is unsupported")
	case !c.model.signs && c.exposes:
		return invalid("tool_config.include_server_side_tool_invocations is not supported by this model.")
	case !c.model.signs && len(c.tools) > 0:
		return invalid("Tool use with function calling is unsupported by the model.")
	case len(c.tools) > 0 && !c.exposes:
		return invalid("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.")
	}
	return nil
}

// checkServed checks the parts of the vendor's own tools in a content: a result has its call before it, a call has its result, and from the
// third generation on both are as they were signed. [docs: tool-combination, code-execution, thought-signatures]
func (c *call) checkServed(one *content, ends bool) error {
	open := map[string]string{} // toolType by id
	code := ""                  // the id of code without its result
	running := false
	for i, p := range one.parts {
		path := fmt.Sprintf("%s.parts[%d]", one.path, i)
		for _, member := range []string{"toolCall", "toolResponse", "executableCode", "codeExecutionResult"} {
			m, ok := p[member].(map[string]any)
			if !ok {
				continue
			}
			if c.model.signs {
				if err := c.checkServedSignature(path, member, p); err != nil {
					return err
				}
			}
			id, _ := m["id"].(string)
			kind, _ := m["toolType"].(string)
			switch member {
			case "toolCall":
				open[id] = kind
			case "toolResponse":
				if was, called := open[id]; !called || was != kind {
					return invalid("%s: the tool response with the id %q comes without its tool call.", path, id)
				}
				delete(open, id)
			case "executableCode":
				if running {
					return invalid("%s: executable code must be followed by its code execution result.", path)
				}
				code, running = id, true
			case "codeExecutionResult":
				if !running || code != id {
					return invalid("%s: the code execution result comes without its executable code.", path)
				}
				running = false
			}
		}
	}
	if (len(open) > 0 || running) && !ends {
		return invalid("%s: a call of a built-in tool comes without its response.", one.path)
	}
	return nil
}

// checkServedSignature checks that a part is one of this server's, and as it was.
func (c *call) checkServedSignature(path, member string, p map[string]any) error {
	signature, _ := p["thoughtSignature"].(string)
	if signature == "" {
		return invalid("%s: %s is missing a thought_signature.", path, member)
	}
	v, _, ok := c.sealer.Open(signature)
	if writer := modelBy(v.Model); !ok || v.Kind != "gemini" || writer == nil || !c.model.reads(writer) || v.Text != digestPart(p) {
		return invalid("%s: Thought signature is not valid.", path)
	}
	return nil
}
