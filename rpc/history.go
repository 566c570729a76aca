package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// historyMethods read what was said.
func historyMethods() []method {
	return []method{
		define(method{name: "session/history", doc: "A page of messages, in order."}, history),
		defineLate(method{name: "session/export", doc: "The session in pages, as JSON or Markdown."}, export),
	}
}

// Bounds of pages.
const (
	defaultLimit = 100
	maxLimit     = 1000
	maxAnswer    = 4 << 20 // bytes, about; one message comes along whatever its size
)

func clampLimit(limit int) (int, error) {
	switch {
	case limit < 0:
		return 0, invalidParams("limit", "is negative")
	case limit == 0:
		return defaultLimit, nil
	}
	return min(limit, maxLimit), nil
}

// size is about what the message costs on the wire.
func (m wireMessage) size() int {
	n := 512
	for _, b := range m.Content {
		n += len(b)
	}
	return n
}

// oldest is the head of a list that fits.
func oldest(list []wireMessage, bytes int) []wireMessage {
	for i, m := range list {
		if bytes -= m.size(); bytes < 0 && i > 0 {
			return list[:i]
		}
	}
	return list
}

// newest is the tail of a list that fits.
func newest(list []wireMessage, bytes int) []wireMessage {
	for i, m := range slices.Backward(list) {
		if bytes -= m.size(); bytes < 0 && i < len(list)-1 {
			return list[i+1:]
		}
	}
	return list
}

type historyParams struct {
	Session idOf[session.ID]        `json:"session_id"`
	Before  idOf[session.MessageID] `json:"before,omitzero"`
	After   idOf[session.MessageID] `json:"after,omitzero"`
	Limit   int                     `json:"limit,omitempty"`
}

type historyResult struct {
	Messages []wireMessage `json:"messages"`
	More     bool          `json:"more"`
}

func history(ctx context.Context, c *client, p historyParams) (historyResult, error) {
	limit, err := clampLimit(p.Limit)
	if err != nil {
		return historyResult{}, err
	}
	messages, more, err := c.page(ctx, p.Session.ID, agent.Page{Before: p.Before.ID, After: p.After.ID, Limit: limit})
	if err != nil {
		return historyResult{}, err
	}
	fit := newest
	if p.After.ID != "" {
		fit = oldest
	}
	shown := fit(messages, maxAnswer)
	return historyResult{shown, more || len(shown) < len(messages)}, nil
}

func (c *client) page(ctx context.Context, id session.ID, p agent.Page) (page []wireMessage, more bool, err error) {
	page, err = onAgent(ctx, c, id, func(a *agent.Agent) ([]wireMessage, error) {
		var list []agent.Message
		if list, more, err = a.History(ctx, p); err != nil {
			return nil, err
		}
		return newWireMessages(list)
	})
	return page, more, err
}

type exportParams struct {
	Session  idOf[session.ID]        `json:"session_id"`
	Format   string                  `json:"format"`
	Thinking *bool                   `json:"thinking,omitempty"` // absent: true
	Cursor   idOf[session.MessageID] `json:"cursor,omitzero"`
}

type exportResult struct {
	Session  wireSession       `json:"session"`
	Messages []wireMessage     `json:"messages,omitempty"`
	Text     string            `json:"text,omitempty"`
	Next     session.MessageID `json:"next_cursor,omitempty"`
}

func export(_ context.Context, c *client, p exportParams) (func(context.Context) (exportResult, error), error) {
	if p.Format != "json" && p.Format != "markdown" {
		return nil, invalidParams("format", "%q is none of json, markdown", p.Format)
	}
	thinking := p.Thinking == nil || *p.Thinking
	return func(ctx context.Context) (exportResult, error) {
		st, err := state(ctx, c, sessionParams{p.Session})
		if err != nil {
			return exportResult{}, err
		}
		r := exportResult{Session: st.Session}
		messages, more, err := c.exportPage(ctx, p)
		if err != nil {
			return exportResult{}, err
		}
		r.Messages = oldest(messages, maxAnswer)
		if more || len(r.Messages) < len(messages) {
			r.Next = r.Messages[len(r.Messages)-1].ID
		}
		for i := range r.Messages {
			if !thinking {
				r.Messages[i].Content = slices.DeleteFunc(r.Messages[i].Content, isThinking)
			}
		}
		if p.Format == "markdown" {
			if p.Cursor.ID == "" {
				r.Text = "# " + st.Session.Title + "\n"
			}
			for _, m := range r.Messages {
				r.Text += markdown(m)
			}
			r.Messages = nil
		}
		return r, nil
	}, nil
}

// exportPage reads forward from a cursor, from the first message without one.
func (c *client) exportPage(ctx context.Context, p exportParams) ([]wireMessage, bool, error) {
	return c.page(ctx, p.Session.ID, agent.Page{After: p.Cursor.ID, FromStart: p.Cursor.ID == "", Limit: maxLimit})
}

// shownBlock is what Markdown tells of a block.
type shownBlock struct {
	Type      provider.BlockKind    `json:"type"`
	Text      string                `json:"text"`
	Kind      provider.ThinkingKind `json:"kind"`
	Name      string                `json:"name"`
	Arguments json.RawMessage       `json:"arguments"`
	MimeType  string                `json:"mime_type"`
}

func isThinking(block json.RawMessage) bool {
	var b shownBlock
	return json.Unmarshal(block, &b) == nil && b.Type == provider.KindThinking
}

// markdown is a message for people: thinking as a quotation.
func markdown(m wireMessage) string {
	var out strings.Builder
	who := "User"
	if m.Role == provider.Assistant {
		who = "Assistant"
		if m.Model != nil {
			who = fmt.Sprintf("%s/%s (thinking: %s)", m.Model.Provider, m.Model.ID, m.Model.Level)
		}
	}
	fmt.Fprintf(&out, "\n## %s\n", who)
	for _, raw := range m.Content {
		var b shownBlock
		if err := json.Unmarshal(raw, &b); err != nil {
			fmt.Fprintf(&out, "\n(a block that cannot be shown: %v)\n", err)
			continue
		}
		switch b.Type {
		case provider.KindText:
			fmt.Fprintf(&out, "\n%s\n", strings.TrimRight(b.Text, "\n"))
		case provider.KindThinking:
			text := b.Text
			if text == "" {
				text = "(thinking, " + string(b.Kind) + ")"
			}
			fmt.Fprintf(&out, "\n> %s\n", strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> "))
		case provider.KindToolCall:
			fmt.Fprintf(&out, "\nCalled `%s` with `%s`\n", b.Name, b.Arguments)
		case provider.KindMedia:
			fmt.Fprintf(&out, "\n(%s)\n", b.MimeType)
		}
	}
	if m.Incomplete != "" {
		fmt.Fprintf(&out, "\n*(incomplete: %s)*\n", m.Incomplete)
	}
	return out.String()
}

// idOf is an id as a client gives it: refused before any lookup if it cannot be one.
type idOf[T ~string] struct{ ID T }

func (i *idOf[T]) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	if err := session.CheckID(word); err != nil {
		return err
	}
	i.ID = T(word)
	return nil
}

// MarshalJSON writes the id alone.
func (i idOf[T]) MarshalJSON() ([]byte, error) { return json.Marshal(string(i.ID)) }

// JSONSchema is what rpc.discover tells of it.
func (idOf[T]) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}
}
