package agent

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// How much of what was said stays as it is, by its characters: where a compaction is due there is room left, elsewhere not.
const (
	keptDue   = 4 // one in so many
	keptAsked = 10
)

// Bounds of what a summary is made from, and of what comes.
const (
	maxResultSummed = 4 << 10   // bytes of a result of a tool
	maxSummed       = 400 << 10 // bytes in all, where the window is not known
	maxSummary      = 256 << 10 // bytes of thinking and text that come: some models repeat themselves for ever
	perTokenSummed  = 2         // bytes for each token of the window: text of any script fits
)

// tooLongToSum is why something is missing in what a summary is made from.
const tooLongToSum = "it is too long for a summary"

// askSummary is the system prompt of a summary.
const askSummary = `You are given the record of a conversation between a user and an assistant. Write a summary that takes its place: the assistant will go on with nothing else of it.

Keep, in this order and as far as there is any: what the user wants and every instruction that still holds; decisions and the reasons for them; facts, names, numbers, paths, identifiers and code that are still needed, as they were written; what was done, with which tools, and what came of it; what is left to do. Leave out what is settled and what was only on the way. Do not answer the user, and do not add anything that is not in the record. Write the summary and nothing else.`

// aboveSummary stands before a summary where it goes to a model.
const aboveSummary = "The earlier part of this conversation was left out to save room. This is a summary of it:\n\n"

// planned chooses what is summarised, ok is false if there is nothing. Of the turns that are over the newest stay, one part in
// kept of all that was said. In the middle of a turn all is summarised, with what the user asked as it was written: a loop of tools
// whose thinking is left out is refused by some vendors.
func (s *state) planned(kept int) (p passage, ok bool) {
	turns, end := s.view.Turns, len(s.view.Turns)
	first, message := s.view.Rest()
	for end > first && (turns[end-1].Queued() || turns[end-1].Into != "" && turns[end-1].End == nil) {
		end--
	}
	if s.run != nil {
		for end--; end > first && turns[end] != s.run.Turn; end-- {
		}
		if said := s.run.Turn; hasReply(said, first == end, message) {
			upto := len(said.Messages)
			if last := said.Messages[upto-1]; last.Role == provider.Assistant && last.End == nil {
				upto-- // it goes on behind the summary; what there is of it is void
			}
			return s.passageOf(first, message, end+1, upto, s.requested(said))
		}
	}
	sizes := make([]int, max(end-first, 0))
	all := 0
	for i := range sizes {
		from := 0
		if i == 0 {
			from = message
		}
		sizes[i] = sizeOf(turns[first+i], from)
		all += sizes[i]
	}
	keep := all / kept
	for i := len(sizes) - 1; i > 0 && keep >= sizes[i]; i-- {
		keep -= sizes[i]
		end--
	}
	for end > first && len(turns[end-1].Messages) == 0 {
		end--
	}
	if end <= first || end == first+1 && message >= len(turns[first].Messages) {
		return passage{}, false
	}
	return s.passageOf(first, message, end, len(turns[end-1].Messages), "")
}

// hasReply reports whether a turn has a reply that no summary stands for.
func hasReply(t *session.Turn, begun bool, from int) bool {
	if !begun {
		from = 0
	}
	for _, m := range t.Messages[min(from, len(t.Messages)):] {
		if m.Role == provider.Assistant && m.End != nil {
			return true
		}
	}
	return false
}

// requested is what the user said in a turn.
func (s *state) requested(t *session.Turn) string {
	var b strings.Builder
	for _, m := range t.Messages {
		if m.Role == provider.User && m.Answers == "" {
			for _, p := range m.Parts {
				if text, ok := p.Block.(provider.Text); ok {
					b.WriteString("\n\n" + text.Text)
				}
			}
		}
	}
	room := maxSummed / 4
	if w := s.run.model.Window; w > 0 {
		room = w * perTokenSummed / 8
	}
	return "\n\nThe work on the user's last request goes on from here. It was:" + abridged(b.String(), room, tooLongToSum)
}

