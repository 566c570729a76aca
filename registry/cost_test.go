package registry

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// billed is what a vendor charges for a request, computed by hand from its price page. M is a million tokens. The pages of Z.ai for
// GLM-5.3, of DashScope and of OpenRouter were not at hand: these bills are computed from the tables in drift/testdata.
type billed struct {
	model  string
	usage  provider.Usage // input is with what the cache gave and took
	at     string         // empty: 2026-11-22, a Sunday
	want   float64        // USD
	sum    string         // by hand
	pieces bool           // a part's price is not known
}

// bills has each vendor of the catalog whose models have prices.
var bills = []billed{
	// Anthropic: the prompt of a band is input, cache reads and writes together; an hour's write is twice the input.
	{model: "anthropic/claude-fable-5-2", usage: provider.Usage{Input: 1_000_000, Cached: 1_000_000}, want: 0.20, sum: "1M x 0.20"},
	{model: "anthropic/claude-fable-5-2", usage: provider.Usage{Input: 400_000, Cached: 200_000, CacheWrite: 100_000, Output: 10_000},
		want: 2.24, sum: "0.1M x 8 + 0.2M x 0.20 + 0.1M x 10 + 0.01M x 40"},
	{model: "anthropic/claude-fable-5-1", usage: provider.Usage{Input: 300_000, Cached: 200_000, Output: 10_000}, want: 1.55, sum: "0.1M x 10 + 0.2M x 0.25 + 0.01M x 50"},
	{model: "anthropic/claude-fable-5-1", usage: provider.Usage{Input: 200_000, CacheWrite: 200_000, CacheWriteLong: 100_000}, want: 3.25, sum: "0.1M x 12.50 + 0.1M x 20"},
	{model: "anthropic/claude-haiku-5-5", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.0105, sum: "0.05M x 0.10 + 0.05M x 0.01 + 0.01M x 0.50"},
	{model: "anthropic/claude-haiku-5-5", usage: provider.Usage{Input: 200_000, Cached: 100_000, CacheWrite: 40_000, Output: 10_000},
		want: 0.085, sum: "0.06M x 0.50 + 0.1M x 0.05 + 0.04M x 0.625 + 0.01M x 2.50"},
	{model: "anthropic/claude-haiku-5-5", usage: provider.Usage{Input: 40_000, Output: 10_000}.With(provider.Usage{Input: 150_000, Output: 2_000}),
		want: 0.089, sum: "0.04M x 0.10 + 0.01M x 0.50, and the compaction in the upper band: 0.15M x 0.50 + 0.002M x 2.50"},
	{model: "anthropic/claude-sonnet-5-5", usage: provider.Usage{Input: 1_000_000, Cached: 1_000_000}, want: 0.10, sum: "1M x 0.10"},

	// OpenAI: above 272,000 tokens the whole request costs twice the input and cache, 1.5 times the output.
	{model: "openai/gpt-6.1-sol", usage: provider.Usage{Input: 400_000}, want: 1.60, sum: "0.4M x 2 x 2"},
	{model: "openai/gpt-6.1-sol", usage: provider.Usage{Input: 272_000, Output: 10_000}, want: 0.644, sum: "0.272M x 2 + 0.01M x 10"},
	{model: "openai/gpt-6.1-terra", usage: provider.Usage{Input: 300_000, Cached: 100_000, CacheWrite: 100_000, Output: 10_000},
		want: 0.535, sum: "0.1M x 2 + 0.1M x 0.10 + 0.1M x 2.50 + 0.01M x 7.50"},
	{model: "openai/gpt-5.6-luna", usage: provider.Usage{Input: 200_000, Cached: 100_000, Output: 50_000}, want: 0.082, sum: "0.1M x 0.20 + 0.1M x 0.02 + 0.05M x 1.20"},
	{model: "openai/gpt-5.6-luna", usage: provider.Usage{Input: 1_000_000, Output: 100_000}, want: 0.58, sum: "1M x 0.40 + 0.1M x 1.80"},
	{model: "openai/gpt-5.6-sol", usage: provider.Usage{Input: 100_000, Cached: 100_000, Output: 10_000}, want: 0.24, sum: "0.1M x 0.40 + 0.01M x 20"},
	{model: "openai/gpt-6-sol", usage: provider.Usage{Input: 100_000, CacheWrite: 100_000}, want: 0.25, sum: "0.1M x 2.50"},
	{model: "openai/gpt-6-luna", usage: provider.Usage{Input: 100_000, Output: 100_000}, want: 0.06, sum: "0.1M x 0.10 + 0.1M x 0.50"},
	{model: "openai/gpt-6.1-sol", usage: provider.Usage{Input: 100_000, CacheWrite: 100_000, CacheWriteLong: 40_000}, want: 0.15, sum: "0.06M x 2.50; of 12 hours no price is known", pieces: true},

	// Google: a price that doubles on a day, and one by the size of the prompt.
	{model: "gemini/gemini-4-argon", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, at: "2026-11-30T23:59:59Z", want: 0.205, sum: "0.05M x 2 + 0.05M x 0.10 + 0.01M x 10"},
	{model: "gemini/gemini-4-argon", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, at: "2026-12-01T00:00:00Z", want: 0.41, sum: "0.05M x 4 + 0.05M x 0.20 + 0.01M x 20"},
	{model: "gemini/gemini-3.8-flash", usage: provider.Usage{Input: 100_000, Cached: 60_000, Output: 10_000}, want: 0.072, sum: "0.04M x 0.75 + 0.06M x 0.075 + 0.01M x 3.75"},
	{model: "gemini/gemini-3.1-pro-preview", usage: provider.Usage{Input: 200_000, Output: 10_000}, want: 0.52, sum: "0.2M x 2 + 0.01M x 12"},
	{model: "gemini/gemini-3.1-pro-preview", usage: provider.Usage{Input: 300_000, Cached: 100_000, Output: 10_000}, want: 1.02, sum: "0.2M x 4 + 0.1M x 0.40 + 0.01M x 18"},

	// Google Cloud sells at the makers' prices, at the global endpoint.
	{model: "vertex/claude-opus-5-5", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.41, sum: "0.05M x 4 + 0.05M x 0.20 + 0.01M x 20"},
	{model: "vertex/gemini-3.8-flash", usage: provider.Usage{Input: 100_000, Cached: 60_000, Output: 10_000}, want: 0.072, sum: "0.04M x 0.75 + 0.06M x 0.075 + 0.01M x 3.75"},

	// DeepSeek: twice as much on weekdays from 9 to 12 and from 14 to 18 in Beijing.
	{model: "deepseek/deepseek-flash", usage: provider.Usage{Input: 1_000_000, Cached: 500_000, Output: 100_000}, want: 0.1365, sum: "0.5M x 0.15 + 0.5M x 0.003 + 0.1M x 0.60"},
	{model: "deepseek/deepseek-flash", usage: provider.Usage{Input: 1_000_000, Cached: 500_000, Output: 100_000}, at: "2026-11-23T10:30:00+08:00", want: 0.273, sum: "twice that"},
	{model: "deepseek/deepseek-v4-pro", usage: provider.Usage{Input: 1_000_000, Cached: 500_000, Output: 100_000}, at: "2026-11-23T14:00:00+08:00", want: 1.078, sum: "0.5M x 1.32 + 0.5M x 0.044 + 0.1M x 3.96"},
	{model: "deepseek/deepseek-v4-pro", usage: provider.Usage{Input: 1_000_000}, at: "2026-11-23T12:00:00+08:00", want: 0.66, sum: "1M x 0.66"},

	// xAI: above 200,000 tokens twice as much.
	{model: "xai/grok-4.6", usage: provider.Usage{Input: 200_000, Cached: 100_000, Output: 10_000}, want: 0.31, sum: "0.1M x 2 + 0.1M x 0.50 + 0.01M x 6"},
	{model: "xai/grok-4.6", usage: provider.Usage{Input: 300_000, Cached: 100_000, Output: 10_000}, want: 1.02, sum: "0.2M x 4 + 0.1M x 1 + 0.01M x 12"},
	{model: "xai/grok-4.5", usage: provider.Usage{Input: 100_000, Cached: 100_000}, want: 0.03, sum: "0.1M x 0.30"},

	{model: "mistral/mistral-large-4", usage: provider.Usage{Input: 100_000, Output: 10_000}, want: 0.1778, sum: "0.1M x 1.36 + 0.01M x 4.18"},
	{model: "mistral/mistral-large-4", usage: provider.Usage{Input: 100_000, Cached: 50_000}, want: 0.068, sum: "0.05M x 1.36; of cached input no price is known", pieces: true},
	{model: "moonshot/kimi-k3.1-pro", usage: provider.Usage{Input: 100_000, Output: 10_000}, want: 0.30, sum: "0.1M x 2 + 0.01M x 10"},
	{model: "moonshot/kimi-k3.1-pro-highspeed", usage: provider.Usage{Input: 100_000, Output: 10_000}, want: 0.60, sum: "0.1M x 4 + 0.01M x 20"},
	{model: "moonshot/kimi-k3", usage: provider.Usage{Input: 100_000, Cached: 100_000}, want: 0.03, sum: "0.1M x 0.30"},
	{model: "zai/glm-5.3", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.127, sum: "0.05M x 1.40 + 0.05M x 0.26 + 0.01M x 4.40"},
	{model: "minimax/MiniMax-M3.1-Flash", usage: provider.Usage{Input: 100_000, Output: 10_000}, want: 0.021, sum: "0.1M x 0.15 + 0.01M x 0.60"},
	{model: "groq/openai/gpt-oss-120b", usage: provider.Usage{Input: 100_000, Output: 10_000}, want: 0.021, sum: "0.1M x 0.15 + 0.01M x 0.60"},
	{model: "dashscope/qwen3.7-max", usage: provider.Usage{Input: 100_000, Cached: 40_000, CacheWrite: 20_000, Output: 10_000}, want: 0.2575, sum: "0.04M x 2.50 + 0.04M x 0.50 + 0.02M x 3.125 + 0.01M x 7.50"},

	// Amazon charges a tenth more where the place is stated.
	// Cohere charges for what it bills, which is less than it counts: its own part of a prompt is free. The bills are of recorded answers.
	{model: "cohere/command-a-reasoning-08-2025", usage: provider.Usage{Input: 1430, Cached: 1392, Output: 2697, Billed: &provider.Billed{Input: 44, Output: 2692}}, want: 0.02703, sum: "44 x 2.50 / 1M + 2,692 x 10 / 1M"},
	{model: "cohere/command-a-03-2025", usage: provider.Usage{Input: 5890, Cached: 112, Output: 99, Billed: &provider.Billed{Input: 4453, Output: 47}}, want: 0.0116025, sum: "4,453 x 2.50 / 1M + 47 x 10 / 1M"},

	{model: "bedrock/anthropic.claude-opus-5-5", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.41, sum: "0.05M x 4 + 0.05M x 0.20 + 0.01M x 20"},
	{model: "bedrock/eu.anthropic.claude-opus-5-5", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.451, sum: "0.05M x 4.40 + 0.05M x 0.22 + 0.01M x 22"},
	{model: "bedrock/jp.anthropic.claude-haiku-5-5", usage: provider.Usage{Input: 200_000, Output: 10_000}, want: 0.1375, sum: "0.2M x 0.55 + 0.01M x 2.75"},

	// OpenAI's service tiers: openai.com/api-priority-processing for priority, developers.openai.com/api/docs/pricing for flex and fast.
	{model: "openai/gpt-5.5", usage: provider.Usage{Input: 100_000, Output: 10_000, Tier: "priority"}, want: 2.00, sum: "0.1M x 12.50 + 0.01M x 75"},
	{model: "openai/gpt-5-mini", usage: provider.Usage{Input: 100_000, Cached: 40_000, Output: 10_000, Tier: "priority"}, want: 0.0648, sum: "0.06M x 0.45 + 0.04M x 0.045 + 0.01M x 3.60"},
	{model: "openai/gpt-5.6-sol", usage: provider.Usage{Input: 100_000, Output: 10_000, Tier: "fast"}, want: 1.20, sum: "0.1M x 8 + 0.01M x 40"},
	{model: "openai/gpt-5.1", usage: provider.Usage{Input: 100_000, Output: 10_000, Tier: "flex"}, want: 0.1125, sum: "0.1M x 0.625 + 0.01M x 5"},
	// OpenRouter says what it charged: that is the cost, and its list's price is for an answer that does not say.
	{model: "openrouter/anthropic/claude-sonnet-5", usage: provider.Usage{Input: 100_000, Cached: 50_000, Output: 10_000}, want: 0.21, sum: "0.05M x 2 + 0.05M x 0.20 + 0.01M x 10"},
}

