package costs

import (
	"fmt"
	"math"
	"slices"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// Spending is what is spent and reserved of a limit for all sessions, in USD. For ask_above, it is the question before an expensive
// prompt: the limit is Most, and the turn may cost Next.
type Spending struct {
	Limit string  `json:"limit"` // the setting
	Used  float64 `json:"used"`
	Most  float64 `json:"most"`
	Next  float64 `json:"next"` // what the next call probably costs; 0: no call waits

	Quote *Quote `json:"quote"` // of the prompt; nil: the limit is not ask_above
}

// The limits that this version knows.
const (
	day        = "max_day_cost"
	unattended = "max_cost_unattended"
	prompt     = "ask_above"
)

// Used says how much of the limit is used: "Spent today: 9.80 of 10.00 USD (max_day_cost)".
func (s Spending) Text() string {
	since := map[string]string{day: "today", unattended: "since a person last wrote or approved something"}[s.Limit]
	if since == "" { // of a later version
		return fmt.Sprintf("Spent: %s of %s USD (%s)", USD(s.Used), USD(s.Most), printable.Clean(s.Limit))
	}
	return fmt.Sprintf("Spent %s: %s of %s USD (%s)", since, USD(s.Used), USD(s.Most), s.Limit)
}

// Question is Text with what the next call probably costs, or what the prompt may cost.
func (s Spending) Question() string {
	if s.OfPrompt() {
		return s.promptQuestion()
	}
	return fmt.Sprintf("%s. The next call probably costs %s USD", s.Text(), USD(s.Next))
}

// Until says how long a raised limit stays raised.
func (s Spending) Until() string {
	switch s.Limit {
	case day:
		return "until the day ends (UTC)"
	case unattended:
		return "until a person writes or approves something"
	}
	return ""
}

// OfPrompt reports whether the question is about one prompt, and not about a limit of all sessions: nothing can be raised.
func (s Spending) OfPrompt() bool { return s.Limit == prompt }

// CompactFirst is what the prompt costs behind a summary, nil if there is nothing to summarise.
func (s Spending) CompactFirst() *Compact {
	if s.Quote == nil {
		return nil
	}
	return s.Quote.Compact
}

func (s Spending) promptQuestion() string {
	text := fmt.Sprintf("The turn may cost up to %s USD, more than %s (%s). The provider may no longer have the conversation in its cache", USD(s.Next), USD(s.Most), s.Limit)
	if s.Quote != nil && s.Quote.Cost != nil {
		text += fmt.Sprintf(". Expected: %s", s.Quote.Cost)
	}
	if c := s.CompactFirst(); c != nil {
		text += fmt.Sprintf(". With a summary of %d messages first: %s", c.Messages, c.Cost)
	}
	return text
}

// Today reports whether the limit is that of a day.
func (s Spending) Today() bool { return s.Limit == day }

// Raises are amounts by which a person may want to raise the limit, the least first: what the next call needs, a fifth of the limit and
// all of it again, rounded up. An amount that would not let the next call through is left out.
func (s Spending) Raises() []float64 {
	needed := max(math.Ceil((s.Used+s.Next-s.Most)*1e6-1e-3)/1e6, 0.01) // amounts in binary are a little too large or too small
	list := []float64{roundUp(needed), roundUp(s.Most / 5), roundUp(s.Most)}
	list = slices.DeleteFunc(list, func(by float64) bool { return by < needed })
	slices.Sort(list)
	return slices.Compact(list)
}

// roundUp goes to the next amount with one digit that is not 0, in cents at least: 0.13 is 0.2.
func roundUp(amount float64) float64 {
	cents := math.Ceil(math.Round(amount*1e6) / 1e4)
	unit := math.Pow(10, math.Max(math.Floor(math.Log10(math.Max(cents, 1))), 0))
	return math.Ceil(cents/unit) * unit / 100
}
