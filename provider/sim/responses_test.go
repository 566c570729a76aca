package sim

import (
	"net/http"
	"strings"
	"testing"
)

// bearer is the header of a good request to the Responses API, with changes as in header.
func bearer(changes ...string) http.Header {
	return header(append([]string{"x-api-key", "", "anthropic-version", "", "authorization", "Bearer key-1"}, changes...)...)
}

func respond(t *testing.T, s http.Handler, path string, h http.Header, body obj) reply {
	t.Helper()
	full := obj{"model": "gpt-6.1-sol", "input": "Which date is later?", "store": false, "include": arr{"reasoning.encrypted_content"}}
	for k, v := range body {
		if full[k] = v; v == nil {
			delete(full, k)
		}
	}
	if h == nil {
		h = bearer()
	}
	return send(t, s, "POST", path, h, full)
}

// responsesRule is one rule of the wire: a request that keeps it and one that breaks it.
type responsesRule struct {
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

func with(a obj, members ...any) obj {
	m := merged(a, obj{})
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	return m
}

var (
	readFunction = obj{"type": "function", "name": "read", "strict": false, "parameters": obj{"type": "object", "properties": obj{"path": obj{"type": "string"}}}}
	plan         = obj{"model": "gpt-5.5", "instructions": "Be brief.", "stream": true}
	planHeader   = bearer("chatgpt-account-id", "plan_1")
	copilot      = obj{"model": "gpt-5.5"}
	editor       = bearer("editor-version", "thinkd/1")
	picture      = arr{obj{"role": "user", "content": arr{obj{"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="}}}}
	plainCall    = obj{"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
	update       = obj{"type": "configuration_update", "reasoning": obj{"effort": "low"}}
	callResult   = obj{"type": "function_call_output", "call_id": "call_1", "output": "package a"}
	asking       = obj{"role": "user", "content": "Read."}
)

var responsesRules = []responsesRule{
	{name: "key", keeps: obj{}, breaks: obj{}, wrong: bearer("authorization", ""), status: 401, code: "invalid_api_key"},
	{name: "azure's key", path: "/openai/v1/responses", with: bearer("authorization", "", "api-key", "k"), keeps: obj{}, breaks: obj{}, wrong: bearer("authorization", ""), status: 401, code: "invalid_api_key"},
	{name: "that key elsewhere", keeps: obj{}, breaks: obj{}, wrong: bearer("authorization", "", "api-key", "k"), status: 401, code: "invalid_api_key"},
	{name: "model", keeps: obj{"model": "gpt-5.6"}, breaks: obj{"model": "gpt-7"}, status: 404, code: "model_not_found"},
	{name: "unknown member", keeps: obj{}, breaks: obj{"thinking": obj{}}, code: "unknown_parameter", says: "'thinking'"},
	{name: "max_tokens", keeps: obj{"max_output_tokens": 100}, breaks: obj{"max_tokens": 100}, code: "unsupported_parameter"},
	{name: "least output", keeps: obj{"max_output_tokens": 16}, breaks: obj{"max_output_tokens": 15}, says: ">= 16"},
	{name: "most output", keeps: obj{"max_output_tokens": 128_000}, breaks: obj{"max_output_tokens": 128_001}, says: "too large"},
	{name: "previous response", keeps: obj{}, breaks: obj{"previous_response_id": "resp_1"}, code: "previous_response_not_found"},

	{name: "effort of the model", keeps: reasoned("effort", "max"), breaks: reasoned("effort", "none"), code: "unsupported_value", says: "'low', 'medium'"},
	{name: "no effort is called ultra", keeps: reasoned("effort", "xhigh"), breaks: reasoned("effort", "ultra")},
	{name: "minimal is old", keeps: with(reasoned("effort", "minimal"), "model", "gpt-5"), breaks: with(reasoned("effort", "minimal"), "model", "gpt-5.5"), code: "unsupported_value"},
	{name: "copilot's own list", path: "/responses", with: editor, keeps: with(reasoned("effort", "low"), "model", "gpt-5-mini"), breaks: with(reasoned("effort", "minimal"), "model", "gpt-5-mini"), code: "unsupported_value"},
	{name: "no effort without thinking", keeps: obj{"model": "gpt-4.1", "include": nil}, breaks: with(reasoned("effort", "low"), "model", "gpt-4.1", "include", nil), code: "unsupported_parameter"},
	{name: "no effort for a model that always thinks", keeps: obj{"model": "grok-4.20-reasoning"}, breaks: with(reasoned("effort", "low"), "model", "grok-4.20-reasoning"), code: "unsupported_parameter"},
	{name: "none on grok", keeps: with(reasoned("effort", "none"), "model", "grok-4.3"), breaks: with(reasoned("effort", "none"), "model", "grok-4.5"), code: "unsupported_value"},
	{name: "nothing encrypted without thinking", keeps: obj{"model": "gpt-4o", "include": nil}, breaks: obj{"model": "gpt-4o"}, says: "Encrypted content is not supported"},
	{name: "effort on the way", keeps: obj{"model": "gpt-6-astra", "input": arr{asking, update, asking}}, breaks: obj{"model": "gpt-5.5", "input": arr{asking, update, asking}}, code: "unsupported_value", says: "'configuration_update'"},
	{name: "effort on the way of the model", keeps: obj{"model": "gpt-6-sol", "input": arr{asking, with(update, "reasoning", obj{"effort": "none"}), asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{asking, with(update, "reasoning", obj{"effort": "none"}), asking}}, code: "unsupported_value"},
	{name: "two changes in a row", keeps: obj{"model": "gpt-6-astra", "input": arr{update, asking, update, asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{asking, update, update, asking}}, says: "directly followed"},
	{name: "change at the end", keeps: obj{"model": "gpt-6-astra", "input": arr{update, asking}}, breaks: obj{"model": "gpt-6-astra", "input": arr{asking, update}}, says: "directly followed"},
	{name: "summary words", keeps: reasoned("summary", "concise"), breaks: reasoned("summary", "summarized")},
	{name: "concise is new", keeps: with(reasoned("summary", "detailed"), "model", "gpt-5"), breaks: with(reasoned("summary", "concise"), "model", "gpt-5"), code: "unsupported_value"},
	{name: "context", keeps: reasoned("context", "all_turns"), breaks: with(reasoned("context", "all_turns"), "model", "gpt-5.5"), code: "unsupported_parameter"},
	{name: "deprecated summary", keeps: reasoned("summary", "auto"), breaks: reasoned("generate_summary", "auto"), says: "reasoning.generate_summary"},
	{name: "temperature never", keeps: obj{"model": "gpt-4.1", "include": nil, "temperature": 1.5}, breaks: obj{"temperature": 1.5}, code: "unsupported_parameter"},
	{name: "temperature with none", keeps: with(reasoned("effort", "none"), "model", "gpt-5.5", "temperature", 0.5), breaks: with(reasoned("effort", "low"), "model", "gpt-5.5", "temperature", 0.5), code: "unsupported_parameter"},
	{name: "top_p with the default none", keeps: obj{"model": "gpt-5.2", "top_p": 0.5}, breaks: obj{"model": "gpt-5", "top_p": 0.5}, code: "unsupported_parameter"},
	{name: "include words", keeps: obj{}, breaks: obj{"include": arr{"reasoning.content"}}, code: "invalid_value"},

	{name: "schema of an object", keeps: obj{"tools": arr{readFunction}}, breaks: obj{"tools": arr{with(readFunction, "parameters", obj{"type": "string"})}}, code: "invalid_function_parameters"},
	{name: "properties", keeps: obj{"tools": arr{readFunction}}, breaks: obj{"tools": arr{with(readFunction, "parameters", obj{"type": "object"})}}, says: "missing properties"},
	{name: "strict is the default", keeps: obj{"tools": arr{readFunction}}, breaks: obj{"tools": arr{with(readFunction, "strict", nil)}}, says: "additionalProperties"},
	{name: "tool choice", keeps: obj{"tools": arr{readFunction}, "tool_choice": obj{"type": "function", "name": "read"}}, breaks: obj{"tools": arr{readFunction}, "tool_choice": obj{"type": "function", "name": "write"}}, says: "not found in 'tools'"},

	{name: "compaction's threshold", keeps: obj{"context_management": arr{obj{"type": "compaction", "compact_threshold": 1000}}}, breaks: obj{"context_management": arr{obj{"type": "compaction", "compact_threshold": 0}}}, says: "compact_threshold"},
	{name: "no change of effort beside compaction", keeps: obj{"model": "gpt-6-astra", "input": arr{update, asking}},
		breaks: obj{"model": "gpt-6-astra", "input": arr{update, asking}, "context_management": arr{obj{"type": "compaction", "compact_threshold": 1000}}}, says: "not supported with automatic compaction"},
	{name: "compaction of somebody's", keeps: obj{}, breaks: obj{"input": arr{obj{"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}, asking}}, code: "invalid_encrypted_content"},

	{name: "input is there", keeps: obj{}, breaks: obj{"input": nil}, code: "missing_required_parameter"},
	{name: "input is not empty", keeps: obj{"input": arr{asking}}, breaks: obj{"input": arr{}}, code: "invalid_value"},
	{name: "what a model said is output", keeps: obj{"input": arr{asking, obj{"role": "assistant", "content": arr{obj{"type": "output_text", "text": "t"}}}, asking}},
		breaks: obj{"input": arr{asking, obj{"role": "assistant", "content": arr{obj{"type": "input_text", "text": "t"}}}, asking}}, says: "'output_text', 'refusal'"},
	{name: "kind of id", keeps: obj{"input": arr{asking, with(plainCall, "id", "fc_1"), callResult}}, breaks: obj{"input": arr{asking, with(plainCall, "id", "toolu_1"), callResult}}, says: "begins with 'fc'"},
	{name: "length of call_id", keeps: obj{"input": arr{asking, plainCall, callResult}},
		breaks: obj{"input": arr{asking, with(plainCall, "call_id", strings.Repeat("x", 65)), with(callResult, "call_id", strings.Repeat("x", 65))}}, says: "string too long"},
	{name: "call without a result", keeps: obj{"input": arr{asking, plainCall, callResult}}, breaks: obj{"input": arr{asking, plainCall}}, says: "No tool output found for function call call_1"},
	{name: "result without a call", keeps: obj{"input": arr{asking, plainCall, callResult}}, breaks: obj{"input": arr{asking, callResult}}, says: "No tool call found"},
	{name: "result of another kind", keeps: obj{"input": arr{asking, plainCall, callResult}}, breaks: obj{"input": arr{asking, plainCall, with(callResult, "type", "custom_tool_call_output")}}, says: "No tool call found"},
	{name: "item twice", keeps: obj{"input": arr{with(asking, "id", "msg_1"), with(asking, "id", "msg_2")}}, breaks: obj{"input": arr{with(asking, "id", "msg_1"), with(asking, "id", "msg_1")}}, says: "Duplicate item found with id msg_1"},
	{name: "reference", keeps: obj{}, breaks: obj{"input": arr{asking, obj{"type": "item_reference", "id": "rs_1"}}}, status: 404, says: "Items are not persisted"},
	{name: "summary is there", keeps: obj{}, breaks: obj{"input": arr{asking, obj{"type": "reasoning", "id": "rs_1", "encrypted_content": "g"}}}, code: "missing_required_parameter"},
	{name: "image", keeps: obj{"input": picture}, breaks: obj{"input": arr{obj{"role": "user", "content": arr{obj{"type": "input_image", "image_url": "iVBORw=="}}}}}, says: "valid URL"},

	{name: "plan's account", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: plan, wrong: bearer(), status: 401},
	{name: "plan's session", path: "/backend-api/codex/responses", with: bearer("chatgpt-account-id", "plan_1", "session-id", "s", "thread-id", "s"), keeps: plan,
		breaks: plan, wrong: bearer("chatgpt-account-id", "plan_1", "session_id", "s"), says: "underscores"},
	{name: "plan's thread", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: plan,
		wrong: bearer("chatgpt-account-id", "plan_1", "session-id", "s", "thread-id", "t"), says: "two conversations"},
	{name: "plan's instructions", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: with(plan, "instructions", nil), says: "Instructions are required"},
	{name: "plan's store", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: with(plan, "store", nil), says: "Store must be set to false"},
	{name: "plan's stream", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: with(plan, "stream", false), says: "Stream must be set to true"},
	{name: "plan's limit", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: with(plan, "max_output_tokens", 100), code: "unsupported_parameter"},
	{name: "plan's temperature", path: "/backend-api/codex/responses", with: planHeader, keeps: plan, breaks: with(plan, "temperature", 1), code: "unsupported_parameter"},
	{name: "plan's system", path: "/backend-api/codex/responses", with: planHeader, keeps: with(plan, "input", arr{obj{"role": "developer", "content": "s"}, asking}),
		breaks: with(plan, "input", arr{obj{"role": "system", "content": "s"}, asking}), says: "System messages"},
	{name: "copilot's editor", path: "/responses", with: editor, keeps: copilot, breaks: copilot, wrong: bearer(), says: "Editor-Version"},
	{name: "copilot's store", path: "/responses", with: editor, keeps: copilot, breaks: with(copilot, "store", true), says: "store"},
	{name: "copilot's images", path: "/responses", with: bearer("editor-version", "e", "copilot-vision-request", "true"), keeps: with(copilot, "input", picture),
		breaks: with(copilot, "input", picture), wrong: editor, says: "Copilot-Vision-Request"},
}

func TestResponsesRules(t *testing.T) {
	s := New(Config{})
	for _, rule := range responsesRules {
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
			if kept := respond(t, s, path, rule.with, rule.keeps); kept.status != 200 {
				t.Errorf("kept: status %d: %s", kept.status, kept.body)
			}
			broken := respond(t, s, path, wrong, rule.breaks)
			if broken.status != status || !strings.Contains(broken.errorText(), rule.says) {
				t.Errorf("broken: status %d, want %d with %q: %s", broken.status, status, rule.says, broken.body)
			}
			if code := get[string](broken.json(), "error", "code"); rule.code != "" && code != rule.code {
				t.Errorf("code %q, want %q: %s", code, rule.code, broken.body)
			}
		})
	}
}

// afterCall is a conversation after one answer with reasoning and a call; its last item is still to be given.
func afterCall(t *testing.T, s http.Handler, path string, h http.Header, base obj) arr {
	t.Helper()
	first := respond(t, s, path, h, with(base, "input", arr{obj{"role": "user", "content": "Read. [[sim: tool=read]]"}}, "reasoning", obj{"effort": "high", "summary": "auto"}))
	if first.status != 200 {
		t.Fatalf("status %d: %s", first.status, first.body)
	}
	output := get[arr](first.json(), "output")
	if len(output) != 3 {
		t.Fatalf("output %v", output)
	}
	input := append(arr{obj{"role": "user", "content": "Read."}}, output...)
	return append(input, obj{"type": "function_call_output", "call_id": get[string](output[2], "call_id"), "output": "package a"})
}

func changed(input arr, at int, members ...any) arr {
	out := append(arr{}, input...)
	m := with(out[at].(obj), members...)
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
	s := New(Config{})
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
		{name: "another account", h: bearer("authorization", "Bearer key-2"), input: input, code: "invalid_encrypted_content"},
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
			r := respond(t, s, path, test.h, obj{"model": model, "input": test.input})
			if test.code == "" && test.says == "" {
				if r.status != 200 {
					t.Errorf("status %d: %s", r.status, r.body)
				}
				return
			}
			if code := get[string](r.json(), "error", "code"); r.status/100 != 4 || code != test.code || !strings.Contains(r.errorText(), test.says) {
				t.Errorf("status %d, want code %q and %q: %s", r.status, test.code, test.says, r.body)
			}
		})
	}
	t.Run("copilot: another model", func(t *testing.T) {
		input := afterCall(t, s, "/responses", editor, obj{"model": "gpt-5.5"})
		if r := respond(t, s, "/responses", editor, obj{"model": "gpt-5.5", "input": input}); r.status != 200 {
			t.Errorf("the same model: status %d: %s", r.status, r.body)
		}
		r := respond(t, s, "/responses", editor, obj{"model": "gpt-5.4", "input": input})
		if code := get[string](r.json(), "error", "code"); code != "invalid_encrypted_content" {
			t.Errorf("status %d: %s", r.status, r.body)
		}
	})
}

// The stream says the same as the whole answer, with what the vendors' streams have of their own.
func TestResponsesStream(t *testing.T) {
	s := New(Config{})
	for _, test := range []struct {
		path string
		h    http.Header
		base obj
	}{{"/v1/responses", nil, obj{}}, {"/responses", editor, copilot}, {"/backend-api/codex/responses", planHeader, plan}, {"/v1/responses", nil, obj{"model": "gpt-open"}}} {
		body := with(test.base, "input", "Read. [[sim: tool=read thinking=100 blocks=2]]", "reasoning", obj{"effort": "low", "summary": "auto"}, "stream", true)
		r := respond(t, s, test.path, test.h, body)
		var done arr
		ids, deltas := map[string]bool{}, 0
		all := events(t, strings.NewReader(r.body))
		for i, e := range all {
			if n := get[float64](e.data, "sequence_number"); int(n) != i {
				t.Fatalf("%s: event %d has number %v", test.path, i, n)
			}
			if e.name == "response.output_item.done" {
				done = append(done, e.data["item"])
			}
			if get[float64](e.data, "output_index") == 1 {
				for _, id := range []string{get[string](e.data, "item_id"), get[string](e.data, "item", "id")} {
					if id != "" {
						ids[id] = true
					}
				}
			}
			if strings.HasSuffix(e.name, ".delta") {
				deltas++
			}
		}
		final := get[obj](all[len(all)-1].data, "response")
		if len(done) != 3 || deltas < 5 || get[string](final, "status") != "completed" {
			t.Errorf("%s %v: %d items, %d deltas, status %v", test.path, test.base, len(done), deltas, final["status"])
		}
		if rotates := len(ids) > 1; rotates != (test.path == "/responses") {
			t.Errorf("%s: one item has %d ids", test.path, len(ids))
		}
		output := get[arr](final, "output")
		if empty := len(output) == 0; empty != (test.path == "/backend-api/codex/responses") {
			t.Errorf("%s: %d items at the end", test.path, len(output))
		}
		sealed, again := get[string](done[0], "encrypted_content"), get[string](final, "output", 0, "encrypted_content")
		if open := get[string](test.base, "model") == "gpt-open"; open != (sealed == "") {
			t.Errorf("%s %v: encrypted content %q", test.path, test.base, sealed)
		} else if len(output) > 0 && !open && sealed == again {
			t.Errorf("%s: the last event repeats the encrypted content of the item's end", test.path)
		}
	}
}
