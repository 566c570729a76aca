package transcript

import (
	"fmt"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// Characters counts the characters of blocks that every vendor gets as text. Of a text file it counts the bytes.
func Characters(blocks provider.Blocks) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case provider.Text:
			n += utf8.RuneCountInString(b.Text)
		case provider.ToolCall:
			n += utf8.RuneCountInString(b.Name) + utf8.RuneCount(b.Input) + utf8.RuneCountInString(b.Invalid)
		case provider.ServerTool:
			n += utf8.RuneCountInString(b.Plain(b.Input))
		case provider.ToolResult:
			n += Characters(b.Blocks)
		case provider.Media:
			if b.Kind() == provider.MediaText {
				n += b.Bytes()
			}
		}
	}
	return n
}

// Abridged keeps the beginning and the end of a text that is longer than limit bytes. In between it says how much was left out
// and why.
func Abridged(text string, limit int, why string) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[%d of %d bytes were left out here: %s]\n%s", text[:head], tail-head, len(text), why, text[tail:])
}

// mediaIn counts the media of a block.
func mediaIn(b provider.Block) int {
	if r, ok := b.(provider.ToolResult); ok {
		n := 0
		for _, inner := range r.Blocks {
			n += mediaIn(inner)
		}
		return n
	}
	if _, ok := b.(provider.Media); ok {
		return 1
	}
	return 0
}

// Weight is how much a request says, in characters: what Characters counts, and thinking. An image counts as much as a page.
func Weight(req *provider.Request) int {
	const page = 4000
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		n += Characters(m.Blocks)
		for _, b := range m.Blocks {
			if t, ok := b.(provider.Thinking); ok {
				n += len(t.Text)
			}
			n += page * mediaIn(b)
		}
	}
	return n
}
