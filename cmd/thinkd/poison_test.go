package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
)

// strict is a host that refuses what a vendor refuses in a request, in the vendor's words, and passes the rest on.
type strict struct {
	to      http.RoundTripper
	breach  func(api string, body gjson.Result) string
	api     string
	refused []string
}

func (h *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if said := h.breach(h.api, gjson.ParseBytes(sent)); said != "" {
		h.refused = append(h.refused, said)
		body, err := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": said}})
		if err != nil {
			return nil, err
		}
		return reply(http.StatusBadRequest, http.Header{"Content-Type": {"application/json"}}, body)(r)
	}
	r.Body = io.NopCloser(strings.NewReader(string(sent)))
	return h.to.RoundTrip(r)
}

// inside calls visit with each object in a value.
func inside(v gjson.Result, visit func(gjson.Result)) {
	if v.IsObject() {
		visit(v)
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, inner gjson.Result) bool {
			inside(inner, visit)
			return true
		})
	}
}

// found is the first thing that look says of an object in a value.
func found(v gjson.Result, look func(gjson.Result) string) (said string) {
	inside(v, func(o gjson.Result) {
		if said == "" {
			said = look(o)
		}
	})
	return said
}

var callName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// history is what a request says of earlier messages.
func history(body gjson.Result) gjson.Result {
	for _, name := range []string{"messages", "input", "contents"} {
		if v := body.Get(name); v.Exists() {
			return v
		}
	}
	return gjson.Result{}
}

// blankText is refused by Anthropic (anthropics/claude-code 23390). Items of OpenAI's own making go back as they were.
func blankText(_ string, body gjson.Result) string {
	return found(history(body), func(o gjson.Result) string {
		if text := o.Get("text"); text.Type == gjson.String && strings.TrimSpace(text.Str) == "" && !o.Get("thoughtSignature").Exists() && o.Get("type").Str != "output_text" {
			return "messages: text content blocks must contain non-whitespace text"
		}
		if text := o.Get("content"); text.Type == gjson.String && text.Str != "" && strings.TrimSpace(text.Str) == "" {
			return "messages: text content blocks must contain non-whitespace text"
		}
		return ""
	})
}

// roles are those that Mistral (3230) and the templates of Gemma and Ministral refuse.
func roles(api string, body gjson.Result) string {
	if api != "chat" {
		return ""
	}
	before := ""
	for _, m := range body.Get("messages").Array() {
		role := m.Get("role").Str
		switch {
		case role == "user" && before == "tool":
			return "Unexpected role 'user' after role 'tool'"
		case role == "user" && before == "user", role == "assistant" && before == "assistant":
			return "Conversation roles must alternate user/assistant/user/assistant/..."
		}
		before = role
	}
	return ""
}

// names are refused by every vendor where they are none.
func names(_ string, body gjson.Result) string {
	return found(history(body), func(o gjson.Result) string {
		name := o.Get("name")
		call := o.Get("arguments").Exists() || o.Get("args").Exists() || o.Get("input").Exists() || o.Get("response").Exists()
		if call && !callName.MatchString(name.Str) {
			return fmt.Sprintf("Invalid name %q: string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", name.Str)
		}
		return ""
	})
}

// failures without content, or with an image, are refused by Anthropic.
func failures(_ string, body gjson.Result) string {
	return found(history(body), func(o gjson.Result) string {
		switch {
		case !o.Get("is_error").Bool():
			return ""
		case len(o.Get("content").Array()) == 0:
			return "tool_result: content cannot be empty if `is_error` is true"
		case o.Get(`content.#(type!="text")`).Exists():
			return "tool_result: all content must be type `text` if `is_error` is true"
		}
		return ""
	})
}

// ids are bounded by OpenAI, Azure and Copilot: 40 characters in Chat Completions, 64 in Responses.
func ids(api string, body gjson.Result) string {
	most := map[string]int{"chat": 40, "responses": 64}[api]
	return found(history(body), func(o gjson.Result) string {
		for _, member := range []string{"call_id", "tool_call_id", "id"} {
			if id := o.Get(member).Str; most > 0 && len(id) > most && (member != "id" || o.Get("function").Exists()) {
				return fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", member, most, len(id))
			}
		}
		return ""
	})
}

// schemas are refused by Gemini and OpenAI in much of what JSON Schema has, by Anthropic at the top level.
func schemas(api string, body gjson.Result) string {
	return found(body.Get("tools"), func(o gjson.Result) string {
		for _, name := range []string{"input_schema", "parameters", "parametersJsonSchema"} {
			top := o.Get(name)
			if top.Get("anyOf").Exists() || top.Get("oneOf").Exists() || top.Get("allOf").Exists() {
				return "input_schema does not support oneOf, allOf, or anyOf at the top level"
			}
		}
		switch {
		case api == "messages":
			return ""
		case o.Get("$ref").Exists() || o.Get("$defs").Exists():
			return `Invalid JSON payload received. Unknown name "ref": Cannot find field.`
		case o.Get("oneOf").Exists(), o.Get("format").Str == "uri":
			return "Invalid schema for function: 'oneOf' is not permitted, 'uri' is not a valid format."
		case api == "gemini" && (o.Get("type").IsArray() || o.Get("enum.0").Type == gjson.Number):
			return "Proto field is not repeating, cannot start list."
		}
		return ""
	})
}

// oddity is a host of a tool with a schema, whose calls end in a result.
type oddity struct {
	schema string
	result provider.ToolResult
}

