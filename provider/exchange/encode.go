package exchange

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/ownjson"
)

// Encode is JSON without the escapes that encoding/json adds for HTML, so that a body stays as small as it is.
func Encode(v any) (json.RawMessage, error) {
	scratch, _ := scratches.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	body, err := ownjson.Append((*scratch)[:0], v)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	*scratch = body
	whole := bytes.Clone(wholeCharacters(body))
	scratches.Put(scratch)
	return whole, nil
}

// EncodeBody is Encode for the body of a request. A long conversation has many megabytes: without an estimate of its size, the body is copied
// each time it outgrows its memory, and that garbage makes a collection begin while a person waits for the first word.
func EncodeBody(req *provider.Request, v any) (json.RawMessage, error) {
	body, err := ownjson.Append(make([]byte, 0, roomFor(req)), v)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return wholeCharacters(body), nil
}

// roomFor estimates how many bytes the body of a request has. Most bodies have a little less.
func roomFor(req *provider.Request) int {
	const apart = 64 // for the names around a text
	n := 1<<10 + len(req.System)
	for _, t := range req.Tools {
		n += apart + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		n += apart
		for _, b := range m.Blocks {
			n += apart + roomOf(b)
		}
	}
	return n + n/32 // escapes
}

func roomOf(b provider.Block) (n int) {
	switch b := b.(type) {
	case provider.Text:
		n = len(b.Text)
	case provider.Thinking:
		n = len(b.Text)
	case provider.ToolCall:
		n = len(b.Input) + len(b.ID) + len(b.Name)
	case provider.ToolResult:
		for _, inner := range b.Blocks {
			n += roomOf(inner)
		}
	case provider.ServerTool:
		n = len(b.Input) + len(b.Text) // for a vendor that gets the result as text; else it is in the state
	case provider.Opaque: // all of it is in the state
	case provider.Media:
		return base64.StdEncoding.EncodedLen(len(b.Data))
	}
	return max(n, len(provider.StateOf(b).Data))
}

// scratches are buffers for values whose size is not known before.
var scratches sync.Pool

// invalidArguments is the member in which arguments go back that are no JSON object.
const invalidArguments = "invalid_arguments"

// Arguments returns the arguments of an earlier tool call as a JSON object. If the model wrote something else, it returns an
// object that has the text. APIs take an object only, and so do the templates of local servers; an empty one would hide from
// the model what it did wrong.
func Arguments(b provider.ToolCall) (json.RawMessage, error) {
	text := bytes.TrimSpace(b.Input)
	switch {
	case b.Invalid != "":
		return Encode(map[string]string{invalidArguments: b.Invalid})
	case len(text) == 0:
		return json.RawMessage("{}"), nil
	case text[0] != '{' || !gjson.ValidBytes(text):
		return Encode(map[string]string{invalidArguments: string(b.Input)})
	}
	return b.Input, nil
}

// wholeCharacters puts \ufffd in the place of each escape of half a character. Models write them, and cut texts end in
// them; encoding/json passes them on inside of a RawMessage, and most vendors refuse the whole body for one.
func wholeCharacters(body []byte) []byte {
	if !bytes.Contains(body, []byte(`\ud`)) && !bytes.Contains(body, []byte(`\uD`)) {
		return body
	}
	var b bytes.Buffer
	kept := 0
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		high, low := surrogate(body[i:], "89abAB"), surrogate(body[i:], "cdefCDEF")
		switch {
		case high && surrogate(body[min(i+6, len(body)):], "cdefCDEF"):
			i += 11
		case high || low:
			b.Write(body[kept:i])
			b.WriteString(`\ufffd`)
			i += 5
			kept = i + 1
		default:
			i++ // what is escaped
		}
	}
	b.Write(body[kept:])
	return b.Bytes()
}

// surrogate reports whether a text begins with the escape of one whose third digit is among these.
func surrogate(text []byte, digits string) bool {
	return len(text) >= 6 && text[0] == '\\' && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D') && strings.IndexByte(digits, text[3]) >= 0
}

// WithMembers is an object with some members replaced, the others as they are.
func WithMembers(object json.RawMessage, replaced map[string]any) (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	for name, v := range replaced {
		text, err := Encode(v)
		if err != nil {
			return nil, err
		}
		members[name] = text
	}
	return Encode(members)
}
