package faces_test

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// schemaOf is the schema of an object with one property.
func schemaOf(property any) obj { return obj{"type": "object", "properties": obj{"f": property}} }

// TestPortableRules are what vendors refuse that other vendors' models and servers of tools made, in the words that users
// of agents reported.
func TestPortableRules(t *testing.T) {
	s := sim.New(sim.Config{Now: simtest.November})
	long := "call_" + strings.Repeat("0", 60)
	tools := func(schema any) obj {
		return obj{"tools": arr{obj{"type": "function", "function": obj{"name": "read", "parameters": schema}}}}
	}
	to := func(host, model string) func(*testing.T, obj) simtest.Reply {
		return func(t *testing.T, body obj) simtest.Reply {
			return simtest.Complete(t, s, host, simtest.ChatHeader(), simtest.Merged(obj{"model": model}, body))
		}
	}
	anthropic := func(t *testing.T, body obj) simtest.Reply {
		return simtest.Create(t, s, simtest.Header(), simtest.Request(body))
	}
	openai := func(t *testing.T, body obj) simtest.Reply { return simtest.Respond(t, s, "/v1/responses", nil, body) }
	google := func(t *testing.T, body obj) simtest.Reply { return simtest.Generate(t, s, "gemini-2.5-flash", body) }
	local := func(t *testing.T, body obj) simtest.Reply {
		return simtest.Chatted(t, s, body)
	}
	messages := func(list ...any) obj { return obj{"messages": arr(list)} }
	failed := func(content any) obj {
		return messages(simtest.Loop[0], simtest.Loop[1], simtest.Say("user", arr{simtest.Merged(simtest.Result, obj{"is_error": true, "content": content})}))
	}
	inputSchema := func(schema obj) obj {
		return obj{"tools": arr{simtest.Merged(simtest.ReadTool, obj{"input_schema": schema})}}
	}
	parameters := func(schema obj) obj {
		return obj{"tools": arr{simtest.With(simtest.ReadFunction, "parameters", schema)}}
	}
	input := func(name string) obj {
		return obj{"input": arr{simtest.Asking, simtest.With(simtest.PlainCall, "name", name), simtest.CallResult}}
	}
	declared := func(name string, schema any) obj {
		return obj{"tools": arr{obj{"functionDeclarations": arr{obj{"name": name, "parametersJsonSchema": schema}}}}}
	}
	calledBy := func(name string) obj {
		return obj{"contents": arr{simtest.Said("user", obj{"text": "x"}), simtest.Said("model", obj{"functionCall": obj{"name": name, "args": obj{}}}),
			simtest.Said("user", obj{"functionResponse": obj{"name": name, "response": obj{"output": "A"}}})}}
	}
	loopOf := func(id, name string) obj {
		return messages(simtest.Say("user", "x"), obj{"role": "assistant", "content": nil, "tool_calls": arr{obj{"id": id, "type": "function", "function": obj{"name": name, "arguments": "{}"}}}},
			obj{"role": "tool", "tool_call_id": id, "content": "y"})
	}
	shown := func(kind, data string) obj {
		return messages(simtest.Say("user", arr{obj{"type": "image", "source": obj{"type": "base64", "media_type": kind, "data": data}}}))
	}
	linked := func(kind string) obj {
		return messages(simtest.Say("user", arr{obj{"type": "image_url", "image_url": obj{"url": "data:" + kind + ";base64,AA=="}}}))
	}
	inlined := func(kind string) obj {
		return obj{"contents": arr{simtest.Said("user", obj{"inlineData": obj{"mimeType": kind, "data": "AA=="}})}}
	}
	tests := []struct {
		name          string
		send          func(*testing.T, obj) simtest.Reply
		keeps, breaks obj
		says          string
	}{
		{"Anthropic: a failure has content", anthropic, failed(arr{simtest.Text("no")}), failed(arr{}), "content cannot be empty if `is_error` is true"},
		{"Anthropic: a failure is text", anthropic, failed(arr{simtest.Text("no")}), failed(arr{obj{"type": "image", "source": obj{"type": "base64", "media_type": "image/png", "data": "AA=="}}}), "all content must be type `text` if `is_error` is true"},
		{"Anthropic: no union at the top", anthropic, inputSchema(schemaOf(obj{"oneOf": arr{obj{"type": "string"}}})), inputSchema(simtest.Merged(schemaOf(obj{}), obj{"oneOf": arr{}})), "does not support oneOf, allOf, or anyOf at the top level"},
		{"Anthropic: names of properties", anthropic, inputSchema(schemaOf(obj{})), inputSchema(obj{"type": "object", "properties": obj{"a[b]": obj{}}}), "Property keys should match pattern"},

		{"Anthropic: types of images", anthropic, shown("image/png", "AA=="), shown("image/bmp", "AA=="), "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"},
		{"Anthropic: labels of images", anthropic, shown("image/png", "AA=="), shown("image/png", "Qk0eAAAAAAAAABoA"), "and what the data is"},
		{"chat: types of images", to("openai", "gpt-4.1"), linked("image/png"), linked("image/bmp"), "You uploaded an unsupported image"},
		{"Gemini: types of images", google, inlined("image/webp"), inlined("image/gif"), "Unsupported MIME type: image/gif"},

		{"Responses: names of calls", openai, input("read"), input("read_file<|channel|>commentary"), "string does not match pattern"},
		{"Responses: no empty name", openai, input("read"), input(""), "Expected a string with minimum length 1"},
		{"Responses: long names", openai, input("read"), input(strings.Repeat("r", 65)), "maximum length 64"},
		{"Responses: references", openai, parameters(schemaOf(obj{"type": "string"})), parameters(schemaOf(obj{"$ref": "#/properties/g"})), "reference can only point to"},
		{"Responses: oneOf", openai, parameters(schemaOf(obj{"anyOf": arr{obj{"type": "string"}}})), parameters(schemaOf(obj{"oneOf": arr{}})), "In context=('properties', 'f'), 'oneOf' is not permitted."},
		{"Responses: union at the top", openai, parameters(schemaOf(obj{})), parameters(simtest.Merged(schemaOf(obj{}), obj{"anyOf": arr{}})), "at the top level"},
		{"Responses: formats", openai, parameters(schemaOf(obj{"type": "string", "format": "email"})), parameters(schemaOf(obj{"type": "string", "format": "uri"})), "'uri' is not a valid format"},
		{"Responses: items", openai, parameters(schemaOf(obj{"type": "array", "items": obj{}})), parameters(schemaOf(obj{"type": "array"})), "array schema missing items"},

		{"chat: length of ids", to("openai", "gpt-4.1"), loopOf("call_1", "read"), loopOf(long, "read"), "maximum length 40"},
		{"chat: names of calls", to("openai", "gpt-4.1"), loopOf("call_1", "read"), loopOf("call_1", "read the file"), "string does not match pattern"},
		{"chat: schemas", to("openai", "gpt-4.1"), tools(schemaOf(obj{"type": "string"})), tools(schemaOf(obj{"$ref": "#"})), "reference can only point to"},
		{"chat: a user after a tool", to("mistral", "mistral"), simtest.Merged(messages(), messages(simtest.Say("user", "x"), simtest.Say("assistant", "y"), simtest.Say("user", "z"))),
			messages(append(arr(simtest.Get[arr](loopOf("abcdefghi", "read"), "messages")), simtest.Say("user", "z"))...), "Unexpected role 'user' after role 'tool'"},
		{"chat: two users", to("llamacpp", "llamacpp"), messages(simtest.Say("user", "x"), simtest.Say("assistant", "y"), simtest.Say("user", "z")), messages(simtest.Say("user", "x"), simtest.Say("user", "z")), "must alternate"},
		{"chat: two answers", to("vllm", "vllm"), messages(simtest.Say("user", "x"), simtest.Say("assistant", "y"), simtest.Say("user", "z")), messages(simtest.Say("user", "x"), simtest.Say("assistant", "y"), simtest.Say("assistant", "y"), simtest.Say("user", "z")), "must alternate"},
		{"chat: an empty message", to("xai", "grok"), messages(simtest.Say("user", "x")), messages(simtest.Say("system", ""), simtest.Say("user", "x")), "An empty message was provided"},
		{"chat: Kimi's types", to("kimi", "kimi"), tools(schemaOf(obj{"type": "string", "enum": arr{"a"}})), tools(schemaOf(obj{"enum": arr{"a"}})), "type is not defined"},
		{"chat: Gemini behind a host", to("copilot", "gemini-3.5-flash"), tools(schemaOf(obj{"type": "string"})), tools(schemaOf(obj{"type": "integer", "enum": arr{1}})), "only allowed for STRING type"},

		{"Gemini: names of calls", google, calledBy("read"), calledBy("read the file"), "Invalid function name"},
		{"Gemini: names of functions", google, declared("read", schemaOf(obj{"type": "string"})), declared("1st", schemaOf(obj{"type": "string"})), "Must start with a letter or an underscore"},
		{"Gemini: keywords", google, declared("read", schemaOf(obj{"type": "string"})), declared("read", schemaOf(obj{"$ref": "#"})), `Unknown name "ref"`},
		{"Gemini: types in a list", google, declared("read", schemaOf(obj{"type": "string"})), declared("read", schemaOf(obj{"type": arr{"string", "null"}})), "Proto field is not repeating"},
		{"Gemini: choices", google, declared("read", schemaOf(obj{"type": "string", "enum": arr{"a"}})), declared("read", schemaOf(obj{"type": "integer", "enum": arr{1}})), "only allowed for STRING type"},
		{"Gemini: formats", google, declared("read", schemaOf(obj{"type": "string", "format": "date-time"})), declared("read", schemaOf(obj{"type": "string", "format": "uri"})), "only 'enum' and 'date-time' are supported"},
		{"Gemini: items", google, declared("read", schemaOf(obj{"type": "array", "items": obj{"type": "string"}})), declared("read", schemaOf(obj{"type": "array"})), "items: missing field"},
		{"Gemini: a type", google, declared("read", schemaOf(obj{"type": "string"})), declared("read", schemaOf(obj{})), "must be specified"},
		{"Gemini: unions alone", google, declared("read", schemaOf(obj{"anyOf": arr{obj{"type": "string"}}})), declared("read", schemaOf(obj{"anyOf": arr{obj{"type": "string"}}, "description": "d"})), "must be the only field set"},

		{"Ollama: names of calls", local, messages(simtest.Say("user", "x"), obj{"role": "assistant", "content": "", "tool_calls": arr{obj{"function": obj{"name": "read", "arguments": obj{}}}}}, simtest.Say("tool", "y")),
			messages(simtest.Say("user", "x"), obj{"role": "assistant", "content": "", "tool_calls": arr{obj{"function": obj{"name": "functions.read", "arguments": obj{}}}}}, simtest.Say("tool", "y")), "no name of a tool"},
		{"Ollama: properties", local, tools(schemaOf(obj{"type": "string"})), tools(obj{"type": "object", "properties": arr{}}), "cannot unmarshal array"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if kept := tt.send(t, tt.keeps); kept.Status != 200 {
				t.Errorf("kept: status %d: %s", kept.Status, kept.Body)
			}
			if broken := tt.send(t, tt.breaks); broken.Status != 400 || !strings.Contains(strings.ReplaceAll(broken.Body, `\u003c`, "<"), strings.ReplaceAll(tt.says, `"`, `\"`)) {
				t.Errorf("broken: status %d, want 400 with %q: %s", broken.Status, tt.says, broken.Body)
			}
		})
	}
}
