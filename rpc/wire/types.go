package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Session is a session as clients see it.
type Session struct {
	ID        session.ID                 `json:"session_id"`
	Title     string                     `json:"title"`
	Status    session.Status             `json:"status"`
	Model     feed.Model                 `json:"model"`
	Level     provider.Level             `json:"thinking_level"`
	Preferred *provider.Level            `json:"preferred_thinking_level"`   // null: the user chose none
	Agent     string                     `json:"agent,omitempty"`            // that it was made for
	Mode      tool.Mode                  `json:"tool_mode,omitempty"`        // absent: ask
	OnOther   provider.OtherModel        `json:"on_other_model,omitempty"`   // absent: as the config has it
	Fallbacks *[]registry.FallbackModel  `json:"fallbacks,omitempty"`        // absent: as the config has them
	Egress    []string                   `json:"egress,omitempty"`           // labels of the providers that it may reach; absent: all
	Storage   provider.ThinkingStorage   `json:"thinking_storage,omitempty"` // absent: full
	Ephemeral bool                       `json:"ephemeral,omitempty"`        // it ends with the daemon
	AskAbove  *provider.Money            `json:"ask_above,omitempty"`        // USD; absent: as the config has it
	CWD       string                     `json:"cwd"`
	Created   int64                      `json:"created"`
	Updated   int64                      `json:"updated"`
	Usage     provider.Usage             `json:"usage"`
	WarmUntil int64                      `json:"warm_until,omitempty"` // absent: the vendor keeps nothing in its cache, or that is not known
	Metadata  map[string]json.RawMessage `json:"metadata"`
	Grants    []tool.Grant               `json:"grants,omitempty"` // in effect; not in lists
	Needs     watch.Need                 `json:"needs,omitempty"`  // of a person; only in lists
	Owner     string                     `json:"owner,omitempty"`  // who shares it with the client's user; absent: it is the user's own
	Access    session.Access             `json:"access,omitempty"` // what the user may do with it; with owner
	Archived  bool                       `json:"archived,omitempty"`
	OnTop     bool                       `json:"pinned,omitempty"`          // a person has pinned the session to the top of lists
	Pinned    []session.MessageID        `json:"pinned_messages,omitempty"` // not in lists
	Options   *provider.Options          `json:"options,omitempty"`         // absent: none; not in lists
	Tools     []SessionTool              `json:"tools,omitempty"`           // not in lists

	Plan         []tool.PlanItem           `json:"plan,omitempty"`                 // of its models; not in lists
	Instructions []session.InstructionFile `json:"project_instructions,omitempty"` // files in the system prompt; not in lists
}

// SessionTool is a tool that the models of a session may call.
type SessionTool struct {
	Name   string      `json:"name"`
	Host   tool.Kind   `json:"host"`
	Source string      `json:"source,omitempty"` // the server's name; empty for tools of clients
	Effect tool.Effect `json:"effect"`
}

// WithDetails adds what lists of sessions leave out.
func (w Session) WithDetails(st agent.State) Session {
	w.Grants, w.Pinned, w.Options = st.Grants, st.Session.Pinned, NewOptions(st.Session.Settings)
	w.Instructions, w.Plan = st.Session.Instructions.Files, st.Plan
	for _, t := range st.Session.Tools {
		source := t.Source
		if t.Host == tool.MCP {
			source = t.Server() // without what tells the servers of two clients apart
		}
		w.Tools = append(w.Tools, SessionTool{t.Name, t.Host, source, cmp.Or(t.Effect, tool.Other)})
	}
	return w
}

// NewSession shows a session whose next turn gets a model.
func NewSession(s session.Session, model feed.Model) Session {
	w := Session{ID: s.ID, Title: s.Title, Status: s.Status, Model: model, Level: model.Level,
		Preferred: Preferred(s.Settings), Agent: s.Agent.Name, Mode: s.Mode, OnOther: s.OnOther, Fallbacks: fallbacks(s.Fallbacks), Egress: s.Egress, AskAbove: s.AskAbove, Storage: s.Storage, Ephemeral: s.Ephemeral, CWD: s.CWD, Created: s.Created, Updated: s.Updated, Usage: s.Usage, WarmUntil: s.WarmUntil(),
		Archived: s.Archived, OnTop: s.OnTop,
		Metadata: maps.Clone(s.Metadata)}
	if w.Metadata == nil {
		w.Metadata = map[string]json.RawMessage{}
	}
	return w
}

// fallbacks are the links of a session as clients write them.
func fallbacks(links *[]session.Link) *[]registry.FallbackModel {
	if links == nil {
		return nil
	}
	list := []registry.FallbackModel{}
	for _, l := range *links {
		list = append(list, registry.FallbackModel{Model: l.Model.String(), Level: l.Level, Key: l.Key})
	}
	return &list
}

