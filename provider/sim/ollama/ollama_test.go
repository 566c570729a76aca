package ollama

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// What a request is refused for. [source: api/types.go, server/routes.go]
func TestOllamaRules(t *testing.T) {
	say := func(role, text string) obj { return obj{"role": role, "content": text} }
	long := strings.Repeat("word ", 8000)
	tools := arr{obj{"type": "function", "function": obj{"name": "read", "parameters": obj{"type": "object"}}}}
	call := func(args any) arr {
		return arr{say("user", "Hi"), obj{"role": "assistant", "content": "", "tool_calls": arr{obj{"function": obj{"name": "read", "arguments": args}}}}, say("tool", "A")}
	}
	tests := []struct {
		name   string
		body   obj
		status int
		text   string
	}{
		{"on", obj{"think": true}, 200, `"thinking":`},
		{"off", obj{"think": false}, 200, `"content":`},
		{"level", obj{"think": "high", "model": "gpt-oss:20b"}, 200, `"thinking":`},
		{"off where it cannot be", obj{"think": false, "model": "gpt-oss:20b"}, 200, `"thinking":`},
		{"off where it leaks", obj{"think": false, "model": "deepseek-r1:8b"}, 200, `\u003c/think\u003e`},
		{"xhigh", obj{"think": "xhigh"}, 400, "invalid think value"},
		{"a number", obj{"think": 1}, 400, "invalid think value"},
		{"on where there is none", obj{"think": true, "model": "llama3.2:3b"}, 400, "does not support thinking"},
		{"off where there is none", obj{"think": false, "model": "llama3.2:3b"}, 200, `"content":`},
		{"no model", obj{"model": "none"}, 404, "not found"},
		{"tools", obj{"model": "deepseek-r1:8b", "tools": tools}, 400, "does not support tools"},
		{"arguments in a string", obj{"messages": call(`{"path":"a"}`)}, 400, "cannot unmarshal string"},
		{"arguments", obj{"messages": call(obj{"path": "a"})}, 200, `"content":`},
		{"unknown member", obj{"reasoning_effort": "high"}, 200, `"content":`},
		{"role", obj{"messages": arr{say("developer", "Hi")}}, 400, "role"},
		{"image", obj{"model": "llama3.2:3b", "messages": arr{obj{"role": "user", "content": "Hi", "images": arr{"iVBORw0KGgo="}}}}, 400, "image"},
		{"too long", obj{"truncate": false, "messages": arr{say("user", long)}}, 400, "context length"},
		{"fits", obj{"truncate": false, "options": obj{"num_ctx": 65536}, "messages": arr{say("user", long)}}, 200, `"content":`},
		{"cut without a word", obj{"messages": arr{say("user", long), say("assistant", "A"), say("user", "B")}}, 200, `"prompt_eval_count":2`},
		{"seconds to stay", obj{"keep_alive": 600}, 200, `"content":`},
		{"a time to stay", obj{"keep_alive": "10m"}, 200, `"content":`},
		{"forever", obj{"keep_alive": -1}, 200, `"content":`},
		{"no time", obj{"keep_alive": "soon"}, 400, "invalid duration"},
		{"no time at all", obj{"keep_alive": true}, 400, "Unsupported type"},
		{"load", obj{"messages": arr{}}, 200, `"done_reason":"load"`},
		{"unload", obj{"messages": arr{}, "keep_alive": 0}, 200, `"done_reason":"unload"`},
		{"unload what is not there", obj{"messages": arr{}, "keep_alive": 0, "model": "none"}, 404, "not found"},
		{"a limit", obj{"options": obj{"num_predict": 20}}, 200, `"done_reason":"length"`},
		{"options", obj{"options": obj{"temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "stop": arr{"END"}}}, 200, `"content":`},
		{"a temperature in a string", obj{"options": obj{"temperature": "0.5"}}, 400, "temperature"},
		{"a stop alone", obj{"options": obj{"stop": "END"}}, 400, "stop"},
		{"JSON", obj{"format": "json"}, 200, `"content":"{}"`},
		{"a schema", obj{"format": obj{"type": "object", "properties": obj{"a": obj{"type": "integer"}}, "required": arr{"a"}}}, 200, `{\"a\":1}`},
		{"no format", obj{"format": "xml"}, 400, "invalid format"},
		{"a pause", obj{"messages": arr{say("user", "Hi [[sim: stop=pause_turn]]")}}, 400, "knows no pause_turn"},
	}
	for _, test := range tests {
		s := sim.New(sim.Config{})
		got := simtest.Chatted(t, s, test.body)
		if got.Status != test.status || !strings.Contains(got.Body, test.text) {
			t.Errorf("%s: %d %s, want %d with %s", test.name, got.Status, got.Body, test.status, test.text)
		}
		if refused := len(s.Refusals()) == 1; refused != (test.status != 200) {
			t.Errorf("%s: %d refusals in the journal", test.name, len(s.Refusals()))
		}
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(got.Body), &e); err != nil || (e.Error != "") != (test.status != 200) {
			t.Errorf("%s: error %q (%v)", test.name, e.Error, err)
		}
	}
}

// Every model of the list can be shown, with the length of its window where a client looks for it.
func TestOllamaList(t *testing.T) {
	s := sim.New(sim.Config{})
	list := simtest.Send(t, s, "GET", "/api/tags", http.Header{}, nil)
	listed := simtest.Get[arr](list.JSON(), "models")
	if len(listed) != len(models) {
		t.Fatalf("%d listed in %s", len(listed), list.Body)
	}
	for i := range listed {
		name := simtest.Get[string](listed, i, "model")
		show := simtest.Send(t, s, "POST", "/api/show", http.Header{}, obj{"model": name})
		arch := simtest.Get[string](show.JSON(), "model_info", "general.architecture")
		if n := simtest.Get[float64](show.JSON(), "model_info", arch+".context_length"); n != float64(models[i].window) {
			t.Errorf("%s: window %v in %s", name, n, show.Body)
		}
	}
	if got := simtest.Send(t, s, "POST", "/api/show", http.Header{}, obj{"model": "none"}); got.Status != 404 {
		t.Errorf("none: %d", got.Status)
	}
	if got := simtest.Send(t, sim.New(sim.Config{Key: "k"}), "GET", "/api/tags", http.Header{}, nil); got.Status != 401 {
		t.Errorf("without the key: %d", got.Status)
	}
}

// A model stays loaded as long as the last call says, and is unloaded by a chat without messages.
func TestOllamaKeepsModels(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := sim.New(sim.Config{Now: func() time.Time { return now }})
	loaded := func(want ...string) {
		t.Helper()
		ps := simtest.Send(t, s, "GET", "/api/ps", http.Header{}, nil)
		var got []string
		for _, m := range simtest.Get[arr](ps.JSON(), "models") {
			got = append(got, simtest.Get[string](m, "name")+" "+simtest.Get[string](m, "expires_at"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("loaded are %q, want %q", got, want)
		}
	}
	at := func(model string, d time.Duration) string { return model + " " + now.Add(d).UTC().Format(time.RFC3339) }
	loaded()
	simtest.Chatted(t, s, obj{"model": "ollama"})
	simtest.Chatted(t, s, obj{"model": "ollama-plain", "keep_alive": "1h"})
	loaded(at("ollama", usualKeep), at("ollama-plain", time.Hour))
	end := now.Add(time.Hour)
	now = now.Add(usualKeep)
	loaded("ollama-plain " + end.UTC().Format(time.RFC3339))
	simtest.Chatted(t, s, obj{"model": "ollama-plain", "messages": arr{}, "keep_alive": 0})
	loaded()
	simtest.Chatted(t, s, obj{"model": "ollama", "messages": arr{}, "keep_alive": -1})
	loaded(at("ollama", forever))
	simtest.Chatted(t, s, obj{"model": "ollama", "keep_alive": 0})
	loaded()
}
