package agent

import (
	"fmt"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Kinds of notice that the agent gives itself (see also noticeMissing); adapters give theirs as a provider.NoticeKind.
const (
	noticeSimulator     = "simulator"
	noticeClamped       = "level_clamped"
	noticeOff           = "off_not_supported"
	noticeNotHonoured   = "control_not_honoured"
	noticeNoThinking    = "no_thinking_seen"
	noticeHidden        = string(provider.NoticeHidden)
	noticeCacheLost     = "cache_lost"
	noticeRepaired      = string(provider.NoticeRepaired)
	noticeLeftOut       = "suspect_left_out"
	noticeEmpty         = "empty_answer"
	noticeStalled       = "stalled"
	noticeBudgetNear    = "budget_near"
	noticeBudgetReached = "budget_reached"
	noticePriceUnknown  = "price_unknown"
	noticeRetires       = "model_retires"
	noticeCompacting    = "compacting"
	noticeCompacted     = "compacted"
	noticeNotCompacted  = "compaction_failed"
	noticeStoreReadOnly = "store_readonly"
	noticeToolsMissing  = "tools_missing"
	noticeSubstituted   = "model_substituted"
	noticePayer         = "payer_changed"
)

// noticeMissing says that a model is sent a sentence in place of an image or a document that is not there any more.
const noticeMissing = "media_missing"

// noticeScaled says that a model is sent an image in another size or format, since it does not take the image as it is.
const noticeScaled = "media_scaled"

func inform(kind, text string) feed.Notice {
	return feed.Notice{Severity: feed.Info, Kind: kind, Message: text}
}

func warn(kind, text string) feed.Notice {
	return feed.Notice{Severity: feed.Warning, Kind: kind, Message: text}
}

// notified records the notices that a session has sent, so that it sends each one once.
type notified struct {
	simulator bool
	clamp     string
	crossing  crossing
	once      map[string]bool  // missing media and reduced schemas, by the text of the notice
	near      [2]bool          // the session's budget is nearly used up: tokens, cost
	unpriced  session.ModelRef // the model whose price is unknown
	retires   session.ModelRef // the model that retires soon
	answers   string           // the model that then answered under its name, if it was redirected

	unthinking map[session.ModelRef]bool // that no thinking was seen, though the model was asked to think
}

// crossing is a switch of models: the last turn that the one before answered, and the one after.
type crossing struct {
	from session.TurnID
	to   session.ModelRef
}

// checkControl says what of a decision was not kept; an empty kind: nothing. thought says that the turn's earlier calls
// had thinking: a model that thinks in a turn need not do so in each of its calls, nor before it calls a tool.
func checkControl(c choice, m reply, thought bool, usage provider.Usage) (kind string, _ feed.Severity, text string) {
	level, thinks := c.decision.Effective, m.thinking || counted(usage)
	source := c.decision.Source
	asked := source != provider.SourceUnset && (source != provider.SourceModel || !c.model.Thinking.CanDisable())
	switch {
	case level == provider.Off && c.model.Thinking.Off == provider.OffUpFront:
		return "", "", "" // between tool calls it thinks, and the notice said so
	case level == provider.Off && thinks && c.decision.Reason == provider.NoThinking:
		return noticeNotHonoured, feed.Warning, fmt.Sprintf("%s thought, although it is known not to think", c.model.Ref())
	case level == provider.Off && thinks:
		return noticeNotHonoured, feed.Warning, fmt.Sprintf("%s thought, although thinking was switched off", c.model.Ref())
	case level == provider.Off:
		return "", "", ""
	case counted(usage) && !m.visible && c.decision.Control.Display != provider.Omitted:
		return noticeHidden, feed.Info, fmt.Sprintf("the vendor billed %d tokens of thinking and showed none of it", *usage.Reasoning)
	case asked && level != provider.Auto && level != provider.Minimal && !thinks && !thought && len(m.calls) == 0 && !m.paused:
		severity := feed.Info // with a level the vendor may decide that nothing is to be thought about
		if mode := c.decision.Control.Mode; mode == provider.ModeOn || mode == provider.ModeBudget {
			severity = feed.Warning
		}
		return noticeNoThinking, severity, fmt.Sprintf("%s was asked to think (%s), and no thinking was seen", c.model.Ref(), level)
	}
	return "", "", ""
}

func counted(u provider.Usage) bool { return u.Reasoning != nil && *u.Reasoning > 0 }

// retiresSoon is how long before a model's end its sessions are warned.
const retiresSoon = 60 * 24 * time.Hour

// retirement says when a model retires and what to do, or nothing if that is far away or not known.
func retirement(m provider.Model, now time.Time) string {
	l := m.Lifecycle
	if l == nil {
		return ""
	}
	day, err := time.Parse(time.DateOnly, l.Retires)
	if err != nil && l.State != provider.LifecycleRetired || err == nil && now.Before(day.Add(-retiresSoon)) {
		return ""
	}
	text := fmt.Sprintf("%s retires on %s.", m.Ref(), l.Retires)
	switch {
	case err != nil:
		text = fmt.Sprintf("%s is retired.", m.Ref())
	case !now.Before(day):
		text = fmt.Sprintf("%s was retired on %s.", m.Ref(), l.Retires)
	}
	switch {
	case l.Gone:
		return "" // the turn ends with it
	case l.Redirects && l.ReplacedBy != "":
		return text + fmt.Sprintf(" From that day %s answers under its name, by its own rules: choose a model.", l.ReplacedBy)
	}
	return text + " " + l.Succession()
}
