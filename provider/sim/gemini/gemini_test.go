package gemini

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

func thinkingConfig(members obj) obj { return obj{"generationConfig": obj{"thinkingConfig": members}} }

// What a request is refused for, by model. [docs: thinking, function-calling, thought-signatures]
func configured(members obj) obj { return obj{"generationConfig": members} }

var readTool = obj{"tools": arr{obj{"functionDeclarations": arr{obj{"name": "read", "parametersJsonSchema": obj{"type": "object"}}}}}}

func TestGeminiRules(t *testing.T) {
	hi := simtest.Said("user", obj{"text": "Hi"})
	call := func(extra obj) obj {
		p := obj{"functionCall": obj{"id": "c1", "name": "read", "args": obj{}}}
		for k, v := range extra {
			p[k] = v
		}
		return p
	}
	bypass := call(obj{"thoughtSignature": "skip_thought_signature_validator"})
	result := func(id, name string) obj {
		r := obj{"name": name, "response": obj{"output": "A"}}
		if id != "" {
			r["id"] = id
		}
		return obj{"functionResponse": r}
	}
	contents := func(list ...any) obj { return obj{"contents": arr(list)} }
	tests := []struct {
		name, model string
		body        obj
		status      int
		text        string
	}{
		{"a level", "gemini-3.8-flash", thinkingConfig(obj{"thinkingLevel": "HIGH", "includeThoughts": true}), 200, ""},
		{"a level in lower case", "gemini-3.8-flash", thinkingConfig(obj{"thinkingLevel": "low"}), 200, ""},
		{"level and budget", "gemini-3-flash-preview", thinkingConfig(obj{"thinkingLevel": "LOW", "thinkingBudget": 1024}), 400, "only one of"},
		{"level of a budget model", "gemini-2.5-flash", thinkingConfig(obj{"thinkingLevel": "LOW"}), 400, "not supported"},
		{"minimal", "gemini-3.8-flash", thinkingConfig(obj{"thinkingLevel": "MINIMAL"}), 400, "MINIMAL is not supported"},
		{"minimal, taken", "gemini-3.6-flash", thinkingConfig(obj{"thinkingLevel": "MINIMAL"}), 200, ""},
		{"medium", "gemini-3-pro-preview", thinkingConfig(obj{"thinkingLevel": "MEDIUM"}), 400, "MEDIUM is not supported"},
		{"no such level", "gemini-3.8-flash", thinkingConfig(obj{"thinkingLevel": "XHIGH"}), 400, "Invalid value"},
		{"off", "gemini-2.5-flash", thinkingConfig(obj{"thinkingBudget": 0}), 200, ""},
		{"not off", "gemini-2.5-pro", thinkingConfig(obj{"thinkingBudget": 0}), 400, "only works in thinking mode"},
		{"dynamic", "gemini-2.5-pro", thinkingConfig(obj{"thinkingBudget": -1}), 200, ""},
		{"budget too small", "gemini-2.5-flash-lite", thinkingConfig(obj{"thinkingBudget": 100}), 400, "between 512 and 24576"},
		{"budget too large", "gemini-2.5-flash", thinkingConfig(obj{"thinkingBudget": 30000}), 400, "between"},
		{"budget of a level model", "gemini-3.8-flash", thinkingConfig(obj{"thinkingBudget": 1024}), 400, "not supported"},
		{"unknown member", "gemini-3.8-flash", obj{"thinking": true}, 400, "thinking"},
		{"candidates", "gemini-3.8-flash", obj{"generationConfig": obj{"candidateCount": 2}}, 400, "candidate"},
		{"penalty", "gemini-3.8-flash", obj{"generationConfig": obj{"presencePenalty": 1}}, 400, "Penalty"},
		{"too many tokens", "gemini-3.8-flash", obj{"generationConfig": obj{"maxOutputTokens": 70000}}, 400, "65537 (exclusive)"},
		{"temperature", "gemini-3.8-flash", configured(obj{"temperature": 2, "topP": 1, "topK": 40, "seed": -7}), 200, ""},
		{"too hot", "gemini-3.8-flash", configured(obj{"temperature": 2.1}), 400, "temperature"},
		{"five stops", "gemini-3.8-flash", configured(obj{"stopSequences": arr{"a", "b", "c", "d", "e"}}), 200, ""},
		{"six stops", "gemini-3.8-flash", configured(obj{"stopSequences": arr{"a", "b", "c", "d", "e", "f"}}), 400, "at most 5"},
		{"empty stop", "gemini-3.8-flash", configured(obj{"stopSequences": arr{""}}), 400, "empty"},
		{"tier", "gemini-3.8-flash", obj{"serviceTier": "flex"}, 200, ""},
		{"no such tier", "gemini-3.8-flash", obj{"serviceTier": "auto"}, 400, "serviceTier"},
		{"schema", "gemini-3.8-flash", configured(obj{"responseMimeType": "application/json", "responseJsonSchema": obj{"type": "object"}}), 200, ""},
		{"schema of prose", "gemini-3.8-flash", configured(obj{"responseJsonSchema": obj{"type": "object"}}), 400, "mime type"},
		{"JSON with tools", "gemini-3.8-flash", simtest.Merged(configured(obj{"responseMimeType": "application/json"}), readTool), 200, ""},
		{"JSON with tools of the older", "gemini-2.5-flash", simtest.Merged(configured(obj{"responseMimeType": "application/json"}), readTool), 400, "Function calling with a response mime type"},
		{"JSON and a forced tool", "gemini-3.8-flash", simtest.Merged(simtest.Merged(configured(obj{"responseMimeType": "application/json"}), readTool),
			obj{"toolConfig": obj{"functionCallingConfig": obj{"mode": "ANY"}}}), 400, "Forced function calling"},
		{"no model", "gemini-0", obj{}, 404, "not found"},
		{"no contents", "gemini-3.8-flash", contents(), 400, "contents is not specified"},
		{"role", "gemini-3.8-flash", contents(simtest.Said("assistant", obj{"text": "Hi"})), 400, "valid role"},
		{"no parts", "gemini-3.8-flash", contents(simtest.Said("user")), 400, "must not be empty"},
		{"empty part", "gemini-3.8-flash", contents(simtest.Said("user", obj{})), 400, "oneof"},
		{"two in a part", "gemini-3.8-flash", contents(simtest.Said("user", obj{"text": "a", "functionCall": obj{"name": "read"}})), 400, "oneof"},
		{"user thinks", "gemini-3.8-flash", contents(simtest.Said("user", obj{"text": "a", "thought": true})), 400, "only the model"},
		{"prefill", "gemini-3.8-flash", contents(hi, simtest.Said("model", obj{"text": "Well"})), 400, "user turn"},
		{"prefill, taken", "gemini-2.5-flash", contents(hi, simtest.Said("model", obj{"text": "Well"})), 200, ""},
		{"unsigned call", "gemini-3.8-flash", contents(hi, simtest.Said("model", call(nil)), simtest.Said("user", result("c1", "read"))), 400, "thought_signature"},
		{"unsigned call of the older", "gemini-2.5-flash", contents(hi, simtest.Said("model", call(nil)), simtest.Said("user", result("c1", "read"))), 200, ""},
		{"unsigned call of an older turn", "gemini-3.8-flash", contents(hi, simtest.Said("model", call(nil)), simtest.Said("user", result("c1", "read")), hi), 200, ""},
		{"bypass", "gemini-3.8-flash", contents(hi, simtest.Said("model", bypass, call(nil)), simtest.Said("user", result("c1", "read"), result("c1", "read"))), 200, ""},
		{"foreign signature", "gemini-3.8-flash", contents(hi, simtest.Said("model", call(obj{"thoughtSignature": "QUJD"})), simtest.Said("user", result("c1", "read"))), 400, "not valid"},
		{"foreign signature of a text", "gemini-3.8-flash", contents(hi, simtest.Said("model", obj{"text": "A", "thoughtSignature": "QUJD"}), hi), 200, ""},
		{"no result", "gemini-3.8-flash", contents(hi, simtest.Said("model", bypass), hi), 400, "followed immediately"},
		{"one result of two", "gemini-3.8-flash", contents(hi, simtest.Said("model", bypass, call(nil)), simtest.Said("user", result("c1", "read"))), 400, "number of function response"},
		{"result of nothing", "gemini-3.8-flash", contents(simtest.Said("user", result("c1", "read"))), 400, "immediately after a function call"},
		{"wrong id", "gemini-3.8-flash", contents(hi, simtest.Said("model", bypass), simtest.Said("user", result("c2", "read"))), 400, "id"},
		{"wrong name", "gemini-3.8-flash", contents(hi, simtest.Said("model", bypass), simtest.Said("user", result("c1", "list"))), 400, "not that of"},
		{"call after the model", "gemini-3.8-flash", contents(hi, simtest.Said("model", obj{"text": "A"}), simtest.Said("model", bypass), simtest.Said("user", result("c1", "read"))), 400, "after a user turn"},
		{"stale token", "gemini-4-argon", obj{"continuationToken": "QUJD"}, 400, "continuation_token"},
		{"pause where there is none", "gemini-3.8-flash", contents(simtest.Said("user", obj{"text": "Hi [[sim: stop=pause_turn]]"})), 400, "does not pause"},
	}
	for _, test := range tests {
		s := sim.New(sim.Config{Now: simtest.November})
		got := simtest.Generate(t, s, test.model, test.body)
		var e struct {
			Error struct {
				Code            int
				Status, Message string
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &e); err != nil {
			t.Fatalf("%s: %v in %s", test.name, err, got.Body)
		}
		if got.Status != test.status || !strings.Contains(e.Error.Message, test.text) || test.status != 200 && e.Error.Code != test.status {
			t.Errorf("%s: %d %s, want %d with %q", test.name, got.Status, got.Body, test.status, test.text)
		}
		if refused := len(s.Refusals()) == 1; refused != (test.status != 200) {
			t.Errorf("%s: %d refusals in the journal", test.name, len(s.Refusals()))
		}
	}
}

// A signature holds on its own part, at models of its generation.
func TestGeminiSignatures(t *testing.T) {
	s := sim.New(sim.Config{Now: simtest.November})
	ask := simtest.Said("user", obj{"text": "Read. [[sim: tool=read unchecked]]"})
	first := simtest.Generate(t, s, "gemini-3.8-flash", obj{"contents": arr{ask}})
	var answer struct{ Candidates []struct{ Content obj } }
	if err := json.Unmarshal([]byte(first.Body), &answer); err != nil || first.Status != 200 {
		t.Fatalf("%d %s", first.Status, first.Body)
	}
	content := answer.Candidates[0].Content
	parts := simtest.Get[arr](content, "parts")
	signed := simtest.Get[obj](parts, len(parts)-1)
	call := simtest.Get[obj](signed, "functionCall")
	if signed["thoughtSignature"] == nil || call["id"] == nil {
		t.Fatalf("the call %v has no signature or no id", signed)
	}
	result := simtest.Said("user", obj{"functionResponse": obj{"id": call["id"], "name": "read", "response": obj{"output": "A"}}})
	changed := obj{"functionCall": obj{"id": call["id"], "name": "read", "args": obj{}}, "thoughtSignature": signed["thoughtSignature"]}
	tests := []struct {
		name, model string
		part        any
		status      int
	}{
		{"as it came", "gemini-3.8-flash", signed, 200},
		{"another model", "gemini-4-argon", signed, 200},
		{"another generation does not look", "gemini-2.5-flash", signed, 200},
		{"changed", "gemini-3.8-flash", changed, 400},
	}
	for _, test := range tests {
		got := simtest.Generate(t, s, test.model, obj{"contents": arr{ask, simtest.Said("model", test.part), result}})
		if got.Status != test.status {
			t.Errorf("%s: %d %s, want %d", test.name, got.Status, got.Body, test.status)
		}
	}
	moved := obj{"text": "A", "thoughtSignature": signed["thoughtSignature"]}
	if got := simtest.Generate(t, s, "gemini-3.8-flash", obj{"contents": arr{ask, simtest.Said("model", moved), ask}}); got.Status != 400 {
		t.Errorf("moved to another part: %d, want 400", got.Status)
	}
}

// The list tells no levels and comes in pages; keys are asked for; a stream without alt=sse is a list.
func TestGeminiDoors(t *testing.T) {
	s := sim.New(sim.Config{Key: "key-1"})
	var ids []string
	for token := "0"; token != ""; {
		got := simtest.Send(t, s, "GET", "/v1beta/models?pageSize=7&pageToken="+token, simtest.Googled("key-1"), nil)
		var page struct {
			Models        []struct{ Name string }
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(got.Body), &page); err != nil || strings.Contains(got.Body, "evel\"") {
			t.Fatalf("%v: %s", err, got.Body)
		}
		for _, m := range page.Models {
			ids = append(ids, m.Name)
		}
		token = page.NextPageToken
	}
	if len(ids) != len(models) || ids[0] != "models/gemini-4-argon" {
		t.Errorf("listed %v", ids)
	}
	for _, test := range []struct {
		method, path, key string
		status            int
	}{
		{"GET", "/v1beta/models", "", 403},
		{"GET", "/v1beta/models", "key-2", 400},
		{"GET", "/v1beta/models/gemini-4-argon", "key-1", 200},
		{"GET", "/v1beta/models/none", "key-1", 404},
		{"POST", "/v1beta/models/gemini:embed", "key-1", 404},
		{"DELETE", "/v1beta/models/gemini", "key-1", 404},
	} {
		if got := simtest.Send(t, s, test.method, test.path, simtest.Googled(test.key), nil); got.Status != test.status {
			t.Errorf("%s %s with %q: %d, want %d", test.method, test.path, test.key, got.Status, test.status)
		}
	}
	body := obj{"contents": arr{simtest.Said("user", obj{"text": "Hi [[sim: thinking=9 text=9]]"})}}
	list := simtest.Send(t, s, "POST", "/v1beta/models/gemini:streamGenerateContent", simtest.Googled("key-1"), body)
	var chunks []obj
	if err := json.Unmarshal([]byte(list.Body), &chunks); err != nil || len(chunks) < 2 {
		t.Errorf("without alt=sse: %v: %s", err, list.Body)
	}
	events := simtest.Send(t, s, "POST", "/v1beta/models/gemini:streamGenerateContent?alt=sse", simtest.Googled("key-1"), body)
	if !strings.HasPrefix(events.Body, "data: {") || !strings.HasSuffix(events.Body, "}\r\n\r\n") {
		t.Errorf("with alt=sse: %s", events.Body)
	}
	count := simtest.Send(t, s, "POST", "/v1beta/models/gemini:countTokens", simtest.Googled("key-1"), body)
	if count.Status != 200 || !strings.Contains(count.Body, "totalTokens") {
		t.Errorf("count: %d %s", count.Status, count.Body)
	}
}

// From the day on another model answers under the name, by its own rules.
func TestGeminiRedirect(t *testing.T) {
	for _, test := range []struct {
		at     time.Time
		budget int // status of an answer to one, without thinking
		model  string
	}{
		{time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC), 200, "gemini-2.5-flash"},
		{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 400, "gemini-3.5-flash-lite"},
	} {
		s := sim.New(sim.Config{Now: func() time.Time { return test.at }})
		if got := simtest.Generate(t, s, "gemini-2.5-flash", obj{"contents": arr{obj{"role": "user", "parts": arr{obj{"text": "hi"}}}}, "generationConfig": obj{"thinkingConfig": obj{"thinkingBudget": 0}}}); got.Status != test.budget {
			t.Errorf("%v: a budget is answered with %d %s", test.at, got.Status, got.Body)
		}
		if got := simtest.Generate(t, s, "gemini-2.5-flash", obj{"contents": arr{obj{"role": "user", "parts": arr{obj{"text": "hi"}}}}}); got.Status != 200 || simtest.Get[string](got.JSON(), "modelVersion") != test.model {
			t.Errorf("%v: answered by %s: %d %s", test.at, test.model, got.Status, got.Body)
		}
	}
}
