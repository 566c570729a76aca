package quote

import (
	"time"

	"github.com/thinkd/thinkd/provider"
)

// input is the prompt of the first call, as the vendor's cache divides it.
type input struct {
	measured
	read, least, most int // tokens that are read from the cache: expected, and for the upper and the lower bound of the cost
	known             bool
	stores            bool // what is not read is written
	long              bool // for the longer time
	reads             bool // later calls of the turn read what the ones before left
}

// inputOf divides a prompt.
func inputOf(f Facts) input {
	in := input{measured: measure(f.Pieces, f.Thinking, f.Before, f.PerMedia), long: f.Terms.Long}
	in.stores = f.stores(in.total)
	warm, front := f.warm(in), in.front(f)
	in.reads = in.stores || warm > 0 || !f.Terms.Off && f.Terms.Least > 0 && in.total >= f.Terms.Least
	switch f.State {
	case provider.CacheKept:
		in.read, in.most, in.known = warm, warm, f.Terms != (provider.CacheTerms{})
		if f.Terms.Marked || f.Before != nil && f.Before.Steady {
			in.least = warm
		}
	case provider.CacheUnknown:
		in.most = warm
	case provider.CacheCold:
		in.known = true
		if !f.Terms.Marked { // it may be kept for longer than the vendor promises
			in.most = warm
		}
	default: // lost, or no model has answered yet: what is in front of the turns may be there all the same
		in.known = f.Terms != (provider.CacheTerms{})
		if in.most = front; f.Before != nil && f.Before.Warm {
			in.most = max(front, warm)
		}
	}
	return in
}

// stores reports whether the vendor writes a prompt of so many tokens to its cache, and charges for it.
func (f Facts) stores(tokens int) bool {
	if f.Terms.Off || tokens < f.Terms.Least {
		return false
	}
	return f.Terms.Marked || f.Terms.Least > 0 && f.Price != nil && f.Price.CacheWrite > 0
}

// warm is how many tokens of the prompt the counted call left in the cache.
func (f Facts) warm(in input) int {
	b := f.Before
	if b == nil || !b.Same || f.Terms.Off {
		return 0
	}
	left := left(f.Terms, b.Usage.Sent())
	n := common(b.Pieces, f.Pieces)
	if n == len(b.Pieces) {
		return min(left-min(b.Removed, left), in.total)
	}
	same := 0.0
	for i := range n {
		same += in.pieces[i] + in.media[i]
	}
	return min(left, int(same))
}

// left is how many tokens a call left in the vendor's cache.
func left(terms provider.CacheTerms, u provider.Usage) int {
	switch {
	case terms.Off:
		return 0
	case !terms.Marked && u.CacheWrite == 0 && (u.Cached > 0 || terms.Least > 0 && u.Input >= terms.Least):
		return u.Input // such a vendor does not report what it writes
	}
	return u.Cached + u.CacheWrite
}

// front is how many tokens stand in front of the turns, if the cache takes as much.
func (in input) front(f Facts) int {
	tokens := 0.0
	for i, p := range f.Pieces {
		if p.Part == provider.PartTurns {
			break
		}
		tokens += in.pieces[i]
	}
	if f.Terms.Off || int(tokens) < f.Terms.Least || f.Terms == (provider.CacheTerms{}) {
		return 0
	}
	return int(tokens)
}

// usage returns the usage of a call with a prompt of so many tokens, if the vendor reads so many of them from its cache.
func (in input) usage(tokens, read, output int) provider.Usage {
	u := provider.Usage{Input: tokens, Output: output, Cached: min(max(read, 0), tokens)}
	if in.stores {
		u.CacheWrite = tokens - u.Cached
		if in.long {
			u.CacheWriteLong = u.CacheWrite
		}
	}
	return u
}

// Part is a part of the prompt of the first call, in tokens.
type Part struct {
	Part   provider.PromptPart
	Tokens int
	Read   int // from the cache
	Write  int // to the cache, and paid for that
	Paid   int // at the usual price: neither read nor written
}

// parts divides the prompt by what is in it. What is read is its beginning.
func (in input) parts(f Facts) []Part {
	index := map[provider.PromptPart]int{}
	var list []Part
	place := func(part provider.PromptPart) *Part {
		if _, ok := index[part]; !ok {
			index[part] = len(list)
			list = append(list, Part{Part: part})
		}
		return &list[index[part]]
	}
	read, sum, given := in.read, 0.0, 0
	add := func(part provider.PromptPart, tokens float64) {
		sum += tokens
		n := int(sum+0.5) - given // the parts have the sum of the whole
		given += n
		if n == 0 {
			return
		}
		p := place(part)
		p.Tokens += n
		cached := min(read, n)
		read -= cached
		p.Read += cached
		if in.stores {
			p.Write += n - cached
		} else {
			p.Paid += n - cached
		}
	}
	summary := f.Summary
	for i, piece := range f.Pieces {
		part := piece.Part
		if part == provider.PartTurns && piece.Role == provider.User && summary {
			part, summary = provider.PartSummary, false
		}
		add(part, in.pieces[i])
		add(provider.PartMedia, in.media[i])
	}
	return list
}

// cost is what a usage costs, in units; ok is false if that is not known.
func cost(p *provider.Price, u provider.Usage, at time.Time) (c provider.Cost, ok bool) {
	if p == nil {
		return provider.Cost{}, false
	}
	if c := p.Cost(u, at); c != nil {
		return *c, true
	}
	return provider.Cost{}, false
}

// WarmUntil is until when the vendor keeps the prompt of a call in its cache, in Unix milliseconds: 0 if it keeps nothing, or if that
// is not known. begun is when the call was made.
func WarmUntil(terms provider.CacheTerms, u provider.Usage, begun time.Time) int64 {
	sent := u.Sent()
	switch {
	case terms.Keeps == 0 || terms.Off, terms.Marked && sent.Cached+sent.CacheWrite == 0, !terms.Marked && sent.Input < terms.Least:
		return 0
	}
	return begun.Add(terms.Keeps).UnixMilli()
}