// sizeOf counts the characters of a turn from a message on.
func sizeOf(t *session.Turn, from int) (n int) {
	for _, m := range t.Messages[min(from, len(t.Messages)):] {
		for _, p := range m.Parts {
			n += characters(provider.Blocks{p.Block})
		}
	}
	return n
}

// passageOf is the passage of the messages from one place to before another.
func (s *state) passageOf(turn, message, endTurn, endMessage int, verbatim string) (passage, bool) {
	p := passage{verbatim: verbatim}
	model := s.view.Session.Model
	if s.run != nil {
		p.turn, model = s.run.ID, s.run.ref()
	}
	parts := s.share(model)
	var b strings.Builder
	if c := s.view.Compaction(); c != nil {
		fmt.Fprintf(&b, "[summary of what was before]\n%s\n\n", c.Summary)
	}
	for i := turn; i < endTurn; i++ {
		t := s.view.Turns[i]
		list := t.Messages
		if i == endTurn-1 {
			list = list[:endMessage]
		}
		if i == turn {
			list = list[min(message, len(list)):]
		}
		for _, m := range list {
			p.upto = m.ID
			p.messages++
			if parts.spoken(t) {
				writeSaid(&b, m, parts)
			}
		}
	}
	room := maxSummed
	if w := s.cfg.Catalog.Model(model.Provider, model.ID).Window; w > 0 {
		room = w * perTokenSummed
	}
	p.text = abridged(b.String(), room, tooLongToSum)
	return p, p.text != "" // nothing is there to be said of turns that were refused
}

// writeSaid writes what a summary needs of a message. Thinking is none of it: the answer has what came of it.
func writeSaid(b *strings.Builder, m *session.Message, parts share) {
	who := "user"
	if m.Role == provider.Assistant {
		who = "assistant"
	}
	var blocks provider.Blocks
	for _, p := range m.Parts {
		blocks = append(blocks, p.Block)
	}
	for _, block := range parts.sent(m.ID, blocks) {
		switch block := block.(type) {
		case provider.Text:
			fmt.Fprintf(b, "[%s]\n%s\n\n", who, block.Text)
		case provider.Media:
			fmt.Fprintf(b, "[%s: %s of %d bytes]\n\n", who, block.Type, max(len(block.Data), block.Size))
		case provider.ToolCall:
			fmt.Fprintf(b, "[assistant calls %s]\n%s\n\n", block.Name, abridged(string(block.Input)+block.Invalid, maxResultSummed, tooLongToSum))
		case provider.ToolResult:
			word := "result"
			if block.Failed {
				word = "failed"
			}
			fmt.Fprintf(b, "[%s of %s]\n", word, block.CallID)
			for _, inner := range block.Blocks {
				switch inner := inner.(type) {
				case provider.Text:
					fmt.Fprintln(b, abridged(inner.Text, maxResultSummed, tooLongToSum))
				case provider.Media:
					fmt.Fprintf(b, "%s of %d bytes\n", inner.Type, max(len(inner.Data), inner.Size))
				}
			}
			b.WriteString("\n")
		}
	}
}

// contextUsed is how many tokens the next call is about to send: the vendor's count of the last call and what was said since,
// or an estimate where nobody has counted since the last compaction.
func (s *state) contextUsed() int {
	used, _ := s.contextSize()
	return used
}

// contextSize is contextUsed, and whether the model's own vendor has counted most of it.
func (s *state) contextSize() (used int, counted bool) {
	since := 0
	parts := s.share(s.run.ref())
	first, message := s.view.Rest()
	for i := len(s.view.Turns) - 1; i >= first; i-- {
		t := s.view.Turns[i]
		if !parts.spoken(t) {
			continue
		}
		for j := len(t.Messages) - 1; j >= 0 && (i > first || j >= message); j-- {
			m := t.Messages[j]
			if u := m.End; u != nil && u.Usage.Input > 0 && !s.view.Precompacted(m) {
				same := t.Start.Model == s.run.ref()
				return u.Usage.Size() + tokens(since), same && !u.Usage.Estimated
			}
			for _, p := range m.Parts {
				since += characters(provider.Blocks{p.Block})
			}
		}
	}
	e := s.estimateOf(s.request())
	return tokens(e.sent), false
}
