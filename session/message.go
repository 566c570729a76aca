package session

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Part is a block with its number.
type Part struct {
	Number int
	Block  provider.Block
}

// Message is one message of a turn. A message of the model is open until its MessageEnd.
type Message struct {
	ID    MessageID
	Turn  TurnID
	Role  provider.Role
	Time  int64 // Unix milliseconds: when its first entry was stored
	Parts []Part
	End   *MessageEnd // nil: a prompt, results of tools, or still open

	Begun   []int     // numbers of its calls that were started
	Answers MessageID // the reply whose results it has; empty: none

	place place // of the last entry that changed it
	next  int   // greater than the number of each part
	calls int   // parts that are tool calls
}

// Call is a tool call in its place.
type Call struct {
	Number int // of its block
	provider.ToolCall
}

// Answer returns the result of a call by its number, nil if it has none.
func (m *Message) Answer(number int) provider.Block {
	if m == nil {
		return nil
	}
	if at, found := m.find(number); found {
		return m.Parts[at].Block
	}
	return nil
}

// Calls lists the tool calls of a message, in order.
func (m *Message) Calls() []Call {
	var calls []Call
	for _, p := range m.Parts {
		if call, ok := p.Block.(provider.ToolCall); ok {
			calls = append(calls, Call{p.Number, call})
		}
	}
	return calls
}

// A model may write thousands of calls in one reply, and each is looked up: has and add do not walk all parts where these come
// in order.

// has reports whether a block is sealed, or a call has its result.
func (m *Message) has(number int) bool {
	if number >= m.next {
		return false
	}
	if m.Answers != "" {
		_, found := m.find(number)
		return found
	}
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Number == number })
}

// find is the index of a result, or where it belongs: results are in the order of their numbers.
func (m *Message) find(number int) (at int, found bool) {
	return slices.BinarySearchFunc(m.Parts, number, func(p Part, n int) int { return cmp.Compare(p.Number, n) })
}

func (m *Message) add(p Part) { m.insert(len(m.Parts), p) }

func (m *Message) insert(at int, p Part) {
	m.Parts = slices.Insert(m.Parts, at, p)
	m.next = max(m.next, p.Number+1)
	if _, call := p.Block.(provider.ToolCall); call {
		m.calls++
	}
}

// remove takes parts out.
func (m *Message) remove(numbers []int) {
	m.Parts = slices.DeleteFunc(m.Parts, func(p Part) bool { return slices.Contains(numbers, p.Number) })
	m.calls = len(m.Calls())
}

// cite gives texts their sources that were named behind their ends.
func (m *Message) cite(list []Cited) {
	for _, cited := range list {
		for i, p := range m.Parts {
			if text, ok := p.Block.(provider.Text); ok && p.Number == cited.Block {
				text.Sources = cited.Sources
				m.Parts[i].Block = text
			}
		}
	}
}

// place is where in the logs of a session something was said last.
type place struct {
	span int    // index of the log in Session.Shared; behind the last: its own
	at   uint64 // position
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.span, q.span), cmp.Compare(p.at, q.at))
}

func later(p, q place) place {
	if p.compare(q) < 0 {
		return q
	}
	return p
}
