package forecast

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

func TestCold(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, c := range []struct {
		state           provider.CacheState
		until, answered time.Duration // before now, and after
		unknown, want   bool
	}{
		{state: "", unknown: true, answered: -time.Hour},
		{state: provider.CacheKept, until: time.Second, answered: -4 * time.Minute},
		{state: provider.CacheKept, until: 0, answered: -5 * time.Minute, want: true},
		{state: provider.CacheKept, unknown: true, answered: -4 * time.Minute},
		{state: provider.CacheKept, unknown: true, answered: -5 * time.Minute, want: true},
		{state: provider.CacheUnknown, until: time.Minute, answered: -time.Second, want: true},
		{state: provider.CacheLost, unknown: true, answered: -time.Second, want: true},
		{state: provider.CacheCold, until: -time.Minute, answered: -time.Hour, want: true},
	} {
		until := now.Add(c.until).UnixMilli()
		if c.unknown {
			until = 0
		}
		if got := Cold(c.state, until, now.Add(c.answered), now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestQuestion(t *testing.T) {
	usd := func(units float64) provider.Cost {
		return provider.Cost{Amount: provider.MoneyOf(units), Currency: provider.USD}
	}
	f := Forecast{Next: quote.Quote{Known: true, Input: 10, Cost: &quote.Range{Low: usd(1), Likely: usd(2), High: usd(3)}},
		Compact: &Compaction{Messages: 4, Next: quote.Quote{Input: 5, Cost: &quote.Range{Low: usd(0.25), Likely: usd(0.5), High: usd(1)}}}}
	if q := f.Question(provider.MoneyOf(3)); q != nil {
		t.Errorf("a prompt that costs no more is asked about: %+v", q)
	}
	q := f.Question(provider.MoneyOf(2.5))
	if q == nil || q.Limit != session.LimitPrompt || q.Most != provider.MoneyOf(2.5) || q.Next != provider.MoneyOf(3) || q.Quote.Prompt.Tokens != 10 {
		t.Fatalf("%+v", q)
	}
	if q.Quote.Prompt.Read != nil || q.Quote.Compact.Cost != nil { // neither the cache nor the cost of the summary is known
		t.Errorf("%+v", q.Quote)
	}
	f.Compact.Summary = &quote.Range{Low: usd(1), Likely: usd(1), High: usd(1)}
	if c := f.Quoted().Compact.Cost; c == nil || c.High != usd(2) {
		t.Errorf("with the summary: %+v", c)
	}
	f.Next.Cost = nil
	if q := f.Question(1); q != nil {
		t.Errorf("an unknown cost: %+v", q)
	}
}
