package permit

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Options of the question of a turn that is parked before it spends.
const (
	Once         = "spend"
	Raise        = "raise"
	CompactFirst = "compact_first"
	End          = "end"
)

// Spending are the answers to the question in ACP's words.
func Spending(q session.Spending) []Option {
	end := Option{End, "End the turn", "reject_once"}
	if q.Limit != session.LimitPrompt {
		until := map[session.SpendingLimit]string{session.LimitDay: " today", session.LimitUnattended: " until a person writes"}[q.Limit]
		return []Option{{Once, "Allow this call", "allow_once"},
			{Raise, fmt.Sprintf("Allow %s more%s", usd(q.Most), until), "allow_always"}, end}
	}
	words := []Option{{Once, "Send it", "allow_once"}}
	if q.Quote != nil && q.Quote.Compact != nil {
		words = append(words, Option{CompactFirst, "Summarise earlier turns first: " + costs(q.Quote.Compact.Cost), "allow_once"})
	}
	return append(words, end)
}

// SpendingText says the limit, what is spent, and what the next step may cost.
func SpendingText(q session.Spending) string {
	since := map[session.SpendingLimit]string{session.LimitDay: "today", session.LimitUnattended: "since a person last wrote or approved something"}[q.Limit]
	if since != "" {
		return fmt.Sprintf("%s of %s (%s) are spent or reserved %s. The next call may cost up to %s.", usd(q.Used), usd(q.Most), q.Limit, since, usd(q.Next))
	}
	text := fmt.Sprintf("The turn may cost up to %s, more than %s (%s). The provider may no longer have this conversation in its cache.", usd(q.Next), usd(q.Most), q.Limit)
	if q.Quote == nil || q.Quote.Prompt == nil {
		return text
	}
	var parts []string
	for _, p := range q.Quote.Prompt.Parts {
		parts = append(parts, fmt.Sprintf("%s %d", p.Part, p.Tokens))
	}
	text += fmt.Sprintf("\n\nExpected: %s. The prompt has %d tokens: %s.", costs(q.Quote.Cost), q.Quote.Prompt.Tokens, strings.Join(parts, ", "))
	if c := q.Quote.Compact; c != nil {
		text += fmt.Sprintf(" With a summary of %d earlier messages first: %s.", c.Messages, costs(c.Cost))
	}
	return text
}

// amount has cents, and two digits below ten cents.
func amount(m provider.Money) string {
	if m != 0 && m < provider.MoneyOf(0.1) {
		return fmt.Sprintf("%.2g", m.Units())
	}
	return fmt.Sprintf("%.2f", m.Units())
}

func usd(m provider.Money) string { return amount(m) + " " + provider.USD }

func costs(r *session.CostRange) string {
	if r == nil {
		return "at an unknown cost"
	}
	return amount(r.Low.Amount) + " to " + usd(r.High.Amount)
}