// NewOptions are the options of a session, nil if it has none.
func NewOptions(s session.Settings) *provider.Options {
	o := s.Asked()
	if o.IsZero() {
		return nil
	}
	return &o
}

// Preferred is the level that the user chose, nil if none.
func Preferred(s session.Settings) *provider.Level {
	if s.Level == "" {
		return nil
	}
	return &s.Level
}

// ModelOf is a model with the level that a decision puts into effect.
func ModelOf(m provider.Model, d provider.Decision) feed.Model {
	return feed.Model{Provider: m.Provider, ID: m.ID, Level: d.Effective}
}

// Message is a message as clients see it.
type Message struct {
	ID         session.MessageID  `json:"id"`
	Turn       session.TurnID     `json:"turn_id"`
	Role       provider.Role      `json:"role"`
	Time       int64              `json:"ts,omitempty"` // of its first part on disk; absent: there is none yet
	Content    []Block            `json:"content"`
	Model      *feed.Model        `json:"model,omitempty"`
	Reasoning  *provider.Decision `json:"reasoning,omitempty"`
	Served     *servedRecord      `json:"served,omitempty"` // absent: not known
	Payer      *provider.Payer    `json:"payer,omitempty"`  // absent: not known
	Tier       string             `json:"tier,omitempty"`
	StopReason session.StopReason `json:"stop_reason,omitempty"`
	Usage      *provider.Usage    `json:"usage,omitempty"`
	Incomplete session.Incomplete `json:"incomplete,omitempty"`
	Open       bool               `json:"open,omitempty"`   // it is being written
	Queued     bool               `json:"queued,omitempty"` // it waits for its turn
	Into       session.TurnID     `json:"into,omitempty"`   // the turn that took the prompt in; empty: its own
	Continues  session.TurnID     `json:"continues,omitempty"`
	Joins      *feed.Joined       `json:"joins,omitempty"`
	Pinned     bool               `json:"pinned,omitempty"`   // later summaries keep it word for word
	Ended      *TurnEnded         `json:"turn_end,omitempty"` // of the last message of a turn; absent: it ended with end_turn, or has not ended
}

// TurnEnded is how the turn of a message ended, with the members that turn_end has.
type TurnEnded struct {
	StopReason session.StopReason `json:"stop_reason"`
	Model      *feed.Model        `json:"model,omitempty"` // of the turn; absent: it never started
	Limit      string             `json:"limit,omitempty"`
	Error      *conn.Error        `json:"error,omitempty"`
	Mismatch   []string           `json:"output_errors,omitempty"`
}

// newTurnEnded is the end that a message shows: the last message of a turn shows an end that is not the usual one.
func newTurnEnded(m agent.Message) *TurnEnded {
	if !m.Last || m.Stop == nil || m.Stop.StopReason == session.StopEndTurn {
		return nil
	}
	w := &TurnEnded{StopReason: m.Stop.StopReason, Limit: m.Stop.Limit, Error: failure.OfTurn(m.Stop.Error), Mismatch: m.Stop.Mismatch}
	if m.Start != nil {
		w.Model = modelOfTurn(m.Start)
	}
	return w
}

func modelOfTurn(start *session.TurnStart) *feed.Model {
	return &feed.Model{Provider: start.Model.Provider, ID: start.Model.ID, Level: start.Reasoning.Effective}
}

func (t *TurnEnded) size() int {
	if t == nil {
		return 0
	}
	n := 1 << 8 // members and their names
	if t.Error != nil {
		n += len(t.Error.Message)
	}
	for _, text := range t.Mismatch {
		n += len(text)
	}
	return n
}

// servedRecord is which model wrote a message.
type servedRecord struct {
	Requested string `json:"requested,omitempty"` // provider/id, by the turn
	Sent      string `json:"sent,omitempty"`      // the id in the request
	feed.Served
}

func newServedRecord(by *session.Served) *servedRecord {
	if by == nil {
		return nil
	}
	w := &servedRecord{Sent: by.Sent}
	if by.Requested != (session.ModelRef{}) {
		w.Requested = by.Requested.String()
	}
	if served := feed.NewServed(by); served != nil {
		w.Served = *served
	}
	return w
}

// NewPayer is what clients see of who pays.
func NewPayer(p *session.Payer) *provider.Payer {
	if p == nil {
		return nil
	}
	return &p.Payer
}

