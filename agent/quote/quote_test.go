package quote

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

var at = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func price() *provider.Price {
	return &provider.Price{Rates: provider.Rates{Input: 4, Output: 20, CachedInput: 0.4, CacheWrite: 5, CacheWriteLong: 8}}
}

// prompt is a prompt of tools, a system prompt and messages, each with so many characters.
func prompt(sizes ...int) (list []provider.Piece) {
	for i, n := range sizes {
		p := provider.Piece{Part: provider.PartTurns, Role: provider.User, Text: n, Hash: uint64(i)<<32 + uint64(n)}
		switch {
		case i == 0:
			p.Part, p.Role = provider.PartTools, ""
		case i == 1:
			p.Part, p.Role = provider.PartSystem, ""
		case i%2 == 1:
			p.Role = provider.Assistant
		}
		list = append(list, p)
	}
	return list
}

// marked is a session of Anthropic's whose last prompt was counted.
func marked() Facts {
	return Facts{Pieces: prompt(4000, 2000, 4000, 800, 400), Price: price(), At: at, Level: provider.High, State: provider.CacheKept,
		Terms: provider.CacheTerms{Marked: true, Keeps: 5 * time.Minute, Least: 512},
		Before: &Counted{Pieces: prompt(4000, 2000, 4000), Same: true, Warm: true,
			Usage: provider.Usage{Input: 3000, Output: 500, Reasoning: new(300), Cached: 2000, CacheWrite: 1000}, Returned: 300}}
}

func TestCountedPrompt(t *testing.T) {
	q := Make(marked())
	if want := 3000 + 500 + 120; !q.Counted || q.Input != want { // 400 characters at 3,000 tokens for 10,000 characters
		t.Errorf("%d tokens, want %d", q.Input, want)
	}
	if q.Read != 3000 || q.Write != 620 || q.Paid != 0 || !q.Cached {
		t.Errorf("%+v", q)
	}
	f := marked()
	f.Before.Returned, f.Before.Removed, f.Before.Thinking = 0, 100, 100 // of a vendor that leaves out the thinking of earlier turns
	if q := Make(f); q.Input != 3000-100+200+116 || q.Read != 2900 {
		t.Errorf("without thinking: %+v", q)
	}
	f = marked()
	f.Before.Same = false
	if q := Make(f); q.Counted || q.Read != 0 || q.Low > 2600 || q.High < 4400 {
		t.Errorf("counted by another model: %+v", q)
	}
	f.Before = nil
	if q := Make(f); q.Input != 2800 {
		t.Errorf("never counted: %+v", q)
	}
	f = marked()
	f.Before.Thinking, f.Thinking = 0, 300
	f.Pieces = prompt(4000, 2000, 3000, 800, 400) // the first message is another one now
	if q := Make(f); q.Read >= 2000 || q.Read < 1500 {
		t.Errorf("with another beginning: %+v", q)
	}
}

// A prompt that is mostly new, and one that loses much thinking, is an estimate although the vendor counted the one before.
func TestDoubtfulCount(t *testing.T) {
	f := marked()
	f.Pieces = prompt(4000, 2000, 4000, 800, 1200)
	if q := Make(f); q.Counted || q.Input != 3000+500+360 {
		t.Errorf("a long prompt: %+v", q)
	}
	f = marked()
	f.Before.Returned, f.Before.Removed, f.Before.Thinking = 0, 1000, 1000
	if q := Make(f); q.Counted {
		t.Errorf("much thinking is removed: %+v", q)
	}
}

