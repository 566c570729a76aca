package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/todo"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

func (s *state) tool(name string) *tool.Tool {
	for i := range s.view.Session.Tools {
		if t := &s.view.Session.Tools[i]; t.Name == name {
			return t
		}
	}
	return nil
}

// believed is a tool with the effect that decisions go by: what a server says of its tools counts only while the operator
// trusts it, whatever it said when the session began.
func (s *state) believed(t tool.Tool) tool.Tool {
	host := s.cfg.host(s.view.Session, t)
	if t.Host != tool.MCP || host == nil {
		return t
	}
	if h, ok := host.(toolhost.Hinter); !ok || !h.TrustsHints() {
		t.Effect = tool.Other
	}
	return t
}

// rule decides on a call that has passed the check of its arguments.
func (s *state) rule(c *toolCall) tool.Rule {
	q := s.questionAbout(c)
	q.Concern = c.concern
	q.Granted, q.Denied = s.standing(c, false) != nil, s.standing(c, true) != nil
	return q.Rule()
}

// standing is the standing approval or denial that covers a call, nil if there is none.
func (s *state) standing(c *toolCall, deny bool) *tool.Grant {
	for i, g := range s.view.Grants {
		if g.Deny == deny && approval.Covers(g, c.tool, c.would) {
			return &s.view.Grants[i]
		}
	}
	return nil
}

// denial is the result of a call that the rules deny.
func (s *state) denial(c *toolCall) string {
	if g := s.standing(c, true); g != nil {
		return fmt.Sprintf("a person has denied these calls until the session ends, so it was not run: %s", g.Text)
	}
	if c.concern.Danger == approval.Protected {
		return c.concern.Why + "; no tool may touch it, so the call was not run"
	}
	return "this tool is not allowed here, so it was not run"
}

// questionAbout is what is known of a call before its host has looked at it.
func (s *state) questionAbout(c *toolCall) approval.Question {
	return approval.Question{Tool: c.tool, Operator: s.cfg.Rules, Session: s.view.Session.Rules, Mode: s.view.Session.Mode}
}

// maxResolved bounds what is remembered of questions that are over.
const maxResolved = 1000

// question opens a question about a call. What is too large to be shown whole cannot be approved.
func (s *state) question(c *toolCall) fact {
	arguments := c.Input
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	now, m := s.cfg.Now(), s.run.model
	q := feed.Confirm{ID: session.NewConfirmID(), Reply: s.run.round.reply, Block: c.Number, CallID: c.ID, Name: c.Name, Arguments: arguments,
		Title: c.tool.Label(), Message: c.tool.Wish(cmp.Or(m.Name, m.Ref())),
		Origin: feed.Origin{Provider: m.Provider, Model: m.ID, Host: c.tool.Host, Server: c.tool.Server(), Effect: cmp.Or(c.tool.Effect, tool.Other), Folder: s.view.Session.CWD},
		Parts:  c.would.Show(arguments), Grants: approval.Grants(c.tool, c.would), Denials: approval.Denials(c.tool, c.would),
		Actions: []session.Action{session.AllowOnce, session.AllowSession, session.Deny}}
	if !s.cfg.Limits.ConfirmPark {
		q.Until = now.Add(s.cfg.Limits.ConfirmTime).UnixMilli()
	}
	c.asked = &question{asked: now}
	if size, limit := partsSize(q.Parts), s.cfg.Limits.ConfirmBytes; size > limit {
		c.asked.tooLarge = fmt.Sprintf("a person has to see all of a call to approve it, and this one has %d bytes of at most %d that can be shown; make it smaller", size, limit)
		q.Parts, q.Grants, q.Limit, q.Actions = []approval.Part{}, []tool.Grant{}, limit, []session.Action{session.Deny}
		q.Message += fmt.Sprintf(" The call has %d bytes; at most %d can be shown and approved, so it can only be denied.", size, limit)
	}
	if d := c.concern.Danger; d > approval.NoDanger {
		q.Message += fmt.Sprintf(" Caution: %s.", c.concern.Why)
		if d > approval.Broad && q.Limit == 0 { // no standing grant covers the next call
			q.Grants, q.Actions = []tool.Grant{}, []session.Action{session.AllowOnce, session.Deny}
		}
	}
	c.asked.Confirm = q
	return fact{s.run.ID, nil, q}
}

