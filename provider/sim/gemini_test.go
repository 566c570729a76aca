package sim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func googled(key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("x-goog-api-key", key)
	}
	return h
}

// generate posts a request; a map gets contents where it has none.
func generate(t *testing.T, s http.Handler, model string, body obj) reply {
	t.Helper()
	full := obj{"contents": arr{said("user", obj{"text": "Which date is later?"})}}
	for k, v := range body {
		full[k] = v
	}
	return send(t, s, "POST", "/v1beta/models/"+model+":generateContent", googled("key-1"), full)
}

func said(role string, parts ...any) obj { return obj{"role": role, "parts": arr(parts)} }

func thinkingConfig(members obj) obj { return obj{"generationConfig": obj{"thinkingConfig": members}} }

// What a request is refused for, by model. [docs: thinking, function-calling, thought-signatures]
func TestGeminiRules(t *testing.T) {
	hi := said("user", obj{"text": "Hi"})
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
		{"no model", "gemini-0", obj{}, 404, "not found"},
		{"no contents", "gemini-3.8-flash", contents(), 400, "contents is not specified"},
		{"role", "gemini-3.8-flash", contents(said("assistant", obj{"text": "Hi"})), 400, "valid role"},
		{"no parts", "gemini-3.8-flash", contents(said("user")), 400, "must not be empty"},
		{"empty part", "gemini-3.8-flash", contents(said("user", obj{})), 400, "oneof"},
		{"two in a part", "gemini-3.8-flash", contents(said("user", obj{"text": "a", "functionCall": obj{"name": "read"}})), 400, "oneof"},
		{"user thinks", "gemini-3.8-flash", contents(said("user", obj{"text": "a", "thought": true})), 400, "only the model"},
		{"prefill", "gemini-3.8-flash", contents(hi, said("model", obj{"text": "Well"})), 400, "user turn"},
		{"prefill, taken", "gemini-2.5-flash", contents(hi, said("model", obj{"text": "Well"})), 200, ""},
		{"unsigned call", "gemini-3.8-flash", contents(hi, said("model", call(nil)), said("user", result("c1", "read"))), 400, "thought_signature"},
		{"unsigned call of the older", "gemini-2.5-flash", contents(hi, said("model", call(nil)), said("user", result("c1", "read"))), 200, ""},
		{"unsigned call of an older turn", "gemini-3.8-flash", contents(hi, said("model", call(nil)), said("user", result("c1", "read")), hi), 200, ""},
		{"bypass", "gemini-3.8-flash", contents(hi, said("model", bypass, call(nil)), said("user", result("c1", "read"), result("c1", "read"))), 200, ""},
		{"foreign signature", "gemini-3.8-flash", contents(hi, said("model", call(obj{"thoughtSignature": "QUJD"})), said("user", result("c1", "read"))), 400, "not valid"},
		{"foreign signature of a text", "gemini-3.8-flash", contents(hi, said("model", obj{"text": "A", "thoughtSignature": "QUJD"}), hi), 200, ""},
		{"no result", "gemini-3.8-flash", contents(hi, said("model", bypass), hi), 400, "followed immediately"},
		{"one result of two", "gemini-3.8-flash", contents(hi, said("model", bypass, call(nil)), said("user", result("c1", "read"))), 400, "number of function response"},
		{"result of nothing", "gemini-3.8-flash", contents(said("user", result("c1", "read"))), 400, "immediately after a function call"},
		{"wrong id", "gemini-3.8-flash", contents(hi, said("model", bypass), said("user", result("c2", "read"))), 400, "id"},
		{"wrong name", "gemini-3.8-flash", contents(hi, said("model", bypass), said("user", result("c1", "list"))), 400, "not that of"},
		{"call after the model", "gemini-3.8-flash", contents(hi, said("model", obj{"text": "A"}), said("model", bypass), said("user", result("c1", "read"))), 400, "after a user turn"},
		{"stale token", "gemini-4-argon", obj{"continuationToken": "QUJD"}, 400, "continuation_token"},
		{"pause where there is none", "gemini-3.8-flash", contents(said("user", obj{"text": "Hi [[sim: stop=pause_turn]]"})), 400, "does not pause"},
	}
	for _, test := range tests {
		s := New(Config{Now: november})
		got := generate(t, s, test.model, test.body)
		var e struct {
			Error struct {
				Code            int
				Status, Message string
			}
		}
		if err := json.Unmarshal([]byte(got.body), &e); err != nil {
			t.Fatalf("%s: %v in %s", test.name, err, got.body)
		}
		if got.status != test.status || !strings.Contains(e.Error.Message, test.text) || test.status != 200 && e.Error.Code != test.status {
			t.Errorf("%s: %d %s, want %d with %q", test.name, got.status, got.body, test.status, test.text)
		}
		if refused := len(s.Refusals()) == 1; refused != (test.status != 200) {
			t.Errorf("%s: %d refusals in the journal", test.name, len(s.Refusals()))
		}
	}
}