func TestCacheStates(t *testing.T) {
	for _, tc := range []struct {
		state  provider.CacheState
		marked bool
		known  bool
		read   int
	}{
		{provider.CacheKept, true, true, 3000}, {provider.CacheCold, true, true, 0}, {provider.CacheLost, true, true, 0}, {"", true, true, 0},
		{provider.CacheUnknown, true, false, 0}, {provider.CacheKept, false, true, 3000},
	} {
		f := marked()
		f.State, f.Terms.Marked = tc.state, tc.marked
		q := Make(f)
		if q.Cached != tc.known || q.Read != tc.read || q.Cost.Low.Amount > q.Cost.Likely.Amount || q.Cost.Likely.Amount > q.Cost.High.Amount {
			t.Errorf("%q, marked %v: %+v, %+v", tc.state, tc.marked, q, q.Cost)
		}
	}
	off := marked()
	off.Terms = provider.CacheTerms{Off: true}
	if q := Make(off); q.Read != 0 || q.Write != 0 || q.Paid != q.Input {
		t.Errorf("no cache: %+v", q)
	}
	short := marked()
	short.Pieces, short.Before, short.State = prompt(400, 400, 40), nil, ""
	if q := Make(short); q.Write != 0 || q.Paid != q.Input {
		t.Errorf("too short for the cache: %+v", q)
	}
	silent := marked()
	silent.Terms = provider.CacheTerms{}
	if q := Make(silent); q.Cached {
		t.Errorf("a vendor that says nothing: %+v", q)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	f := marked()
	f.Price = nil
	if q := Make(f); q.Cost != nil || !q.Known {
		t.Errorf("without a price: %+v", q)
	}
	if q := Make(Facts{Price: price()}); q.Known || q.Cost != nil || q.Parts != nil {
		t.Errorf("without a request: %+v", q)
	}
	f.Price = &provider.Price{} // free
	if q := Make(f); q.Cost == nil || q.Cost.High.Amount != 0 {
		t.Errorf("free: %+v", q.Cost)
	}
	f.Price = &provider.Price{Rates: provider.Rates{Input: 4, Output: 20}}
	if q := Make(f); q.Cost == nil || !q.Cost.Likely.Partial {
		t.Errorf("without the cache's prices: %+v", q.Cost)
	}
	f = marked()
	if f.Served = true; !Make(f).Cost.Low.Partial {
		t.Error("the quote of a prompt that may search is complete")
	}
}

func TestCheaper(t *testing.T) {
	f := marked()
	warm := Make(f)
	f.State = provider.CacheCold
	cold := Make(f)
	if cheaper, known := Cheaper(warm, cold); !cheaper || !known {
		t.Error("a warm cache is not cheaper")
	}
	if cheaper, _ := Cheaper(cold, warm); cheaper {
		t.Error("a cold cache is cheaper")
	}
	f.Price = nil
	if _, known := Cheaper(Make(f), warm); known {
		t.Error("a model without a price is compared")
	}
}

// Earlier turns narrow the bounds, and a higher level moves them.
func TestTurnsNarrow(t *testing.T) {
	f := marked()
	guessed := Make(f).Cost
	for i := range 20 {
		f.Turns = append(f.Turns, Turn{Level: provider.High, Calls: []Call{{Said: 500 + 10*i, Thought: 400}}})
	}
	known := Make(f).Cost
	if ratio, was := float64(known.High.Amount)/float64(known.Low.Amount), float64(guessed.High.Amount)/float64(guessed.Low.Amount); ratio > was/3 {
		t.Errorf("high is %.1f times low with 20 turns, and %.1f times without", ratio, was)
	}
	f.Level = provider.Max
	if most := Make(f).Cost; most.Likely.Amount <= known.Likely.Amount {
		t.Errorf("more thinking: %v, was %v", most.Likely, known.Likely)
	}
}

func TestWarmUntil(t *testing.T) {
	terms := provider.CacheTerms{Marked: true, Keeps: 5 * time.Minute}
	for _, tc := range []struct {
		terms provider.CacheTerms
		usage provider.Usage
		warm  bool
	}{
		{terms, provider.Usage{Input: 900, CacheWrite: 900}, true}, {terms, provider.Usage{Input: 900, Cached: 800}, true},
		{terms, provider.Usage{Input: 90}, false}, {provider.CacheTerms{Marked: true}, provider.Usage{Input: 900, Cached: 900}, false},
		{provider.CacheTerms{Keeps: time.Hour, Least: 1024}, provider.Usage{Input: 1024}, true},
		{provider.CacheTerms{Keeps: time.Hour, Least: 1024}, provider.Usage{Input: 1000}, false},
		{provider.CacheTerms{Off: true}, provider.Usage{Input: 9000}, false},
	} {
		until := WarmUntil(tc.terms, tc.usage, at)
		if want := at.Add(tc.terms.Keeps).UnixMilli(); tc.warm && until != want || !tc.warm && until != 0 {
			t.Errorf("%+v, %+v: %d", tc.terms, tc.usage, until)
		}
	}
}

func TestSummary(t *testing.T) {
	f := marked()
	r, ok := Summary(100_000, f.Before, f.Price, at)
	if !ok || r.Low.Amount >= r.Likely.Amount || r.Likely.Amount >= r.High.Amount || r.Likely.Amount < provider.MoneyOf(30_000*4/1e6) {
		t.Errorf("%+v", r)
	}
	if _, ok := Summary(100_000, nil, nil, at); ok {
		t.Error("a summary without a price has one")
	}
}

func TestDiagnose(t *testing.T) {
	kept := func(pieces []provider.Piece, u provider.Usage, terms provider.CacheTerms) Trace {
		return Trace{Model: "anthropic/claude-opus-5-5", Level: provider.High, Prompt: *Fingerprint(provider.Outline{Pieces: pieces, Cache: terms}, u),
			Until: WarmUntil(terms, u, at)}
	}
	marked := provider.CacheTerms{Marked: true, Keeps: 5 * time.Minute}
	for _, tc := range []struct {
		cause  provider.CacheCause
		change func(*Trace, *Sent)
	}{
		{"", func(_ *Trace, s *Sent) { s.Usage.Cached = 3000 }},
		{"", func(_ *Trace, s *Sent) { s.Usage.Cached = 2500 }},
		{provider.MissedModel, func(_ *Trace, s *Sent) { s.Model = "anthropic/claude-sonnet-5" }},
		{provider.MissedTools, func(_ *Trace, s *Sent) { s.Pieces = prompt(4001, 2000, 4000, 800, 400) }},
		{provider.MissedSystem, func(_ *Trace, s *Sent) { s.Pieces = prompt(4000, 2001, 4000, 800, 400) }},
		{provider.MissedMessage, func(_ *Trace, s *Sent) { s.Pieces = prompt(4000, 2000, 4001, 800, 400) }},
		{provider.MissedMessage, func(_ *Trace, s *Sent) { s.Pieces = prompt(4000, 2000) }},
		{provider.MissedSummary, func(b *Trace, s *Sent) { s.Pieces, b.Rebound = prompt(4000, 2000, 90), true }},
		{provider.MissedLevel, func(_ *Trace, s *Sent) { s.Level = provider.Low }},
		{provider.MissedExpired, func(_ *Trace, s *Sent) { s.Begun = at.Add(5 * time.Minute) }},
		{provider.MissedVendor, func(*Trace, *Sent) {}},
	} {
		before := kept(prompt(4000, 2000, 4000), provider.Usage{Input: 3000, Cached: 2000, CacheWrite: 1000}, marked)
		now := Sent{Model: before.Model, Level: before.Level, Pieces: prompt(4000, 2000, 4000, 800, 400), Begun: at.Add(time.Minute),
			Usage: provider.Usage{Input: 3600, CacheWrite: 3600}}
		tc.change(&before, &now)
		expected, cause, why := Diagnose(before, now)
		if expected != 3000 || cause != tc.cause || (why == "") != (cause == "") {
			t.Errorf("want %q: %d expected, %q, %s", tc.cause, expected, cause, why)
		}
	}
	if f := Fingerprint(provider.Outline{Pieces: prompt(1, 1), Cache: provider.CacheTerms{Off: true}}, provider.Usage{Input: 3000, Cached: 9}); f.Left != 0 {
		t.Errorf("without a cache %d tokens are left in it", f.Left)
	}
	if f := Fingerprint(provider.Outline{}, provider.Usage{Input: 3000}); f != nil {
		t.Errorf("of what is not known: %+v", f)
	}
}

// What a miss costs is the price of the call without the price that it would have had.
func TestExtra(t *testing.T) {
	price := &provider.Price{Rates: provider.Rates{Input: 10, Output: 50, CachedInput: 1, CacheWrite: 12.5}}
	for _, tc := range []struct {
		price  *provider.Price
		used   provider.Usage
		missed int
		want   *provider.Cost
	}{
		{price, provider.Usage{Input: 1e6, Output: 7}, 1e6, &provider.Cost{Amount: provider.MoneyOf(9), Currency: provider.USD}},
		{price, provider.Usage{Input: 1e6, CacheWrite: 1e6}, 1e6, &provider.Cost{Amount: provider.MoneyOf(11.5), Currency: provider.USD}},
		{price, provider.Usage{Input: 3e6, Cached: 1e6, CacheWrite: 1e6}, 15e5, &provider.Cost{Amount: provider.MoneyOf(11.5 + 4.5), Currency: provider.USD}},
		{price, provider.Usage{Input: 1e6, Cached: 9e5}, 1e6, &provider.Cost{Amount: provider.MoneyOf(0.9), Currency: provider.USD}},
		{&provider.Price{}, provider.Usage{Input: 1e6}, 1e6, &provider.Cost{Currency: provider.USD}},
		{&provider.Price{Rates: provider.Rates{Input: 10, Output: 50}}, provider.Usage{Input: 1e6}, 1e6, nil},
		{nil, provider.Usage{Input: 1e6}, 1e6, nil},
	} {
		got := Extra(tc.price, tc.used, tc.missed, at)
		if (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%+v, %d missed: %v, want %v", tc.used, tc.missed, got, tc.want)
		}
	}
}
