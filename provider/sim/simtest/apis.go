package simtest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Answered is the thinking and the text of a message of the Messages API.
func Answered(m obj) (thought, said string) {
	for _, b := range Get[arr](m, "content") {
		thought += Get[string](b, "thinking")
		said += Get[string](b, "text")
	}
	return thought, said
}

// ChatHeader is that of a good request to a host.
func ChatHeader(changes ...string) http.Header {
	h := http.Header{}
	h.Set("Authorization", "Bearer key-1")
	h.Set("Editor-Version", "test/1")
	for i := 0; i < len(changes); i += 2 {
		h.Del(changes[i])
		if changes[i+1] != "" {
			h.Set(changes[i], changes[i+1])
		}
	}
	return h
}

// Complete posts a request to a host; a map gets defaults for what it leaves out.
func Complete(t *testing.T, s http.Handler, host string, h http.Header, body obj) Reply {
	t.Helper()
	full := obj{"messages": arr{Say("user", "Which date is later? [[sim: text=20]]")}}
	for k, v := range body {
		if full[k] = v; v == nil {
			delete(full, k)
		}
	}
	return Send(t, s, "POST", "/"+host+"/chat/completions", h, full)
}

// Googled is the header of a request to Gemini; an empty key is left out.
func Googled(key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("x-goog-api-key", key)
	}
	return h
}

// Generate posts a request; a map gets contents where it has none.
func Generate(t *testing.T, s http.Handler, model string, body obj) Reply {
	t.Helper()
	full := obj{"contents": arr{Said("user", obj{"text": "Which date is later?"})}}
	for k, v := range body {
		full[k] = v
	}
	return Send(t, s, "POST", "/v1beta/models/"+model+":generateContent", Googled("key-1"), full)
}

// Said is a content of Gemini.
func Said(role string, parts ...any) obj { return obj{"role": role, "parts": arr(parts)} }

// November is before the vendor redirects names of the second generation.
func November() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }

// Chatted posts a chat; a map gets messages where it has none.
func Chatted(t *testing.T, s http.Handler, body obj) Reply {
	t.Helper()
	full := obj{"model": "ollama", "stream": false, "messages": arr{obj{"role": "user", "content": "Which date is later?"}}}
	for k, v := range body {
		full[k] = v
	}
	return Send(t, s, "POST", "/api/chat", http.Header{}, full)
}

// KindsOf names the types of blocks, in order.
func KindsOf(blocks arr) string {
	var kinds []string
	for _, b := range blocks {
		kinds = append(kinds, Get[string](b, "type"))
	}
	return strings.Join(kinds, " ")
}

// Bearer is the header of a good request to the Responses API, with changes as in header.
func Bearer(changes ...string) http.Header {
	return Header(append([]string{"x-api-key", "", "anthropic-version", "", "authorization", "Bearer key-1"}, changes...)...)
}

// Respond posts a request to the Responses API; a map gets defaults for what it leaves out.
func Respond(t *testing.T, s http.Handler, path string, h http.Header, body obj) Reply {
	t.Helper()
	full := obj{"model": "gpt-6.1-sol", "input": "Which date is later?", "store": false, "include": arr{"reasoning.encrypted_content"}}
	for k, v := range body {
		if full[k] = v; v == nil {
			delete(full, k)
		}
	}
	if h == nil {
		h = Bearer()
	}
	return Send(t, s, "POST", path, h, full)
}

// With is a copy of a with other members: name, value, …
func With(a obj, members ...any) obj {
	m := Merged(a, obj{})
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	return m
}

var (
	ReadFunction = obj{"type": "function", "name": "read", "strict": false, "parameters": obj{"type": "object", "properties": obj{"path": obj{"type": "string"}}}}
	Plan         = obj{"model": "gpt-5.5", "instructions": "Be brief.", "stream": true}
	PlanHeader   = Bearer("chatgpt-account-id", "plan_1")
	Copilot      = obj{"model": "gpt-5.5"}
	Editor       = Bearer("editor-version", "thinkd/1")
	Picture      = arr{obj{"role": "user", "content": arr{obj{"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="}}}}
	PlainCall    = obj{"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
	Update       = obj{"type": "configuration_update", "reasoning": obj{"effort": "low"}}
	CallResult   = obj{"type": "function_call_output", "call_id": "call_1", "output": "package a"}
	Asking       = obj{"role": "user", "content": "Read."}
)

// Thinking is the member of that name for the Messages API: its type, and more members.
func Thinking(kind string, more ...any) obj {
	t := obj{"type": kind}
	for i := 0; i < len(more); i += 2 {
		t[more[i].(string)] = more[i+1]
	}
	return t
}

// Merged is a with b's members.
func Merged(a, b obj) obj {
	m := obj{}
	for _, o := range []obj{a, b} {
		for k, v := range o {
			m[k] = v
		}
	}
	return m
}

var (
	ReadTool = obj{"name": "read", "description": "reads", "input_schema": obj{"type": "object",
		"properties": obj{"path": obj{"type": "string"}, "lines": obj{"type": "integer"}}, "required": arr{"path"}}}
	Call   = obj{"type": "tool_use", "id": "toolu_1", "name": "read", "input": obj{"path": "a.go"}}
	Result = obj{"type": "tool_result", "tool_use_id": "toolu_1", "content": "package a"}
	Loop   = arr{Say("user", "read it"), Say("assistant", arr{Call}), Say("user", arr{Result})}
)
