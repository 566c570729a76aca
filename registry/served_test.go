package registry

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// The names of answers, as vendors give them or might. Most pairs without an alarm are from recorded traffic.
func TestServed(t *testing.T) {
	catalog, err := New([]Provider{
		{ID: "anthropic", Vendor: "anthropic"}, {ID: "openai", Vendor: "openai"}, {ID: "gemini", Vendor: "gemini"}, {ID: "xai", Vendor: "xai"},
		{ID: "deepseek", Vendor: "deepseek"}, {ID: "openrouter", Vendor: "openrouter"}, {ID: "mistral", Vendor: "mistral"},
		{ID: "copilot", Vendor: "copilot"}, {ID: "azure", Vendor: "azure"}, {ID: "ollama", Vendor: "ollama"}, {ID: "llamacpp", Vendor: "llamacpp"},
		{ID: "work", API: "chat", Rows: []Row{{ID: "fast", Control: provider.ControlNone, ServedAs: []string{"big-1"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	catalog = catalog.At(func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) })
	for _, test := range []struct {
		provider, asked, answer string
		other                   bool
		row                     string // that the price is of; empty: the one that was asked for
	}{
		// Another model.
		{"work", "big-1", "small-0", true, "?"},
		{"anthropic", "claude-opus-5-5", "claude-haiku-5-5", true, "claude-haiku-5-5"},
		{"anthropic", "claude-opus-5-5", "claude-opus-5", true, "claude-opus-5"},
		{"anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20251101", true, "?"},
		{"openai", "gpt-5", "gpt-5-mini-2025-08-07", true, "gpt-5-mini"},
		{"openai", "gpt-5.4", "gpt-4.5", true, "?"},
		{"openai", "gpt-6.1-sol", "gpt-6.1-terra", true, "gpt-6.1-terra"},
		{"openai", "gpt-5-mini", "gpt-5-nano-2025-08-07", true, "gpt-5-nano"},
		{"openai", "gpt-5.1-codex-max", "gpt-5.1-codex", true, "gpt-5.1-codex"},
		{"gemini", "gemini-3.8-flash", "gemini-3.5-flash-lite", true, "gemini-3.5-flash-lite"},
		{"gemini", "gemini-pro-latest", "gemini-3.8-flash", true, "gemini-3.8-flash"},
		{"gemini", "gemini-flash-latest", "gemini-3.5-flash-lite", true, "gemini-3.5-flash-lite"},
		{"mistral", "mistral-large-latest", "mistral-medium-3-5", true, "mistral-medium-3-5"},
		{"openrouter", "openai/gpt-oss-120b", "evil/gpt-oss-120b", true, "?"},
		{"gemini", "gemini-2.5-pro", "gemini-3.8-flash", true, "gemini-3.8-flash"}, // before the day of the redirect
		{"xai", "grok-4.7", "grok-4.3", true, "grok-4.3"},
		{"openrouter", "google/gemini-2.0-flash-exp:free", "x-ai/grok-4", true, "?"},
		{"copilot", "claude-opus-5.5", "gpt-5-mini-2025-08-07", true, "gpt-5-mini"},
		{"azure", "gpt-5.4", "gpt-4o-mini-2024-07-18", true, "gpt-4o-mini"},
		{"ollama", "qwen3.5:70b", "qwen3.5:9b", true, "?"},
		{"llamacpp", "Qwen3-1.7B-Q4_K_M", "/models/Qwen3-8B-Q4_K_M.gguf", true, "?"},
		{"work", "qwen3-next-80b-a3b-thinking", "qwen3-next-80b-a3b-instruct", true, "?"},
		{"nobody", "big-1", "small-0", true, "?"},

		// The same.
		{"anthropic", "claude-opus-5-5", "", false, ""},
		{"anthropic", "claude-opus-5-5", "claude-opus-5-5", false, ""},
		{"anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", false, ""},
		{"anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5", false, ""},
		{"anthropic", "claude-sonnet-4-0", "claude-sonnet-4-20250514", false, ""},
		{"anthropic", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001", false, ""},
		{"anthropic", "claude-3-7-sonnet@20250219", "claude-3-7-sonnet-20250219", false, ""},
		{"work", "databricks-claude-3-7-sonnet", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", false, ""},
		{"openai", "gpt-5.6", "gpt-5.6-sol", false, "gpt-5.6-sol"},
		{"openai", "gpt-5", "gpt-5-2025-08-07", false, ""},
		{"openai", "gpt-4o", "gpt-4o-2024-08-06", false, ""},
		{"gemini", "models/gemini-2.5-flash", "gemini-2.5-flash", false, ""},
		{"gemini", "gemini-2.0-flash", "gemini-2.0-flash-001", false, ""},
		{"gemini", "gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025", false, ""},
		{"gemini", "gemini-flash-latest", "gemini-3.8-flash", false, "gemini-3.8-flash"},
		{"gemini", "gemini-3-pro-preview", "gemini-3.1-pro-preview", false, "gemini-3.1-pro-preview"},
		{"xai", "grok-4-0709", "grok-4.3", false, "grok-4.3"},
		{"xai", "grok-3-mini", "grok-4.3", false, "grok-4.3"},
		{"xai", "grok-4-fast", "grok-4-fast-reasoning", false, ""},
		{"xai", "grok-latest", "grok-4.7", false, "grok-4.7"},
		{"xai", "grok-code-fast-1", "grok-build-0.1", false, "grok-build-0.1"},
		{"deepseek", "deepseek-reasoner", "deepseek-v4-flash", false, "deepseek-v4-flash"},
		{"deepseek", "deepseek-v4-flash", "deepseek-flash", false, "deepseek-flash"},
		{"mistral", "mistral-small-latest", "mistral-small-2603", false, ""},
		{"mistral", "mistral-large-latest", "mistral-large-2512", false, ""},
		{"openrouter", "anthropic/claude-haiku-4.5", "anthropic/claude-4.5-haiku-20251001", false, ""},
		{"openrouter", "openai/gpt-5.2", "openai/gpt-5.2-20251211", false, ""},
		{"openrouter", "moonshotai/kimi-k2.5", "moonshotai/kimi-k2.5-0127", false, ""},
		{"openrouter", "qwen/qwen3-235b-a22b-2507", "qwen/qwen3-235b-a22b-07-25", false, ""},
		{"openrouter", "x-ai/grok-4", "x-ai/grok-4-07-09", false, ""},
		{"openrouter", "deepseek/deepseek-v4-pro:free", "deepseek/deepseek-v4-pro-0813", false, ""},
		{"openrouter", "@preset/cheap-and-fast", "x-ai/grok-4.7", false, "x-ai/grok-4.7"},
		{"openrouter", "openrouter/auto", "openai/gpt-5.4-mini-20260317", false, "openai/gpt-5.4-mini"},
		{"work", "moonshotai/Kimi-K2-Instruct-0905:groq", "moonshotai/kimi-k2-instruct-0905", false, ""},
		{"copilot", "gpt-4o", "gpt-4o-2024-11-20", false, ""},
		{"copilot", "claude-3.7-sonnet", "Claude 3.7 Sonnet", false, ""},
		{"copilot", "gpt-5", "capi-cus-ptuc-h100-gpt-5-reasoning-ib", false, ""},
		{"azure", "gpt-5-mini", "gpt-5-mini-2025-08-07", false, ""},
		{"azure", "prod-chat", "gpt-4o-mini-2024-07-18", false, "gpt-4o-mini"},
		{"azure", "gpt-35-turbo", "gpt-3.5-turbo-0125", false, ""},
		{"ollama", "qwen3.5", "qwen3.5:latest", false, ""},
		{"ollama", "gpt-oss:120b-cloud", "gpt-oss:120b", false, ""},
		{"llamacpp", "Qwen3-1.7B-Q4_K_M", "/models/Qwen3-1.7B-Q4_K_M.gguf", false, ""},
		{"llamacpp", "default", `C:\models\Qwen3-8B.gguf`, false, ""},
		{"work", "Fast", "fast", false, ""},
		{"work", "fast", "big-1-2026-01-01", false, ""},
	} {
		asked := catalog.Model(test.provider, test.asked)
		got := catalog.Served(asked, test.answer)
		row := got.Row.ID
		if row == asked.ID {
			row = ""
		} else if !got.Row.Known {
			row = "?"
		}
		if got.Other != test.other || row != test.row {
			t.Errorf("%s/%s answered by %q: other %t, row %q; want %t, %q", test.provider, test.asked, test.answer, got.Other, row, test.other, test.row)
		}
	}
}

// Before the day of a redirect the successor is another model. From then on, either may answer, each at its own price.
func TestServedRedirect(t *testing.T) {
	catalog := Default().At(func() time.Time { return time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC) })
	asked := catalog.Model("gemini", "gemini-2.5-pro")
	for answer, price := range map[string]float64{"gemini-2.5-pro": 1.25, "gemini-3.8-flash": 0.75, "": 0.75} {
		if got := catalog.Served(asked, answer); got.Other || got.Row.Price.Input != price {
			t.Errorf("%q: other %t, %v USD; want %v USD", answer, got.Other, got.Row.Price.Input, price)
		}
	}
	if got := catalog.Served(asked, "gemini-3.5-flash-lite"); !got.Other || got.Row.Price.Input == 0.75 {
		t.Errorf("%+v", got)
	}
}

// Each row of a vendor is taken for itself. The log names the rows next to it that are taken for it too: spellings and redirects of one
// model.
func TestServedRows(t *testing.T) {
	catalog := Default()
	pairs, same := 0, 0
	for _, id := range catalog.Providers() {
		list := catalog.ModelsOf(id)
		for i, asked := range list {
			if got := catalog.Served(asked, asked.ID); got.Other || got.Row.ID != asked.ID {
				t.Errorf("%s is not itself: %+v", asked.Ref(), got)
			}
			for _, answer := range list[i+1 : min(i+5, len(list))] {
				pairs++
				if !catalog.Served(asked, answer.ID).Other {
					same++
					t.Logf("%s may be answered by %s", asked.Ref(), answer.ID)
				}
			}
		}
	}
	t.Logf("%d pairs of rows, %d of them taken for one model", pairs, same)
}
