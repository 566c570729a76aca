package quote

import (
	"math"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

const (
	mostTurns = 30  // of the newest turns, that count
	guesses   = 2.0 // turns that the guess counts as
)

// effort is about how much a model thinks at a level, compared with medium.
func effort(l provider.Level) float64 {
	switch l {
	case provider.Off:
		return 0
	case provider.Minimal:
		return 0.2
	case provider.Low:
		return 0.5
	case provider.High:
		return 2
	case provider.XHigh:
		return 3
	case provider.Max:
		return 5
	}
	return 1
}

// at is a turn as it would be at another level.
func (t Turn) at(l provider.Level) Turn {
	was, now := effort(t.Level), effort(l)
	if was == 0 || was == now {
		return t
	}
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		t.Calls[i].Thought = int(float64(t.Calls[i].Thought) * now / was)
	}
	return t
}

// guess is a turn of a session without any. Its spread is that of a logarithm.
func guess(f Facts) (t Turn, spread float64) {
	thought := int(400 * effort(f.Level))
	t, spread = Turn{Level: f.Level, Calls: []Call{{Said: 400, Thought: thought}}}, 1.1
	if f.Tools {
		t.Calls, spread = append(t.Calls, Call{Grown: 1200 + thought, Said: 400, Thought: thought}), 1.4
	}
	return t, spread
}

// follows is what a turn costs beyond its first prompt, in units. first is the usage of that prompt.
func (in input) follows(f Facts, t Turn, first provider.Usage) float64 {
	alone, _ := cost(f.Price, first, f.At)
	sum, before := -alone.Amount.Units(), 0
	for i, c := range t.Calls {
		u := first
		if i > 0 {
			tokens, read := first.Input+max(c.Grown, 0), 0
			if in.reads {
				read = min(before, tokens)
			}
			u = in.usage(tokens, read, 0)
		}
		before = u.Input
		u.Output = c.Said + c.Thought
		paid, _ := cost(f.Price, u, f.At)
		sum += paid.Amount.Units()
	}
	return max(sum, 0)
}

// Range is where a cost lies.
type Range struct{ Low, Likely, High provider.Cost }

// Plus is the range of both.
func (r Range) Plus(s Range) Range {
	add := func(a, b provider.Cost) provider.Cost {
		return provider.Cost{Amount: a.Amount + b.Amount, Currency: provider.USD, Partial: a.Partial || b.Partial}
	}
	return Range{add(r.Low, s.Low), add(r.Likely, s.Likely), add(r.High, s.High)}
}

// bill is the range of the cost of the next turn. ok is false if the price is not known.
func (in input) bill(f Facts) (r Range, ok bool) {
	low, likely, high := in.usage(in.low, in.most, 0), in.usage(in.total, in.read, 0), in.usage(in.high, in.least, 0)
	low.CacheWrite, low.CacheWriteLong = 0, 0 // the last of a prompt may stand behind what is written
	var known [3]bool
	r.Low, known[0] = cost(f.Price, low, f.At)
	r.Likely, known[1] = cost(f.Price, likely, f.At)
	r.High, known[2] = cost(f.Price, high, f.At)
	if known != [3]bool{true, true, true} {
		return Range{}, false
	}
	first, spread := guess(f)
	usual := in.follows(f, first, likely)
	if usual == 0 { // it is free
		return r, true
	}
	logs, weights := []float64{logarithm(usual)}, []float64{guesses}
	squares := guesses * spread * spread
	turns := f.Turns[max(len(f.Turns)-mostTurns, 0):]
	for _, t := range turns {
		weight := 1.0
		if t.Level != f.Level {
			weight = 0.5
		}
		logs, weights = append(logs, logarithm(in.follows(f, t.at(f.Level), likely))), append(weights, weight)
	}
	mean, n := 0.0, 0.0
	for i, x := range logs {
		mean, n = mean+weights[i]*x, n+weights[i]
	}
	mean /= n
	for i, x := range logs {
		squares += weights[i] * (x - mean) * (x - mean)
	}
	// Twice the spread is exceeded in 2 of 100 cases; with few turns the spread itself is uncertain.
	far := (2 + 2/(n+2)) * math.Sqrt(squares/n*(1+1/n))
	add := func(c *provider.Cost, logarithm float64) { c.Amount += provider.MoneyOf(math.Exp(logarithm)) }
	add(&r.Low, mean-far)
	add(&r.Likely, mean)
	add(&r.High, mean+far)
	return r, true
}

// logarithm is that of an amount in units; a billionth stands for nothing.
func logarithm(units float64) float64 { return math.Log(max(units, 1e-9)) }
