package jet

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Of many days the newest are remembered, and the one that is charged: a node whose clock is at 1970 has a limit, too.
func TestDaysOfBudgets(t *testing.T) {
	s := spent{Days: make(map[session.Day]provider.Money)}
	charge := func(day session.Day) {
		s.day(session.Line{Day: day, Usage: provider.Usage{Cost: &provider.Cost{Amount: provider.MoneyOf(1)}}})
	}
	today := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for n := range 2 * keptDays {
		charge(session.DayOf(today.AddDate(0, 0, n-2*keptDays+1)))
	}
	if len(s.Days) != keptDays {
		t.Errorf("%d days are remembered", len(s.Days))
	}
	for n := range 3 {
		charge("1970-01-01")
		charge("1970-01-01")
		if got, want := s.Days["1970-01-01"], provider.MoneyOf(float64(2*n+2)); got != want || len(s.Days) != keptDays || s.Days["2026-11-23"] == 0 {
			t.Errorf("%v are counted of %v, and %d days are remembered", got.Units(), want.Units(), len(s.Days))
		}
	}
}
