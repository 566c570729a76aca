package forecast

import (
	"time"

	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Quoted is a forecast as the log and clients have it.
func (f Forecast) Quoted() session.Quoted {
	q := session.Quoted{Prompt: prompt(f.Next), Cost: costs(f.Next.Cost)}
	if c := f.Compact; c != nil {
		q.Compact = &session.CompactFirst{Messages: c.Messages, Tokens: c.Next.Input, Summary: costs(c.Summary)}
		if c.Summary != nil && c.Next.Cost != nil {
			q.Compact.Cost = costs(new(c.Summary.Plus(*c.Next.Cost)))
		}
	}
	return q
}

// Question is what a person decides on if the prompt may cost more than an amount. nil: it cannot, or its cost is not known.
func (f Forecast) Question(above provider.Money) *session.Spending {
	r := f.Next.Cost
	if r == nil || r.High.Amount <= above {
		return nil
	}
	return &session.Spending{Limit: session.LimitPrompt, Most: above, Next: r.High.Amount, Quote: new(f.Quoted())}
}

// leastKept is the shortest time for which any vendor promises to keep a prompt.
const leastKept = 5 * time.Minute

// Cold reports whether a prompt may find little in the vendor's cache. until is until when the vendor keeps the last prompt, in Unix
// milliseconds; 0: nobody knows. Then a prompt less than leastKept after the last answer is not the first one after a pause.
func Cold(state provider.CacheState, until int64, answered, now time.Time) bool {
	switch {
	case state == "": // no model has answered yet: there is nothing that could have been kept
		return false
	case state != provider.CacheKept:
		return true
	case until != 0:
		return now.UnixMilli() >= until
	}
	return now.Sub(answered) >= leastKept
}

func prompt(q quote.Quote) *session.QuotedPrompt {
	if !q.Known {
		return nil
	}
	known := func(n int) *int {
		if !q.Cached {
			return nil
		}
		return &n
	}
	w := &session.QuotedPrompt{Tokens: q.Input, Low: q.Low, High: q.High, Counted: q.Counted, Read: known(q.Read), Write: known(q.Write),
		Paid: known(q.Paid), Parts: []session.QuotedPart{}}
	for _, p := range q.Parts {
		w.Parts = append(w.Parts, session.QuotedPart{Part: p.Part, Tokens: p.Tokens, Read: known(p.Read), Write: known(p.Write), Paid: known(p.Paid)})
	}
	return w
}

func costs(r *quote.Range) *session.CostRange {
	if r == nil {
		return nil
	}
	return &session.CostRange{Low: r.Low, Likely: r.Likely, High: r.High}
}