func (s *state) questioned(confirm string) *toolCall {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if c.asked != nil && c.asked.ID == confirm {
			return c
		}
	}
	return nil
}

// resolve closes a question. The caller runs or refuses the call. grant is the standing answer that comes with it; nil: there is none.
func (s *state) resolve(c *toolCall, action session.Action, grant *tool.Grant, by feed.By, client string) []fact {
	id := c.asked.ID
	c.asked = nil
	if len(s.resolved) >= maxResolved {
		clear(s.resolved)
	}
	s.resolved[id] = true
	facts := []fact{{s.run.ID, session.NewVerdict(id, c.Name, action, string(by), grant), feed.ConfirmResolved{ID: id, Action: action, By: by, Client: client, Grant: grant}}}
	if grant != nil {
		list := grant.AddTo(s.view.Grants)
		facts = append(facts, fact{"", nil, feed.SessionUpdate{Grants: &list}})
	}
	return facts
}

// refusal is the facts of a call that was not approved. standing is the denial that comes with the refusal; nil: there is none.
func (s *state) refusal(c *toolCall, standing *tool.Grant, by feed.By, client, why string) []fact {
	why = cmp.Or(c.asked.tooLarge, why)
	return append(s.resolve(c, session.Deny, standing, by, client), s.answer(c, tool.Failed(c.ID, why))...)
}

// refusedWhere is the facts of the open questions about calls that nobody can allow any more.
func (s *state) refusedWhere(refused func(*toolCall) bool, by feed.By, client, why string) (facts []fact) {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if c.asked != nil && refused(c) {
			facts = append(facts, s.refusal(c, nil, by, client, why)...)
		}
	}
	return facts
}

// refusedBy is the facts of the open questions about calls that a mode refuses.
func (s *state) refusedBy(m tool.Mode) []fact {
	facts := s.refusedWhere(func(c *toolCall) bool {
		q := s.questionAbout(c)
		q.Mode = m
		return q.Rule() == tool.Deny
	}, feed.ByMode, "", fmt.Sprintf("the session was set to the tool mode %s, so this call was not run", m))
	if len(facts) > 0 {
		facts = append(s.resumed(session.ResumedByAnswer), facts...)
	}
	return facts
}

// keptQuestion is what the log has of a question: [session.Asked.Shown].
type keptQuestion struct {
	Confirm  feed.Confirm `json:"confirm"`
	Danger   int          `json:"danger,omitempty"`
	Place    string       `json:"place,omitempty"`
	Concern  string       `json:"concern,omitempty"`
	TooLarge string       `json:"too_large,omitempty"`
}

// questions are the open questions of the running turn, if it waits for nothing else.
func (s *state) questions() (asked []session.Asked) {
	for _, c := range s.run.round.calls {
		switch {
		case c.done:
			continue
		case c.asked == nil:
			return nil
		}
		shown, err := json.Marshal(keptQuestion{c.asked.Confirm, int(c.concern.Danger), c.concern.Place, c.concern.Why, c.asked.tooLarge})
		if err != nil {
			s.run.log.Error("a question cannot be kept", "err", err)
			return nil
		}
		asked = append(asked, session.Asked{Block: c.Number, Shown: shown})
	}
	return asked
}

// restoreRound makes the calls of a turn that is parked for an answer. Each has its result or its question.
func (s *state) restoreRound(asked []session.Asked, now time.Time) error {
	r := s.run
	open := r.Turn.Unanswered()
	if len(open) == 0 || len(open) != len(asked) {
		return fmt.Errorf("%w: turn %s is parked with %d questions about %d calls", session.ErrDamaged, r.ID, len(asked), len(open))
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	calls := r.Turn.Message(open[0].Reply).Calls()
	rd := &round{reply: open[0].Reply, results: open[0].Message, left: len(open), ctx: ctx, stop: stop,
		news: make(chan func(), 1+len(calls)), grew: make(chan struct{}, 1)}
	for i, call := range calls {
		c := &toolCall{Call: call, index: i, announced: true, done: true}
		if t := s.tool(call.Name); t != nil {
			c.tool = s.believed(*t)
		}
		at := slices.IndexFunc(asked, func(a session.Asked) bool { return a.Block == call.Number })
		if at >= 0 {
			var kept keptQuestion
			if err := json.Unmarshal(asked[at].Shown, &kept); err != nil {
				return fmt.Errorf("%w: a question of turn %s: %w", session.ErrDamaged, r.ID, err)
			}
			c.announced, c.done = false, false
			c.concern = approval.Concern{Danger: approval.Danger(kept.Danger), Place: kept.Place, Why: kept.Concern}
			c.asked = &question{kept.Confirm, now, kept.TooLarge}
		}
		rd.calls = append(rd.calls, c)
	}
	r.round = rd
	return nil
}

// confirms lists the open questions.
func (s *state) confirms() (open []feed.Confirm) {
	if s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if c.asked != nil {
			open = append(open, c.asked.Confirm)
		}
	}
	return open
}

