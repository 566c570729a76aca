package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

func inform(kind, text string) feed.Notice {
	return feed.Notice{Severity: feed.Info, Kind: kind, Message: text}
}

func warn(kind, text string) feed.Notice {
	return feed.Notice{Severity: feed.Warning, Kind: kind, Message: text}
}

// tellStart tells what people should know as a turn starts: that the answers are made up, that a level was not to be
// had, that the vendor's prompt cache is lost.
func (s *state) tellStart() {
	r := s.run
	d := r.decision
	if r.model.Provider == s.cfg.Simulator && !s.notified.simulator {
		s.notified.simulator = true
		s.tell(r.ID, inform(noticeSimulator, "the answers come from the built-in simulator, not from a model"))
	}
	clamp := fmt.Sprint(r.model.Ref(), d.Requested, d.Effective, d.Reason)
	if clamp != s.notified.clamp {
		s.notified.clamp = clamp
		switch d.Reason {
		case provider.LevelNotSupported:
			s.tell(r.ID, inform(noticeClamped, fmt.Sprintf("%s has no level %s: %s applies; it has %v",
				r.model.Ref(), d.Requested, d.Effective, d.Supported)))
		case provider.OffNotSupported:
			s.tell(r.ID, warn(noticeOff, fmt.Sprintf("%s cannot be off: %s applies", r.model.Ref(), d.Effective)))
		}
	}
	s.tellUnpriced()
	s.warnRetirement()
	if len(s.view.Session.Tools) > 0 && r.model.Known && !r.model.Tools {
		s.tell(r.ID, inform(string(provider.NoticeOverride), r.model.Ref()+" does not support tools, so it gets none"))
	}
	if r.cache.State == provider.CacheLost {
		s.tell(r.ID, inform(noticeCacheLost, r.cache.Why))
	}
}

// ToolsMissing tells the session's clients that a host of tools could not be asked, and why.
func (a *Agent) ToolsMissing(ctx context.Context, why string) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		s.tell("", warn(noticeToolsMissing, why))
		return struct{}{}, s.ended
	})
	return err
}

// before is the turn before the running one that a model answered, nil if there is none.
func (s *state) before() *session.Turn { return s.answered(s.run.Turn) }

// notice passes on what an adapter says.
func (s *state) notice(n provider.Notice) {
	r := s.run
	if n.Kind == provider.NoticeConverted {
		var c provider.Conversion
		before := s.before()
		if before == nil || before.Start.Model == r.ref() {
			return // told when the model changed
		}
		crossing := crossing{before.ID, r.ref()}
		if crossing == s.notified.crossing {
			return // an earlier call, of this turn or of one that had no answer
		}
		s.notified.crossing = crossing
		if err := json.Unmarshal(n.Data, &c); err != nil {
			r.log.Warn("notice without its data", "kind", n.Kind, "err", err)
			return
		}
		s.tell(r.ID, feed.ThinkingConverted{From: before.Start.Model.String(), To: r.model.Ref(), Conversion: c})
		return
	}
	if n.Kind == provider.NoticeOverride && len(n.Data) > 0 && s.cfg.Learned != nil {
		var said provider.Learned
		if err := json.Unmarshal(n.Data, &said); err != nil {
			r.log.Warn("notice without its data", "kind", n.Kind, "err", err)
		} else if said.Window > 0 || said.MaxOutput > 0 {
			s.cfg.Learned(r.ref(), said)
		}
	}
	severity := feed.Info
	if n.Kind == noticeMissing || n.Kind == provider.NoticeSchema { // each call says it again
		if s.notified.once[n.Text] {
			return
		}
		if s.notified.once == nil {
			s.notified.once = make(map[string]bool)
		}
		s.notified.once[n.Text] = true
	}
	if n.Kind == noticeMissing || n.Kind == provider.NoticeDropped || n.Kind == provider.NoticeRepaired {
		severity = feed.Warning
	}
	s.tell(r.ID, feed.Notice{Severity: severity, Kind: string(n.Kind), Message: n.Text})
}

// check holds a reply of the turn against its decision. Each kind of notice is told once a turn: a loop of tools has many
// calls, and they are all alike.
func (r *turn) check(m reply, usage provider.Usage) []fact {
	kind, severity, text := checkControl(r.choice, m, r.thought, usage)
	r.thought = r.thought || m.thinking || counted(usage)
	if kind == "" || slices.Contains(r.unkept, kind) {
		return nil
	}
	r.unkept = append(r.unkept, kind)
	return []fact{{r.ID, nil, feed.Notice{Severity: severity, Kind: kind, Message: text}}}
}

// checked is check, with the lack of thinking told once for each model of the session.
func (s *state) checked(m reply, usage provider.Usage) []fact {
	model := s.run.ref()
	return slices.DeleteFunc(s.run.check(m, usage), func(f fact) bool {
		if n, ok := f.event.(feed.Notice); !ok || n.Kind != noticeNoThinking {
			return false
		}
		if s.notified.unthinking[model] {
			return true
		}
		if s.notified.unthinking == nil {
			s.notified.unthinking = make(map[session.ModelRef]bool)
		}
		s.notified.unthinking[model] = true
		return false
	})
}

// checkControl says what of a decision was not kept; an empty kind: nothing. thought says that the turn's earlier calls
// had thinking: a model that thinks in a turn need not do so in each of its calls, nor before it calls a tool.
func checkControl(c choice, m reply, thought bool, usage provider.Usage) (kind string, _ feed.Severity, text string) {
	level, thinks := c.decision.Effective, m.thinking || counted(usage)
	source := c.decision.Source
	asked := source != provider.SourceUnset && (source != provider.SourceModel || !c.model.Thinking.CanDisable())
	switch {
	case level == provider.Off && c.model.Thinking.Off == provider.OffUpFront:
		return "", "", "" // between tool calls it thinks, as was told
	case level == provider.Off && thinks && c.decision.Reason == provider.NoThinking:
		return noticeNotHonoured, feed.Warning, fmt.Sprintf("%s is known not to think, and thought all the same", c.model.Ref())
	case level == provider.Off && thinks:
		return noticeNotHonoured, feed.Warning, fmt.Sprintf("thinking was switched off, and %s thought all the same", c.model.Ref())
	case level == provider.Off:
		return "", "", ""
	case counted(usage) && !m.visible && c.decision.Control.Display != provider.Omitted:
		return noticeHidden, feed.Info, fmt.Sprintf("%d tokens of thinking were billed, of which nothing can be shown", *usage.Reasoning)
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
)

// retiresSoon is how long before a model's end its sessions are warned.
const retiresSoon = 60 * 24 * time.Hour

// warnRetirement warns once of each model that is retired, or will be within retiresSoon. The vendor decides what it
// serves: the call is made.
func (s *state) warnRetirement() {
	r := s.run
	if s.notified.retires == r.ref() && s.notified.answers == r.model.As {
		return
	}
	if text := retirement(r.model, time.Now()); text != "" {
		s.notified.retires, s.notified.answers = r.ref(), r.model.As
		s.tell(r.ID, warn(noticeRetires, text))
	}
}

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
