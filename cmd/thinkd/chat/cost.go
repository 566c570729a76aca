package chat

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/session"
)

// showCost says what the next prompt would cost, with another model if one is named. Without one, it says before that what this session
// cost, and all sessions today.
func (t *talk) showCost(name string) {
	if name != "" {
		t.quote(name, func(text string) { t.note("%s", text) })
		return
	}
	this, today := map[string]any{"session_id": t.id}, session.DayOf(t.now())
	all := map[string]any{"from": today, "to": today}
	t.report("model", this, func(models costs.Report) {
		t.report("level", this, func(levels costs.Report) {
			t.report("day", all, func(day costs.Report) {
				t.quote("", func(next string) {
					lines := append([]string{"This session: " + models.Sum()}, append(models.Shares(), levels.Shares()...)...)
					lines = append(lines, "Today (UTC), all sessions: "+day.Sum())
					for _, b := range day.Budgets {
						lines = append(lines, b.Text())
					}
					t.note("%s", strings.Join(append(lines, next), "\n"))
				})
			})
		})
	})
}

func (t *talk) quote(name string, then func(text string)) {
	params := map[string]any{"session_id": t.id}
	if name != "" {
		params["model_id"] = name
	}
	t.ask("session/quote", params, result(func(q costs.Quote) { then(q.Text(t.now())) }))
}

func (t *talk) report(by string, of map[string]any, then func(costs.Report)) {
	params := maps.Clone(of)
	params["by"] = by
	t.ask("usage/report", params, result(then))
}

// raise raises the limit at which the turn is parked, which resumes it.
func (t *talk) raise(word string) {
	usd, err := strconv.ParseFloat(strings.TrimPrefix(word, "$"), 64)
	switch {
	case t.spending() == nil || t.spending().OfPrompt():
		t.add(failure, "", "no turn is parked at a limit for money")
	case err != nil || !(usd > 0) || math.IsInf(usd, 0):
		t.add(failure, "", "write an amount in USD, such as /raise 5")
	default:
		t.resumeParked(map[string]any{"raise": usd}, func() {
			t.answeredLimit()
			t.note("raised the limit by %s USD", costs.USD(usd))
		})
	}
}

// allowance answers the question of a limit.
func (t *talk) allowance(d decision) {
	switch {
	case d.end:
		t.cancel()
	case d.compact:
		t.resumeParked(map[string]any{"compact_first": true}, func() {})
	case d.raise > 0:
		t.raise(strconv.FormatFloat(d.raise, 'f', -1, 64))
	default:
		t.resumeParked(map[string]any{}, func() {})
	}
}
