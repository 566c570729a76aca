package service

import (
	"slices"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// TestUsageReportSplit sums the same lines by one member and by two. The rows of the split report add up to those of the other.
func TestUsageReportSplit(t *testing.T) {
	line := func(day session.Day, model string, level provider.Level, output int, usd provider.Money) session.Line {
		return session.Line{Day: day, Account: session.Account{Model: session.ModelRef{Provider: "sim", ID: model}, Level: level}, Calls: 1,
			Usage: provider.Usage{Output: output, Cost: &provider.Cost{Amount: usd, Currency: "USD"}}}
	}
	lines := []session.Line{
		line("2026-11-22", "a", "high", 10, 1),
		line("2026-11-22", "b", "low", 20, 3),
		line("2026-11-22", "a", "high", 30, 4),
		line("2026-11-23", "a", "low", 40, 2),
	}
	about := func(rows []UsageRow) (list []UsageOf) {
		for _, r := range rows {
			list = append(list, r.UsageOf)
		}
		return list
	}

	rows, sum := UsageReport(lines, UsageByModel, UsageByLevel)
	want := []UsageOf{{Model: "sim/a", Level: "high"}, {Model: "sim/b", Level: "low"}, {Model: "sim/a", Level: "low"}}
	if got := about(rows); !slices.Equal(got, want) {
		t.Errorf("by model and level: %v, not %v", got, want)
	}
	if rows[0].Calls != 2 || rows[0].Usage.Output != 40 || sum.Calls != 4 || sum.Usage.Output != 100 {
		t.Errorf("sums: %+v and %+v", rows[0], sum)
	}

	rows, _ = UsageReport(lines, UsageByDay, UsageByModel)
	want = []UsageOf{{Day: "2026-11-22", Model: "sim/a"}, {Day: "2026-11-22", Model: "sim/b"}, {Day: "2026-11-23", Model: "sim/a"}}
	if got := about(rows); !slices.Equal(got, want) {
		t.Errorf("by day and model: %v, not %v", got, want)
	}
	rows, _ = UsageReport(lines, UsageByDay, "")
	if got := about(rows); !slices.Equal(got, []UsageOf{{Day: "2026-11-22"}, {Day: "2026-11-23"}}) {
		t.Errorf("by day: %v", got)
	}
}
