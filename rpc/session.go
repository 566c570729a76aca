package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/share"
	"github.com/thinkd/thinkd/session/tool"
)

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
	Servers  []offeredServer  `json:"mcp_servers,omitempty"`
	Options  *options         `json:"options,omitempty"`
	Rules    tool.Policy      `json:"tool_policy,omitzero"` // it makes the operator's stricter

	Storage   provider.ThinkingStorage `json:"thinking_storage,omitempty"`
	Ephemeral bool                     `json:"ephemeral,omitempty"`

	Client *clientID `json:"client_id,omitempty"`
}

// asked is what the service is asked for.
func (p newParams) asked() service.New {
	n := service.New{Model: p.Model, Level: p.Level.level(), Fallback: p.Fallback, Display: p.Display, System: p.System, Agent: p.Agent, CWD: p.CWD,
		Title: p.Title, Tools: p.Tools.choice(), Servers: serversOf(p.Servers), Rules: p.Rules, Storage: p.Storage, Ephemeral: p.Ephemeral}
	if p.Options != nil {
		n.KeepAlive, n.OnOther = p.Options.KeepAlive, p.Options.OnOther
		n.Fallbacks, n.Egress, n.AskAbove = p.Options.Fallbacks, p.Options.Egress, p.Options.AskAbove
		if !p.Options.IsZero() {
			n.Options = &p.Options.Options
		}
	}
	return n
}

// stamp is that of session/new.
func (p newParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	if p.Display == provider.Summarized {
		p.Display = ""
	}
	p.Options = p.Options.plain()
	return creationStamp("session/new", id, p)
}

// newWaits reports whether a new session has to wait for servers.
func (c *client) newWaits(p newParams) bool { return c.Waits(p.asked()) }

// options are what a session asks of its providers, in addition to thinking.
type options struct {
	provider.Options
	KeepAlive provider.KeepAlive  `json:"keep_alive,omitempty"`
	OnOther   provider.OtherModel `json:"on_other_model,omitempty"`

	Fallbacks *[]registry.FallbackModel `json:"fallbacks,omitempty"`
	Egress    []string                  `json:"egress,omitempty"`
	AskAbove  *float64                  `json:"ask_above,omitempty"` // USD
}

// plain is what a digest has of o, as askedOptions.plain.
func (o *options) plain() *options {
	if o == nil {
		return nil
	}
	plain := *o
	plain.Options = o.Options.Plain()
	if len(plain.Egress) == 0 {
		plain.Egress = nil
	}
	if reflect.ValueOf(plain).IsZero() {
		return nil
	}
	return &plain
}

// UnmarshalJSON refuses unknown members and invalid values by name.
func (o *options) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return &provider.OptionError{Text: "must be an object"}
	}
	for _, m := range []struct {
		name, must string
		into       any
	}{
		{"keep_alive", "must be a string", &o.KeepAlive},
		{"on_other_model", "must be a string", &o.OnOther},
		{"fallbacks", "must be a list of objects with model, thinking_level and key", &o.Fallbacks},
		{"egress", "must be a list of labels", &o.Egress},
	} {
		if text, ok := members[m.name]; ok && json.Unmarshal(text, m.into) != nil {
			return &provider.OptionError{Member: m.name, Text: m.must}
		}
		delete(members, m.name)
	}
	rest, err := json.Marshal(members)
	if err == nil {
		o.Options, err = service.ReadOptions(rest)
	}
	return err
}

type newResult struct {
	Session   session.ID        `json:"session_id"`
	Model     feed.Model        `json:"model"`
	Level     provider.Level    `json:"thinking_level"`
	Preferred *provider.Level   `json:"preferred_thinking_level"`
	Reasoning provider.Decision `json:"reasoning"`
	Seq       uint64            `json:"seq,omitzero"`
	Deleted   bool              `json:"deleted,omitempty"` // the request is repeated, and the session was deleted since

	Instructions []session.InstructionFile `json:"project_instructions,omitempty"` // files in the system prompt

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
	sessions := c.Sessions()
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
	asked := p.asked()
	record, err := c.Record(asked)
	if err != nil {
		return newResult{}, err
	}
	equipment, err := c.Equip(ctx, asked, &record)
	if err != nil {
		return newResult{}, err
	}
	defer equipment.Close()
	model, decision, err := sessions.Decide(record.Settings, session.Override{})
	if err != nil {
		return newResult{}, err
	}
	shown := wire.ModelOf(model, decision)
	result := newResult{Model: shown, Level: shown.Level, Preferred: wire.Preferred(record.Settings), Reasoning: *wire.NewReasoning(decision), Instructions: record.Instructions.Files}
	if stamp != nil {
		made, err := sessions.CreateOnce(ctx, record, *stamp, func(id session.ID) (json.RawMessage, error) {
			result.Session = id
			return json.Marshal(result)
		})
		if err != nil {
			return newResult{}, err
		}
		if result.Session == made.Session { // it is the first
			equipment.Adopt(made.Session)
		}
		r, err := c.answerMade(ctx, made)
		if err == nil {
			err = equipment.Tell(ctx, made.Session)
		}
		return r, err
	}
	if record, err = sessions.Create(ctx, record); err != nil {
		return newResult{}, err
	}
	result.Session = record.ID
	equipment.Adopt(record.ID)
	if _, result.follow, err = c.attachThen(ctx, record.ID, seqNumber{}, 0, c.wants); err != nil {
		return newResult{}, err
	}
	return result, equipment.Tell(ctx, record.ID)
}

