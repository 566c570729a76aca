package structured

import (
	"iter"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// toolName is the name of the tool, unless the session has one of that name.
const toolName = "final_answer"

const toolDescription = "Gives the answer to the user. Call it exactly once, at the end, with the whole answer; write no other text."

// Name returns a name for the tool that none of the others has.
func Name(others []provider.Tool) string {
	name := toolName
	for slices.ContainsFunc(others, func(t provider.Tool) bool { return t.Name == name }) {
		name += "_"
	}
	return name
}

// Ask has the model answer by a call of the tool, in place of the schema in the request's options. With force, the model must call it.
func Ask(req *provider.Request, force bool) {
	schema := req.Options.Schema
	if schema == nil {
		return
	}
	t := provider.Tool{Name: Name(req.Tools), Description: toolDescription, Schema: schema.Schema}
	req.Tools = append(slices.Clip(req.Tools), t)
	if req.Options.Schema = nil; force {
		req.Options.ToolChoice = provider.ToolChoice(t.Name)
	}
}

// Read turns calls of the tool into texts. Its growth is not passed on, because vendors may write arguments in another way at their end;
// a sign of life comes in its place.
func Read(events iter.Seq2[provider.Event, error], tool string) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		r := reader{tool: tool, begun: map[int]provider.Begin{}}
		for event, err := range events {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range r.event(event) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

type reader struct {
	tool   string
	begun  map[int]provider.Begin // calls that may be of the tool
	others bool                   // calls of other tools
	answer bool                   // the tool was called
	told   time.Time              // when the last sign of life came
}

// alive is a sign of life, at most one a second.
func (r *reader) alive() []provider.Event {
	if now := time.Now(); now.Sub(r.told) >= time.Second {
		r.told = now
		return []provider.Event{provider.Alive{}}
	}
	return nil
}

func (r *reader) event(event provider.Event) []provider.Event {
	switch e := event.(type) {
	case provider.Begin:
		call, ok := e.Block.(provider.ToolCall)
		if !ok {
			return []provider.Event{e}
		}
		if call.Name != "" && call.Name != r.tool {
			r.others = true
			return []provider.Event{e}
		}
		r.begun[e.Index] = e
		return r.alive()
	case provider.Delta:
		if _, held := r.begun[e.Index]; held {
			return r.alive()
		}
	case provider.End:
		return r.end(e)
	case provider.Stop:
		if r.answer && !r.others && e.Reason == provider.StopToolUse {
			e.Reason = provider.StopEndTurn
		}
		return []provider.Event{e}
	}
	return []provider.Event{event}
}

func (r *reader) end(e provider.End) []provider.Event {
	call, ok := e.Block.(provider.ToolCall)
	if !ok {
		return []provider.Event{e}
	}
	begin, held := r.begun[e.Index]
	delete(r.begun, e.Index)
	if call.Name != r.tool {
		r.others = true
		if held {
			return []provider.Event{begin, e}
		}
		return []provider.Event{e}
	}
	r.answer = true
	text := string(call.Input)
	if call.Invalid != "" {
		text = call.Invalid
	}
	out := []provider.Event{provider.Begin{Index: e.Index, Block: provider.Text{}}}
	if text != "" {
		out = append(out, provider.Delta{Index: e.Index, Text: text})
	}
	return append(out, provider.End{Index: e.Index, Block: provider.Text{Text: text}})
}
