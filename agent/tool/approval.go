package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Inspector is a Host that knows more of a call than its arguments show: what an edit changes, or which folder it works in.
type Inspector interface {
	// Inspect says what a call would do. It changes nothing, and is called before anybody is asked. What cannot be found
	// out is left out: then people see the arguments, and only the whole tool can be granted. It returns soon after ctx
	// ends.
	Inspect(ctx context.Context, call provider.ToolCall) Inspection
}

// Inspection is what a call would do.
type Inspection struct {
	Parts   []Part // all that people have to see; nil: the arguments are that, see [Values]
	Folder  string // where it works: absolute, without links; empty: not known
	Command string // that it runs in a POSIX shell; empty: none, or it is not known
}

// PartKind says how a part is shown.
type PartKind string

const (
	CommandPart PartKind = "command" // a command line or a script
	DiffPart    PartKind = "diff"    // what changes in the file of that name, as hunks of a unified diff
	ContentPart PartKind = "content" // the whole text of the file of that name
	ValuePart   PartKind = "value"   // the argument of that name
)

// Words lists all kinds.
func (PartKind) Words() []string {
	return provider.Words(CommandPart, DiffPart, ContentPart, ValuePart)
}

// Part is a piece of what a person approves. Its text is as the call has it: whoever shows it makes characters visible that
// are not.
type Part struct {
	Kind PartKind `json:"kind"`
	Name string   `json:"name,omitempty"`
	Text string   `json:"text"`
}

// Values are the arguments of a call, one part each, in their order: strings without quotes and escapes, and what is inside
// of lists and objects on lines of its own, indented. Arguments that are no object are one part.
func Values(arguments json.RawMessage) []Part {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []Part{{Kind: ValuePart, Name: "arguments", Text: string(arguments)}}
	}
	var parts []Part
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return []Part{{Kind: ValuePart, Name: "arguments", Text: string(arguments)}}
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return []Part{{Kind: ValuePart, Name: "arguments", Text: string(arguments)}}
		}
		parts = append(parts, Part{Kind: ValuePart, Name: name.(string), Text: unescaped(raw)})
	}
	return parts
}

// unescaped is a JSON value for people. The lines of what is nested are indented, so that no text can pass for a member
// beside it.
func unescaped(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return string(raw)
		}
		return text
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return string(raw)
		}
		if len(list) == 0 {
			return "[]"
		}
		lines := make([]string, len(list))
		for i, v := range list {
			lines[i] = member(strconv.Itoa(i+1), v)
		}
		return strings.Join(lines, "\n")
	case '{':
		d := json.NewDecoder(bytes.NewReader(raw))
		_, _ = d.Token() // the brace
		var lines []string
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil {
				return string(raw)
			}
			lines = append(lines, member(strings.ReplaceAll(name.(string), "\n", `\n`)+":", value))
		}
		if len(lines) == 0 {
			return "{}"
		}
		return strings.Join(lines, "\n")
	}
	return string(raw)
}

// member is one line for a scalar, and a block for all else.
func member(name string, value json.RawMessage) string {
	text := unescaped(value)
	if c := bytes.TrimSpace(value)[0]; c == '[' || c == '{' {
		if len(text) > len("{}") {
			return name + "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
		}
		return name + " " + text
	}
	return name + " " + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len([]rune(name))+1))
}

// Show is all that people have to see of a call.
func (in Inspection) Show(arguments json.RawMessage) []Part {
	if in.Parts != nil {
		return in.Parts
	}
	if parts := Values(arguments); parts != nil {
		return parts
	}
	return []Part{} // it has no arguments
}