// beginCall is the facts of a call that is about to run.
func (s *state) beginCall(c *toolCall) []fact {
	c.announced, c.begun = true, s.cfg.Now()
	rd := s.run.round
	return []fact{{s.run.ID, session.ToolStart{Message: rd.reply, Block: c.Number}, toolStart(rd.reply, c.Call, c.tool.Host, c.tool.Title)}}
}

// answer is the facts of the result of a call.
func (s *state) answer(c *toolCall, result provider.ToolResult) []fact {
	rd := s.run.round
	fault := ""
	if result.Failed {
		fault = report.ToolFailed
	}
	s.ran(c, fault)
	c.done = true
	rd.left--
	if c.stop != nil {
		c.stop()
	}
	var facts []fact
	if !c.announced {
		c.announced = true
		facts = append(facts, fact{s.run.ID, nil, toolStart(rd.reply, c.Call, "", c.tool.Title)})
	}
	if rest := c.output.Take(); rest != "" {
		facts = append(facts, fact{s.run.ID, nil, feed.ToolOutput{CallID: c.ID, Chunk: rest}})
	}
	end := session.ToolEnd{Message: rd.results, Number: c.index, Reply: rd.reply, CallID: c.ID,
		Content: s.result(result.Blocks), Failed: result.Failed}
	if !c.begun.IsZero() {
		end.DurationMS = s.cfg.Now().Sub(c.begun).Milliseconds()
	}
	facts = append(facts, fact{s.run.ID, end, feed.ToolEnd{ToolEnd: end}})
	if plan, ok := todo.Written(c.Name, c.Input, result.Failed); ok && c.tool.Host == tool.Builtin {
		facts = append(facts, fact{s.run.ID, nil, feed.Plan{Items: plan}})
	}
	return facts
}

// result stores the media of a tool's result, which goes on without those that cannot be stored.
func (s *state) result(content provider.Blocks) provider.Blocks {
	fitting := transcript.Result(media.For(s.run.provider, s.run.model), content, s.cfg.Limits.ToolOutput)
	kept, err := transcript.KeepMedia(s.cfg.Blobs, fitting)
	if err == nil {
		return kept
	}
	s.log.Warn("the media of a result could not be stored", "err", err)
	return transcript.WithoutMedia(fitting)
}

// ran tells of a call of a tool that is over, if it had begun.
func (s *state) ran(c *toolCall, fault string) {
	if s.cfg.Ran == nil || c.begun.IsZero() {
		return
	}
	s.cfg.Ran(report.Tool{Session: s.id, Turn: s.run.ID, Name: c.Name, CallID: c.ID, Client: c.tool.Host == tool.Client,
		Begun: c.begun, Ended: s.cfg.Now(), Fault: fault})
}

// OpenTool is a running call.
type OpenTool struct {
	feed.ToolStart
	Output string `json:"output,omitempty"` // the end of its output so far
}

// openTools lists the calls that run.
func (s *state) openTools() (open []OpenTool) {
	if s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if !c.done && !c.begun.IsZero() {
			open = append(open, OpenTool{toolStart(s.run.round.reply, c.Call, c.tool.Host, c.tool.Title), c.output.Tail()})
		}
	}
	return open
}

// hosted finds a call that waits for a client's result.
func (s *state) hosted(callID string) *toolCall {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	i := slices.IndexFunc(s.run.round.calls, func(c *toolCall) bool {
		return c.ID == callID && !c.done && !c.begun.IsZero() && c.tool.Host == tool.Client
	})
	if i < 0 {
		return nil
	}
	return s.run.round.calls[i]
}
