package costs

import (
	"slices"
	"testing"
)

func TestSpending(t *testing.T) {
	for _, tc := range []struct {
		s      Spending
		text   string
		raises []float64
	}{
		{Spending{Limit: "max_day_cost", Used: 9.8, Most: 10, Next: 0.4}, "Spent today: 9.80 of 10.00 USD (max_day_cost). The next call probably costs 0.40 USD", []float64{0.2, 2, 10}},
		{Spending{Limit: "max_day_cost", Used: 0.2, Most: 0.25, Next: 0.2}, "Spent today: 0.20 of 0.25 USD (max_day_cost). The next call probably costs 0.20 USD", []float64{0.2, 0.3}},
		{Spending{Limit: "max_cost_unattended", Used: 2, Most: 2, Next: 0.0123}, "Spent since a person last wrote or approved something: 2.00 of 2.00 USD (max_cost_unattended). The next call probably costs 0.0123 USD", []float64{0.02, 0.4, 2}},
		{Spending{Limit: "max_month", Used: 1, Most: 2, Next: 30}, "Spent: 1.00 of 2.00 USD (max_month). The next call probably costs 30.00 USD", []float64{30}},
		{Spending{Limit: "max_day_cost", Used: 0.001, Most: 0.001, Next: 0.004}, "Spent today: 0.0010 of 0.0010 USD (max_day_cost). The next call probably costs 0.0040 USD", []float64{0.01}},
	} {
		if got := tc.s.Question(); got != tc.text {
			t.Errorf("got  %s\nwant %s", got, tc.text)
		}
		raises := tc.s.Raises()
		if !slices.Equal(raises, tc.raises) {
			t.Errorf("%+v: raises %v, want %v", tc.s, raises, tc.raises)
		}
		for _, by := range raises {
			if tc.s.Used+tc.s.Next > tc.s.Most+by+1e-9 {
				t.Errorf("%+v: the next call does not fit a limit raised by %v", tc.s, by)
			}
		}
	}
}
