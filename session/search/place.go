package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Place says where in a session a text stands.
type Place string

const (
	InTitle   Place = "title"
	InPrompt  Place = "prompt"
	InThought Place = "thought"
	InAnswer  Place = "answer"
	InTool    Place = "tool" // the name and the input of a call, or its result
)

// Words lists all places.
func (Place) Words() []string { return provider.Words(InTitle, InPrompt, InThought, InAnswer, InTool) }

// UnmarshalJSON refuses what is no place.
func (p *Place) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	if words := p.Words(); !slices.Contains(words, word) {
		return fmt.Errorf("%q is not one of %s", word, strings.Join(words, ", "))
	}
	*p = Place(word)
	return nil
}

// text is what people may read of a block.
type text struct {
	place   Place
	message session.MessageID
	block   int
	text    string
}

// texts lists what people may read of an entry.
func texts(e session.Entry) (list []text) {
	switch b := e.Body.(type) {
	case session.Prompt:
		for i, block := range b.Content {
			if said, ok := block.(provider.Text); ok {
				list = append(list, text{InPrompt, b.Message, i, said.Text})
			}
		}
	case session.Sealed:
		switch block := b.Block.(type) {
		case provider.Text:
			list = append(list, text{InAnswer, b.Message, b.Number, block.Text})
		case provider.Thinking:
			list = append(list, text{InThought, b.Message, b.Number, block.Text})
		case provider.ToolCall:
			list = append(list, text{InTool, b.Message, b.Number, block.Name + " " + values(block.Input) + block.Invalid})
		case provider.ServerTool:
			list = append(list, text{InTool, b.Message, b.Number, block.Plain(block.Input)})
		case provider.Media, provider.ToolResult, provider.Opaque: // no text that a model wrote
		}
	case session.ToolEnd:
		for _, block := range b.Content {
			if result, ok := block.(provider.Text); ok {
				list = append(list, text{InTool, b.Message, b.Number, result.Text})
			}
		}
	}
	return list
}

// values are the names and values of a JSON object, without its syntax.
func values(object json.RawMessage) string {
	var words []string
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil { // its end
			return strings.Join(words, " ")
		}
		switch t := t.(type) {
		case string:
			words = append(words, t)
		case json.Number:
			words = append(words, t.String())
		}
	}
}
