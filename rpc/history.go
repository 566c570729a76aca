package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// Bounds of pages.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// pageLimit is how many a client wants at most: absent 100, and never more than 1,000. Any JSON number that is whole will
// do: some languages write 100.0.
type pageLimit struct {
	n     int
	given bool
}

func (l *pageLimit) UnmarshalJSON(data []byte) error {
	var n float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n != math.Trunc(n) {
		return errors.New("must be a whole number")
	}
	if n < 0 {
		return errors.New("is negative")
	}
	*l = pageLimit{int(min(n, maxLimit)), true}
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (pageLimit) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(float64), Default: json.RawMessage(strconv.Itoa(defaultLimit))}
}

// orDefault is the number, which may be 0.
func (l pageLimit) orDefault() int {
	if !l.given {
		return defaultLimit
	}
	return l.n
}

// page is the number for what comes in pages: one of nothing would lead nowhere.
func (l pageLimit) page() (int, error) {
	n := l.orDefault()
	if n == 0 {
		return 0, conn.InvalidParams("limit", "must be at least 1")
	}
	return n, nil
}

type historyParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Before  method.ID[session.MessageID] `json:"before,omitzero"`
	After   method.ID[session.MessageID] `json:"after,omitzero"`
	Limit   pageLimit                    `json:"limit,omitzero"`
}

type historyResult struct {
	Messages []wire.Message `json:"messages"`
	More     bool           `json:"more"`
}

func history(ctx context.Context, c *client, p historyParams) (historyResult, error) {
	limit, err := p.Limit.page()
	if err != nil {
		return historyResult{}, err
	}
	if p.Before.Value != "" && p.After.Value != "" {
		return historyResult{}, conn.InvalidParams("after", "cannot be combined with before; give one of them")
	}
	messages, more, err := c.page(ctx, p.Session.Value, agent.Page{Before: p.Before.Value, After: p.After.Value, Limit: limit})
	if err != nil {
		return historyResult{}, err
	}
	var shown []wire.Message
	if p.After.Value != "" {
		shown, err = c.server.out.Oldest(messages, c.server.out.Room())
	} else {
		shown, err = c.server.out.Newest(messages, c.server.out.Room(), 1)
	}
	return historyResult{shown, more || len(shown) < len(messages)}, err
}

func (c *client) page(ctx context.Context, id session.ID, p agent.Page) (page []agent.Message, more bool, err error) {
	page, err = service.OnAgent(ctx, c, id, func(a *agent.Agent) (list []agent.Message, err error) {
		list, more, err = a.History(ctx, p)
		return list, err
	})
	return page, more, err
}
