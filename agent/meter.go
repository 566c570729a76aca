package agent

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
)

// perToken is how many characters are taken for a token where nobody has counted.
const perToken = 4

// estimate is what a call has used as far as can be told before its vendor tells, or where it never does.
type estimate struct {
	sent    int // characters that went out
	cached  int // tokens that the vendor has had before, most likely
	said    int // characters that came
	thought int // of these: thinking
}

// usage is the estimate in tokens. It errs on the low side: of pictures, of thinking that was sent back, and of thinking
// that is not shown it knows nothing.
func (e estimate) usage() provider.Usage {
	u := provider.Usage{Input: tokens(e.sent), Output: tokens(e.said), Estimated: true}
	u.Cached = min(e.cached, u.Input)
	if thought := tokens(e.thought); thought > 0 {
		u.Reasoning = &thought
	}
	return u
}

func tokens(characters int) int { return (characters + perToken - 1) / perToken }

// hear counts what a call says.
func (e *estimate) hear(kind provider.BlockKind, text string) {
	n := utf8.RuneCountInString(text)
	e.said += n
	if kind == provider.KindThinking {
		e.thought += n
	}
}

// estimateOf is what is known before a call.
func (s *state) estimateOf(req *provider.Request) estimate {
	e := estimate{sent: utf8.RuneCountInString(req.System)}
	for _, t := range req.Tools {
		e.sent += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Schema)
	}
	for _, m := range req.Messages {
		e.sent += characters(m.Blocks)
	}
	if u, ok := s.lastUsage(); ok && u.Cached+u.CacheWrite > 0 {
		e.cached = u.Input + u.Output
	}
	return e
}

// characters counts what of blocks is sent as text whoever the vendor is.
func characters(blocks provider.Blocks) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case provider.Text:
			n += utf8.RuneCountInString(b.Text)
		case provider.ToolCall:
			n += utf8.RuneCountInString(b.Name) + utf8.RuneCount(b.Input) + utf8.RuneCountInString(b.Invalid)
		case provider.ToolResult:
			n += characters(b.Blocks)
		}
	}
	return n
}

// lastUsage is what the vendor counted for the last call of the session, if the running turn's model made it.
func (s *state) lastUsage() (provider.Usage, bool) {
	for _, t := range slices.Backward(s.view.Turns) {
		for _, m := range slices.Backward(t.Messages) {
			if m.End != nil && m.End.Usage.Input > 0 && !m.End.Usage.Estimated {
				return m.End.Usage, t.Start.Model == s.run.ref()
			}
		}
	}
	return provider.Usage{}, false
}

// metered takes in what a call has used: the vendor's counts, or an estimate where it gave none. The cost is that of
// the row as it is now, unless the vendor told its own: a later price list changes nothing that was paid.
func (r *turn) metered(u provider.Usage) provider.Usage {
	if u.Input == 0 && u.Output == 0 {
		u = r.estimate.usage()
	}
	if u.Cost == nil {
		u.Cost = r.model.Price.Cost(u, time.Now())
	}
	if factor := r.model.Premium; factor != nil && r.prompted {
		u.Premium = provider.MoneyOf(*factor)
	}
	u.Context = &provider.Context{Used: u.Size(), Window: r.model.Window}
	r.usage = r.usage.Add(u)
	r.estimate, r.answered = estimate{}, false
	return u
}

// unmetered is what a call has used that ended without the vendor's counts: an estimate, if the vendor had begun to
// answer. A call that was refused, or never reached the vendor, costs nothing.
func (s *state) unmetered() provider.Usage {
	if !s.run.answered || s.run.reply.id == "" {
		s.run.estimate = estimate{}
		return provider.Usage{}
	}
	return s.run.metered(provider.Usage{})
}

// usage is the session's so far, with the running turn's calls that are over.
func (s *state) usage() provider.Usage {
	sum := s.view.Session.Usage
	if s.run != nil {
		sum = sum.Add(s.run.usage)
	}
	return sum
}
