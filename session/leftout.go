package session

import "slices"

// LeftOut says that a model is not sent parts of the conversation: its provider refused requests that had them. Nothing is
// deleted from the log. People see the parts as before, and another model gets them.
type LeftOut struct {
	Model    ModelRef    `json:"model"`
	Messages []MessageID `json:"messages,omitempty"` // not sent at all; of a reply with calls neither are the results
	Emptied  []MessageID `json:"emptied,omitempty"`  // sent with a sentence in place of media and results of tools
	Why      string      `json:"why"`                // the provider's words
}

func (LeftOut) kind() string { return "left_out" }

// Share is how much of a message a model is sent.
type Share int

const (
	SentWhole Share = iota
	SentEmptied
	NotSent
)

// Share is how much of a message l lets a model be sent.
func (l LeftOut) Share(model ModelRef, id MessageID) Share {
	switch {
	case l.Model != model:
		return SentWhole
	case slices.Contains(l.Messages, id):
		return NotSent
	case slices.Contains(l.Emptied, id):
		return SentEmptied
	}
	return SentWhole
}

// Share is how much of a message a model is sent, as the log has it.
func (v *View) Share(model ModelRef, id MessageID) (share Share) {
	for _, l := range v.LeftOut {
		share = max(share, l.Share(model, id))
	}
	return share
}

// Refused reports whether a message is not sent to some model since its provider refused it.
func (v *View) Refused(id MessageID) bool {
	return slices.ContainsFunc(v.LeftOut, func(l LeftOut) bool { return slices.Contains(l.Messages, id) })
}
