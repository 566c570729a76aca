package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// compact gets its response when the summary is done. Prompts wait until then.
func (t *talk) compact() {
	t.compaction = t.ask("session/compact", map[string]any{"session_id": t.id}, result(func(r struct {
		Compacted bool `json:"compacted"`
	}) {
		if !r.Compacted {
			t.note("nothing was summarised")
		}
	}))
}

// openSummary shows the newest summary.
func (t *talk) openSummary() {
	t.ask("session/summaries", map[string]any{"session_id": t.id, "limit": 1}, result(func(list struct {
		Summaries []shortened `json:"summaries"`
	}) {
		if len(list.Summaries) == 0 {
			t.note("nothing was summarised in this session")
			return
		}
		s := list.Summaries[0]
		text := s.head() + "\n" + strings.TrimSpace(s.Text)
		if n := len(s.Pinned); n > 0 {
			text += fmt.Sprintf("\nPinned messages that stay whole: %d", n)
		}
		if s.Undoable {
			text += "\n/uncompact undoes it until the next prompt"
		}
		t.note("%s", text)
	}))
}

func (t *talk) uncompact() {
	t.ask("session/uncompact", map[string]any{"session_id": t.id}, func(json.RawMessage) error { return nil })
}

// pinnable are the messages that /pin shows.
const pinnable = 40

// pickPin lists the last messages, and pins or unpins the selected one.
func (t *talk) pickPin() {
	t.ask("session/history", map[string]any{"session_id": t.id, "limit": pinnable}, result(func(list struct {
		Messages []message `json:"messages"`
	}) {
		list.Messages = slices.DeleteFunc(list.Messages, func(m message) bool { return m.Queued || len(m.Content) == 0 || m.Open })
		if len(list.Messages) == 0 {
			t.note("there is no message to pin")
			return
		}
		p := &picker{title: "pin: Enter pins or unpins a message", at: len(list.Messages) - 1}
		for _, m := range list.Messages {
			r := row{label: line(excerpt(m), 60), detail: m.Role, current: m.Pinned}
			if m.Pinned {
				r.detail += ", pinned"
			}
			p.rows = append(p.rows, r)
		}
		p.choose = func(i int) { t.pin(list.Messages[i]) }
		t.picker = p
	}))
}

func (t *talk) pin(m message) {
	method, done := "message/pin", "pinned"
	if m.Pinned {
		method, done = "message/unpin", "unpinned"
	}
	t.ask(method, map[string]any{"session_id": t.id, "message_id": m.ID}, result(func(r struct {
		Applies string `json:"applies"`
	}) {
		if r.Applies == "next_summary" {
			done += ", from the next summary on"
		}
		t.note("%s: %s", done, line(excerpt(m), 60))
	}))
}

// excerpt is what a message says, or what it calls.
func excerpt(m message) string {
	var other string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			return b.Text
		case "tool_call":
			other = cmp.Or(other, called(b.Name, b.Arguments))
		case "tool_result":
			other = cmp.Or(other, words(b.Content))
		}
	}
	return cmp.Or(other, words(m.Content))
}
