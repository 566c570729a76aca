package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
)

// Poison is a turn that leaves in the history, or among the tools, what vendors refuse. Breach is what a vendor says of a
// request that has it in this form; empty: it takes the request.
type Poison struct {
	Name   string
	Breach func(api string, body gjson.Result) string
	Prompt provider.Blocks // of the turn; nil: a text
	Script []sim.Answer    // of the turn
	Schema string          // of the session's tool read
	Result provider.ToolResult
	Fails  bool // the turn does, as it should

	Refused bool // the daemon refuses the prompt before a call, and nothing of it is stored
}

// PoisonTool is the tool of a session that is poisoned.
const PoisonTool = "read"

// Poisons are the turns, by the rules of the vendors.
func Poisons() []Poison {
	const plain = `{"type":"object","properties":{"path":{"type":"string"}}}`
	said := func(parts ...sim.Part) []sim.Answer { return []sim.Answer{{Parts: parts}} }
	call := func(id, name string) sim.Part {
		return sim.Part{Kind: sim.Call, ID: id, Name: name, Input: json.RawMessage(`{"path":"a"}`)}
	}
	text := func(text string) provider.Blocks { return provider.Blocks{provider.Text{Text: text}} }
	image := func(kind, data string) provider.Blocks {
		return provider.Blocks{provider.Text{Text: "what is this?"}, provider.Media{Type: kind, Data: []byte(data)}}
	}
	const png, bmp = "\x89PNG\r\n\x1a\nimage", "BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00bitmap"
	file := provider.ToolResult{Blocks: text("a file")}
	picture := provider.ToolResult{Blocks: provider.Blocks{provider.Media{Type: "image/png", Data: []byte(png)}}}
	failed := func(r provider.ToolResult) provider.ToolResult { r.Failed = true; return r }
	gone := sim.Answer{Fault: sim.FaultAuth} // it ends a turn where it is
	return []Poison{
		{Name: "an image with another label", Breach: imageTypes, Prompt: image("image/jpeg", png), Schema: plain},
		{Name: "a bitmap", Breach: imageTypes, Prompt: image("image/bmp", bmp), Schema: plain, Refused: true},
		{Name: "a bitmap with another label", Breach: imageTypes, Prompt: image("image/png", bmp), Schema: plain, Refused: true},
		{Name: "a bitmap of a tool", Breach: imageTypes, Script: said(call("", PoisonTool)), Schema: plain, Result: provider.ToolResult{Blocks: image("image/png", bmp)}},
		{Name: "spaces before a call", Breach: blankText, Script: said(sim.Part{Kind: sim.Text, Text: "\n\n"}, call("", PoisonTool)), Schema: plain, Result: file},
		{Name: "a result of spaces", Breach: blankText, Script: said(call("", PoisonTool)), Schema: plain, Result: provider.ToolResult{Blocks: text(" \n")}},
		{Name: "a user after a tool", Breach: roles, Script: append(said(call("", PoisonTool)), gone), Schema: plain, Result: file, Fails: true},
		{Name: "an image of a tool", Breach: roles, Script: said(call("", PoisonTool)), Schema: plain, Result: picture},
		{Name: "two users", Breach: roles, Script: []sim.Answer{gone}, Schema: plain, Fails: true},
		{Name: "control tokens in a name", Breach: names, Script: said(call("", "read_file<|channel|>commentary")), Schema: plain},
		{Name: "a name space", Breach: names, Script: said(call("", "functions.read_file")), Schema: plain},
		{Name: "spaces in a name", Breach: names, Script: said(call("", "read the file")), Schema: plain},
		{Name: "200 letters", Breach: names, Script: said(call("", strings.Repeat("read", 50))), Schema: plain},
		{Name: "an empty name", Breach: names, Script: said(call("", "")), Schema: plain},
		{Name: "a failure without output", Breach: failures, Script: said(call("", PoisonTool)), Schema: plain, Result: provider.ToolResult{Failed: true}},
		{Name: "a failure with an image", Breach: failures, Script: said(call("", PoisonTool)), Schema: plain, Result: failed(picture)},
		{Name: "a long id", Breach: ids, Script: said(call("call_"+strings.Repeat("0", 60), PoisonTool)), Schema: plain, Result: file},
		{Name: "a reference", Breach: schemas, Schema: `{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"$defs":{"F":{"type":"object","properties":{"u":{"type":"string","format":"uri"}}}}}`},
		{Name: "unions", Breach: schemas, Schema: `{"type":"object","properties":{"f":{"oneOf":[{"type":"string"},{"type":"integer"}]},"g":{"type":["array","null"],"items":{"type":"integer"},"enum":[1]}}}`},
		{Name: "a union at the top", Breach: schemas, Schema: `{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`},
	}
}

// RefusalForm is a refusal with status 400 in the form that the hosts of an API give it.
func RefusalForm(api, said string) ([]byte, error) {
	switch api {
	case "messages":
		return json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": said}})
	case "gemini":
		return json.Marshal(map[string]any{"error": map[string]any{"code": http.StatusBadRequest, "status": "INVALID_ARGUMENT", "message": said}})
	case "ollama":
		return json.Marshal(map[string]any{"error": said})
	case "converse", "cohere":
		return json.Marshal(map[string]any{"message": said})
	}
	return json.Marshal(map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": said, "param": nil, "code": nil}})
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

// history is what a request says of earlier messages.
func history(body gjson.Result) gjson.Result {
	for _, name := range []string{"messages", "input", "contents"} {
		if v := body.Get(name); v.Exists() {
			return v
		}
	}
	return gjson.Result{}
}

// imageTypes refuses images whose bytes are of no type that the API takes, or of another than their label
// (anthropics/claude-code 15478, 34025, 56016). Ollama sends no labels.
func imageTypes(api string, body gjson.Result) string {
	return found(history(body), func(o gjson.Result) string {
		label, text := "", ""
		switch source := o.Get("source"); {
		case source.Get("bytes").Exists():
			label, text = "image/"+o.Get("format").Str, source.Get("bytes").Str
		case source.Get("data").Exists():
			label, text = source.Get("media_type").Str, source.Get("data").Str
		case o.Get("inlineData").Exists():
			label, text = o.Get("inlineData.mimeType").Str, o.Get("inlineData.data").Str
		case o.Get("images").IsArray():
			text = o.Get("images.0").Str
		default:
			address := o.Get("image_url")
			if address.IsObject() {
				address = address.Get("url")
			}
			rest, isData := strings.CutPrefix(address.Str, "data:")
			if !isData {
				return ""
			}
			label, text, _ = strings.Cut(rest, ";base64,")
		}
		data, err := base64.StdEncoding.DecodeString(text)
		switch {
		case err != nil || len(data) == 0:
			return "Could not process image"
		case !bytes.HasPrefix(data, []byte("\x89PNG")):
			return "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
		case api != "ollama" && label != "image/png":
			return fmt.Sprintf("The image was specified using the %s media type, but the image appears to be a image/png image", label)
		}
		return ""
	})
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

var callName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

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
