package forecast

import (
	"slices"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/quote"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// answer is a message of a model whose call its vendor has counted.
type answer struct {
	*session.Message
	turn, index int // of its turn in the view, and of it in the turn
}

// counted is the last answer in the view that a vendor has counted since the last compaction: the last one of the model, if it has
// any.
func counted(v *session.View, model session.ModelRef) (a answer, same, ok bool) {
	first, _ := v.Rest()
	for i := len(v.Turns) - 1; i >= first; i-- {
		t := v.Turns[i]
		if t.Start == nil {
			continue
		}
		for j, m := range slices.Backward(t.Messages) {
			if !isCounted(m) || v.Rebound(m) {
				continue
			}
			if t.By(m).Model == model {
				return answer{m, i, j}, true, true
			}
			if !ok {
				a, ok = answer{m, i, j}, true
			}
			break
		}
	}
	return a, false, ok
}

func isCounted(m *session.Message) bool {
	return m.End != nil && m.End.Usage.Input > 0 && !m.End.Usage.Estimated
}

// until is the view as it was before an answer.
func (a answer) until(v *session.View) *session.View {
	before, t := *v, *v.Turns[a.turn]
	t.Messages, t.End = t.Messages[:a.index:a.index], nil
	before.Turns = append(slices.Clone(v.Turns[:a.turn]), &t)
	return &before
}

// thought is how many tokens of thinking a message of a model has, by its vendor's count.
func thought(m *session.Message) int {
	if m.End == nil || m.End.Usage.Reasoning == nil {
		return 0
	}
	return *m.End.Usage.Reasoning
}

// returned is how many tokens of the thinking of a message go back with a request.
func returned(api provider.Returner, req *provider.Request, m *session.Message) int {
	tokens := thought(m)
	if api == nil || tokens == 0 {
		return 0
	}
	for _, p := range m.Parts {
		if b, ok := p.Block.(provider.Thinking); ok && api.Returns(req, b, m.End.State, len(m.Calls()) > 0) {
			return tokens
		}
	}
	return 0
}

// enough is how many tokens of thinking a turn needs to show whether they count for the next one. Half of what else was added comes on
// top, since that is not counted exactly.
const enough = 100

// keepsThinking reports whether the vendor counts the thinking of earlier turns as input, by the newest two turns of the model that
// show it. Some take it out of the prompt when the next turn begins.
func keepsThinking(v *session.View, model session.ModelRef, returned func(*session.Message) int) bool {
	first, _ := v.Rest()
	for i := len(v.Turns) - 1; i > first; i-- {
		t, before := v.Turns[i], v.Turns[i-1]
		if t.Start == nil || before.Start == nil || t.Start.Model != model || before.Start.Model != model {
			continue
		}
		var last, next *session.Message
		all, said := 0, 0
		for _, m := range before.Messages {
			if m.Role == provider.Assistant && isCounted(m) {
				last, said = m, 0
				all += returned(m)
			} else {
				said += characters(m)
			}
		}
		for _, m := range t.Messages {
			if m.Role == provider.Assistant {
				next = m
				break
			}
			said += characters(m)
		}
		if last == nil || next == nil || !isCounted(next) || v.Rebound(last) || v.Rebound(next) {
			continue
		}
		own, added := returned(last), last.End.Usage.Sent().Output-thought(last)+budget.Tokens(said)
		if all < enough+added/2 || before.By(last).Model != model || t.By(next).Model != model {
			continue
		}
		grown := next.End.Usage.Sent().Input - last.End.Usage.Sent().Input - added
		// grown is own if all thinking stays, and own - all if none does.
		return 2*grown >= 2*own-all
	}
	return true
}

func characters(m *session.Message) (n int) {
	for _, p := range m.Parts {
		n += transcript.Characters(provider.Blocks{p.Block})
	}
	return n
}

// turns are those of the view that have ended, as their vendors counted them.
func turns(v *session.View) (list []quote.Turn) {
	for _, t := range v.Turns {
		if t.Start == nil || t.End == nil || t.Released {
			continue
		}
		q, first := quote.Turn{Level: t.Start.Reasoning.Effective}, 0
		for _, m := range t.Messages {
			if m.End == nil || m.End.Usage.Input+m.End.Usage.Output == 0 {
				continue
			}
			u := m.End.Usage
			if q.Calls == nil {
				first = u.Input
			}
			q.Calls = append(q.Calls, quote.Call{Grown: max(u.Input-first, 0), Said: max(u.Output-thought(m), 0), Thought: thought(m)})
		}
		if q.Calls != nil && t.End.StopReason != session.StopCancelled && t.End.StopReason != session.StopInterrupted {
			list = append(list, q)
		}
	}
	return list
}

// steady reports whether the vendor's cache had at least half of the prompt before in each of the newest calls of the model, and there
// were some. Calls after a pause or a change do not show anything.
func steady(v *session.View, model session.ModelRef) bool {
	seen := 0
	for _, t := range slices.Backward(v.Turns) {
		if t.Start == nil || t.Start.Model != model || t.Released {
			break
		}
		before := 0
		for _, m := range t.Messages { // calls of one turn follow each other at once
			if !isCounted(m) {
				continue
			}
			if t.By(m).Model != model { // a fallback
				break
			}
			u := m.End.Usage.Sent()
			if before > 0 {
				if seen++; u.Cached < before/2 {
					return false
				}
			}
			before = u.Input
		}
		if seen >= 10 {
			break
		}
	}
	return seen >= 3
}