// newMessage shows a message in about limit bytes: what of its blocks is beyond that is cut.
func newMessage(m agent.Message, limit int) (Message, error) {
	w := Message{ID: m.ID, Turn: m.Turn, Role: m.Role, Time: m.Time, Content: []Block{}, Into: m.Into, Pinned: m.Pinned, Ended: newTurnEnded(m)}
	limit = max(limit-w.Ended.size(), 0)
	add := func(number int, b provider.Block, open bool) error {
		if _, ok := b.(provider.Opaque); ok { // nobody may see it
			return nil
		}
		shown, err := newBlock(number, b, open, limit)
		w.Content = append(w.Content, shown)
		limit = max(limit-shown.size(), 0)
		return err
	}
	for _, p := range m.Parts {
		if err := add(p.Number, p.Block, false); err != nil {
			return w, err
		}
	}
	for _, o := range m.Open {
		if err := add(o.Number, o.Block, true); err != nil {
			return w, err
		}
	}
	switch {
	case m.Role == provider.User:
		w.Queued = m.Start == nil && m.Stop == nil
		if m.Unsent() {
			w.Incomplete = session.Incomplete(m.Stop.StopReason)
		}
		if m.Refused {
			w.Incomplete = session.Unsent
		}
		return w, nil
	case m.Start != nil:
		w.Model = modelOfTurn(m.Start)
		w.Reasoning = NewReasoning(m.Start.Reasoning)
		w.Payer = NewPayer(m.Start.Payer)
	}
	w.Served = newServedRecord(m.Served)
	w.Continues, w.Joins = m.Continues, m.Joins
	if m.End == nil {
		w.Open = true
		return w, nil
	}
	w.Tier = m.End.Tier
	w.StopReason, w.Usage, w.Incomplete = m.End.StopReason, &m.End.Usage, m.End.Incomplete
	return w, nil
}

// Size is about what the message takes as JSON, in bytes.
func (m Message) Size() int {
	n := 1<<10 + m.Ended.size() // reasoning, model and usage
	for _, b := range m.Content {
		n += b.size()
	}
	return n
}

// NewReasoning is a decision whose list is never null.
func NewReasoning(d provider.Decision) *provider.Decision {
	d.Supported = append([]provider.Level{}, d.Supported...)
	return &d
}

// Block is the JSON of a block as clients see it.
type Block struct{ json.RawMessage }

func (b Block) size() int { return len(b.RawMessage) + len(`,`) }

// newBlock is a block with its number in the message and without its vendor's state. What does not fit into about
// limit bytes is cut.
func newBlock(number int, b provider.Block, open bool, limit int) (Block, error) {
	b, whole := Cut(provider.WithoutState(b), limit)
	members, err := provider.MarshalBlock(b)
	if err != nil {
		return Block{}, err
	}
	head := struct {
		Block     int  `json:"block"`
		Open      bool `json:"open,omitempty"`
		Truncated bool `json:"truncated,omitempty"`
	}{number, open, !whole}
	out, err := json.Marshal(head)
	if err != nil {
		return Block{}, err
	}
	out[len(out)-1] = ','
	return Block{append(out, members[1:]...)}, nil
}

// newBlocks numbers the blocks of a prompt.
func newBlocks(content provider.Blocks, limit int) ([]Block, error) {
	out := make([]Block, 0, len(content))
	for i, b := range content {
		shown, err := newBlock(i, b, false, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
		limit = max(limit-shown.size(), 0)
	}
	return out, nil
}

// Cut leaves out of a block what does not fit into limit bytes of JSON, and reports whether it is whole. Text keeps its
// beginning. Anything else is left out: nobody can use half of it.
func Cut(b provider.Block, limit int) (_ provider.Block, whole bool) {
	switch t := b.(type) {
	case provider.Text:
		if t.Text, whole = head(t.Text, limit); !whole { // the places of sources are in what is cut
			t.Sources, t.JSON = nil, nil
		} else if len(t.Text)+len(t.JSON) > limit {
			t.JSON = nil
		}
		return t, whole
	case provider.Thinking:
		t.Text, whole = head(t.Text, limit)
		return t, whole
	case provider.ToolCall:
		if len(t.Input)+len(t.Invalid) > limit {
			t.Input, t.Invalid = nil, ""
			return t, false
		}
	case provider.ToolResult:
		whole = true
		blocks := make(provider.Blocks, len(t.Blocks))
		for i, inner := range t.Blocks {
			var all bool
			if blocks[i], all = Cut(inner, limit); !all {
				whole = false
			}
			shown, err := provider.MarshalBlock(blocks[i])
			if limit -= len(shown); err != nil || limit < 0 {
				limit = 0
			}
		}
		t.Blocks = blocks
		return t, whole
	case provider.ServerTool:
		whole = true
		if len(t.Input) > limit {
			t.Input, whole = nil, false
		}
		var all bool
		if t.Text, all = head(t.Text, limit-len(t.Input)); !all {
			whole = false
		}
		if sources, err := json.Marshal(t.Sources); err != nil || len(sources) > limit-len(t.Input)-len(t.Text) {
			t.Sources, whole = nil, whole && len(t.Sources) == 0
		}
		return t, whole
	case provider.Media:
		if t.Hash != "" { // it is kept elsewhere, and was not fetched
			t.Hash, t.Size, t.Data = "", 0, nil
			return t, false
		}
		if base64.StdEncoding.EncodedLen(len(t.Data)) > limit {
			t.Data = nil
			return t, false
		}
	}
	return b, true
}

// head is the beginning of a text that takes at most limit bytes as JSON, and whether that is all of it.
func head(text string, limit int) (string, bool) {
	const most = len(`\u0000`) // bytes of JSON for one of text
	if len(text) <= limit/most {
		return text, true
	}
	for i, r := range text {
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
			limit -= most
		case r == '"', r == '\\':
			limit -= 2
		default:
			limit -= utf8.RuneLen(r)
		}
		if limit < 0 {
			return text[:i], false
		}
	}
	return text, true
}