// A signature holds on its own part, at models of its generation.
func TestGeminiSignatures(t *testing.T) {
	s := New(Config{Now: november})
	ask := said("user", obj{"text": "Read. [[sim: tool=read]]"})
	first := generate(t, s, "gemini-3.8-flash", obj{"contents": arr{ask}})
	var answer struct{ Candidates []struct{ Content obj } }
	if err := json.Unmarshal([]byte(first.body), &answer); err != nil || first.status != 200 {
		t.Fatalf("%d %s", first.status, first.body)
	}
	content := answer.Candidates[0].Content
	parts := get[arr](content, "parts")
	signed := get[obj](parts, len(parts)-1)
	call := get[obj](signed, "functionCall")
	if signed["thoughtSignature"] == nil || call["id"] == nil {
		t.Fatalf("the call %v has no signature or no id", signed)
	}
	result := said("user", obj{"functionResponse": obj{"id": call["id"], "name": "read", "response": obj{"output": "A"}}})
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
		got := generate(t, s, test.model, obj{"contents": arr{ask, said("model", test.part), result}})
		if got.status != test.status {
			t.Errorf("%s: %d %s, want %d", test.name, got.status, got.body, test.status)
		}
	}
	moved := obj{"text": "A", "thoughtSignature": signed["thoughtSignature"]}
	if got := generate(t, s, "gemini-3.8-flash", obj{"contents": arr{ask, said("model", moved), ask}}); got.status != 400 {
		t.Errorf("moved to another part: %d, want 400", got.status)
	}
}

// The list tells no levels and comes in pages; keys are asked for; a stream without alt=sse is a list.
func TestGeminiDoors(t *testing.T) {
	s := New(Config{Key: "key-1"})
	var ids []string
	for token := "0"; token != ""; {
		got := send(t, s, "GET", "/v1beta/models?pageSize=7&pageToken="+token, googled("key-1"), nil)
		var page struct {
			Models        []struct{ Name string }
			NextPageToken string
		}
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || strings.Contains(got.body, "evel\"") {
			t.Fatalf("%v: %s", err, got.body)
		}
		for _, m := range page.Models {
			ids = append(ids, m.Name)
		}
		token = page.NextPageToken
	}
	if len(ids) != len(geminiModels) || ids[0] != "models/gemini-4-argon" {
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
		if got := send(t, s, test.method, test.path, googled(test.key), nil); got.status != test.status {
			t.Errorf("%s %s with %q: %d, want %d", test.method, test.path, test.key, got.status, test.status)
		}
	}
	body := obj{"contents": arr{said("user", obj{"text": "Hi [[sim: thinking=9 text=9]]"})}}
	list := send(t, s, "POST", "/v1beta/models/gemini:streamGenerateContent", googled("key-1"), body)
	var chunks []obj
	if err := json.Unmarshal([]byte(list.body), &chunks); err != nil || len(chunks) < 2 {
		t.Errorf("without alt=sse: %v: %s", err, list.body)
	}
	events := send(t, s, "POST", "/v1beta/models/gemini:streamGenerateContent?alt=sse", googled("key-1"), body)
	if !strings.HasPrefix(events.body, "data: {") || !strings.HasSuffix(events.body, "}\r\n\r\n") {
		t.Errorf("with alt=sse: %s", events.body)
	}
	count := send(t, s, "POST", "/v1beta/models/gemini:countTokens", googled("key-1"), body)
	if count.status != 200 || !strings.Contains(count.body, "totalTokens") {
		t.Errorf("count: %d %s", count.status, count.body)
	}
}

// november is before the vendor redirects names of the second generation.
func november() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }

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
		s := New(Config{Now: func() time.Time { return test.at }})
		if got := generate(t, s, "gemini-2.5-flash", obj{"contents": arr{obj{"role": "user", "parts": arr{obj{"text": "hi"}}}}, "generationConfig": obj{"thinkingConfig": obj{"thinkingBudget": 0}}}); got.status != test.budget {
			t.Errorf("%v: a budget is answered with %d %s", test.at, got.status, got.body)
		}
		if got := generate(t, s, "gemini-2.5-flash", obj{"contents": arr{obj{"role": "user", "parts": arr{obj{"text": "hi"}}}}}); got.status != 200 || get[string](got.json(), "modelVersion") != test.model {
			t.Errorf("%v: answered by %s: %d %s", test.at, test.model, got.status, got.body)
		}
	}
}
