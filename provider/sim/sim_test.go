package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// obj and arr write JSON by hand.
type (
	obj = map[string]any
	arr = []any
)

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) errorType() string { return get[string](r.json(), "error", "type") }
func (r reply) errorText() string { return get[string](r.json(), "error", "message") }

func (r reply) json() obj {
	var v obj
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return nil
	}
	return v
}

// get walks into JSON; a step that is not there gives the zero value.
func get[T any](v any, path ...any) T {
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

// header is that of a good request, with changes: name, value, …; an empty value takes the header away.
func header(changes ...string) http.Header {
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

func send(t *testing.T, s http.Handler, method, path string, h http.Header, body any) reply {
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
	return reply{w.Code, w.Header(), w.Body.String()}
}

// create posts a request; a map gets defaults for what it leaves out.
func create(t *testing.T, s http.Handler, h http.Header, body obj) reply {
	t.Helper()
	return send(t, s, "POST", "/v1/messages", h, request(body))
}

func request(body obj) obj {
	full := obj{"model": "claude-opus-5-5", "max_tokens": 64000, "messages": arr{say("user", "Which date is later, 3 May or 5 March?")}}
	for k, v := range body {
		if full[k] = v; v == nil {
			delete(full, k)
		}
	}
	return full
}

func say(role string, content any) obj { return obj{"role": role, "content": content} }

func text(s string) obj { return obj{"type": "text", "text": s} }

// event is one server-sent event.
type event struct {
	name string
	data obj
}

// events reads a stream, to its end or to where it breaks.
func events(t *testing.T, r io.Reader) []event {
	t.Helper()
	var all []event
	var e event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.name = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &e.data); err != nil {
				break
			}
			all = append(all, e)
			e = event{}
		}
	}
	return all
}

// folded puts a stream together: the message as a whole answer would have it.
func folded(t *testing.T, all []event) obj {
	t.Helper()
	var m obj
	var content arr
	partial := map[int]string{}
	for _, e := range all {
		index := int(get[float64](e.data, "index"))
		if e.name != get[string](e.data, "type") {
			t.Errorf("event %q carries %v", e.name, e.data["type"])
		}
		switch e.name {
		case "message_start":
			m = get[obj](e.data, "message")
		case "content_block_start":
			if index != len(content) {
				t.Fatalf("block %d after %d blocks", index, len(content))
			}
			content = append(content, get[obj](e.data, "content_block"))
		case "content_block_delta":
			b, d := content[index].(obj), get[obj](e.data, "delta")
			switch d["type"] {
			case "text_delta":
				b["text"] = get[string](b, "text") + get[string](d, "text")
			case "thinking_delta":
				b["thinking"] = get[string](b, "thinking") + get[string](d, "thinking")
			case "compaction_delta":
				b["content"] = get[string](b, "content") + get[string](d, "content")
				b["encrypted_content"] = d["encrypted_content"]
			case "signature_delta":
				b["signature"] = d["signature"]
			case "input_json_delta":
				partial[index] += get[string](d, "partial_json")
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
			for k, v := range get[obj](e.data, "delta") {
				m[k] = v
			}
			for k, v := range get[obj](e.data, "usage") {
				get[obj](m, "usage")[k] = v
			}
		}
	}
	m["content"] = content
	if content == nil {
		m["content"] = arr{}
	}
	return m
}

// stream posts a streaming request and folds the answer.
func stream(t *testing.T, s http.Handler, h http.Header, body obj) obj {
	t.Helper()
	full := request(body)
	full["stream"] = true
	r := create(t, s, h, full)
	if r.status != 200 {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	return folded(t, events(t, strings.NewReader(r.body)))
}
