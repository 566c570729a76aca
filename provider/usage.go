package provider

import "slices"

// Usage is in tokens. Input includes cached and cache writes, Output includes Reasoning, whatever the vendor's own
// habit is.
type Usage struct {
	Input          int      `json:"input_tokens"`
	Output         int      `json:"output_tokens"`
	Reasoning      *int     `json:"reasoning_tokens"` // nil: the vendor gave no count
	Cached         int      `json:"cached_tokens"`
	CacheWrite     int      `json:"cache_write_tokens"`
	CacheWriteLong int      `json:"cache_write_1h_tokens,omitempty"` // of CacheWrite, what is kept for an hour or longer
	Estimated      bool     `json:"estimated"`                       // the numbers are not all the vendor's own
	Cost           *Cost    `json:"cost,omitempty"`                  // nil: not known
	Searches       int      `json:"web_searches,omitempty"`          // by the vendor's tools, that it charges for
	Premium        Money    `json:"premium_requests,omitempty"`      // of a plan that counts them, by its list's factor
	Context        *Context `json:"context,omitempty"`

	// For the price alone. Separate are requests that the vendor made on its own, and those that went on with an answer: they
	// are part of the counts, and each is charged by its own prompt. Tier is the vendor's word for how the request was served; empty: in the usual way.
	// Metered says that the vendor may charge for more by the hour: for containers that code ran in.
	// Billed is what the vendor charges for, if it charges for less than it counts.
	Separate []Usage `json:"-"`
	Tier     string  `json:"-"`
	Metered  bool    `json:"-"`
	Billed   *Billed `json:"-"`
}

// Billed is what a call is charged for, in tokens.
type Billed struct {
	Input, Output int
}

// Unused reports whether nothing was used.
func (u Usage) Unused() bool { return u.Input+u.Output == 0 && u.Cost == nil && u.Premium == 0 }

// With is u with a request that the vendor made on its own.
func (u Usage) With(part Usage) Usage {
	sum := u.Add(part)
	sum.Tier, sum.Separate = u.Tier, append(slices.Clip(u.Separate), part)
	return sum
}

// Sent is what was sent and answered, without the requests that the vendor made on its own.
func (u Usage) Sent() Usage {
	for _, part := range u.Separate {
		u.Input -= part.Input
		u.Output -= part.Output
		u.Cached -= part.Cached
		u.CacheWrite -= part.CacheWrite
		u.CacheWriteLong -= part.CacheWriteLong
	}
	u.Separate = nil
	return u
}

// Size is how much of the model's window a call took up.
func (u Usage) Size() int {
	if u.Context != nil {
		return u.Context.Used
	}
	sent := u.Sent()
	return sent.Input + sent.Output
}

// Context says how full the model's window is after a call.
type Context struct {
	Used   int `json:"used"`
	Window int `json:"window"` // 0: not known
}

// Add sums the calls of a turn; the context is that of the last call.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite, CacheWriteLong: u.CacheWriteLong + v.CacheWriteLong,
		Searches: u.Searches + v.Searches, Metered: u.Metered || v.Metered,
		Estimated: u.Estimated || v.Estimated, Cost: addCosts(u, v), Premium: u.Premium + v.Premium, Context: u.Context,
	}
	if v.Context != nil {
		sum.Context = v.Context
	}
	if u.Reasoning != nil || v.Reasoning != nil {
		var n int
		if u.Reasoning != nil {
			n += *u.Reasoning
		}
		if v.Reasoning != nil {
			n += *v.Reasoning
		}
		sum.Reasoning = &n
	}
	return sum
}

// addCosts sums what is known. A part that used something and has no cost makes the sum partial.
func addCosts(u, v Usage) *Cost {
	if u.Cost == nil && v.Cost == nil {
		return nil
	}
	sum := Cost{Currency: USD}
	for _, part := range []Usage{u, v} {
		switch {
		case part.Cost != nil:
			sum.Amount += part.Cost.Amount
			sum.Partial = sum.Partial || part.Cost.Partial
		case part.Input > 0 || part.Output > 0:
			sum.Partial = true
		}
	}
	return &sum
}
