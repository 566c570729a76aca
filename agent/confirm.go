package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/session"
)

var (
	// ErrNoConfirm says that a question is none of this session's.
	ErrNoConfirm = errors.New("no such question")

	// ErrNoAction says that an answer is none of those that the question has.
	ErrNoAction = errors.New("the question has no such action")

	// ErrNoGrant says that an answer gives a grant that the question does not have, or denies the call with it.
	ErrNoGrant = errors.New("the question has no such grant")
)

// question is a Confirm that nobody has answered yet.
type question struct {
	feed.Confirm
	asked    time.Time // silence is a no by this, and Until is for people: their clock may be set meanwhile
	tooLarge string    // why the call can only be denied, for the model; empty: it can be allowed
}

// maxResolved bounds what is remembered of questions that are over.
const maxResolved = 1000

// question opens a question about a call. What is too large to be shown whole cannot be approved.
func (s *state) question(c *toolCall) fact {
	arguments := c.Input
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	now, m := time.Now(), s.run.model
	q := feed.Confirm{ID: session.NewConfirmID(), Reply: s.run.round.reply, Block: c.Number, CallID: c.ID, Name: c.Name, Arguments: arguments,
		Title: c.tool.Label(), Message: c.tool.Wish(cmp.Or(m.Name, m.Ref())),
		Origin: feed.Origin{Provider: m.Provider, Model: m.ID, Host: c.tool.Host, Server: c.tool.Server(), Effect: cmp.Or(c.tool.Effect, tool.Other), Folder: s.view.Session.CWD},
		Parts:  c.would.Show(arguments), Grants: tool.Grants(c.tool, c.would),
		Actions: []session.Action{session.AllowOnce, session.AllowSession, session.Deny}, Until: now.Add(s.cfg.Limits.ConfirmTime).UnixMilli()}
	c.asked = &question{asked: now}
	if size, limit := partsSize(q.Parts), s.cfg.Limits.ConfirmBytes; size > limit {
		c.asked.tooLarge = fmt.Sprintf("a person has to see all of a call to approve it, and this one has %d bytes of at most %d that can be shown; make it smaller", size, limit)
		q.Parts, q.Grants, q.Limit, q.Actions = []tool.Part{}, []tool.Grant{}, limit, []session.Action{session.Deny}
		q.Message += fmt.Sprintf(" The call has %d bytes; at most %d can be shown and approved, so it can only be denied.", size, limit)
	}
	if d := c.concern.Danger; d > tool.NoDanger {
		q.Message += fmt.Sprintf(" Caution: %s.", c.concern.Why)
		if d > tool.Broad && q.Limit == 0 { // no standing grant covers the next call
			q.Grants, q.Actions = []tool.Grant{}, []session.Action{session.AllowOnce, session.Deny}
		}
	}
	c.asked.Confirm = q
	return fact{s.run.ID, nil, q}
}

// partsSize is the bytes of parts as clients get them.
func partsSize(parts []tool.Part) int {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings alone
	}
	return len(text)
}

// resolve closes a question; what follows of it is the caller's. grant may be nil.
func (s *state) resolve(c *toolCall, action session.Action, grant *tool.Grant, by feed.By, client string) []fact {
	id := c.asked.ID
	c.asked = nil
	if len(s.resolved) >= maxResolved {
		clear(s.resolved)
	}
	s.resolved[id] = true
	facts := []fact{{s.run.ID, session.Verdict{Confirm: id, Tool: c.Name, Action: action, By: string(by), Grant: grant}, feed.ConfirmResolved{ID: id, Action: action, By: by, Client: client, Grant: grant}}}
	if grant != nil {
		list := grant.AddTo(s.view.Grants)
		facts = append(facts, fact{"", nil, feed.SessionUpdate{Grants: &list}})
	}
	return facts
}

// Ruling is an answer to the question about a call.
type Ruling struct {
	Action session.Action
	Grant  string // the id of one of the question's grants that is given with AllowOnce; empty: none is
	Reason string // of Deny, for the model
	Client string // the name of who answers
}

