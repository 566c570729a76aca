package responses

import (
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// rule is one rule of the wire: a request that keeps it and one that breaks it.
type rule struct {
	name   string
	path   string // empty: /v1/responses
	keeps  obj
	with   http.Header
	breaks obj
	wrong  http.Header // of the breaking one; nil: as with
	status int         // 0: 400
	code   string
	says   string
}

func reasoned(members ...any) obj {
	m := obj{}
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	return obj{"reasoning": m}
}

// answered asks for an answer by a schema.
func answered(strict bool, required ...any) obj {
	return obj{"text": obj{"format": obj{"type": "json_schema", "name": "verdict", "strict": strict, "schema": obj{"type": "object",
		"properties": obj{"a": obj{"type": "integer"}}, "required": arr(required), "additionalProperties": false}}}}
}

var rules = []rule{
	{name: "key", keeps: obj{}, breaks: obj{}, wrong: simtest.Bearer("authorization", ""), status: 401, code: "invalid_api_key"},
	{name: "azure's key", path: "/openai/v1/responses", with: simtest.Bearer("authorization", "", "api-key", "k"), keeps: obj{}, breaks: obj{}, wrong: simtest.Bearer("authorization", ""), status: 401, code: "invalid_api_key"},
	{name: "that key elsewhere", keeps: obj{}, breaks: obj{}, wrong: simtest.Bearer("authorization", "", "api-key", "k"), status: 401, code: "invalid_api_key"},
	{name: "model", keeps: obj{"model": "gpt-5.6"}, breaks: obj{"model": "gpt-7"}, status: 404, code: "model_not_found"},
	{name: "unknown member", keeps: obj{}, breaks: obj{"thinking": obj{}}, code: "unknown_parameter", says: "'thinking'"},
	{name: "max_tokens", keeps: obj{"max_output_tokens": 100}, breaks: obj{"max_tokens": 100}, code: "unsupported_parameter"},
	{name: "least output", keeps: obj{"max_output_tokens": 16}, breaks: obj{"max_output_tokens": 15}, says: ">= 16"},
	{name: "most output", keeps: obj{"max_output_tokens": 128_000}, breaks: obj{"max_output_tokens": 128_001}, says: "too large"},
	{name: "verbosity", keeps: obj{"text": obj{"verbosity": "low"}}, breaks: obj{"text": obj{"verbosity": "short"}}, says: "verbosity"},
	{name: "verbosity of older models", keeps: obj{"model": "gpt-5.5", "text": obj{"verbosity": "low"}}, breaks: obj{"model": "gpt-4.1", "text": obj{"verbosity": "low"}}, says: "verbosity"},
	{name: "tier", keeps: obj{"service_tier": "flex"}, breaks: obj{"service_tier": "gold"}, says: "service_tier"},
	{name: "parallel tools", keeps: obj{"parallel_tool_calls": false}, breaks: obj{"parallel_tool_calls": "no"}, says: "parallel_tool_calls"},
	{name: "strict schema", keeps: answered(true, "a"), breaks: answered(true), code: "invalid_json_schema", says: "Missing 'a'"},
	{name: "schema with a name", keeps: answered(false), breaks: obj{"text": obj{"format": obj{"type": "json_schema", "schema": obj{"type": "object"}}}}, says: "name"},
	{name: "form of the answer", keeps: obj{"text": obj{"format": obj{"type": "json_object"}}}, breaks: obj{"text": obj{"format": obj{"type": "xml"}}}, says: "text.format.type"},
	{name: "previous response", keeps: obj{}, breaks: obj{"previous_response_id": "resp_1"}, code: "previous_response_not_found"},

	{name: "effort of the model", keeps: reasoned("effort", "max"), breaks: reasoned("effort", "none"), code: "unsupported_value", says: "'low', 'medium'"},
	{name: "no effort is called ultra", keeps: reasoned("effort", "xhigh"), breaks: reasoned("effort", "ultra")},
	{name: "minimal is old", keeps: simtest.With(reasoned("effort", "minimal"), "model", "gpt-5"), breaks: simtest.With(reasoned("effort", "minimal"), "model", "gpt-5.5"), code: "unsupported_value"},
	{name: "copilot's own list", path: "/responses", with: simtest.Editor, keeps: simtest.With(reasoned("effort", "low"), "model", "gpt-5-mini"), breaks: simtest.With(reasoned("effort", "minimal"), "model", "gpt-5-mini"), code: "unsupported_value"},
	{name: "no effort without thinking", keeps: obj{"model": "gpt-4.1", "include": nil}, breaks: simtest.With(reasoned("effort", "low"), "model", "gpt-4.1", "include", nil), code: "unsupported_parameter"},
	{name: "no effort for a model that always thinks", keeps: obj{"model": "grok-4.20-reasoning"}, breaks: simtest.With(reasoned("effort", "low"), "model", "grok-4.20-reasoning"), code: "unsupported_parameter"},
	{name: "none on grok", keeps: simtest.With(reasoned("effort", "none"), "model", "grok-4.3"), breaks: simtest.With(reasoned("effort", "none"), "model", "grok-4.5"), code: "unsupported_value"},
	{name: "nothing encrypted without thinking", keeps: obj{"model": "gpt-4o", "include": nil}, breaks: obj{"model": "gpt-4o"}, says: "Encrypted content is not supported"},
	{name: "effort on the way", keeps: obj{"model": "gpt-6-astra", "input": arr{simtest.Asking, simtest.Update, simtest.Asking}}, breaks: obj{"model": "gpt-5.5", "input": arr{simtest.Asking, simtest.Update, simtest.Asking}}, code: "unsupported_value", says: "'configuration_update'"},
	{name: "effort on the way of the model", keeps: obj{"model": "gpt-6-sol", "input": arr{simtest.Asking, simtest.With(simtest.Update, "reasoning", obj{"effort": "none"}), simtest.Asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{simtest.Asking, simtest.With(simtest.Update, "reasoning", obj{"effort": "none"}), simtest.Asking}}, code: "unsupported_value"},
	{name: "two changes in a row", keeps: obj{"model": "gpt-6-astra", "input": arr{simtest.Update, simtest.Asking, simtest.Update, simtest.Asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{simtest.Asking, simtest.Update, simtest.Update, simtest.Asking}}, says: "directly followed"},
	{name: "change at the end", keeps: obj{"model": "gpt-6-astra", "input": arr{simtest.Update, simtest.Asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{simtest.Asking, simtest.Update}}, says: "directly followed"},
	{name: "summary words", keeps: reasoned("summary", "concise"), breaks: reasoned("summary", "summarized")},
	{name: "concise is new", keeps: simtest.With(reasoned("summary", "detailed"), "model", "gpt-5"), breaks: simtest.With(reasoned("summary", "concise"), "model", "gpt-5"), code: "unsupported_value"},
	{name: "context", keeps: reasoned("context", "all_turns"), breaks: simtest.With(reasoned("context", "all_turns"), "model", "gpt-5.5"), code: "unsupported_parameter"},
	{name: "deprecated summary", keeps: reasoned("summary", "auto"), breaks: reasoned("generate_summary", "auto"), says: "reasoning.generate_summary"},
	{name: "temperature never", keeps: obj{"model": "gpt-4.1", "include": nil, "temperature": 1.5}, breaks: obj{"temperature": 1.5}, code: "unsupported_parameter"},
	{name: "temperature with none", keeps: simtest.With(reasoned("effort", "none"), "model", "gpt-5.5", "temperature", 0.5), breaks: simtest.With(reasoned("effort", "low"), "model", "gpt-5.5", "temperature", 0.5), code: "unsupported_parameter"},
	{name: "top_p with the default none", keeps: obj{"model": "gpt-5.2", "top_p": 0.5}, breaks: obj{"model": "gpt-5", "top_p": 0.5}, code: "unsupported_parameter"},
	{name: "include words", keeps: obj{}, breaks: obj{"include": arr{"reasoning.content"}}, code: "invalid_value"},

	{name: "schema of an object", keeps: obj{"tools": arr{simtest.ReadFunction}}, breaks: obj{"tools": arr{simtest.With(simtest.ReadFunction, "parameters", obj{"type": "string"})}}, code: "invalid_function_parameters"},
	{name: "properties", keeps: obj{"tools": arr{simtest.ReadFunction}}, breaks: obj{"tools": arr{simtest.With(simtest.ReadFunction, "parameters", obj{"type": "object"})}}, says: "missing properties"},
	{name: "strict is the default", keeps: obj{"tools": arr{simtest.ReadFunction}}, breaks: obj{"tools": arr{simtest.With(simtest.ReadFunction, "strict", nil)}}, says: "additionalProperties"},
	{name: "tool choice", keeps: obj{"tools": arr{simtest.ReadFunction}, "tool_choice": obj{"type": "function", "name": "read"}}, breaks: obj{"tools": arr{simtest.ReadFunction}, "tool_choice": obj{"type": "function", "name": "write"}}, says: "not found in 'tools'"},

	{name: "compaction's threshold", keeps: obj{"context_management": arr{obj{"type": "compaction", "compact_threshold": 1000}}}, breaks: obj{"context_management": arr{obj{"type": "compaction", "compact_threshold": 0}}}, says: "compact_threshold"},
	{name: "no change of effort beside compaction", keeps: obj{"model": "gpt-6-astra", "input": arr{simtest.Update, simtest.Asking}},
		breaks: obj{"model": "gpt-6-astra", "input": arr{simtest.Update, simtest.Asking}, "context_management": arr{obj{"type": "compaction", "compact_threshold": 1000}}}, says: "not supported with automatic compaction"},
	{name: "compaction of somebody's", keeps: obj{}, breaks: obj{"input": arr{obj{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}, simtest.Asking}}, code: "invalid_encrypted_content"},

	{name: "input is there", keeps: obj{}, breaks: obj{"input": nil}, code: "missing_required_parameter"},
	{name: "input is not empty", keeps: obj{"input": arr{simtest.Asking}}, breaks: obj{"input": arr{}}, code: "invalid_value"},
	{name: "what a model said is output", keeps: obj{"input": arr{simtest.Asking, obj{"role": "assistant", "content": arr{obj{"type": "output_text", "text": "t"}}}, simtest.Asking}},
		breaks: obj{"input": arr{simtest.Asking, obj{"role": "assistant", "content": arr{obj{"type": "input_text", "text": "t"}}}, simtest.Asking}}, says: "'output_text', 'refusal'"},
	{name: "kind of id", keeps: obj{"input": arr{simtest.Asking, simtest.With(simtest.PlainCall, "id", "fc_1"), simtest.CallResult}}, breaks: obj{"input": arr{simtest.Asking, simtest.With(simtest.PlainCall, "id", "toolu_1"), simtest.CallResult}}, says: "begins with 'fc'"},
	{name: "length of call_id", keeps: obj{"input": arr{simtest.Asking, simtest.PlainCall, simtest.CallResult}},
		breaks: obj{"input": arr{simtest.Asking, simtest.With(simtest.PlainCall, "call_id", strings.Repeat("x", 65)), simtest.With(simtest.CallResult, "call_id", strings.Repeat("x", 65))}}, says: "string too long"},
	{name: "call without a result", keeps: obj{"input": arr{simtest.Asking, simtest.PlainCall, simtest.CallResult}}, breaks: obj{"input": arr{simtest.Asking, simtest.PlainCall}}, says: "No tool output found for function call call_1"},
	{name: "result without a call", keeps: obj{"input": arr{simtest.Asking, simtest.PlainCall, simtest.CallResult}}, breaks: obj{"input": arr{simtest.Asking, simtest.CallResult}}, says: "No tool call found"},
	{name: "result of another kind", keeps: obj{"input": arr{simtest.Asking, simtest.PlainCall, simtest.CallResult}}, breaks: obj{"input": arr{simtest.Asking, simtest.PlainCall, simtest.With(simtest.CallResult, "type", "custom_tool_call_output")}}, says: "No tool call found"},
	{name: "item twice", keeps: obj{"input": arr{simtest.With(simtest.Asking, "id", "msg_1"), simtest.With(simtest.Asking, "id", "msg_2")}}, breaks: obj{"input": arr{simtest.With(simtest.Asking, "id", "msg_1"), simtest.With(simtest.Asking, "id", "msg_1")}}, says: "Duplicate item found with id msg_1"},
	{name: "reference", keeps: obj{}, breaks: obj{"input": arr{simtest.Asking, obj{"type": "item_reference", "id": "rs_1"}}}, status: 404, says: "Items are not persisted"},
	{name: "summary is there", keeps: obj{}, breaks: obj{"input": arr{simtest.Asking, obj{"type": "reasoning", "id": "rs_1", "encrypted_content": "g"}}}, code: "missing_required_parameter"},
	{name: "image", keeps: obj{"input": simtest.Picture}, breaks: obj{"input": arr{obj{"role": "user", "content": arr{obj{"type": "input_image", "image_url": "iVBORw=="}}}}}, says: "valid URL"},

	{name: "plan's account", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.Plan, wrong: simtest.Bearer(), status: 401},
	{name: "plan's session", path: "/backend-api/codex/responses", with: simtest.Bearer("chatgpt-account-id", "plan_1", "session-id", "s", "thread-id", "s"), keeps: simtest.Plan,
		breaks: simtest.Plan, wrong: simtest.Bearer("chatgpt-account-id", "plan_1", "session_id", "s"), says: "underscores"},
	{name: "plan's thread", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.Plan,
		wrong: simtest.Bearer("chatgpt-account-id", "plan_1", "session-id", "s", "thread-id", "t"), says: "two conversations"},
	{name: "plan's instructions", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.With(simtest.Plan, "instructions", nil), says: "Instructions are required"},
	{name: "plan's store", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.With(simtest.Plan, "store", nil), says: "Store must be set to false"},
	{name: "plan's stream", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.With(simtest.Plan, "stream", false), says: "Stream must be set to true"},
	{name: "plan's limit", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.With(simtest.Plan, "max_output_tokens", 100), code: "unsupported_parameter"},
	{name: "plan's temperature", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.Plan, breaks: simtest.With(simtest.Plan, "temperature", 1), code: "unsupported_parameter"},
	{name: "plan's system", path: "/backend-api/codex/responses", with: simtest.PlanHeader, keeps: simtest.With(simtest.Plan, "input", arr{obj{"role": "developer", "content": "s"}, simtest.Asking}),
		breaks: simtest.With(simtest.Plan, "input", arr{obj{"role": "system", "content": "s"}, simtest.Asking}), says: "System messages"},
	{name: "copilot's editor", path: "/responses", with: simtest.Editor, keeps: simtest.Copilot, breaks: simtest.Copilot, wrong: simtest.Bearer(), says: "Editor-Version"},
	{name: "copilot's store", path: "/responses", with: simtest.Editor, keeps: simtest.Copilot, breaks: simtest.With(simtest.Copilot, "store", true), says: "store"},
	{name: "copilot's images", path: "/responses", with: simtest.Bearer("editor-version", "e", "copilot-vision-request", "true"), keeps: simtest.With(simtest.Copilot, "input", simtest.Picture),
		breaks: simtest.With(simtest.Copilot, "input", simtest.Picture), wrong: simtest.Editor, says: "Copilot-Vision-Request"},
}

func TestResponsesRules(t *testing.T) {
	s := sim.New(sim.Config{})
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			path, wrong, status := rule.path, rule.wrong, rule.status
			if path == "" {
				path = "/v1/responses"
			}
			if wrong == nil {
				wrong = rule.with
			}
			if status == 0 {
				status = 400
			}
			if kept := simtest.Respond(t, s, path, rule.with, rule.keeps); kept.Status != 200 {
				t.Errorf("kept: status %d: %s", kept.Status, kept.Body)
			}
			broken := simtest.Respond(t, s, path, wrong, rule.breaks)
			if broken.Status != status || !strings.Contains(broken.ErrorText(), rule.says) {
				t.Errorf("broken: status %d, want %d with %q: %s", broken.Status, status, rule.says, broken.Body)
			}
			if code := simtest.Get[string](broken.JSON(), "error", "code"); rule.code != "" && code != rule.code {
				t.Errorf("code %q, want %q: %s", code, rule.code, broken.Body)
			}
		})
	}
}

// afterCall is a conversation after one answer with reasoning and a call; its last item is still to be given.
func afterCall(t *testing.T, s http.Handler, path string, h http.Header, base obj) arr {
	t.Helper()
	first := simtest.Respond(t, s, path, h, simtest.With(base, "input", arr{obj{"role": "user", "content": "Read. [[sim: tool=read unchecked]]"}}, "reasoning", obj{"effort": "high", "summary": "auto"}))
	if first.Status != 200 {
		t.Fatalf("status %d: %s", first.Status, first.Body)
	}
	output := simtest.Get[arr](first.JSON(), "output")
	if len(output) != 3 {
		t.Fatalf("output %v", output)
	}
	input := append(arr{obj{"role": "user", "content": "Read."}}, output...)
	return append(input, obj{"type": "function_call_output", "call_id": simtest.Get[string](output[2], "call_id"), "output": "package a"})
}

func changed(input arr, at int, members ...any) arr {
	out := append(arr{}, input...)
	m := simtest.With(out[at].(obj), members...)
	for k, v := range m {
		if v == nil {
			delete(m, k)
		}
	}
	out[at] = m
	return out
}

// What comes back of reasoning is judged by what it is bound to.
func TestResponsesReplay(t *testing.T) {
	s := sim.New(sim.Config{})
	const openai, azure = "/v1/responses", "/openai/v1/responses"
	input := afterCall(t, s, openai, nil, obj{}) // user, reasoning, message, call, result
	bare := func(from arr, ats ...int) arr {
		for _, at := range ats {
			from = changed(from, at, "id", nil, "status", nil)
		}
		return from
	}
	without := func(at int) arr { return append(append(arr{}, input[:at]...), input[at+1:]...) }
	tests := []struct {
		name  string
		path  string
		h     http.Header
		model string
		input arr
		code  string // empty: it is taken
		says  string
	}{
		{name: "as it was", input: input},
		{name: "for another model", model: "gpt-5.5", input: input},
		{name: "all of it without ids", input: bare(input, 1, 2, 3)},
		{name: "dropped as a unit", input: bare(without(1), 1, 2)},
		{name: "no reasoning, old model", model: "gpt-5.5", input: without(1)},
		{name: "no reasoning", input: without(1), says: "without its required 'reasoning' item: 'rs_"},
		{name: "no follower", input: without(2), says: "without its required following item"},
		{name: "follower without its id", input: bare(input, 2), says: "without its required following item"},
		{name: "another id", input: changed(input, 1, "id", "rs_1"), code: "invalid_encrypted_content", says: "item_id did not match"},
		{name: "half of it", input: changed(input, 1, "encrypted_content", "gAAAAAabc"), code: "invalid_encrypted_content", says: "could not be decrypted"},
		{name: "nothing encrypted", input: changed(input, 1, "encrypted_content", nil), says: "Items are not persisted"},
		{name: "another summary", input: changed(input, 1, "summary", arr{}), code: "invalid_encrypted_content"},
		{name: "another account", h: simtest.Bearer("authorization", "Bearer key-2"), input: input, code: "invalid_encrypted_content"},
		{name: "another host", path: azure, input: input, code: "invalid_encrypted_content"},
		{name: "azure wants the id", path: azure, input: bare(afterCall(t, s, azure, nil, obj{}), 1, 2, 3), code: "missing_required_parameter"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, model := test.path, test.model
			if path == "" {
				path = openai
			}
			if model == "" {
				model = "gpt-6.1-sol"
			}
			r := simtest.Respond(t, s, path, test.h, obj{"model": model, "input": test.input})
			if test.code == "" && test.says == "" {
				if r.Status != 200 {
					t.Errorf("status %d: %s", r.Status, r.Body)
				}
				return
			}
			if code := simtest.Get[string](r.JSON(), "error", "code"); r.Status/100 != 4 || code != test.code || !strings.Contains(r.ErrorText(), test.says) {
				t.Errorf("status %d, want code %q and %q: %s", r.Status, test.code, test.says, r.Body)
			}
		})
	}
	t.Run("copilot: another model", func(t *testing.T) {
		input := afterCall(t, s, "/responses", simtest.Editor, obj{"model": "gpt-5.5"})
		if r := simtest.Respond(t, s, "/responses", simtest.Editor, obj{"model": "gpt-5.5", "input": input}); r.Status != 200 {
			t.Errorf("the same model: status %d: %s", r.Status, r.Body)
		}
		r := simtest.Respond(t, s, "/responses", simtest.Editor, obj{"model": "gpt-5.4", "input": input})
		if code := simtest.Get[string](r.JSON(), "error", "code"); code != "invalid_encrypted_content" {
			t.Errorf("status %d: %s", r.Status, r.Body)
		}
	})
}