// Waiting is the queue of prompts, as far as people need to see it. All of it is in the history.
type Waiting struct {
	Queue []feed.Queued `json:"queue"`
	Held  bool          `json:"held"`
	More  bool          `json:"more_queued,omitempty"` // there are more than are listed
}

const (
	maxQueued     = 100 // prompts in a list
	maxQueuedText = 200 // characters of each
)

// NewWaiting shows a queue.
func NewWaiting(q feed.QueueUpdate) Waiting {
	n := min(len(q.Queue), maxQueued)
	w := Waiting{Queue: make([]feed.Queued, 0, n), Held: q.Held, More: n < len(q.Queue)}
	for _, p := range q.Queue[:n] {
		w.Queue = append(w.Queue, feed.Queued{Turn: p.Turn, Text: Characters(p.Text, maxQueuedText)})
	}
	return w
}

// Characters is the beginning of a text, of at most limit characters.
func Characters(text string, limit int) string {
	for i := range text {
		if limit--; limit < 0 {
			return text[:i]
		}
	}
	return text
}

// CatalogModel is a Model of models/list.
type CatalogModel struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Provider  string           `json:"provider"`
	Supports  bool             `json:"supports_thinking"`
	Levels    []provider.Level `json:"thinking_levels"`
	Default   provider.Level   `json:"default_thinking_level"`
	Thinking  ModelThinking    `json:"thinking"`
	Window    int              `json:"context_window,omitempty"`
	MaxOutput int              `json:"max_output_tokens,omitempty"`
	Input     []string         `json:"input,omitempty"` // absent: not known

	Media     *provider.MediaLimits `json:"media,omitempty"` // absent: not known
	Tools     bool                  `json:"tools"`
	Price     *provider.Price       `json:"price,omitempty"`              // absent: not known
	Premium   *float64              `json:"premium_multiplier,omitempty"` // absent: not known
	Lifecycle *provider.Lifecycle   `json:"lifecycle,omitempty"`          // absent: not known
	Facts     provider.Facts        `json:"facts,omitzero"`

	Storages  []provider.ThinkingStorage `json:"thinking_storages"` // that sessions with the model can have
	Available bool                       `json:"available"`
	Why       string                     `json:"why,omitempty"` // why it is not available
}

// ModelThinking is what a CatalogModel says about thinking.
type ModelThinking struct {
	Control    provider.ControlKind `json:"control,omitempty"` // nobody knows where the source is unknown
	CanDisable bool                 `json:"can_disable"`
	Display    []provider.Display   `json:"display,omitempty"`
	Source     provider.RowSource   `json:"source"`
	AsOf       string               `json:"as_of,omitempty"`
}

// NewCatalogModel shows a row. why is the reason if it is not available.
func NewCatalogModel(m provider.Model, available bool, why string) CatalogModel {
	return CatalogModel{ID: m.ID, Name: m.Name, Provider: m.Provider, Supports: m.Thinking.Thinks(),
		Levels: append([]provider.Level{}, m.Thinking.Levels...), Default: cmp.Or(m.Thinking.Default, provider.Auto),
		Thinking: ModelThinking{m.Thinking.Control, m.Thinking.CanDisable(), m.Thinking.Display, m.Source, m.AsOf},
		Window:   m.Window, MaxOutput: m.MaxOutput, Input: m.Input, Media: m.Media, Tools: m.Tools, Price: m.Price, Premium: m.Premium, Lifecycle: m.Lifecycle, Facts: m.Facts,
		Storages: privacy.Choices(m), Available: available, Why: why}
}
