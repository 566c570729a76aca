package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// sessions are those of the connection's principal.
func (c *client) sessions() Sessions { return c.server.config.Sessions(c.Principal) }

// onAgent runs f with the session's agent.
func onAgent[T any](ctx context.Context, c *client, id session.ID, f func(*agent.Agent) (T, error)) (T, error) {
	var value T
	err := c.sessions().Do(ctx, id, func(a *agent.Agent) (err error) {
		value, err = f(a)
		return err
	})
	return value, err
}

type sessionParams struct {
	Session method.ID[session.ID] `json:"session_id"`
}

type newParams struct {
	Model    string           `json:"model_id,omitempty"`
	Level    askedLevel       `json:"thinking_level,omitempty"`
	Fallback provider.Policy  `json:"fallback,omitempty"`
	Display  provider.Display `json:"display,omitempty"`
	System   string           `json:"system_prompt,omitempty"`
	Agent    string           `json:"agent,omitempty"`
	CWD      string           `json:"cwd,omitempty"`
	Title    string           `json:"title,omitempty"`
	Tools    *newTools        `json:"tools,omitempty"`
	Servers  servers          `json:"mcp_servers,omitempty"`
	Options  *options         `json:"options,omitempty"`
	Rules    tool.Policy      `json:"tool_policy,omitzero"` // it makes the operator's stricter
	Client   *clientID        `json:"client_id,omitempty"`
}

// options are what a session asks of its providers beside thinking.
type options struct {
	Cache   provider.CacheTime  `json:"cache,omitempty"`
	OnOther provider.OtherModel `json:"on_other_model,omitempty"`
}

type newResult struct {
	Session   session.ID        `json:"session_id"`
	Model     feed.Model        `json:"model"`
	Level     provider.Level    `json:"thinking_level"`
	Preferred *provider.Level   `json:"preferred_thinking_level"`
	Reasoning provider.Decision `json:"reasoning"`
	Seq       uint64            `json:"seq,omitzero"`

	follow func() // lets the updates come
}

// Answered makes it a [dispatch.Follower].
func (r newResult) Answered() {
	if r.follow != nil {
		r.follow()
	}
}

func newSession(ctx context.Context, c *client, p newParams) (newResult, error) {
	r, err := c.newSession(ctx, p)
	r.Answered()
	r.follow = nil
	return r, err
}

// newSessionLate is newSession where servers are asked, which may have to start.
func newSessionLate(_ context.Context, c *client, p newParams) (func(context.Context) (newResult, error), error) {
	return func(ctx context.Context) (newResult, error) { return c.newSession(ctx, p) }, nil
}

// newSession makes a session. Nothing of the client is touched that is not safe on any goroutine.
func (c *client) newSession(ctx context.Context, p newParams) (newResult, error) {
	sessions := c.sessions()
	stamp, err := p.stamp()
	if err != nil {
		return newResult{}, err
	}
	if stamp != nil { // what was once made is answered, though it might be refused today
		if made, ok, err := sessions.Creation(ctx, *stamp); err != nil {
			return newResult{}, err
		} else if ok {
			return c.answerMade(ctx, made)
		}
	}
	record, err := c.newRecord(p)
	if err != nil {
		return newResult{}, err
	}
	equipment, err := c.equip(ctx, p, &record)
	if err != nil {
		return newResult{}, err
	}
	defer equipment.close()
	model, decision, err := sessions.Decide(record.Settings, session.Override{})
	if err != nil {
		return newResult{}, err
	}
	shown := wire.ModelOf(model, decision)
	result := newResult{Model: shown, Level: shown.Level, Preferred: wire.Preferred(record.Settings), Reasoning: *wire.NewReasoning(decision)}
	if stamp != nil {
		made, err := sessions.CreateOnce(ctx, record, *stamp, func(id session.ID) (json.RawMessage, error) {
			result.Session = id
			return json.Marshal(result)
		})
		if err != nil {
			return newResult{}, err
		}
		if result.Session == made.Session { // it is the first
			equipment.adopt(c, made.Session)
		}
		r, err := c.answerMade(ctx, made)
		if err == nil {
			err = equipment.tell(ctx, c, made.Session)
		}
		return r, err
	}
	if record, err = sessions.Create(ctx, record); err != nil {
		return newResult{}, err
	}
	result.Session = record.ID
	equipment.adopt(c, record.ID)
	if _, result.follow, err = c.attachThen(ctx, record.ID, seqNumber{}, 0); err != nil {
		return newResult{}, err
	}
	return result, equipment.tell(ctx, c, record.ID)
}