// Answer resolves a question about a call. It reports whether this was the answer that counts: the first one is, if it
// comes in time. ErrNoConfirm for an id that the daemon did not give, ErrNoAction, ErrNoGrant. The verdict is on disk when
// it returns.
func (a *Agent) Answer(ctx context.Context, confirm string, r Ruling) (bool, error) {
	return ask(ctx, a, func(s *state) (bool, error) {
		c := s.questioned(confirm)
		switch {
		case c == nil && s.resolved[confirm]:
			return false, nil
		case c == nil:
			return false, ErrNoConfirm
		case !slices.Contains(c.asked.Actions, r.Action):
			return false, ErrNoAction
		}
		grant, err := c.asked.grant(r)
		if err != nil {
			return false, err
		}
		if r.Action == session.Deny {
			why := "a person did not allow this call, so it was not run"
			if r.Reason != "" {
				why += ": " + r.Reason
			}
			s.refuse(c, feed.ByClient, r.Client, why)
			return s.ended == nil, s.ended
		}
		facts := append(s.resolve(c, r.Action, grant, feed.ByClient, r.Client), s.beginCall(c)...)
		if err := s.record(facts...); err != nil {
			return false, err
		}
		s.launch(c)
		if s.run != nil {
			s.tellWaiting()
		}
		return true, s.ended
	})
}

// grant is the grant that an answer gives, nil if it gives none. It has the id of its question: a question has one answer.
func (q *question) grant(r Ruling) (*tool.Grant, error) {
	id := r.Grant
	switch {
	case r.Action == session.AllowSession && id == "":
		id = tool.ToolGrant
	case id == "":
		return nil, nil
	case r.Action == session.Deny || r.Action == session.AllowSession && id != tool.ToolGrant:
		return nil, ErrNoGrant
	}
	for _, g := range q.Grants {
		if g.ID == id {
			g.ID = q.ID
			return &g, nil
		}
	}
	return nil, ErrNoGrant
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

// decline is the answer of nobody.
func (s *state) decline(c *toolCall) {
	s.refuse(c, feed.ByTimeout, "", "this call was not allowed in time, so it did not run")
}

func (s *state) refuse(c *toolCall, by feed.By, client, why string) {
	if s.record(s.refusal(c, by, client, why)...) == nil {
		s.goOn()
	}
}

// refusal is what is kept and told of a call that was not approved.
func (s *state) refusal(c *toolCall, by feed.By, client, why string) []fact {
	why = cmp.Or(c.asked.tooLarge, why)
	return append(s.resolve(c, session.Deny, nil, by, client), s.answer(c, tool.Failed(c.ID, why))...)
}

// refusedBy is what is kept and told of the open questions that a mode answers: what it refuses, nobody can allow.
func (s *state) refusedBy(m tool.Mode) (facts []fact) {
	if s.run == nil || s.run.round == nil {
		return nil
	}
	for _, c := range s.run.round.calls {
		if c.asked == nil {
			continue
		}
		q := s.questionAbout(c)
		if q.Mode = m; q.Rule() == tool.Deny {
			facts = append(facts, s.refusal(c, feed.ByMode, "", fmt.Sprintf("the session was set to the tool mode %s, so this call was not run", m))...)
		}
	}
	return facts
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

// waitsForPeople reports whether nothing goes on but what waits for a person or a client.
func (s *state) waitsForPeople() bool {
	if s.run == nil || s.run.round == nil || s.run.round.left == 0 {
		return false
	}
	return !slices.ContainsFunc(s.run.round.calls, func(c *toolCall) bool {
		return !c.done && c.asked == nil && (c.begun.IsZero() || c.tool.Host != tool.Client)
	})
}

// tellWaiting tells when the turn begins to wait for people, and when it goes on.
func (s *state) tellWaiting() {
	if waits := s.waitsForPeople(); waits != s.run.waits {
		s.run.waits = waits
		s.tell("", feed.SessionUpdate{Status: s.status()})
	}
}