// answerMade answers a stamped session/new, the first as all that follow, and subscribes the client unless it is: a
// second subscription would take the place of the first, and drop what waits in that.
func (c *client) answerMade(ctx context.Context, made session.Creation) (r newResult, err error) {
	if err := json.Unmarshal(made.Answer, &r); err != nil {
		return newResult{}, err
	}
	if c.Follows(made.Session) {
		return r, nil
	}
	snap, follow, err := c.attachThen(ctx, made.Session, seqNumber{}, 0, c.wants)
	if errors.Is(err, session.ErrNotFound) {
		r.Deleted = true
		return r, nil
	}
	if err != nil {
		return newResult{}, err
	}
	r.Seq, r.follow = snap.Seq, follow
	return r, nil
}

type stateResult struct {
	Session wire.Session `json:"session"`
}

func state(ctx context.Context, c *client, p sessionParams) (stateResult, error) {
	st, err := service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.State, error) { return a.State(ctx) })
	return stateResult{c.seen(wire.NewSession(st.Session, wire.ModelOf(st.Model, st.Decision)).WithDetails(st))}, err
}

type listParams struct {
	Cursor string    `json:"cursor,omitempty"`
	Limit  pageLimit `json:"limit,omitzero"`
	Query  string    `json:"query,omitempty"`
	Shared *bool     `json:"shared,omitempty"` // only what others share with the user, or only the user's own; absent: both
	filterParams
}

// filterParams select sessions. Those that are absent select all.
type filterParams struct {
	CWD      string `json:"cwd,omitempty"`
	Model    string `json:"model_id,omitempty"`
	Since    moment `json:"since,omitempty"`
	Until    moment `json:"until,omitempty"`
	Archived *bool  `json:"archived,omitempty"`
	Pinned   *bool  `json:"pinned,omitempty"`
}

// filter is what the store selects by. A model that no provider has now selects the sessions that still name it.
func (p filterParams) filter() session.Filter {
	f := session.Filter{CWD: p.CWD, Since: int64(p.Since), Until: int64(p.Until), Archived: p.Archived, OnTop: p.Pinned}
	if p.Model != "" {
		f.Model.Provider, f.Model.ID, _ = strings.Cut(p.Model, "/")
	}
	return f
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
	q := session.Query{Cursor: p.Cursor, Limit: limit, Filter: p.filter()}
	q.Text = p.Query
	return c.listPage(ctx, q, p.Shared)
}

// listPage lists sessions, as many as fit: the user's own, and then those that others share with the user. shared nil: both; otherwise those
// that are shared, or those that are not.
func (c *client) listPage(ctx context.Context, q session.Query, shared *bool) (listResult, error) {
	r := listResult{Sessions: []wire.Session{}}
	after, _, rest := sharedAt(q.Cursor)
	if !rest && (shared == nil || !*shared) {
		page, next, err := c.ownPage(ctx, q)
		if err != nil {
			return listResult{}, err
		}
		for _, s := range page {
			r.Sessions = append(r.Sessions, c.listedNow(s))
		}
		if r.Next = next; next != "" || shared != nil {
			return r, nil
		}
	}
	list, err := c.sharedAfter(ctx, after, q.Filter)
	if err != nil {
		return listResult{}, err
	}
	for i, s := range list {
		if len(r.Sessions) == q.PageSize() || i > 0 && i == c.sharedRoom(list) {
			r.Next = sharedNext(after, "")
			return r, nil
		}
		r.Sessions, after = append(r.Sessions, c.listedShared(s)), s.ID
	}
	return r, nil
}

// ownPage is a page of the user's own sessions, as many as fit.
func (c *client) ownPage(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	for {
		if page, next, err = c.Sessions().List(ctx, q); err != nil {
			return nil, "", err
		}
		n := fitting(page, c.server.out.Room()/2)
		if n == len(page) {
			return page, next, nil
		}
		q.Limit = n // a cursor is where a page ends: ask for a page that ends there
	}
}

