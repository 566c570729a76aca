package forecast

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Source is a session, with the model and the level that a quote is for.
type Source struct {
	View     *session.View
	Provider provider.Provider // nil: none is configured
	Model    provider.Model
	Decision provider.Decision
	State    provider.CacheState                        // the expected state of the vendor's cache
	Request  func(view *session.View) *provider.Request // the request that the session would make with a view
	Compact  *transcript.Passage                        // what a compaction would replace; nil: nothing, or nobody asks
	Pinned   []session.Pinned                           // what it would keep word for word
	Now      time.Time
}

// Draft is a quote before the adapter was asked. It shares nothing that the session changes.
type Draft struct {
	provider                provider.Provider
	next, before, compacted *provider.Request // before and compacted: nil if there is none
	passage                 *transcript.Passage
	counted                 quote.Counted
	keeps                   bool // the vendor counts the thinking of earlier turns, as far as earlier turns show
	loop                    int  // tokens of thinking that the counted prompt had of its own turn
	facts                   quote.Facts
	model                   provider.Model
}

// Forecast is a quote of the next prompt, and one with a compaction before it.
type Forecast struct {
	Next    quote.Quote
	Compact *Compaction // nil: there is nothing to summarise, or nobody asked
}

// Compaction is what it costs to summarise earlier turns first.
type Compaction struct {
	Messages int          // that the summary would replace
	Summary  *quote.Range // the call for the summary; nil: the price is not known
	Next     quote.Quote  // the prompt behind it
}

// likelySummary stands for the text of a summary, which nobody knows yet.
var likelySummary = sync.OnceValue(func() string { return strings.Repeat("A summary of the turns. ", 150) })

// New copies what a quote needs. It is for the goroutine of the session.
func New(s Source) *Draft {
	ref := session.ModelRef{Provider: s.Model.Provider, ID: s.Model.ID}
	d := &Draft{keeps: true, provider: s.Provider, next: s.Request(s.View), model: s.Model}
	d.facts = quote.Facts{Summary: s.View.Compaction() != nil, State: s.State, Price: s.Model.Price, At: s.Now,
		Level: s.Decision.Effective, Tools: len(d.next.Tools) > 0, Served: len(d.next.Options.ServerTools) > 0, Turns: turns(s.View)}
	if s.Decision.Effective == "" {
		d.facts.Level = provider.Auto
	}
	api, _ := s.Provider.(provider.Returner)
	back := func(m *session.Message) int {
		if m.Role != provider.Assistant || s.View.Rebound(m) {
			return 0
		}
		return returned(api, d.next, m)
	}
	d.facts.Thinking = thinking(s.View, len(s.View.Turns), back)
	if a, same, ok := counted(s.View, ref); ok {
		d.before = s.Request(a.until(s.View))
		d.keeps = keepsThinking(s.View, ref, back)
		d.counted = quote.Counted{Usage: a.End.Usage, Same: same, Returned: back(a.Message), Steady: steady(s.View, ref),
			Warm: a.End.WarmUntil == 0 || s.Now.UnixMilli() < a.End.WarmUntil}
		if !same { // what its own model was sent
			by := s.View.Turns[a.turn].By(a.Message).Model
			back = func(m *session.Message) int {
				if t := s.View.Turn(m.Turn); t == nil || t.Start == nil || t.By(m).Model != by || s.View.Rebound(m) {
					return 0
				}
				return thought(m)
			}
		}
		for _, m := range s.View.Turns[a.turn].Messages[:a.index] {
			d.loop += back(m)
		}
		d.counted.Thinking = thinking(s.View, a.turn, back) + d.loop
	}
	if p := s.Compact; p != nil {
		c := session.Compaction{Upto: p.Upto, Summary: likelySummary() + p.Verbatim, Pinned: s.Pinned, Model: ref}
		d.compacted, d.passage = s.Request(s.View.With(c)), p
	}
	return d
}

// thinking is how many tokens of thinking go back of the turns before the one with an index.
func thinking(v *session.View, until int, back func(*session.Message) int) (sum int) {
	first, _ := v.Rest()
	for _, t := range v.Turns[min(first, until):until] {
		for _, m := range t.Messages {
			sum += back(m)
		}
	}
	return sum
}

// perMedia is how many tokens a medium of a request takes on average, if the vendor's rule is known for all of them; 0: it is not.
func perMedia(req *provider.Request) float64 {
	sum, count := 0, 0
	for _, m := range req.Messages {
		tokens, unknown := media.Tokens(req.Model, m.Blocks)
		if unknown > 0 {
			return 0
		}
		sum += tokens
		m.Blocks.EachMedia(func(b provider.Media) {
			if b.Kind() != provider.MediaText {
				count++
			}
		})
	}
	if count == 0 {
		return 0
	}
	return float64(sum) / float64(count)
}

// Quote asks the adapter what it would send. load puts the data of stored media into a request; nil: they stay away.
func (d *Draft) Quote(load func(*provider.Request)) (f Forecast) {
	facts := d.facts
	next, ok := d.outline(d.next, load)
	if !ok {
		return f
	}
	facts.Pieces, facts.Terms, facts.PerMedia = next.Pieces, next.Cache, perMedia(d.next)
	if next.Forgets || !d.keeps {
		facts.Thinking = 0
	}
	if d.before != nil {
		if o, ok := d.outline(d.before, load); ok {
			before := d.counted
			if before.Pieces = o.Pieces; before.Same && (next.Forgets || !d.keeps) {
				before.Thinking, before.Removed, before.Returned = d.loop, d.loop, 0
			}
			facts.Before = &before
		}
	}
	f.Next = quote.Make(facts)
	if d.compacted == nil {
		return f
	}
	after := facts
	behind, ok := d.outline(d.compacted, load)
	if !ok {
		return f
	}
	after.Pieces = behind.Pieces
	after.Summary, after.Thinking, after.State = true, 0, provider.CacheLost
	if facts.Before != nil { // of the prompt that was counted, little is left
		before := *facts.Before
		before.Same, before.Warm = false, false
		after.Before = &before
	}
	f.Compact = &Compaction{Messages: d.passage.Messages, Next: quote.Make(after)}
	sent := utf8.RuneCountInString(transcript.AskSummary) + utf8.RuneCountInString(d.passage.Text)
	if r, ok := quote.Summary(sent, facts.Before, d.model.Price, facts.At); ok {
		f.Compact.Summary = &r
	}
	return f
}

func (d *Draft) outline(req *provider.Request, load func(*provider.Request)) (o provider.Outline, ok bool) {
	if d.provider == nil {
		return o, false
	}
	if load != nil {
		load(req)
	}
	o, err := provider.OutlineOf(d.provider, req)
	if o.Pieces == nil {
		o.Pieces = []provider.Piece{}
	}
	return o, err == nil
}
