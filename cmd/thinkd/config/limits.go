package config

import (
	"math"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// Limits bound a turn, a session and a connection.
type Limits struct {
	agent.Limits
	MessageBytes int     // the largest message of a connection
	CompactAt    float64 // share of a model's window at which a session is summarised; 0: never
}

func (src *source) limits(f fileLimits) (Limits, error) {
	l := Limits{Limits: agent.DefaultLimits(), MessageBytes: conn.DefaultMessageBytes, CompactAt: 0.8}
	if f.MaxModelCalls != nil {
		if l.ModelCalls = *f.MaxModelCalls; l.ModelCalls < 1 {
			return l, src.errorf("limits.max_model_calls", "must be 1 or more")
		}
	}
	for _, size := range []struct {
		key         string
		written     any // nil: the default
		least, most int64
		wants       string
		set         func(int64)
	}{
		{"max_turn_bytes", f.MaxTurnBytes, 1, math.MaxInt, "more than 0", func(n int64) { l.TurnBytes = int(n) }},
		// A shorter result would say little more than that it was cut; a longer one fills any model's window.
		{"max_tool_output", f.MaxToolOutput, 1 << 10, 16 << 20, "1KiB to 16MiB", func(n int64) { l.ToolOutput = int(n) }},
		{"max_message_bytes", f.MaxMessageBytes, 4 << 10, math.MaxInt, "4KiB or more: the protocol's own answers have to fit", func(n int64) { l.MessageBytes = int(n) }},
		{"max_session_queue_bytes", f.SessionQueue, 1 << 20, math.MaxInt64, "1MiB or more", func(n int64) { l.SessionQueue = n }},
		{"max_queue_bytes", f.Queues, 1 << 20, math.MaxInt64, "1MiB or more", func(n int64) { l.Queues = n }},
		{"max_loaded_bytes", f.Loaded, 1 << 20, math.MaxInt64, "1MiB or more", func(n int64) { l.Loaded = n }},
	} {
		if size.written == nil {
			continue
		}
		n, err := parseSize(size.written)
		if err != nil {
			return l, src.errorf("limits."+size.key, "%w", err)
		}
		if n < size.least || n > size.most {
			return l, src.errorf("limits."+size.key, "must be %s", size.wants)
		}
		size.set(n)
	}
	l.ConfirmBytes = min(l.ConfirmBytes, l.MessageBytes/4) // a client has to be able to show what it asks about
	if err := src.duration("limits.max_turn_time", f.MaxTurnTime, &l.TurnTime); err != nil {
		return l, err
	}
	if err := src.duration("limits.max_tool_time", f.MaxToolTime, &l.ToolTime); err != nil {
		return l, err
	}
	if err := src.duration("limits.park", f.Park, &l.Park); err != nil {
		return l, err
	}
	if f.CompactAt != nil {
		if l.CompactAt = *f.CompactAt; l.CompactAt != 0 && !(l.CompactAt >= 0.1 && l.CompactAt <= 1) {
			return l, src.errorf("limits.compact_at", "must be a share of the context window from 0.1 to 1, or 0 for never")
		}
	}
	if err := src.budget("limits.max_turn_", f.MaxTurnTokens, f.MaxTurnCost, &l.TurnBudget); err != nil {
		return l, err
	}
	if err := src.budget("limits.max_session_", f.MaxSessionTokens, f.MaxSessionCost, &l.SessionBudget); err != nil {
		return l, err
	}
	if err := src.amount("limits."+string(session.LimitDay), f.MaxDayCost, &l.Spending.Day); err != nil {
		return l, err
	}
	if err := src.amount("limits."+string(session.LimitUnattended), f.MaxUnattended, &l.Spending.Unattended); err != nil {
		return l, err
	}
	return l, src.amount("limits."+string(session.LimitPrompt), f.AskAbove, &l.AskAbove)
}

// duration sets a length of time, if one is written.
func (src *source) duration(key string, written any, d *time.Duration) (err error) {
	if written == nil {
		return nil
	}
	if *d, err = parseTime(written); err != nil {
		return src.errorf(key, "%w", err)
	}
	if *d <= 0 {
		return src.errorf(key, "must be more than 0")
	}
	return nil
}

// budget sets what a budget states. Its keys begin with prefix.
func (src *source) budget(prefix string, tokens *int, cost *float64, b *budget.Limit) error {
	if tokens != nil {
		if b.Tokens = *tokens; *tokens < 1 {
			return src.errorf(prefix+"tokens", "must be 1 or more; leave it out for no limit")
		}
	}
	return src.amount(prefix+"cost", cost, &b.Cost)
}

// amount sets an amount of USD, if one is written.
func (src *source) amount(key string, written *float64, to *provider.Money) error {
	if written == nil {
		return nil
	}
	if *to = provider.MoneyOf(*written); *to == 0 {
		return src.errorf(key, "must be an amount of USD above 0; leave it out for no limit")
	}
	return nil
}
