package quote

import (
	"fmt"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Sent is a call that a vendor has answered.
type Sent struct {
	Model  string         // provider/id
	Level  provider.Level // in effect
	Pieces []provider.Piece
	Usage  provider.Usage
	Begun  time.Time
}

// Trace is the record of the previous call.
type Trace struct {
	Model   string
	Level   provider.Level
	Prompt  provider.Fingerprint
	Until   int64 // as of [WarmUntil]
	Rebound bool  // earlier messages were summarised since, or come back after a summary was undone
}

// missed is the share of what was expected below which something is missing: vendors round, and count what they keep in blocks.
const missed = 0.8

// Diagnose compares what a call read from the vendor's cache with what the call before it had left there. expected is 0 if that was
// nothing. cause is empty if about as much was read as expected; why is for people.
func Diagnose(before Trace, now Sent) (expected int, cause provider.CacheCause, why string) {
	expected = before.Prompt.Left
	if float64(now.Usage.Sent().Cached) >= missed*float64(expected) {
		return expected, "", ""
	}
	is := provider.FingerprintOf(now.Pieces, before.Prompt.Messages)
	switch was := before.Prompt; {
	case before.Model != now.Model:
		return expected, provider.MissedModel, fmt.Sprintf("the model changed from %s to %s", before.Model, now.Model)
	case was.Tools != is.Tools:
		return expected, provider.MissedTools, "the definitions of the tools changed"
	case was.System != is.System:
		return expected, provider.MissedSystem, "the system prompt changed"
	case before.Rebound:
		return expected, provider.MissedSummary, "a summary stands in place of earlier messages, or was undone"
	case was.Messages != is.Messages || was.Chain != is.Chain:
		return expected, provider.MissedMessage, "an earlier message is sent in another form"
	case before.Level != now.Level:
		return expected, provider.MissedLevel, fmt.Sprintf("the thinking level changed from %s to %s", before.Level, now.Level)
	case before.Until != 0 && now.Begun.UnixMilli() >= before.Until:
		late := now.Begun.Sub(time.UnixMilli(before.Until)).Round(time.Second)
		return expected, provider.MissedExpired, fmt.Sprintf("the vendor's time was over since %v", late)
	}
	return expected, provider.MissedVendor, "the request began with all of the one before, and the vendor read less than it had kept"
}

// Extra is what a call cost more than if the vendor had read so many more tokens from its cache; nil: not known.
func Extra(p *provider.Price, used provider.Usage, tokens int, at time.Time) *provider.Cost {
	read := used
	tokens = min(tokens, used.Input-used.Cached)
	written := min(tokens, used.CacheWrite) // what is missing is written again first
	read.Cached, read.CacheWrite = used.Cached+tokens, used.CacheWrite-written
	paid, less := p.Cost(used, at), p.Cost(read, at)
	if paid == nil || less == nil || paid.Partial || less.Partial {
		return nil
	}
	return &provider.Cost{Amount: max(paid.Amount-less.Amount, 0), Currency: paid.Currency}
}

// Fingerprint returns what the log keeps of a call, so that the next one can be compared with it. It is nil if the request is not known.
func Fingerprint(o provider.Outline, u provider.Usage) *provider.Fingerprint {
	if o.Pieces == nil {
		return nil
	}
	f := provider.FingerprintOf(o.Pieces, len(o.Pieces))
	f.Left = left(o.Cache, u.Sent())
	return &f
}
