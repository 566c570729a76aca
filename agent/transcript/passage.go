package transcript

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// How much of the conversation a compaction leaves as it is, by characters. If it was only due, there is room left.
const (
	KeptDue   = 4 // one in so many
	KeptAsked = 10
)

// Bounds of what a summary is made from, and of what comes.
const (
	maxResultSummed = 4 << 10   // bytes of a result of a tool
	maxSummed       = 400 << 10 // bytes in all, where the window is not known
	MaxSummary      = 256 << 10 // bytes of thinking and text that come: some models repeat themselves for ever
	perTokenSummed  = 2         // bytes for each token of the window: text of any script fits
)

// tooLongToSum is why something is missing in what a summary is made from.
const tooLongToSum = "it is too long for a summary"

// AskSummary is the system prompt of a summary.
const AskSummary = `You are given the record of a conversation between a user and an assistant. Write a summary that takes its place: the assistant will go on with nothing else of it.

Keep, in this order and as far as there is any: what the user wants and every instruction that still holds; decisions and the reasons for them; facts, names, numbers, paths, identifiers and code that are still needed, as they were written; what was done, with which tools, and what came of it; what is left to do. Leave out what is settled and what was only on the way. Do not answer the user, and do not add anything that is not in the record. Write the summary and nothing else.`

// keptWhole tells the model that writes a summary what it need not repeat.
const keptWhole = "[The assistant will still have the messages marked as pinned, word for word. Do not repeat them.]\n\n"

// Passage is the messages that a compaction replaces.
type Passage struct {
	Upto     session.MessageID
	Messages int    // how many
	Text     string // their content, for the summary
	Verbatim string // what follows the summary as it is
}

// Plan chooses what is summarised; ok is false if there is nothing. The newest of the turns that have ended stay: one part in kept
// of the conversation. In the middle of a turn everything is summarised, and the user's request follows as it was written: some
// vendors refuse a loop of tools whose thinking is missing.
//
// running is the turn that runs, nil if none does; window is that of the model, in tokens, 0 if it is not known.
func (to Recipient) Plan(running *session.Turn, kept, window int) (p Passage, ok bool) {
	room, request := maxSummed, maxSummed/4
	if window > 0 {
		room = window * perTokenSummed
		request = room / 8
	}
	turns, end := to.View.Turns, len(to.View.Turns)
	first, message := to.View.Rest()
	for end > first && (turns[end-1].Queued() || turns[end-1].Into != "" && turns[end-1].End == nil) {
		end--
	}
	if running != nil {
		for end--; end > first && turns[end] != running; end-- {
		}
		asked := to.View.Asked(running)
		for begin := end; !hasReply(running, false, 0) && begin > first && turns[begin] != asked; { // what it continues stays
			if begin--; turns[begin] == asked {
				end = begin
			}
		}
		if said := running; hasReply(said, first == end, message) {
			upto := len(said.Messages)
			if last := said.Messages[upto-1]; last.Role == provider.Assistant && last.End == nil {
				upto-- // it goes on behind the summary; what there is of it is void
			}
			return to.passageOf(first, message, end+1, upto, requested(to.View.Asked(said), request), room)
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
		return Passage{}, false
	}
	return to.passageOf(first, message, end, len(turns[end-1].Messages), "", room)
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
func requested(t *session.Turn, room int) string {
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
	return "\n\nThe work on the user's last request goes on from here. It was:" + Abridged(b.String(), room, tooLongToSum)
}

// sizeOf counts the characters of a turn from a message on.
func sizeOf(t *session.Turn, from int) (n int) {
	for _, m := range t.Messages[min(from, len(t.Messages)):] {
		for _, p := range m.Parts {
			n += Characters(provider.Blocks{p.Block})
		}
	}
	return n
}

// passageOf is the passage of the messages from one place to before another.
func (to Recipient) passageOf(turn, message, endTurn, endMessage int, verbatim string, room int) (Passage, bool) {
	p := Passage{Verbatim: verbatim}
	pinned := false
	var b strings.Builder
	if c := to.View.Compaction(); c != nil {
		fmt.Fprintf(&b, "[summary of what was before]\n%s\n\n", c.Summary)
	}
	for i := turn; i < endTurn; i++ {
		t := to.View.Turns[i]
		list := t.Messages
		if i == endTurn-1 {
			list = list[:endMessage]
		}
		if i == turn {
			list = list[min(message, len(list)):]
		}
		for _, m := range list {
			p.Upto = m.ID
			p.Messages++
			if to.Spoken(t) {
				keeps := to.View.IsPinned(t, m)
				pinned = pinned || keeps
				writeSaid(&b, m, keeps, to)
			}
		}
	}
	said := b.String()
	if pinned {
		said = keptWhole + said
	}
	p.Text = Abridged(said, room, tooLongToSum)
	return p, p.Text != "" // nothing is there to be said of turns that were refused
}

// FitWindow makes the text fit into the window of the model that gets it, in tokens; 0: it is not known.
func (p *Passage) FitWindow(window int) {
	if window > 0 {
		p.Shorten(window * perTokenSummed)
	}
}

// Shorten makes the text fit into a number of bytes.
func (p *Passage) Shorten(room int) {
	p.Text = Abridged(p.Text, max(room, maxResultSummed), tooLongToSum)
}

// writeSaid writes what a summary needs of a message. It does not need thinking: the answer has the result.
func writeSaid(b *strings.Builder, m *session.Message, pinned bool, to Recipient) {
	who := "user"
	if m.Role == provider.Assistant {
		who = "assistant"
	}
	if pinned {
		who += ", pinned"
	}
	var blocks provider.Blocks
	for _, p := range m.Parts {
		blocks = append(blocks, p.Block)
	}
	for _, block := range to.sent(m.ID, blocks) {
		switch block := block.(type) {
		case provider.Text:
			fmt.Fprintf(b, "[%s]\n%s\n\n", who, block.Text)
		case provider.Media:
			fmt.Fprintf(b, "[%s: %s of %d bytes]\n\n", who, block.Type, max(len(block.Data), block.Size))
		case provider.ServerTool:
			fmt.Fprintf(b, "[assistant]\n%s\n\n", block.Plain(block.Input))
		case provider.ToolCall:
			fmt.Fprintf(b, "[assistant calls %s]\n%s\n\n", block.Name, Abridged(string(block.Input)+block.Invalid, maxResultSummed, tooLongToSum))
		case provider.ToolResult:
			word := "result"
			if block.Failed {
				word = "failed"
			}
			fmt.Fprintf(b, "[%s of %s]\n", word, block.CallID)
			for _, inner := range block.Blocks {
				switch inner := inner.(type) {
				case provider.Text:
					fmt.Fprintln(b, Abridged(inner.Text, maxResultSummed, tooLongToSum))
				case provider.Media:
					fmt.Fprintf(b, "%s of %d bytes\n", inner.Type, max(len(inner.Data), inner.Size))
				}
			}
			b.WriteString("\n")
		}
	}
}