func (o oddity) Name() string { return "files" }
func (o oddity) Close() error { return nil }

func (o oddity) Tools(context.Context) ([]tool.Tool, error) {
	return []tool.Tool{{Tool: provider.Tool{Name: "read", Schema: json.RawMessage(o.schema)}, Host: tool.MCP, Source: o.Name(), Effect: tool.Read}}, nil
}

func (o oddity) Run(_ context.Context, call provider.ToolCall, _ func(string)) provider.ToolResult {
	o.result.CallID = call.ID
	return o.result
}

// TestPoisonedTurns has, for each rule by which vendors refuse a history or a tool, a host that refuses its breach, and a turn
// that has the shape in it. Over each wire API the host refuses nothing, and the next plain prompts end well.
func TestPoisonedTurns(t *testing.T) {
	const plain = `{"type":"object","properties":{"path":{"type":"string"}}}`
	said := func(parts ...sim.Part) sim.Answer { return sim.Answer{Parts: parts} }
	call := func(id, name string) sim.Part {
		return sim.Part{Kind: sim.Call, ID: id, Name: name, Input: json.RawMessage(`{"path":"a"}`)}
	}
	file := provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: "a file"}}}
	picture := provider.ToolResult{Blocks: provider.Blocks{provider.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}
	failed := func(r provider.ToolResult) provider.ToolResult { r.Failed = true; return r }
	gone := sim.Answer{Fault: sim.FaultAuth} // it ends a turn where it is
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			stuck, sessions := 0, 0
			for _, row := range []struct {
				name   string
				breach func(string, gjson.Result) string
				script []sim.Answer
				host   oddity
				fails  bool // the poisoned turn does, as it should
			}{
				{name: "spaces before a call", breach: blankText, script: []sim.Answer{said(sim.Part{Kind: sim.Text, Text: "\n\n"}, call("", "read"))}, host: oddity{plain, file}},
				{name: "a result of spaces", breach: blankText, script: []sim.Answer{said(call("", "read"))}, host: oddity{plain, provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: " \n"}}}}},
				{name: "a user after a tool", breach: roles, script: []sim.Answer{said(call("", "read")), gone}, host: oddity{plain, file}, fails: true},
				{name: "an image of a tool", breach: roles, script: []sim.Answer{said(call("", "read"))}, host: oddity{plain, picture}},
				{name: "two users", breach: roles, script: []sim.Answer{gone}, host: oddity{plain, file}, fails: true},
				{name: "control tokens in a name", breach: names, script: []sim.Answer{said(call("", "read_file<|channel|>commentary"))}, host: oddity{plain, file}},
				{name: "a name space", breach: names, script: []sim.Answer{said(call("", "functions.read_file"))}, host: oddity{plain, file}},
				{name: "spaces in a name", breach: names, script: []sim.Answer{said(call("", "read the file"))}, host: oddity{plain, file}},
				{name: "200 letters", breach: names, script: []sim.Answer{said(call("", strings.Repeat("read", 50)))}, host: oddity{plain, file}},
				{name: "a failure without output", breach: failures, script: []sim.Answer{said(call("", "read"))}, host: oddity{plain, provider.ToolResult{Failed: true}}},
				{name: "a failure with an image", breach: failures, script: []sim.Answer{said(call("", "read"))}, host: oddity{plain, failed(picture)}},
				{name: "a long id", breach: ids, script: []sim.Answer{said(call("call_"+strings.Repeat("0", 60), "read"))}, host: oddity{plain, file}},
				{name: "a reference", breach: schemas, host: oddity{`{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"u":{"type":"string","format":"uri"}}}}}`, file}},
				{name: "unions", breach: schemas, host: oddity{`{"type":"object","properties":{"f":{"oneOf":[{"type":"string"},{"type":"integer"}]},"g":{"type":["array","null"],"items":{"type":"integer"},"enum":[1]}}}`, file}},
				{name: "a union at the top", breach: schemas, host: oddity{`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, file}},
			} {
				synctest.Test(t, func(t *testing.T) {
					vendor := sim.New(sim.Config{})
					vendor.Script(row.script...)
					l := vendor.Listen()
					defer l.Close()
					through := l.Transport()
					defer through.CloseIdleConnections()
					host := &strict{to: through, breach: row.breach, api: api.name}
					c := newClockwork(t, api, host, 0, row.host)
					defer c.group.Close()
					if how := howEnded(c.prompt("read it [[sim: pace=0]]")); (how != "end_turn") != row.fails {
						t.Errorf("%s: the poisoned turn ended with %s", row.name, how)
					}
					sessions++
					for _, text := range []string{"what is next? [[sim: pace=0]]", "and then? [[sim: pace=0]]"} {
						if e := c.prompt(text); howEnded(e) != "end_turn" {
							stuck++
							t.Errorf("%s: stuck: %s: %+v", row.name, howEnded(e), e.End.Error)
						}
					}
					if len(host.refused) > 0 {
						t.Errorf("%s: the host refused: %s", row.name, host.refused[0])
					}
					if other := slices.DeleteFunc(vendor.Refusals(), func(r sim.Refusal) bool { return r.Status == http.StatusUnauthorized }); len(other) > 0 {
						t.Errorf("%s: the simulator refused %+v", row.name, other)
					}
				})
			}
			t.Logf("%s: %d of %d sessions stuck", api.name, stuck, sessions)
		})
	}
}