// The stream says the same as the whole answer, with what the vendors' streams have of their own.
func TestResponsesStream(t *testing.T) {
	s := sim.New(sim.Config{})
	for _, test := range []struct {
		path string
		h    http.Header
		base obj
	}{{"/v1/responses", nil, obj{}}, {"/responses", simtest.Editor, simtest.Copilot}, {"/backend-api/codex/responses", simtest.PlanHeader, simtest.Plan}, {"/v1/responses", nil, obj{"model": "gpt-open"}}} {
		body := simtest.With(test.base, "input", "Read it. [[sim: tool=read unchecked thinking=100 blocks=2]]", "reasoning", obj{"effort": "low", "summary": "auto"}, "stream", true)
		r := simtest.Respond(t, s, test.path, test.h, body)
		var done arr
		ids, deltas := map[string]bool{}, 0
		all := simtest.Events(t, strings.NewReader(r.Body))
		for i, e := range all {
			if n := simtest.Get[float64](e.Data, "sequence_number"); int(n) != i {
				t.Fatalf("%s: event %d has number %v", test.path, i, n)
			}
			if e.Name == "response.output_item.done" {
				done = append(done, e.Data["item"])
			}
			if simtest.Get[float64](e.Data, "output_index") == 1 {
				for _, id := range []string{simtest.Get[string](e.Data, "item_id"), simtest.Get[string](e.Data, "item", "id")} {
					if id != "" {
						ids[id] = true
					}
				}
			}
			if strings.HasSuffix(e.Name, ".delta") {
				deltas++
			}
		}
		final := simtest.Get[obj](all[len(all)-1].Data, "response")
		if len(done) != 3 || deltas < 5 || simtest.Get[string](final, "status") != "completed" {
			t.Errorf("%s %v: %d items, %d deltas, status %v", test.path, test.base, len(done), deltas, final["status"])
		}
		if rotates := len(ids) > 1; rotates != (test.path == "/responses") {
			t.Errorf("%s: one item has %d ids", test.path, len(ids))
		}
		output := simtest.Get[arr](final, "output")
		if empty := len(output) == 0; empty != (test.path == "/backend-api/codex/responses") {
			t.Errorf("%s: %d items at the end", test.path, len(output))
		}
		sealed, again := simtest.Get[string](done[0], "encrypted_content"), simtest.Get[string](final, "output", 0, "encrypted_content")
		if open := simtest.Get[string](test.base, "model") == "gpt-open"; open != (sealed == "") {
			t.Errorf("%s %v: encrypted content %q", test.path, test.base, sealed)
		} else if len(output) > 0 && !open && sealed == again {
			t.Errorf("%s: the last event repeats the encrypted content of the item's end", test.path)
		}
	}
}
