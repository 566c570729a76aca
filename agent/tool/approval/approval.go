package approval

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Inspection is what a call would do, as its host found out.
type Inspection struct {
	Parts   []Part // everything that people have to see; nil: the arguments, see [Values]
	Folder  string // where the call works: absolute, without links; empty: not known
	Command string // the command that the call runs in a POSIX shell; empty: none, or not known
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

// Part is a piece of what a person approves. Its text is that of the call, unchanged: a client that shows it must use [Reveal].
type Part struct {
	Kind PartKind `json:"kind"`
	Name string   `json:"name,omitempty"`
	Text string   `json:"text"`
}

// Values returns the arguments of a call as parts, one for each, in their order. Strings have no quotes and escapes. Members of
// lists and objects are on lines of their own, indented. Arguments that are not an object are one part.
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

// unescaped is a JSON value for people. Nested lines are indented, so that no text can look like another member.
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

// member is one line for a scalar, and a block for a list or an object.
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

// Show returns everything that people have to see of a call. It is never nil.
func (in Inspection) Show(arguments json.RawMessage) []Part {
	if in.Parts != nil {
		return in.Parts
	}
	if parts := Values(arguments); parts != nil {
		return parts
	}
	return []Part{} // it has no arguments
}
