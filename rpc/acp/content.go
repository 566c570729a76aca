package acp

import (
	"encoding/base64"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

const (
	maxChunk   = 32 << 10 // bytes of text in an update
	maxPending = 64       // of notifications that wait for an update to ride on
)

// blockID is the messageId of a block: clients put together what has the same.
func blockID(message session.MessageID, block int) string {
	return string(message) + "." + strconv.Itoa(block)
}

// chunksOf is the parts of a text, of at most maxChunk bytes, each of whole characters and none empty.
func chunksOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := min(len(text), maxChunk)
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

// tail is the end of a text, of whole characters.
func tail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-limit:], "")
}

func textContent(text string) []toolContent {
	return []toolContent{{Type: "content", Content: &content{Type: "text", Text: text}}}
}

// resultContent shows a result; long text has its beginning, since people read it, and the whole is in the history.
func resultContent(content provider.Blocks) []toolContent {
	list := []toolContent{}
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			for piece := range chunksOf(b.Text) {
				if len(piece) < len(b.Text) {
					piece += fmt.Sprintf("\n[%d bytes in all]", len(b.Text))
				}
				list = append(list, textContent(piece)...)
				break
			}
		case provider.Media:
			shown := mediaContent(b)
			list = append(list, toolContent{Type: "content", Content: &shown})
		}
	}
	return list
}

func resultStatus(failed bool) string {
	if failed {
		return "failed"
	}
	return "completed"
}

// mediaContent is an image, or a line that says what is not shown.
func mediaContent(b provider.Media) content {
	size := max(b.Size, len(b.Data))
	if b.Kind() != "image" || len(b.Data) == 0 || base64.StdEncoding.EncodedLen(size) > door.ACPMessageBytes/2 {
		return content{Type: "text", Text: fmt.Sprintf("[%s, %d bytes]", b.Type, size)}
	}
	return content{Type: "image", MIME: b.Type, Data: base64.StdEncoding.EncodeToString(b.Data)}
}

// toolKind is one of ACP's words, of which the list is closed.
func toolKind(t tool.Tool) string {
	switch {
	case t.Host == tool.Builtin && t.Name == tool.PlanTool:
		return "think"
	case t.Host == tool.Builtin && (t.Name == "list" || t.Name == "search"):
		return "search"
	case t.Effect == tool.Read:
		return "read"
	case t.Effect == tool.Edit:
		return "edit"
	case t.Effect == tool.Run:
		return "execute"
	}
	return "other"
}

// planUpdate shows a plan, which replaces the one before.
func planUpdate(items []tool.PlanItem) update {
	if items == nil {
		items = []tool.PlanItem{}
	}
	return update{Kind: "plan", Entries: &items}
}
