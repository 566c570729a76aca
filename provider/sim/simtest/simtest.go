package simtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// obj and arr write JSON by hand.
type (
	obj = map[string]any
	arr = []any
)

// Reply is what came back.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// ErrorType and ErrorText are those of an error in the body.
func (r Reply) ErrorType() string { return Get[string](r.JSON(), "error", "type") }
func (r Reply) ErrorText() string { return Get[string](r.JSON(), "error", "message") }

// JSON is the body as an object; nil: it is none.
func (r Reply) JSON() obj {
	var v obj
	if json.Unmarshal([]byte(r.Body), &v) != nil {
		return nil
	}
	return v
}

// Get walks into JSON; a step that is not there gives the zero value.
func Get[T any](v any, path ...any) T {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(obj)
			v = m[s]
		case int:
			l, _ := v.(arr)
			if s >= len(l) {
				v = nil
			} else {
				v = l[s]
			}
		}
	}
	t, _ := v.(T)
	return t
}

// Header is that of a good request, with changes: name, value, …; an empty value takes the header away.
func Header(changes ...string) http.Header {
	h := http.Header{}
	h.Set("x-api-key", "key-1")
	h.Set("anthropic-version", "2023-06-01")
	h.Set("content-type", "application/json")
	for i := 0; i < len(changes); i += 2 {
		h.Del(changes[i])
		if changes[i+1] != "" {
			h.Set(changes[i], changes[i+1])
		}
	}
	return h
}

// Send sends a request to s: body is bytes, a string, or a value that is sent as JSON.
func Send(t *testing.T, s http.Handler, method, path string, h http.Header, body any) Reply {
	t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		raw = b
	case string:
		raw = []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(raw))
	r.Header = h
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return Reply{w.Code, w.Header(), w.Body.String()}
}

// Create posts a request; a map gets defaults for what it leaves out.
func Create(t *testing.T, s http.Handler, h http.Header, body obj) Reply {
	t.Helper()
	return Send(t, s, "POST", "/v1/messages", h, Request(body))
}

// Request is a good request to the Messages API, with changes; a nil member is left out.
func Request(body obj) obj {
	full := obj{"model": "claude-opus-5-5", "max_tokens": 64000, "messages": arr{Say("user", "Which date is later, 3 May or 5 March?")}}
	for k, v := range body {
		if full[k] = v; v == nil {
			delete(full, k)
		}
	}
	return full
}

// Say is a message: who says it, and what.
func Say(role string, content any) obj { return obj{"role": role, "content": content} }

// Text is a block of text for the Messages API.
func Text(s string) obj { return obj{"type": "text", "text": s} }

// Event is one server-sent event.
type Event struct {
	Name string
	Data obj
}

// Events reads a stream, to its end or to where it breaks.
func Events(t *testing.T, r io.Reader) []Event {
	t.Helper()
	var all []Event
	var e Event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.Name = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e.Data); err != nil {
				break
			}
			all = append(all, e)
			e = Event{}
		}
	}
	return all
}

// Folded puts a stream together: the message as a whole answer would have it.
func Folded(t *testing.T, all []Event) obj {
	t.Helper()
	var m obj
	var content arr
	partial := map[int]string{}
	for _, e := range all {
		index := int(Get[float64](e.Data, "index"))
		if e.Name != Get[string](e.Data, "type") {
			t.Errorf("event %q carries %v", e.Name, e.Data["type"])
		}
		switch e.Name {
		case "message_start":
			m = Get[obj](e.Data, "message")
		case "content_block_start":
			if index != len(content) {
				t.Fatalf("block %d after %d blocks", index, len(content))
			}
			content = append(content, Get[obj](e.Data, "content_block"))
		case "content_block_delta":
			b, d := content[index].(obj), Get[obj](e.Data, "delta")
			switch d["type"] {
			case "text_delta":
				b["text"] = Get[string](b, "text") + Get[string](d, "text")
			case "thinking_delta":
				b["thinking"] = Get[string](b, "thinking") + Get[string](d, "thinking")
			case "compaction_delta":
				b["content"] = Get[string](b, "content") + Get[string](d, "content")
				b["encrypted_content"] = d["encrypted_content"]
			case "signature_delta":
				b["signature"] = d["signature"]
			case "input_json_delta":
				partial[index] += Get[string](d, "partial_json")
			}
		case "content_block_stop":
			if p := partial[index]; p != "" {
				var input obj
				if err := json.Unmarshal([]byte(p), &input); err != nil {
					t.Errorf("block %d: %v in %q", index, err, p)
				}
				content[index].(obj)["input"] = input
			}
		case "message_delta":
			for k, v := range Get[obj](e.Data, "delta") {
				m[k] = v
			}
			for k, v := range Get[obj](e.Data, "usage") {
				Get[obj](m, "usage")[k] = v
			}
		}
	}
	m["content"] = content
	if content == nil {
		m["content"] = arr{}
	}
	return m
}

// Stream posts a streaming request and folds the answer.
func Stream(t *testing.T, s http.Handler, h http.Header, body obj) obj {
	t.Helper()
	full := Request(body)
	full["stream"] = true
	r := Create(t, s, h, full)
	if r.Status != 200 {
		t.Fatalf("status %d: %s", r.Status, r.Body)
	}
	return Folded(t, Events(t, strings.NewReader(r.Body)))
}
