package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/invopop/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// toolMethods are those by which clients run tools and decide on calls.
func toolMethods() []method {
	return []method{
		define(method{name: "tool/result", doc: "The result of a call that clients run; the first one counts."}, toolResult),
		define(method{name: "confirm/answer", doc: "Answers the question whether a call may run; the first answer counts."}, answerConfirm),
	}
}

// newTool is a tool that clients of the session run.
type newTool struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Schema      inputSchema `json:"input_schema,omitzero"`
	Title       string      `json:"title,omitempty"`
	Effect      effect      `json:"effect,omitempty"`
}

// UnmarshalJSON wants the name that the schema of this type asks for.
func (t *newTool) UnmarshalJSON(data []byte) error {
	type plain newTool
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.Name == "" {
		return errors.New("a tool has no name")
	}
	return nil
}

// inputSchema is a JSON schema, as it came.
type inputSchema struct{ json.RawMessage }

// IsZero reports whether there is none.
func (s inputSchema) IsZero() bool { return len(s.RawMessage) == 0 }

// JSONSchema is what rpc.discover tells of it.
func (inputSchema) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: "the JSON schema of an object"}
}

type effect struct{ tool.Effect }

// JSONSchema is what rpc.discover tells of it.
func (effect) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{tool.Read, tool.Edit, tool.Run, tool.Other}}
}

// rules are a session's own: they make the operator's stricter.
type rules struct {
	Names   map[string]rule      `json:"names,omitempty"`
	Effects map[tool.Effect]rule `json:"effects,omitempty"`
}

type toolMode struct{ tool.Mode }

// MarshalText writes the word alone.
func (m toolMode) MarshalText() ([]byte, error) { return []byte(m.Mode), nil }

// IsZero reports whether none was set.
func (m toolMode) IsZero() bool { return m.Mode == "" }

// JSONSchema is what rpc.discover tells of it.
func (toolMode) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{tool.ModeAsk, tool.ModeEdit, tool.ModeRead}}
}

type rule struct{ tool.Rule }

// JSONSchema is what rpc.discover tells of it.
func (rule) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{tool.Allow, tool.Ask, tool.Deny}}
}

func (r rules) policy() (p tool.Policy) {
	for name, rule := range r.Names {
		if p.Names == nil {
			p.Names = make(map[string]tool.Rule)
		}
		p.Names[name] = rule.Rule
	}
	for effect, rule := range r.Effects {
		if p.Effects == nil {
			p.Effects = make(map[tool.Effect]tool.Rule)
		}
		p.Effects[effect] = rule.Rule
	}
	return p
}

type toolResultParams struct {
	Session idOf[session.ID] `json:"session_id"`
	Call    string           `json:"call_id"`
	Content provider.Blocks  `json:"content"`
	Failed  bool             `json:"is_error,omitempty"`
}

func toolResult(ctx context.Context, c *client, p toolResultParams) (nothing, error) {
	content := provider.Blocks{}
	for i, b := range p.Content {
		switch b := b.(type) {
		case provider.Text:
		case provider.Media:
			if len(b.Data) == 0 {
				return nothing{}, invalidParams("content", "block %d has no data", i)
			}
			p.Content[i] = provider.Media{Type: b.Type, Data: b.Data} // as in a prompt
		default:
			return nothing{}, invalidParams("content", "block %d is a %s; a result has text and media", i, provider.KindOf(b))
		}
		content = append(content, provider.WithoutState(p.Content[i]))
	}
	return onAgent(ctx, c, p.Session.ID, func(a *agent.Agent) (nothing, error) {
		return nothing{}, a.ToolResult(ctx, p.Call, content, p.Failed)
	})
}

type confirmParams struct {
	Session idOf[session.ID] `json:"session_id"`
	Confirm idOf[string]     `json:"confirm_id"`
	Action  session.Action   `json:"action"`
}

type confirmResult struct {
	Accepted bool `json:"accepted"`
}

func answerConfirm(ctx context.Context, c *client, p confirmParams) (confirmResult, error) {
	ok, err := onAgent(ctx, c, p.Session.ID, func(a *agent.Agent) (bool, error) {
		return a.Answer(ctx, p.Confirm.ID, p.Action, c.name)
	})
	return confirmResult{ok}, err
}

// wireToolEnd is a ToolEnd as clients see it.
type wireToolEnd struct {
	Message    session.MessageID `json:"message_id"`
	Block      int               `json:"block"`
	CallID     string            `json:"call_id"`
	Content    []wireBlock       `json:"content"`
	Failed     bool              `json:"is_error"`
	DurationMS int64             `json:"duration_ms"`
}

// wireToolStart is a ToolStart whose arguments may be left out.
type wireToolStart struct {
	agent.ToolStart
	Truncated bool `json:"truncated,omitempty"`
}

func newWireToolStart(e agent.ToolStart, room int) wireToolStart {
	if len(e.Arguments)+len(e.Invalid) > room {
		e.Arguments, e.Invalid = nil, ""
		return wireToolStart{e, true}
	}
	return wireToolStart{ToolStart: e}
}

type wireConfirm struct {
	agent.Confirm
	Truncated bool `json:"truncated,omitempty"`
}

func newWireConfirm(e agent.Confirm, room int) wireConfirm {
	e.Actions = append([]session.Action{}, e.Actions...)
	if len(e.Arguments) > room {
		e.Arguments = json.RawMessage("{}")
		return wireConfirm{e, true}
	}
	if len(e.Arguments) == 0 {
		e.Arguments = json.RawMessage("{}")
	}
	return wireConfirm{Confirm: e}
}

// wireOpenTool is a call that runs.
type wireOpenTool struct {
	wireToolStart
	Output string `json:"output,omitempty"`
}

func newWireOpenTools(open []agent.OpenTool, room int) []wireOpenTool {
	list := make([]wireOpenTool, 0, len(open))
	for _, t := range open {
		list = append(list, wireOpenTool{newWireToolStart(t.ToolStart, room/len(open)), t.Output})
	}
	return list
}

func newWireConfirms(open []agent.Confirm, room int) []wireConfirm {
	list := make([]wireConfirm, 0, len(open))
	for _, e := range open {
		list = append(list, newWireConfirm(e, room/len(open)))
	}
	return list
}
