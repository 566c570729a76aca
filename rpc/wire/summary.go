package wire

import (
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// Summary is a summary of earlier turns as clients see it.
type Summary struct {
	feed.Summary
	Truncated bool           `json:"truncated,omitempty"` // text is only its beginning
	Turn      session.TurnID `json:"turn_id,omitempty"`   // that waited for it
	Time      int64          `json:"ts"`
	Undone    bool           `json:"undone,omitempty"`
	Undoable  bool           `json:"undoable,omitempty"` // now
}

// maxPageSummary is how much of a summary's text is in a page of messages, in bytes. session/summaries has all of it.
const maxPageSummary = 64 << 10

// newSummary shows a summary in about limit bytes.
func newSummary(s agent.Summary, limit int) Summary {
	w := Summary{Summary: feed.NewSummary(s.Summary, s.Log), Turn: s.Turn, Time: s.Time, Undone: s.Undone, Undoable: s.Undoable}
	text, whole := head(w.Text, limit)
	w.Text, w.Truncated = text, !whole
	return w
}

func (s Summary) size() int { return 1<<10 + len(s.Text) + len(s.Pinned)*32 }

// Summaries shows the last summaries of a list, as far as they fit into room bytes, but at least one. left reports whether earlier
// ones are left out.
func (e Encoder) Summaries(list []agent.Summary, room int) (shown []Summary, left bool) {
	shown = []Summary{}
	for _, s := range slices.Backward(list) {
		w := newSummary(s, e.MessageRoom())
		if room -= w.size(); room < 0 && len(shown) > 0 {
			left = true
			break
		}
		shown = append(shown, w)
	}
	slices.Reverse(shown)
	return shown, left
}

// SummariesInPage shows the summaries that belong to a page of messages, with the beginnings of long texts; nil if there are none.
func (e Encoder) SummariesInPage(list []agent.Summary) (shown []Summary) {
	for _, s := range list {
		shown = append(shown, newSummary(s, min(maxPageSummary, e.MessageRoom()/8)))
	}
	return shown
}
