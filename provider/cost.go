package provider

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/thinkd/thinkd/provider/ownjson"
)

// Money is an amount in billionths of its currency's unit: whole numbers, so that a sum is the same in whatever order
// it is made. In JSON it is a number of units.
type Money int64

const billion = 1e9

// mostMoney is the largest amount that MoneyOf makes: up to there JSON is exact.
const mostMoney = 1 << 52

// MoneyOf returns an amount in units of the currency, rounded to a billionth of it. For a negative number or NaN it returns
// 0.
func MoneyOf(units float64) Money {
	if !(units > 0) {
		return 0
	}
	return Money(min(math.Round(units*billion), mostMoney))
}

// Units returns the amount in units of the currency.
func (m Money) Units() float64 { return float64(m) / billion }

// MarshalJSON writes units.
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.Units()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Money) UnmarshalJSON(data []byte) error {
	var units float64
	if err := ownjson.Unmarshal(data, &units); err != nil {
		return err
	}
	*m = MoneyOf(units)
	return nil
}

// Cost is the cost of calls, at the prices of the time when they were made.
type Cost struct {
	Amount   Money  `json:"amount"`
	Currency string `json:"currency"`          // USD
	Partial  bool   `json:"partial,omitempty"` // a part is missing whose price was not known
}

// String is for people: "0.0123 USD", "at least 0.0123 USD" where a part is missing, "-" where nothing is known.
func (c *Cost) String() string {
	switch {
	case c == nil:
		return "-"
	case c.Partial:
		return "at least " + c.words()
	}
	return c.words()
}

// words rounds to a hundredth of a cent, what is less than a tenth of a cent to three digits.
func (c *Cost) words() string {
	if units := c.Amount.Units(); units >= 0.001 {
		return fmt.Sprintf("%.4f %s", units, c.Currency)
	}
	return fmt.Sprintf("%.3g %s", c.Amount.Units(), c.Currency)
}

// USD is the currency of all prices.
const USD = "USD"
