package rpc

import (
	"encoding/json"
	"maps"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// What the protocol's answers are made of. Nothing here has a vendor's state: blocks are encoded by wireBlock alone.

type wireSession struct {
	ID        session.ID                 `json:"session_id"`
	Title     string                     `json:"title"`
	Status    session.Status             `json:"status"`
	Model     agent.Model                `json:"model"`
	Level     provider.Level             `json:"thinking_level"`
	Preferred *provider.Level            `json:"preferred_thinking_level"` // null: the user chose none
	CWD       string                     `json:"cwd"`
	Created   int64                      `json:"created"`
	Updated   int64                      `json:"updated"`
	Usage     provider.Usage             `json:"usage"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
}

func newWireSession(s session.Session, model agent.Model) wireSession {
	w := wireSession{ID: s.ID, Title: s.Title, Status: s.Status, Model: model, Level: model.Level,
		Preferred: preferred(s.Settings), CWD: s.CWD, Created: s.Created, Updated: s.Updated, Usage: s.Usage,
		Metadata: maps.Clone(s.Metadata)}
	if w.Metadata == nil {
		w.Metadata = map[string]json.RawMessage{}
	}
	return w
}

// preferred is the level that the user chose, nil if none.
func preferred(s session.Settings) *provider.Level {
	if s.Level == "" {
		return nil
	}
	return &s.Level
}

func wireModelOf(m provider.Model, d provider.Decision) agent.Model {
	return agent.Model{Provider: m.Provider, ID: m.ID, Level: d.Effective}
}

type wireMessage struct {
	ID         session.MessageID  `json:"id"`
	Turn       session.TurnID     `json:"turn_id"`
	Role       provider.Role      `json:"role"`
	Content    []json.RawMessage  `json:"content"`
	Model      *agent.Model       `json:"model,omitempty"`
	Reasoning  *provider.Decision `json:"reasoning,omitempty"`
	StopReason string             `json:"stop_reason,omitempty"`
	Usage      *provider.Usage    `json:"usage,omitempty"`
	Incomplete session.Incomplete `json:"incomplete,omitempty"`
	Open       bool               `json:"open,omitempty"` // it is being written
}

func newWireMessage(m agent.Message) (wireMessage, error) {
	w := wireMessage{ID: m.ID, Turn: m.Turn, Role: m.Role, Content: []json.RawMessage{}}
	for _, p := range m.Parts {
		if err := w.add(p.Number, p.Block, false); err != nil {
			return w, err
		}
	}
	for _, o := range m.Open {
		if err := w.add(o.Number, o.Block, true); err != nil {
			return w, err
		}
	}
	if m.Role == provider.User {
		if m.Stop != nil && m.Start == nil { // it was taken out of the queue
			w.Incomplete = session.Incomplete(m.Stop.StopReason)
		}
		return w, nil
	}
	if m.Start != nil {
		w.Model = &agent.Model{Provider: m.Start.Model.Provider, ID: m.Start.Model.ID, Level: m.Start.Reasoning.Effective}
		w.Reasoning = &m.Start.Reasoning
	}
	if m.End == nil {
		w.Open = true
		return w, nil
	}
	w.StopReason, w.Usage, w.Incomplete = m.End.StopReason, &m.End.Usage, m.End.Incomplete
	return w, nil
}

func newWireMessages(list []agent.Message) ([]wireMessage, error) {
	out := make([]wireMessage, 0, len(list))
	for _, m := range list {
		w, err := newWireMessage(m)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// add appends a block, if it is one that people may see.
func (m *wireMessage) add(number int, b provider.Block, open bool) error {
	if _, ok := b.(provider.Opaque); ok {
		return nil
	}
	encoded, err := wireBlock(number, b, open)
	if err != nil {
		return err
	}
	m.Content = append(m.Content, encoded)
	return nil
}

// wireBlock is a block with its number in the message and without its vendor's state.
func wireBlock(number int, b provider.Block, open bool) (json.RawMessage, error) {
	members, err := provider.MarshalBlock(provider.WithoutState(b))
	if err != nil {
		return nil, err
	}
	head := struct {
		Block int  `json:"block"`
		Open  bool `json:"open,omitempty"`
	}{number, open}
	out, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	out[len(out)-1] = ','
	return append(out, members[1:]...), nil
}

// wireBlocks numbers the blocks of a prompt.
func wireBlocks(content provider.Blocks) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(content))
	for i, b := range content {
		encoded, err := wireBlock(i, b, false)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded)
	}
	return out, nil
}

// wireCatalogModel is a Model of models/list.
type wireCatalogModel struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Provider  string           `json:"provider"`
	Supports  bool             `json:"supports_thinking"`
	Levels    []provider.Level `json:"thinking_levels"`
	Default   provider.Level   `json:"default_thinking_level"`
	Thinking  wireThinking     `json:"thinking"`
	Window    int              `json:"context_window,omitempty"`
	MaxOutput int              `json:"max_output_tokens,omitempty"`
	Input     []string         `json:"input"`
	Tools     bool             `json:"tools"`
	Available bool             `json:"available"`
	Why       string           `json:"why,omitempty"` // why it is not available
}

type wireThinking struct {
	Control    provider.ControlKind `json:"control"`
	CanDisable bool                 `json:"can_disable"`
	Display    []provider.Display   `json:"display,omitempty"`
	Source     provider.RowSource   `json:"source"`
	AsOf       string               `json:"as_of,omitempty"`
}

func newWireCatalogModel(m provider.Model, available bool, why string) wireCatalogModel {
	return wireCatalogModel{ID: m.ID, Name: m.Name, Provider: m.Provider, Supports: m.Thinking.Thinks(),
		Levels: m.Thinking.Levels, Default: m.Thinking.Default,
		Thinking: wireThinking{m.Thinking.Control, m.Thinking.CanDisable(), m.Thinking.Display, m.Source, m.AsOf},
		Window:   m.Window, MaxOutput: m.MaxOutput, Input: append([]string{}, m.Input...), Tools: m.Tools,
		Available: available, Why: why}
}

// failure is a turn's failure as an error of the protocol.
func failure(f *session.Failure) *Error {
	if f == nil {
		return nil
	}
	e := &Error{Code: CodeProvider, Kind: f.Kind, Message: f.Message, Data: map[string]any{}}
	if f.Kind == kinds[CodeInternal] {
		e.Code = CodeInternal
	}
	if f.Status != 0 {
		e.Data["status"] = f.Status
	}
	if f.RetryAfterMS != 0 {
		e.Data["retry_after_ms"] = f.RetryAfterMS
	}
	if f.RequestID != "" {
		e.Data["request_id"] = f.RequestID
	}
	if f.Ref != "" {
		e.Data["ref"] = f.Ref
	}
	return e
}
