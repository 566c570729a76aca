package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

// requests checks the requests that were sent. Each one alone must satisfy a strict vendor. What one request says of earlier turns,
// all later ones must repeat, except what a summary replaces. Changes of effort are repeated to the model that had them, if its
// vendor has a form for that.
func (l *life) requests(view *session.View, prompts map[session.TurnID]string) error {
	refused := make(map[string]int) // prompt of a refused turn: the last request that may have it
	asked := func(m provider.Message) string {
		if t, ok := m.Blocks[0].(provider.Text); ok && m.Role == provider.User {
			return t.Text
		}
		return ""
	}
	steered := make(map[string]bool) // prompts that stand inside the turn of another
	for _, t := range view.Turns {
		if t.Into != "" {
			steered[prompts[t.ID]] = true
		}
		if t.End.StopReason == session.StopRefusal && t.Prompt.Continues == nil {
			refused[prompts[t.ID]] = -1
		}
	}
	// After a refusal a request may lack what was said last: on trial, or for good. What is left keeps its order.
	lost := l.fake.refused
	var shared []string                          // of the turns before that of the last request, see withoutCourse
	before := make(map[string][]string)          // of these turns, for each courseOf
	efforts := make(map[string][]provider.Level) // in front of these, by model
	summary := ""                                // that the last request had in place of what was said first, with pinned messages
	for i, req := range l.fake.requests {
		if err := acceptable(req.Messages); err != nil {
			return fmt.Errorf("request %d: %w\n%+v", i, err, req.Messages)
		}
		if len(req.Messages) == 0 {
			return fmt.Errorf("request %d of %d has no message", i, len(l.fake.requests))
		}
		if req.System == transcript.AskSummary || slices.ContainsFunc(req.Messages, func(m provider.Message) bool { return strings.Contains(asked(m), inFork) }) {
			continue
		}
		head := ""
		if at := slices.IndexFunc(req.Messages, func(m provider.Message) bool { return strings.HasPrefix(asked(m), transcript.AboveSummary) }); at >= 0 {
			head = fmt.Sprint(req.Messages[:at+1])
		}
		if head != summary {
			shared, summary = nil, head
			clear(before)
			clear(efforts)
		}
		messages, effort, err := partEfforts(req.Messages)
		if err != nil {
			return err
		}
		plain, _, err := partEfforts(withoutCourse(req.Messages))
		if err != nil {
			return err
		}
		course := courseOf(req)
		if lost {
			err = inOrder(shared, plain)
		} else if err = extends(before[course], messages); err == nil {
			err = extends(shared, plain)
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		own := len(req.Messages) - 1
		for own > 0 && (!strings.HasPrefix(asked(req.Messages[own]), "prompt") || steered[asked(req.Messages[own])]) {
			own--
		}
		for _, m := range req.Messages[:own] {
			if _, ok := refused[asked(m)]; ok {
				return fmt.Errorf("request %d has a refused turn: %s", i, asked(m))
			}
		}
		before[course], shared = messages[:own], plain[:len(withoutCourse(req.Messages[:own]))]
		if !req.Model.Thinking.InPlace || req.Decision.Control.Mode != provider.ModeEffort {
			continue
		}
		model := req.Model.Ref()
		if told := efforts[model]; !lost && (len(told) > len(effort) || !slices.Equal(told, effort[:len(told)])) {
			return fmt.Errorf("request %d has not the changes of effort that were said before: %q, %q", i, effort, told)
		}
		efforts[model] = effort[:own]
	}
	return nil
}

// courseOf names the requests that must repeat each other to the letter: those to one model that all may contain changes of effort, or
// that all contain none.
func courseOf(req *provider.Request) string {
	return fmt.Sprint(req.Model.Ref(), transcript.Changes(req.Model, req.Decision))
}

// withoutCourse is what all models get alike. Two models may get changes of effort in different places, and thus the messages
// that carry them. Thinking that is bound to such a message goes to no other model.
func withoutCourse(messages []provider.Message) (shared []provider.Message) {
	for _, m := range messages {
		if text, ok := m.Blocks[0].(provider.Text); ok && m.Role == provider.User && (text.Text == transcript.GoOn || text.Text == transcript.Proceed) {
			continue
		}
		if blocks := transcript.WithoutThinking(m.Blocks); len(blocks) > 0 {
			shared = append(shared, provider.Message{Role: m.Role, Blocks: blocks})
		}
	}
	return shared
}

// extends checks that a request begins with the messages of an earlier one.
func extends(before, now []string) error {
	if len(before) > len(now) || !slices.Equal(before, now[:len(before)]) {
		return fmt.Errorf("it has not what was sent before (-before +now):\n%s", testgo.Excerpt(cmp.Diff(before, now)))
	}
	return nil
}

// inOrder checks that the prompts that two requests have in common stand in the same order. Answers say nothing here: one
// whose thinking goes to another model no more may read as another one did.
func inOrder(before, now []string) error {
	at := 0
	for _, m := range now {
		if !strings.HasPrefix(m, `{"role":"user"`) || count(before, m) != 1 || count(now, m) != 1 {
			continue
		}
		i := 0
		if i = slices.Index(before[at:], m); i < 0 {
			return fmt.Errorf("a message stands elsewhere than before: %s", m)
		}
		at += i + 1
	}
	return nil
}

func count(list []string, s string) (n int) {
	for _, other := range list {
		if other == s {
			n++
		}
	}
	return n
}

// heard checks that each result of a call was sent to a model if its turn went on after it.
func (l *life) heard(view *session.View) error {
	told := make(map[string]bool)
	for _, req := range l.fake.requests {
		for _, m := range req.Messages {
			for _, b := range m.Blocks {
				if r, ok := b.(provider.ToolResult); ok {
					told[r.CallID] = true
				}
			}
		}
	}
	for _, t := range view.Turns {
		for i, m := range t.Messages {
			if m.Answers == "" || !slices.ContainsFunc(t.Messages[i:], func(later *session.Message) bool { return later.Role == provider.Assistant }) {
				continue
			}
			for _, p := range m.Parts {
				if r, ok := p.Block.(provider.ToolResult); ok && !told[r.CallID] {
					return fmt.Errorf("turn %s went on after the result of %s, which was sent to no model", t.ID, r.CallID)
				}
			}
		}
	}
	return nil
}

// partEfforts is messages as the log spells them, and the changes of effort in front of them.
func partEfforts(messages []provider.Message) (plain []string, efforts []provider.Level, err error) {
	for _, m := range messages {
		efforts = append(efforts, m.Effort)
		m.Effort = ""
		data, err := json.Marshal(m)
		if err != nil {
			return nil, nil, err
		}
		plain = append(plain, string(data))
	}
	return plain, efforts, nil
}

// acceptable is what vendors check.
func acceptable(messages []provider.Message) error {
	open := make(map[string]bool) // calls that the next message must answer
	for i, m := range messages {
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		answered := len(open)
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case provider.Thinking:
				if b.State.IsZero() {
					return fmt.Errorf("message %d has unsigned thinking", i)
				}
			case provider.ToolResult:
				if !open[b.CallID] {
					return fmt.Errorf("message %d answers %q, which was not called or was answered", i, b.CallID)
				}
				delete(open, b.CallID)
				answered--
			}
			if s := blockText(b); strings.Contains(s, "garbage") {
				return fmt.Errorf("message %d has %q", i, s)
			}
		}
		if answered > 0 {
			return fmt.Errorf("message %d leaves calls without a result: %v", i, open)
		}
		if m.Role != provider.Assistant {
			continue
		}
		for _, b := range m.Blocks {
			if call, ok := b.(provider.ToolCall); ok {
				open[call.ID] = true
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without a result: %v", open)
	}
	return nil
}