// newRecord is what a new session begins with, but for its tools.
func (c *client) newRecord(p newParams) (session.Session, error) {
	named, err := c.agentOf(p.Agent)
	if err != nil {
		return session.Session{}, err
	}
	set := session.Settings{Agent: agent.ChoiceOf(named)}
	if id := cmp.Or(p.Model, named.Model); id == "" {
		set.Model = c.server.config.DefaultModel()
	} else if set.Model, err = c.model(id, ""); err != nil {
		return session.Session{}, err
	}
	set.Level, set.Display, set.Fallback = p.Level.level(), p.Display, p.Fallback
	if p.Options != nil {
		if set.Cache, err = provider.ParseCacheTime(string(p.Options.Cache)); err != nil {
			return session.Session{}, conn.InvalidParams("options.cache", "%v", err)
		}
		if set.OnOther, err = provider.ParseOtherModel(string(p.Options.OnOther)); err != nil {
			return session.Session{}, conn.InvalidParams("options.on_other_model", "%v", err)
		}
	}
	title, err := readTitle(p.Title)
	if err != nil {
		return session.Session{}, err
	}
	if len(p.CWD) > maxCWD {
		return session.Session{}, conn.InvalidParams("cwd", "is longer than %d bytes", maxCWD)
	}
	return session.Session{Title: title, System: cmp.Or(p.System, named.System), CWD: p.CWD, Settings: set, Rules: p.Rules}, nil
}

type stateResult struct {
	Session wire.Session `json:"session"`
}

func state(ctx context.Context, c *client, p sessionParams) (stateResult, error) {
	st, err := onAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.State, error) { return a.State(ctx) })
	w := wire.NewSession(st.Session, wire.ModelOf(st.Model, st.Decision))
	w.Grants = st.Grants
	return stateResult{w}, err
}

type listParams struct {
	Cursor string    `json:"cursor,omitempty"`
	Limit  pageLimit `json:"limit,omitzero"`
	Query  string    `json:"query,omitempty"`
	CWD    string    `json:"cwd,omitempty"`
}

type listResult struct {
	Sessions []wire.Session `json:"sessions"`
	Next     string         `json:"next_cursor,omitempty"`
}

func list(ctx context.Context, c *client, p listParams) (listResult, error) {
	limit, err := p.Limit.page()
	if err != nil {
		return listResult{}, err
	}
	for {
		page, next, err := c.sessions().List(ctx, session.Query{Cursor: p.Cursor, Limit: limit, CWD: p.CWD, Text: p.Query})
		if err != nil {
			return listResult{}, err
		}
		if n := fitting(page, c.server.out.Room()); n < len(page) {
			limit = n // a cursor is where a page ends: ask for a page that ends there
			continue
		}
		r := listResult{Sessions: make([]wire.Session, 0, len(page)), Next: next}
		for _, s := range page {
			if now, ok := c.sessions().Status(s.ID); ok && s.Status != session.Damaged {
				s.Status = now
			}
			// A level that the row lost since it was chosen is told where it matters: at the next turn.
			model, decision, _ := c.sessions().Decide(s.Settings, session.Override{})
			r.Sessions = append(r.Sessions, wire.NewSession(s, wire.ModelOf(model, decision)))
		}
		return r, nil
	}
}

// fitting is how many sessions have room in an answer, one at least.
func fitting(page []session.Session, room int) int {
	for i, s := range page {
		room -= 1<<10 + len(s.Title) + len(s.CWD) + session.MetadataSize(s.Metadata)
		if room < 0 && i > 0 {
			return i
		}
	}
	return len(page)
}

type updateParams struct {
	Session  method.ID[session.ID]      `json:"session_id"`
	Title    *string                    `json:"title,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty" most:"262144"` // names that go, and space, beside agent.MaxMetadata
	Mode     tool.Mode                  `json:"tool_mode,omitempty"`
	OnOther  provider.OtherModel        `json:"on_other_model,omitempty"`
}

func updateSession(ctx context.Context, c *client, p updateParams) (method.Nothing, error) {
	if p.Title == nil && len(p.Metadata) == 0 && p.Mode == "" && p.OnOther == "" {
		return method.Nothing{}, conn.InvalidParams("title", "is missing; give title, metadata, tool_mode or on_other_model")
	}
	change := agent.Change{Metadata: p.Metadata}
	if p.OnOther != "" {
		if _, err := provider.ParseOtherModel(string(p.OnOther)); err != nil {
			return method.Nothing{}, conn.InvalidParams("on_other_model", "%v", err)
		}
		change.OnOther = &p.OnOther
	}
	if p.Mode != "" {
		change.Mode = &p.Mode
	}
	if p.Title != nil {
		title, err := readTitle(*p.Title)
		if err != nil {
			return method.Nothing{}, err
		}
		change.Title = &title
	}
	_, err := onAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.State, error) { return a.Set(ctx, change) })
	if errors.Is(err, agent.ErrMetadata) {
		err = conn.InvalidParams("metadata", "would be larger than %d bytes", agent.MaxMetadata)
	}
	return method.Nothing{}, err
}

// Bounds of what a client hangs on a session: it comes along in every list.
const (
	maxTitle = 200     // characters
	maxCWD   = 4 << 10 // bytes
)

// readTitle makes a line of what a client gives as a title.
func readTitle(text string) (string, error) {
	title := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(title) > maxTitle {
		return "", conn.InvalidParams("title", "is longer than %d characters", maxTitle)
	}
	return title, nil
}

func deleteSession(ctx context.Context, c *client, p sessionParams) (method.Nothing, error) {
	return method.Nothing{}, c.sessions().Delete(ctx, p.Session.Value)
}