// sharedRoom is how many shared sessions have room in an answer, in addition to a page of the user's own.
func (c *client) sharedRoom(list []sharedRecord) int {
	plain := make([]session.Session, len(list))
	for i, s := range list {
		plain[i] = s.Session
	}
	return fitting(plain, c.server.out.Room()/2)
}

// listedShared is listedNow for a session of somebody else.
func (c *client) listedShared(s sharedRecord) wire.Session {
	now, _ := c.ofOwner(s.of).Live(s.Session)
	s.Status = now.Status
	return c.listedOf(s.of, watch.Change{Session: s.Session, Needs: now.Needs})
}

// listedOf shows a session that somebody shares with the user.
func (c *client) listedOf(of share.Share, now watch.Change) wire.Session {
	return asGuest(c.listed(now), of)
}

// listedNow is a session as lists show it, with what it does now.
func (c *client) listedNow(s session.Session) wire.Session {
	var now agent.Live
	if s.Status != session.Damaged {
		now, _ = c.Sessions().Live(s)
		s.Status = now.Status
	}
	return c.listed(watch.Change{Session: s, Needs: now.Needs})
}

// listed shows a session in a list. If the row has lost the chosen level since, the next turn reports it.
func (c *client) listed(now watch.Change) wire.Session {
	model, decision, _ := c.Sessions().Decide(now.Session.Settings, session.Override{})
	w := wire.NewSession(now.Session, wire.ModelOf(model, decision))
	w.Needs = now.NeedsOf(c.Principal.Name)
	return w
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
	Options  *askedOptions              `json:"options,omitempty"` // in place of all of the session's

	Fallbacks *[]registry.FallbackModel `json:"fallbacks,omitempty"`
	AskAbove  *float64                  `json:"ask_above,omitempty"` // USD

	Archived *bool `json:"archived,omitempty"`
	Pinned   *bool `json:"pinned,omitempty"`
}

func updateSession(ctx context.Context, c *client, p updateParams) (method.Nothing, error) {
	if p.Title == nil && len(p.Metadata) == 0 && p.Mode == "" && p.OnOther == "" && p.Options == nil && p.Fallbacks == nil && p.AskAbove == nil && p.Archived == nil && p.Pinned == nil {
		return method.Nothing{}, conn.InvalidParams("title", "is missing; give title, metadata, tool_mode, on_other_model, options, fallbacks, ask_above, archived or pinned")
	}
	change := agent.Change{Metadata: p.Metadata, Archived: p.Archived, OnTop: p.Pinned}
	if p.Options != nil {
		change.Options = &p.Options.Options
	}
	var err error
	if change.Fallbacks, err = c.Fallbacks("fallbacks", p.Fallbacks); err != nil {
		return method.Nothing{}, err
	}
	if change.AskAbove, err = service.AskAbove("ask_above", p.AskAbove); err != nil {
		return method.Nothing{}, err
	}
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
		title, err := service.ReadTitle(*p.Title)
		if err != nil {
			return method.Nothing{}, err
		}
		change.Title = &title
	}
	_, err = service.OnAgent(ctx, c, p.Session.Value, func(a *agent.Agent) (agent.State, error) { return a.Set(ctx, change) })
	if errors.Is(err, agent.ErrMetadata) {
		err = conn.InvalidParams("metadata", "would be larger than %d bytes", agent.MaxMetadata)
	}
	return method.Nothing{}, err
}

type forkParams struct {
	Session method.ID[session.ID]        `json:"session_id"`
	Message method.ID[session.MessageID] `json:"message_id,omitzero"`
	Before  method.ID[session.MessageID] `json:"before_message_id,omitzero"`
	Summary method.ID[session.SummaryID] `json:"summary_id,omitzero"`
	Client  *clientID                    `json:"client_id,omitempty"`
}

type forkResult struct {
	Session session.ID `json:"session_id"`
	Deleted bool       `json:"deleted,omitempty"` // the request is repeated, and the fork was deleted since
}

// stamp is that of session/fork.
func (p forkParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return creationStamp("session/fork", id, p)
}

func fork(ctx context.Context, c *client, p forkParams) (r forkResult, err error) {
	sessions := c.Sessions()
	stamp, err := p.stamp()
	if err != nil {
		return r, err
	}
	id, message, before := p.Session.Value, p.Message.Value, session.Before{Summary: p.Summary.Value, Message: p.Before.Value}
	switch {
	case before.Summary != "" && (message != "" || before.Message != ""):
		return r, conn.InvalidParams("summary_id", "cannot be combined with message_id or before_message_id; give one of them")
	case before.Message != "" && message != "":
		return r, conn.InvalidParams("before_message_id", "cannot be combined with message_id; give one of them")
	}
	if stamp == nil {
		var made session.Session
		if before != (session.Before{}) {
			made, err = sessions.ForkBefore(ctx, id, before)
		} else {
			made, err = sessions.Fork(ctx, id, message)
		}
		return forkResult{Session: made.ID}, err
	}
	first, ok, err := sessions.Creation(ctx, *stamp) // what was once made is answered, though its parent may be gone today
	answer := func(id session.ID) (json.RawMessage, error) { return json.Marshal(forkResult{Session: id}) }
	switch {
	case ok || err != nil:
	case before != (session.Before{}):
		first, err = sessions.ForkBeforeOnce(ctx, id, before, *stamp, answer)
	default:
		first, err = sessions.ForkOnce(ctx, id, message, *stamp, answer)
	}
	if err != nil {
		return r, err
	}
	if _, err = sessions.Get(ctx, first.Session); errors.Is(err, session.ErrNotFound) {
		return forkResult{first.Session, true}, nil
	}
	return forkResult{Session: first.Session}, err
}

