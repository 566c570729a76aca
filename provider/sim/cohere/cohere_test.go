package cohere

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// posted sends a request for a whole answer, with defaults for what it leaves out.
func posted(t *testing.T, s http.Handler, body obj) simtest.Reply {
	t.Helper()
	full := obj{"model": "command-a-plus-05-2026", "messages": arr{simtest.Say("user", "Which date is later?")}}
	return simtest.Send(t, s, "POST", "/v2/chat", http.Header{"Authorization": {"Bearer k"}}, simtest.Merged(full, body))
}

// TestRules is what a request is refused for. [docs: reference/errors, reference/chat]
func TestRules(t *testing.T) {
	const plans = "command-a-03-2025"
	say := simtest.Say
	tool := func(name string, more ...any) obj {
		return simtest.With(obj{"type": "function", "function": simtest.With(obj{"name": name, "parameters": obj{"type": "object"}}, more...)})
	}
	called := func(id, name, arguments string) obj {
		return obj{"id": id, "type": "function", "function": obj{"name": name, "arguments": arguments}}
	}
	result := func(id string) obj { return obj{"role": "tool", "tool_call_id": id, "content": "A"} }
	// loop is a prompt, an answer with calls, and what follows it.
	loop := func(answer obj, after ...any) arr {
		answer["role"] = "assistant"
		return append(arr{say("user", "Hi"), answer}, after...)
	}
	one := obj{"tool_calls": arr{called("c1", "read", "{}")}}
	png := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	image := arr{say("user", arr{obj{"type": "image_url", "image_url": obj{"url": png}}, obj{"type": "text", "text": "What is it?"}})}
	tests := []struct {
		name   string
		body   obj
		status int
		text   string
	}{
		{"a prompt", obj{}, 200, `"type":"thinking"`},
		{"without thinking", obj{"thinking": obj{"type": "disabled"}}, 200, `"content":[{"text"`},
		{"a budget", obj{"thinking": obj{"type": "enabled", "token_budget": 500}}, 200, `"type":"thinking"`},
		{"no budget", obj{"thinking": obj{"type": "enabled", "token_budget": 0}}, 400, "positive integer"},
		{"another word", obj{"thinking": obj{"type": "adaptive"}}, 400, "thinking.type"},
		{"thinking where there is none", obj{"model": plans, "thinking": obj{"type": "disabled"}}, 400, "not supported for this model"},
		{"no model", obj{"model": nil}, 400, "a model parameter is required"},
		{"another model", obj{"model": "command-x"}, 404, "model 'command-x' not found"},
		{"unknown field", obj{"reasoning_effort": "high"}, 422, "parameter 'reasoning_effort' is not a valid field"},
		{"unknown field of a tool", obj{"tools": arr{tool("read", "requires_confirmation", nil)}}, 422, "parameter 'requires_confirmation' is not a valid field"},
		{"no message", obj{"messages": arr{}}, 400, "message must be at least 1 token long"},
		{"ends with the model", obj{"messages": loop(obj{"content": "Hello"})}, 400, "message must be at least 1 token long"},
		{"blank", obj{"messages": arr{say("user", " ")}}, 400, "message must not be empty in a turn"},
		{"a blank part", obj{"messages": arr{say("user", arr{obj{"type": "text", "text": ""}})}}, 400, "message must not be empty in a turn"},
		{"an empty answer", obj{"messages": loop(obj{"content": arr{}}, say("user", "And?"))}, 400, "message must not be empty in a turn"},
		{"nothing but thinking", obj{"messages": loop(obj{"content": arr{obj{"type": "thinking", "thinking": "T"}}}, say("user", "And?"))}, 400, "message must not be empty in a turn"},
		{"system", obj{"messages": arr{say("system", "Be brief."), say("user", "Hi")}}, 200, `"COMPLETE"`},
		{"system later", obj{"messages": arr{say("user", "Hi"), say("system", "Be brief."), say("user", "Hi")}}, 400, "system turn must be the first"},
		{"role", obj{"messages": arr{say("developer", "Hi")}}, 400, "Invalid role"},
		{"an image", obj{"messages": image}, 200, `"COMPLETE"`},
		{"an image to the blind", obj{"model": plans, "messages": image}, 400, "images are not supported"},
		{"a bitmap", obj{"messages": arr{say("user", arr{obj{"type": "image_url", "image_url": obj{"url": "data:image/bmp;base64,Qk0="}}})}}, 400, "Unsupported MIME type"},
		{"21 images", obj{"messages": arr{say("user", slices.Repeat(arr{obj{"type": "image_url", "image_url": obj{"url": png}}}, 21))}}, 400, "up to 20 images"},
		{"thinking comes back", obj{"messages": loop(obj{"content": arr{obj{"type": "thinking", "thinking": "T"}, obj{"type": "text", "text": "A"}}}, say("user", "And?"))}, 200, `"COMPLETE"`},
		{"thinking to one that does not", obj{"model": plans, "messages": loop(obj{"content": arr{obj{"type": "thinking", "thinking": "T"}, obj{"type": "text", "text": "A"}}}, say("user", "And?"))}, 400, "content of type 'thinking'"},
		{"a plan comes back", obj{"model": plans, "messages": loop(simtest.With(one, "tool_plan", "I will read."), result("c1"))}, 200, `"COMPLETE"`},
		{"a plan to one that thinks", obj{"messages": loop(simtest.With(one, "tool_plan", "I will read."), result("c1"))}, 400, "tool_plan is not supported"},
		{"calls and results", obj{"messages": loop(simtest.With(one), result("c1"))}, 200, `"COMPLETE"`},
		{"a document", obj{"messages": loop(simtest.With(one), obj{"role": "tool", "tool_call_id": "c1", "content": arr{obj{"type": "document", "document": obj{"data": obj{"url": "https://example.com"}}}}})}, 200, `"COMPLETE"`},
		{"an empty document", obj{"messages": loop(simtest.With(one), obj{"role": "tool", "tool_call_id": "c1", "content": arr{obj{"type": "document", "document": obj{"data": obj{}}}}})}, 400, "cannot be empty"},
		{"an image in a result", obj{"messages": loop(simtest.With(one), obj{"role": "tool", "tool_call_id": "c1", "content": arr{obj{"type": "image_url", "image_url": obj{"url": png}}}})}, 400, "not allowed in a message of role tool"},
		{"a result of nothing", obj{"messages": loop(simtest.With(one), result("c2"))}, 400, "tool call id not found"},
		{"a result twice", obj{"messages": loop(simtest.With(one), result("c1"), result("c1"))}, 400, "tool call id not found"},
		{"a result without an id", obj{"messages": loop(simtest.With(one), obj{"role": "tool", "content": "A"})}, 400, "tool call id must be provided"},
		{"no result", obj{"messages": loop(simtest.With(one), say("user", "And?"))}, 400, "must be followed by a tool message"},
		{"a prompt beside results", obj{"messages": loop(simtest.With(one), result("c1"), say("user", "And?"))}, 400, "cannot specify both message and tool_results"},
		{"an id twice", obj{"messages": loop(obj{"tool_calls": arr{called("c1", "read", "{}"), called("c1", "read", "{}")}}, result("c1"))}, 400, "cannot have duplicate tool ids"},
		{"a dash in a call", obj{"messages": loop(obj{"tool_calls": arr{called("c1", "read-file", "{}")}}, result("c1"))}, 400, "tool names can only contain"},
		{"arguments that are none", obj{"messages": loop(obj{"tool_calls": arr{called("c1", "read", "{bad")}}, result("c1"))}, 400, "invalid json syntax"},
		{"another type of call", obj{"messages": loop(obj{"tool_calls": arr{obj{"id": "c1", "type": "mcp", "function": obj{"name": "read", "arguments": "{}"}}}}, result("c1"))}, 400, "tool call must be of type function"},
		{"a dash", obj{"tools": arr{tool("read-file")}}, 400, "tool names can only contain"},
		{"a digit", obj{"tools": arr{tool("1st")}}, 400, "tool names can only contain"},
		{"a list as a schema", obj{"tools": arr{tool("read", "parameters", obj{"type": "array"})}}, 400, "schema must be an object"},
		{"tools to one without", obj{"model": "command-a-vision-07-2025", "tools": arr{tool("read")}}, 400, "tool use is not supported"},
		{"required", obj{"model": plans, "tools": arr{tool("read")}, "tool_choice": "REQUIRED"}, 200, `"TOOL_CALL"`},
		{"required without tools", obj{"model": plans, "tool_choice": "REQUIRED"}, 400, "needs tools"},
		{"auto", obj{"model": plans, "tools": arr{tool("read")}, "tool_choice": "AUTO"}, 400, "must be one of REQUIRED, NONE"},
		{"a choice that the model lacks", obj{"tools": arr{tool("read")}, "tool_choice": "REQUIRED"}, 400, "tool_choice is not supported"},
		{"JSON", obj{"response_format": obj{"type": "json_object"}}, 200, `"text":"{}"`},
		{"a schema", obj{"response_format": obj{"type": "json_object", "json_schema": obj{"type": "object", "properties": obj{"a": obj{"type": "integer"}}, "required": arr{"a"}}}}, 200, `{\"a\":1}`},
		{"no schema", obj{"response_format": obj{"type": "json_object", "json_schema": obj{"type": "array"}}}, 400, "schema must be an object"},
		{"JSON with tools", obj{"tools": arr{tool("read")}, "response_format": obj{"type": "json_object"}}, 400, "response_format is not supported"},
		{"too much output", obj{"max_tokens": 100_000}, 400, "max tokens must be less than or equal to 64000"},
		{"a limit", obj{"max_tokens": 20}, 200, `"MAX_TOKENS"`},
		{"options", obj{"temperature": 0.5, "p": 0.9, "k": 40, "seed": 7, "stop_sequences": arr{"END"}}, 200, `"COMPLETE"`},
		{"hot", obj{"temperature": 1.5}, 400, "temperature must be between"},
		{"all of p", obj{"p": 1}, 400, "p: Input should be from"},
		{"six stops", obj{"stop_sequences": arr{"a", "b", "c", "d", "e", "f"}}, 400, "at most 5"},
		{"too long", obj{"messages": arr{say("user", strings.Repeat("word ", 130_000))}}, 400, "too many tokens: size limit exceeded by"},
	}
	for _, test := range tests {
		s := sim.New(sim.Config{})
		got := posted(t, s, test.body)
		if got.Status != test.status || !strings.Contains(got.Body, test.text) {
			t.Errorf("%s: %d %.300s, want %d with %s", test.name, got.Status, got.Body, test.status, test.text)
		}
		if refused := len(s.Refusals()) == 1; refused != (test.status != 200) {
			t.Errorf("%s: %d refusals in the journal", test.name, len(s.Refusals()))
		}
		var e struct{ Message json.RawMessage }
		if err := json.Unmarshal([]byte(got.Body), &e); err != nil || strings.HasPrefix(string(e.Message), `"`) != (test.status != 200) {
			t.Errorf("%s: message %s (%v)", test.name, e.Message, err)
		}
	}
}

// TestKeys has the refusals of keys.
func TestKeys(t *testing.T) {
	for key, want := range map[string]int{"": 401, "Bearer other": 401, "Bearer k": 200} {
		h := http.Header{}
		if key != "" {
			h.Set("Authorization", key)
		}
		if got := simtest.Send(t, sim.New(sim.Config{Key: "k"}), "GET", "/v1/models?endpoint=chat", h, nil); got.Status != want {
			t.Errorf("%q: %d, want %d", key, got.Status, want)
		}
	}
}

// TestList reads the list in pages.
func TestList(t *testing.T) {
	s, token := sim.New(sim.Config{}), ""
	var names []string
	for range models {
		page := simtest.Send(t, s, "GET", "/v1/models?endpoint=chat&page_size=4&page_token="+token, http.Header{"Authorization": {"Bearer k"}}, nil).JSON()
		for _, m := range simtest.Get[arr](page, "models") {
			names = append(names, simtest.Get[string](m, "name"))
		}
		if token = simtest.Get[string](page, "next_page_token"); token == "" {
			break
		}
	}
	if len(names) != len(models) || names[0] != models[0].id {
		t.Errorf("listed %q", names)
	}
}
