package feed

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Summary is a summary as clients see it.
type Summary struct {
	ID       session.SummaryID   `json:"summary_id"`
	Includes session.SummaryID   `json:"includes,omitempty"` // the summary before, that it takes in
	From     session.MessageID   `json:"from"`               // the first message that it replaces, except those of Includes
	Upto     session.MessageID   `json:"upto"`               // the last one
	Messages int                 `json:"messages"`           // how many these are
	After    session.MessageID   `json:"after"`              // the last message that was said before it
	Pinned   []session.MessageID `json:"pinned,omitempty"`   // of the messages up to Upto, those that models are still sent
	Text     string              `json:"text"`
	Model    string              `json:"model_id"`                // that wrote it, provider/id
	Before   int                 `json:"tokens_before,omitempty"` // of the next call, without it; 0: not known
	Now      int                 `json:"tokens_after,omitempty"`  // with it, estimated
	Usage    provider.Usage      `json:"usage"`
}

// NewSummary returns what clients see of a summary that is in the log.
func NewSummary(s session.Summary, c session.Compaction) Summary {
	shown := Summary{ID: s.ID, Includes: s.Includes, From: s.From, Upto: s.Upto, Messages: s.Messages, After: s.After,
		Text: c.Summary, Model: c.Model.String(), Before: c.Before, Now: c.After, Usage: c.Usage}
	for _, p := range c.Pinned {
		shown.Pinned = append(shown.Pinned, p.Message)
		if p.Answer != "" {
			shown.Pinned = append(shown.Pinned, p.Answer)
		}
	}
	return shown
}

// SummaryStored says that from now on models get a summary in place of earlier messages.
type SummaryStored struct{ Summary }

// SummaryUndone says that models get these messages again, and no summary of them.
type SummaryUndone struct {
	ID session.SummaryID `json:"summary_id"`
}

func (SummaryStored) Method() string { return "summary" }
func (SummaryUndone) Method() string { return "summary_undone" }
