package privacy

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Choices lists what sessions can keep of the thinking of a model, in the order of the vocabulary. A model that does not think has all
// choices. A model without a row has full alone: nothing is known of what its API takes back.
//
//	opaque  the API takes thinking back without readable text, and can leave that text out of its answers: Messages, by a
//	        signature, and Responses, by encrypted content
//	none    the API takes a call of a tool and its result without the thinking that led to them
func Choices(m provider.Model) []provider.ThinkingStorage {
	list := []provider.ThinkingStorage{provider.StoreFull}
	if !m.Known {
		return list
	}
	if !m.Thinking.Thinks() || sealed(m) {
		list = append(list, provider.StoreOpaque)
	}
	if !m.Thinking.Thinks() || forgoes(m) {
		list = append(list, provider.StoreNone)
	}
	return list
}

// sealed reports whether a model's thinking goes back without readable text.
func sealed(m provider.Model) bool {
	return (m.API == "messages" || m.API == "responses") && slices.Contains(m.Thinking.Display, provider.Omitted)
}

// needed are the dialects whose hosts refuse the result of a call without the thinking before the call, or lose track without an
// error. Sources are those of the adapters' own rules.
var needed = map[string][]string{
	"messages": {"deepseek", "minimax", "unsigned"},
	"chat":     {"copilot", "deepseek", "gemini", "kimi", "minimax"},
}

// forgoes reports whether a model's thinking need not go back.
func forgoes(m provider.Model) bool {
	switch m.API {
	case "responses", "ollama", "cohere":
		return true
	case "messages": // with a budget a loop of tools has to begin with thinking (docs: extended-thinking)
		return m.Thinking.Control != provider.ControlBudget && !slices.Contains(needed[m.API], m.Dialect)
	case "chat":
		return !slices.Contains(needed[m.API], m.Dialect)
	}
	return false // Gemini wants the signatures of its calls
}

// Check returns a *[provider.StorageError] if sessions with this storage cannot call a model. An empty storage is full.
func Check(s provider.ThinkingStorage, m provider.Model) error {
	if valid := Choices(m); !slices.Contains(valid, cmp.Or(s, provider.StoreFull)) {
		return &provider.StorageError{Storage: s, Model: m.Ref(), Valid: valid}
	}
	return nil
}

// Display is the display that a call asks for. Where thinking is kept without its text, the text is not asked for.
func Display(s provider.ThinkingStorage, asked provider.Display) provider.Display {
	if s == provider.StoreOpaque {
		return provider.Omitted
	}
	return asked
}
