package privacy

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Checkpointed reports whether the growth of an open block goes to the store before the block has ended.
func Checkpointed(s provider.ThinkingStorage, kind provider.BlockKind) bool {
	return kind != provider.KindThinking || keepsText(s)
}

func keepsText(s provider.ThinkingStorage) bool { return s == "" || s == provider.StoreFull }

// Kept is what the log keeps of an entry. It does not change body.
//
// Of thinking, the log always has its place, its duration and the count of its tokens. With opaque it also has the vendor's state,
// which has no readable text: adapters of a [provider.Request] with Opaque make none that has. With none it has no state, and neither have
// the blocks around it, where the API ties them to the thinking.
func Kept(s provider.ThinkingStorage, body session.Body) session.Body {
	if keepsText(s) {
		return body
	}
	switch b := body.(type) {
	case session.Sealed:
		b.Block = block(s, b.Block)
		return b
	case session.MessageEnd:
		if s == provider.StoreNone && !apart(b.State) {
			b.State = provider.State{}
		}
		return b
	}
	return body
}

func block(s provider.ThinkingStorage, b provider.Block) provider.Block {
	thought, ok := b.(provider.Thinking)
	if !ok {
		if s == provider.StoreNone && !apart(provider.StateOf(b)) {
			return provider.WithoutState(b)
		}
		return b
	}
	thought.Text = ""
	if s == provider.StoreNone {
		thought.State, thought.Signed = provider.State{}, false
	}
	if thought.Kind != provider.ThinkingRedacted {
		thought.Kind = provider.ThinkingOmitted
	}
	return thought
}

// apart reports whether an API has thinking in blocks of its own alone. Elsewhere ids, signatures and raw members of texts and calls
// belong to it.
func apart(s provider.State) bool { return s.Origin.API == "messages" }
