package quota

import (
	"cmp"
	"fmt"
	"time"
)

// Limit is one limit of an account. A member that a vendor does not state is absent.
type Limit struct {
	Name      string   `json:"name"`                   // a word of the vendor, such as input_tokens, 5h or premium_interactions
	Plan      bool     `json:"plan,omitempty"`         // it is a plan's, not a rate
	Limit     *float64 `json:"limit,omitempty"`        // of the whole window
	Remaining *float64 `json:"remaining,omitempty"`    // of Limit
	Used      *float64 `json:"used_percent,omitempty"` // above 100 if the plan allows more
	Resets    int64    `json:"resets,omitempty"`       // Unix milliseconds; 0: not known
	WindowMS  int64    `json:"window_ms,omitempty"`    // 0: not known
}

// nearly is the share of a limit, in percent, from which it is Near.
const nearly = 90

// Near reports whether little of the limit is left.
func (l Limit) Near() bool { return l.Used != nil && *l.Used >= nearly }

// Words says for people how much is left.
func (l Limit) Words() string {
	text := fmt.Sprintf("%.0f %% of the limit %s is used", *cmp.Or(l.Used, new(float64)), l.Name)
	if l.Resets > 0 {
		text += ", until " + time.UnixMilli(l.Resets).Format("2006-01-02 15:04")
	}
	return text
}

// whole fills in what follows from the rest.
func (l Limit) whole() Limit {
	if l.Used == nil && l.Limit != nil && l.Remaining != nil && *l.Limit > 0 {
		l.Used = new(min(max(100*(1 - *l.Remaining / *l.Limit), 0), 100))
	}
	return l
}

// empty reports whether a vendor said nothing of a limit except when it resets.
func (l Limit) empty() bool { return l.Limit == nil && l.Remaining == nil && l.Used == nil }
