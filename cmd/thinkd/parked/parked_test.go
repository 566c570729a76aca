package parked

import (
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/costs"
	"github.com/thinkd/thinkd/rpc/conn"
)

func amounts(low, high float64) *costs.Range {
	return &costs.Range{Low: costs.Amount{Amount: low}, High: costs.Amount{Amount: high}}
}

func TestText(t *testing.T) {
	now := time.Date(2026, 3, 1, 14, 30, 0, 0, time.UTC)
	since, until := now.Add(-28*time.Minute).UnixMilli(), now.Add(30*time.Minute).UnixMilli()
	for want, turn := range map[string]Turn{
		"Parked since 14:02: the provider takes no more requests for now (anthropic: status 429). It resumes automatically at 15:00.": {"quota", since, until, "automatically", &conn.Error{Message: "anthropic: status 429"}, nil},
		"Parked since 14:02: the provider cannot be reached, or is overloaded. It resumes automatically.":                             {"outage", since, 0, "automatically", nil, nil},
		"Parked since 2026-02-28 14:30: the provider takes no more requests for now. It resumes on request only.":                     {"quota", now.Add(-24 * time.Hour).UnixMilli(), until, "on_request", nil, nil},
		"Parked since 14:02: a question waits for an answer. It resumes with the answer.":                                             {"approval", since, 0, "on_request", nil, nil},
		"Parked since 14:02: the prompt is for a later time. It resumes automatically at 2026-03-04 14:30.":                           {"client", since, now.AddDate(0, 0, 3).UnixMilli(), "automatically", nil, nil},
		"Parked since 14:02: a reason of a later version. It resumes automatically.":                                                  {"a reason of a later version", since, 0, "automatically", nil, nil},
		"Parked since 14:02: Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs 0.40 USD. It waits for a person to allow more.": {"budget", since, 0, "on_request", nil,
			&costs.Spending{Limit: "max_day_cost", Used: 9.8, Most: 10, Next: 0.4}},
		"Parked since 14:02: The turn may cost up to 3.10 USD, more than 2.00 (ask_above). The provider may no longer have the conversation in its cache. It waits for a person to send or end it.": {"budget", since, 0, "on_request", nil,
			&costs.Spending{Limit: "ask_above", Most: 2, Next: 3.1}},
		"Parked since 14:02: The turn may cost up to 3.10 USD, more than 2.00 (ask_above). The provider may no longer have the conversation in its cache. Expected: about 1.20 to 3.10 USD. With a summary of 38 messages first: about 0.35 to 0.50 USD. It waits for a person to send or end it.": {"budget", since, 0, "on_request", nil,
			&costs.Spending{Limit: "ask_above", Most: 2, Next: 3.1, Quote: &costs.Quote{Cost: amounts(1.2, 3.1), Compact: &costs.Compact{Messages: 38, Cost: amounts(0.35, 0.5)}}}},
	} {
		if got := turn.Text(now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for want, turn := range map[string]Turn{
		"Parked from 14:02 to 15:00: the provider takes no more requests for now.": {"quota", since, until, "automatically", &conn.Error{Message: "anthropic: status 429"}, nil},
		"Parked from 14:02 to 15:00: a limit for money is reached.":                {"budget", since, 0, "on_request", nil, &costs.Spending{Limit: "max_day_cost"}},
		"Parked from 14:02 to 15:00: the prompt was expensive.":                    {"budget", since, 0, "on_request", nil, &costs.Spending{Limit: "ask_above"}},
	} {
		if got := turn.Past(until, now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
