// Package blocks has the content blocks of the Agent Client Protocol: those that an agent shows, and those that a prompt consists of.
//
// Guarantees: shown text is never empty and has at most [MaxChunk] bytes a block, cut between characters. Media that do not fit into a
// message become a line of text that names them.
//
// Inside the package, files depend in one direction: blocks, prompt.
package blocks

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
)

// MaxChunk is the most text of a block that is shown, in bytes.
const MaxChunk = 32 << 10

// Content is a text, an image or a sound.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"` // of a text, which is never empty
	Data string `json:"-"`    // base64
	MIME string `json:"-"`
}

// MarshalJSON writes the members of the type. It escapes nothing for HTML.
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Type != "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			MIME string `json:"mimeType"`
			Data string `json:"data"`
		}{c.Type, c.MIME, c.Data})
	}
	type plain Content
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(plain(c)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Tool is content of a tool call: a [Content], a change of a file, or a terminal of the client.
type Tool struct {
	Type     string   `json:"type"` // content, diff or terminal
	Content  *Content `json:"content,omitempty"`
	Path     string   `json:"path,omitempty"` // absolute
	Old      *string  `json:"oldText,omitempty"`
	New      *string  `json:"newText,omitempty"`
	Terminal string   `json:"terminalId,omitempty"`
}

// Text is a text as content of a tool call.
func Text(text string) []Tool {
	return []Tool{{Type: "content", Content: &Content{Type: "text", Text: text}}}
}

// Chunks is the parts of a text, of at most [MaxChunk] bytes, each of whole characters and none empty.
func Chunks(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := min(len(text), MaxChunk)
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n--
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// Tail is the end of a text, of whole characters and at most limit bytes.
func Tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

// Result shows the result of a call. Of long text it shows the beginning, because people read it and the history has the whole.
func Result(content provider.Blocks) []Tool {
	list := []Tool{}
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			for piece := range Chunks(b.Text) {
				if len(piece) < len(b.Text) {
					piece += fmt.Sprintf("\n[%d bytes in all]", len(b.Text))
				}
				list = append(list, Text(piece)...)
				break
			}
		case provider.Media:
			shown := Media(b)
			list = append(list, Tool{Type: "content", Content: &shown})
		}
	}
	return list
}

// Plain is the text of a result, without its media.
func Plain(content provider.Blocks) string {
	var b strings.Builder
	for _, part := range content {
		if text, ok := part.(provider.Text); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// Media is an image or a sound, or a line that says what is not shown.
func Media(b provider.Media) Content {
	size := max(b.Size, len(b.Data))
	kind := b.Kind()
	if kind != "image" && kind != "audio" || len(b.Data) == 0 || base64.StdEncoding.EncodedLen(size) > door.ACPMessageBytes/2 {
		return Content{Type: "text", Text: fmt.Sprintf("[%s, %d bytes]", b.Type, size)}
	}
	return Content{Type: string(kind), MIME: b.Type, Data: base64.StdEncoding.EncodeToString(b.Data)}
}
