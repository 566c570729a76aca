package quote

import (
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Quote is what the next prompt costs.
type Quote struct {
	Known   bool // what is sent is known; false: all else is empty
	Counted bool // the vendor counted nearly all of the prompt for this model: Input is within 5 %; false: it is an estimate

	Input, Low, High int    // tokens of the prompt of the first call: expected, and between which bounds
	Parts            []Part // of Input
	Cached           bool   // Read, Write and Paid are known, in Parts as well
	Read             int
	Write            int
	Paid             int

	Cost *Range // nil: the price is not known
}

// Make makes a quote.
func Make(f Facts) Quote {
	if f.Pieces == nil {
		return Quote{}
	}
	in := inputOf(f)
	q := Quote{Known: true, Counted: in.counted, Input: in.total, Low: in.low, High: in.high, Parts: in.parts(f), Cached: in.known}
	for _, p := range q.Parts {
		q.Read, q.Write, q.Paid = q.Read+p.Read, q.Write+p.Write, q.Paid+p.Paid
	}
	if r, ok := in.bill(f); ok {
		for _, cost := range []*provider.Cost{&r.Low, &r.Likely, &r.High} {
			cost.Partial = cost.Partial || f.Served
		}
		q.Cost = &r
	}
	return q
}

// Cheaper reports whether a next prompt that is quoted with a costs less than one that is quoted with b. known is false if one of the
// prices is not known.
func Cheaper(a, b Quote) (cheaper, known bool) {
	if a.Cost == nil || b.Cost == nil || a.Cost.Likely.Partial || b.Cost.Likely.Partial {
		return false, false
	}
	return a.Cost.Likely.Amount < b.Cost.Likely.Amount, true
}

// Tokens of a summary.
const (
	shortSummary  = 150
	likelySummary = 900
	longSummary   = 6000
)

// Summary is what the call for a summary costs, with a prompt of that many characters. before is as in Facts. ok is false if the
// price is not known.
func Summary(characters int, before *Counted, p *provider.Price, at time.Time) (r Range, ok bool) {
	tokens := before.ratio(perMedia) * float64(characters)
	for _, c := range []struct {
		share  float64
		output int
		into   *provider.Cost
	}{{0.75, shortSummary, &r.Low}, {1, likelySummary, &r.Likely}, {1.4, longSummary, &r.High}} {
		paid, ok := cost(p, provider.Usage{Input: int(tokens * c.share), Output: c.output}, at)
		if !ok {
			return Range{}, false
		}
		*c.into = paid
	}
	return r, true
}
