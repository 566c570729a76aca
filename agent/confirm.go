package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/session"
)

var (
	// ErrNoConfirm says that a question is none of this session's.
	ErrNoConfirm = errors.New("no such question")

	// ErrNoAction says that an answer is none of those that the question has.
	ErrNoAction = errors.New("the question has no such action")
)

// question is a Confirm that nobody has answered yet.
type question struct {
	Confirm
	asked time.Time // silence is a no by this, and Until is for people: their clock may be set meanwhile
}

// maxResolved bounds what is remembered of questions that are over.
const maxResolved = 1000

// question opens a question about a call.
func (s *state) question(c *toolCall) fact {
	arguments := c.Input
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	effect := map[tool.Effect]string{tool.Read: "read something", tool.Edit: "change something", tool.Run: "run something"}[c.tool.Effect]
	message := "The model wants to use " + c.tool.Label() + "."
	if effect != "" {
		message = fmt.Sprintf("The model wants to %s with %s.", effect, c.tool.Label())
	}
	now := time.Now()
	c.asked = &question{asked: now, Confirm: Confirm{ID: session.NewConfirmID(), Reply: s.run.round.reply, Block: c.Number, CallID: c.ID, Name: c.Name, Arguments: arguments, Title: c.tool.Label(),
		Message: message, Actions: []session.Action{session.AllowOnce, session.AllowSession, session.Deny},
		Until: now.Add(s.cfg.Limits.ConfirmTime).UnixMilli()}}
	return fact{s.run.ID, nil, c.asked.Confirm}
}

// resolve closes a question; what follows of it is the caller's.
func (s *state) resolve(c *toolCall, action session.Action, by By, client string) fact {
	id := c.asked.ID
	c.asked = nil
	if len(s.resolved) >= maxResolved {
		clear(s.resolved)
	}
	s.resolved[id] = true
	return fact{s.run.ID, session.Verdict{Confirm: id, Tool: c.Name, Action: action, By: string(by)}, ConfirmResolved{id, action, by, client}}
}

// Answer resolves a question about a call; client is the name of who answers. It reports whether this was the answer
// that counts: the first one is, if it comes in time. ErrNoConfirm for an id that the daemon did not give, ErrNoAction.
// The verdict is on disk when it returns.
func (a *Agent) Answer(ctx context.Context, confirm string, action session.Action, client string) (bool, error) {
	return ask(ctx, a, func(s *state) (bool, error) {
		c := s.questioned(confirm)
		switch {
		case c == nil && s.resolved[confirm]:
			return false, nil
		case c == nil:
			return false, ErrNoConfirm
		case !slices.Contains(c.asked.Actions, action):
			return false, ErrNoAction
		case action == session.Deny:
			s.refuse(c, ByClient, client, "a person did not allow this call, so it was not run")
			return s.ended == nil, s.ended
		}
		facts := append([]fact{s.resolve(c, action, ByClient, client)}, s.beginCall(c)...)
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
	s.refuse(c, ByTimeout, "", "nobody allowed this call in time, so it was not run")
}

func (s *state) refuse(c *toolCall, by By, client, why string) {
	facts := append([]fact{s.resolve(c, session.Deny, by, client)}, s.answer(c, tool.Failed(c.ID, why))...)
	if s.record(facts...) == nil {
		s.goOn()
	}
}

// confirms lists the open questions.
func (s *state) confirms() (open []Confirm) {
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
		s.tell("", SessionUpdate{Status: s.status()})
	}
}