// TestSurcharge multiplies each rate of one API's models, with their tiers and announced prices, and no other.
func TestSurcharge(t *testing.T) {
	catalog, err := New([]Provider{{ID: "vertex", Vendor: "vertex", Surcharge: map[string]float64{"messages": 1.1}}})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]float64{"claude-opus-5-5": 1.1, "claude-haiku-5-5": 1.1, "gemini-3.8-flash": 1, "gemini-4-argon": 1} {
		was, now := Default().Model("vertex", ref).Price, catalog.Model("vertex", ref).Price
		for _, prompt := range []int{1000, 150_000} {
			for _, day := range []time.Time{time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 22, 0, 0, 0, 0, time.UTC)} {
				a, b := was.At(prompt, day), now.At(prompt, day)
				for i, pair := range [][2]float64{{a.Input, b.Input}, {a.Output, b.Output}, {a.CachedInput, b.CachedInput}, {a.CacheWrite, b.CacheWrite}, {a.CacheWriteLong, b.CacheWriteLong}} {
					if got := pair[1]; got < pair[0]*want-1e-6 || got > pair[0]*want+1e-6 {
						t.Errorf("%s, rate %d of %d tokens: %v, was %v", ref, i, prompt, got, pair[0])
					}
				}
			}
		}
		if now.WebSearch != was.WebSearch {
			t.Errorf("%s: searches cost %v, not %v", ref, now.WebSearch, was.WebSearch)
		}
	}
}

// TestBills compares what thinkd says that a request costs with what its vendor charges. What OpenRouter says itself and
// what plans count are in provider/chat (TestChargedCost) and agent (TestPremiumRequests).
func TestBills(t *testing.T) {
	catalog := Default()
	covered := map[string]bool{}
	for _, bill := range bills {
		m, err := catalog.Find(bill.model)
		if err != nil || m.Price == nil {
			t.Errorf("%s: no price (%v)", bill.model, err)
			continue
		}
		covered[m.Provider] = true
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		if bill.at != "" {
			if at, err = time.Parse(time.RFC3339, bill.at); err != nil {
				t.Fatal(err)
			}
		}
		got := m.Price.Cost(bill.usage, at)
		if got == nil || got.Amount != provider.MoneyOf(bill.want) || got.Partial != bill.pieces {
			t.Errorf("%s: %+v costs %v, want %v USD: %s", bill.model, bill.usage, got, bill.want, bill.sum)
		}
	}
	for _, m := range catalog.Models() {
		if m.Price != nil && m.Price.Input > 0 && !covered[m.Provider] {
			t.Errorf("%s has a price, and no bill here is of its vendor", m.Ref())
		}
	}
}
