package provider

import (
	"strings"
	"unicode"
)

// ContinueAction says how a block of an unfinished turn is sent in the request that continues the turn.
type ContinueAction string

const (
	ContinueKept      ContinueAction = "kept"            // the model gets it back as part of the conversation
	ContinuePrefilled ContinueAction = "prefilled"       // it is the beginning of the answer: the new text joins it
	ContinueAgain     ContinueAction = "requested_again" // it is not sent, and the model makes it again
	ContinueDropped   ContinueAction = "dropped"         // it is not sent
)

// Words lists all actions.
func (ContinueAction) Words() []string {
	return Words(ContinueKept, ContinuePrefilled, ContinueAgain, ContinueDropped)
}

// Returner is a [Provider] that says which thinking of earlier answers it sends back. Returns is pure, and what Stream does. late is
// the state of the answer with the thinking, and calls says that the answer has calls of tools, whose results follow it.
type Returner interface {
	Returns(req *Request, b Thinking, late State, calls bool) bool
}

// Unfinished is one answer of a turn that is to be continued, as the log has it.
type Unfinished struct {
	Blocks   Blocks
	Cut      bool // the model did not end it
	Last     bool // nothing follows it in the turn, so the model goes on from it
	Rethinks bool // the model may think in the call that continues

	// Returns reports whether the model gets a block of thinking back, by its own state: see [Returner].
	Returns func(Thinking) bool
}

// Continue decides for each block of an answer how it is sent if a model with this row continues the turn:
//
//   - Thinking goes back if it was sealed, which is the adapter's rule, and if something that it led to goes back as well.
//     No wire API takes an answer that ends in thinking. Responses takes a reasoning item only with the finished item behind
//     it. Open thinking never goes back.
//   - Text stays. If it is the end of the answer and the row allows prefill, it is the beginning of the new answer. A text
//     that ends in white space is not: Messages refuses it, and without the space the new text might not join.
//   - A finished call stays, and so does its result. Nobody runs it again.
//   - What a vendor's own tools left stays if something follows it.
func Continue(m Model, u Unfinished) []ContinueAction {
	actions := make([]ContinueAction, len(u.Blocks))
	end := len(u.Blocks)
	if u.Last {
		end = Said(u.Blocks)
	}
	for i, b := range u.Blocks {
		actions[i] = u.action(m, i, end, b)
	}
	if u.Last && end > 0 && m.Prefill == PrefillNotInThinking && !u.Rethinks && joins(u.Blocks[end-1]) {
		actions[end-1] = ContinuePrefilled
	}
	return actions
}

func (u Unfinished) action(m Model, i, end int, b Block) ContinueAction {
	switch b := b.(type) {
	case Thinking:
		switch {
		case i < end && !b.State.IsZero() && u.Returns(b) && (m.API != "responses" || u.ledToItem(i)):
			return ContinueKept
		case u.Cut && u.Rethinks && (b.State.IsZero() || i >= end):
			return ContinueAgain
		}
		return ContinueDropped
	case ServerTool:
		if i >= end {
			return ContinueDropped
		}
	case Opaque:
		if i >= end || b.State.Origin.API != m.API {
			return ContinueDropped
		}
	case Text:
		if Blank(b.Text) {
			return ContinueDropped
		}
	case ToolCall:
		if u.Cut && b.Invalid != "" {
			return ContinueDropped
		}
	case Media, ToolResult: // these are never unfinished
	}
	return ContinueKept
}

// ledToItem reports whether the first block behind the reasoning at i was finished by its vendor.
func (u Unfinished) ledToItem(i int) bool {
	for _, b := range u.Blocks[i+1:] {
		if _, thought := b.(Thinking); !thought {
			return !StateOf(b).IsZero()
		}
	}
	return false
}

// Said returns how many blocks of an answer go back if nothing follows it: those up to the last one with content.
func Said(blocks Blocks) int {
	for n := len(blocks); n > 0; n-- {
		switch b := blocks[n-1].(type) {
		case Text:
			if !Blank(b.Text) {
				return n
			}
		case ToolCall, Media:
			return n
		case Thinking, Opaque, ToolResult, ServerTool: // these say nothing to the user
		}
	}
	return 0
}

// joins reports whether a text can be the beginning of an answer.
func joins(b Block) bool {
	text, ok := b.(Text)
	return ok && strings.TrimRightFunc(text.Text, unicode.IsSpace) == text.Text
}