func deleteSession(ctx context.Context, c *client, p sessionParams) (method.Nothing, error) {
	return method.Nothing{}, c.Sessions().Delete(ctx, p.Session.Value)
}

// Bounds of a report.
const (
	usageDays = 30   // that a report has if the client names none
	usageRows = 1000 // at most
)

type usageParams struct {
	From    day                   `json:"from,omitempty"`
	To      day                   `json:"to,omitempty"`
	By      service.UsageBy       `json:"by,omitempty"`
	Split   service.UsageBy       `json:"split,omitempty"` // a row for each of these, too
	Session method.ID[session.ID] `json:"session_id,omitzero"`
	Model   string                `json:"model_id,omitempty"` // provider/id
}

// day is a day in UTC; empty: none is given.
type day session.Day

func (d *day) UnmarshalText(text []byte) error {
	if _, err := time.Parse(time.DateOnly, string(text)); err != nil {
		return errors.New("is no day as YYYY-MM-DD")
	}
	*d = day(text)
	return nil
}

// JSONSchema is what rpc.discover returns for it.
func (day) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: "a day in UTC, as YYYY-MM-DD", Pattern: `^\d{4}-\d{2}-\d{2}$`}
}

type usageResult struct {
	From    session.Day        `json:"from"`
	To      session.Day        `json:"to"`
	By      service.UsageBy    `json:"by"`
	Split   service.UsageBy    `json:"split,omitempty"`
	Rows    []service.UsageRow `json:"rows"`
	More    bool               `json:"more,omitempty"` // there are more rows; the total has them
	Total   service.UsageRow   `json:"total"`
	Budgets []session.Spending `json:"budgets"` // of all sessions, now
}

// usage reports what model calls used.
func usage(ctx context.Context, c *client, p usageParams) (usageResult, error) {
	sessions := c.Sessions()
	r := usageResult{To: session.Day(cmp.Or(p.To, day(sessions.Today()))), By: cmp.Or(p.By, service.UsageByDay), Split: p.Split}
	if r.Split == r.By {
		return r, conn.InvalidParams("split", "must not be the same as by")
	}
	from, err := usageFrom(ctx, sessions, r.To, p.Session.Value)
	if err != nil {
		return r, err
	}
	r.From = session.Day(cmp.Or(p.From, day(from)))
	if r.From > r.To {
		return r, conn.InvalidParams("from", "must not be after to")
	}
	used := sessions.Used
	if r.By == service.UsageByUser || r.Split == service.UsageByUser {
		used = sessions.UsedByAll
	}
	lines, err := used(ctx, r.From, r.To)
	if err != nil {
		return r, err
	}
	lines = slices.DeleteFunc(lines, func(l session.Line) bool {
		return p.Session.Value != "" && l.Ref.ID != p.Session.Value || p.Model != "" && l.Model.String() != p.Model
	})
	r.Rows, r.Total = service.UsageReport(lines, r.By, r.Split)
	if r.More = len(r.Rows) > usageRows; r.More {
		r.Rows = r.Rows[:usageRows]
	}
	r.Budgets = append([]session.Spending{}, sessions.Budgets()...)
	if r.By != service.UsageBySession && r.Split != service.UsageBySession {
		return r, nil
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Session == "" {
			continue
		}
		record, err := sessions.Get(ctx, row.Session)
		switch {
		case errors.Is(err, session.ErrNotFound):
			row.Deleted = true
		case err == nil:
			row.Title = record.Title
		}
	}
	return r, nil
}

// usageFrom is the first day of a report, if the client names none: that of the session if it is about one.
func usageFrom(ctx context.Context, sessions service.Sessions, to session.Day, id session.ID) (session.Day, error) {
	if id != "" {
		record, err := sessions.Get(ctx, id)
		return min(session.DayOf(time.UnixMilli(record.Created)), to), err
	}
	last, err := time.Parse(time.DateOnly, string(to))
	return session.DayOf(last.AddDate(0, 0, 1-usageDays)), err
}
