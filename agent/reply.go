package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// reply is the message that the model is writing.
type reply struct {
	id       session.MessageID // empty: not begun
	served   *feed.Served      // as its start says
	next     int               // number of the next block
	open     map[int]*block    // by the adapter's index
	over     map[int]int       // numbers of blocks that have ended, by index
	sealed   []int             // numbers
	shown    bool              // text was shown
	calling  bool              // a tool call was begun
	thinking bool              // thinking was seen
	visible  bool              // thinking with text was seen
	paused   bool              // the next one goes on with it
	calls    map[string]bool   // ids of the tool calls sealed
	twice    map[int]bool      // numbers of those whose id another one had
}

// block is an open block.
type block struct {
	number    int
	kind      provider.BlockKind
	as        provider.ThinkingKind
	begun     time.Time
	text      []byte
	announced bool // clients have its start
}

// Open is a block that is being written.
type Open struct {
	Number int
	Block  provider.Block // as far as it came
}

// repeatable reports whether the call may be made again after a failure: clients saw no text of it, or the connection was lost inside
// a tool call, which clients do not see before it runs. A file that is written is one long argument, so most losses happen there, and
// the text before a call is short.
func (m *reply) repeatable() bool { return !m.shown || m.calling }

// seen lists the open blocks that clients saw a part of, in order. They see no part of a tool call before its end.
func (m *reply) seen() []*block {
	return slices.SortedFunc(func(yield func(*block) bool) {
		for _, b := range m.open {
			if (b.announced || b.kind == provider.KindText && len(b.text) > 0) && !yield(b) {
				return
			}
		}
	}, func(a, b *block) int { return a.number - b.number })
}

// blocks is what is being written.
func (m *reply) blocks() []Open {
	var list []Open
	for _, b := range m.seen() {
		list = append(list, Open{b.number, b.soFar()})
	}
	return list
}

// soFar is the block as far as it came.
func (b *block) soFar() provider.Block {
	if b.kind == provider.KindThinking {
		return provider.Thinking{Text: string(b.text), Kind: b.as}
	}
	return provider.Text{Text: string(b.text)}
}

// identify knows a sealed tool call by its id. One that has none, or that of another, gets one of ours, and loses the vendor's
// state, which has the wrong one: a result must belong to just one call.
func (m *reply) identify(number int, c provider.ToolCall) provider.ToolCall {
	if m.calls == nil {
		m.calls, m.twice = make(map[string]bool), make(map[int]bool)
	}
	if m.calls[c.ID] {
		m.twice[number] = true
	}
	if c.ID == "" || m.calls[c.ID] {
		c.ID, c.State = "call_"+rand.Text()[:16], provider.State{}
	}
	m.calls[c.ID] = true
	return c
}

// late is the sources that were named behind the end of their texts, by the numbers of these.
func (m *reply) late(list []provider.Cited) (cited []session.Cited) {
	for _, c := range list {
		if number, ok := m.over[c.Index]; ok && slices.Contains(m.sealed, number) {
			cited = append(cited, session.Cited{Block: number, Sources: c.Sources})
		}
	}
	return cited
}

// speaks is says for a message of the log.
func speaks(m *session.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		switch b := p.Block.(type) {
		case provider.Text:
			return !blank(b.Text)
		case provider.ToolCall, provider.Media:
			return true
		case provider.Thinking, provider.Opaque, provider.ToolResult, provider.ServerTool:
		}
		return false
	})
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func thinkingEnd(id session.MessageID, number int, b provider.Thinking) feed.ThinkingEnd {
	return feed.ThinkingEnd{Message: id, Block: number, Text: b.Text, Kind: b.Kind, Signed: b.Signed,
		Tokens: b.Tokens, Estimated: b.Estimated, DurationMS: b.Duration.Milliseconds()}
}

// answering is the model that answers the running call, as far as it is known.
type answering struct {
	by  *session.Served // nil: the answer has not begun
	row provider.Model  // for the price
}

// corrected is the model that answers, if the message began with another one: the call was made again, or the answer names
// another model in its middle.
func (m *reply) corrected(by *session.Served) *feed.Served {
	now := feed.NewServed(by)
	if now == nil || m.served != nil && *now == *m.served {
		return nil
	}
	return now
}

// Bounds of what models may do with tools in one turn.
const (
	maxBadRounds = 3       // replies in a row without a call that can run
	maxArguments = 1 << 20 // bytes of a call's arguments
	maxCalls     = 128     // of one reply; the others get a result that says so, and do not run
)

// round is the calls of one reply, until all have a result. It belongs to the agent's goroutine. The goroutines of the calls use
// only ctx, news and grew.
type round struct {
	reply   session.MessageID
	results session.MessageID
	calls   []*toolCall
	left    int // calls without a result

	ctx  context.Context // of the goroutines
	stop context.CancelCauseFunc
	news chan func()   // for the agent's goroutine; has room for all that is ever sent
	grew chan struct{} // a token: some call has output to tell
}

// toolCall is one call of a round.
type toolCall struct {
	session.Call
	index     int                 // among the calls of its reply
	tool      tool.Tool           // zero: the session has none of that name
	announced bool                // clients know of it
	begun     time.Time           // zero: it was not begun
	asked     *question           // nil: no person is asked
	concern   approval.Concern    // what its host found in its arguments
	would     approval.Inspection // what it would do, if a person may be asked
	output    *relay.Output       // nil: no host runs it
	stop      context.CancelFunc
	done      bool
}

// whole is the call with arguments: a model may leave out those of a tool that wants none.
func (c *toolCall) whole() provider.ToolCall {
	call := c.ToolCall
	if len(call.Input) == 0 {
		call.Input = json.RawMessage("{}")
	}
	return call
}

// waitsForPeople reports whether nothing goes on but what waits for a person or a client.
func (rd *round) waitsForPeople() bool {
	if rd == nil || rd.left == 0 {
		return false
	}
	return !slices.ContainsFunc(rd.calls, func(c *toolCall) bool {
		return !c.done && c.asked == nil && (c.begun.IsZero() || c.tool.Host != tool.Client)
	})
}

// needs is what the calls need of a person or a client, though others may go on.
func (rd *round) needs() (need watch.Need) {
	if rd == nil {
		return ""
	}
	for _, c := range rd.calls {
		switch {
		case c.done:
		case c.asked != nil:
			return watch.Approval
		case !c.begun.IsZero() && c.tool.Host == tool.Client:
			need = watch.Answer
		}
	}
	return need
}

// question is a Confirm that nobody has answered yet.
type question struct {
	feed.Confirm
	asked    time.Time // silence is a no by this, and Until is for people: their clock may be set meanwhile
	tooLarge string    // why the call can only be denied, for the model; empty: it can be allowed
}

// Ruling is an answer to the question about a call.
type Ruling struct {
	Action session.Action
	Grant  string // the id of one of the question's grants, for AllowOnce, or of its denials, for Deny; empty: for this call only
	Reason string // of Deny, for the model
	Client string // the name of who answers
}

var (
	// ErrNoConfirm says that the session has no question with this id.
	ErrNoConfirm = errors.New("no such question")

	// ErrNoAction says that the question does not offer this answer.
	ErrNoAction = errors.New("the question has no such action")

	// ErrNoGrant says that an answer gives a grant or a denial that the question does not have.
	ErrNoGrant = errors.New("the question has no such grant")
)

// grant is the standing answer that an answer gives, nil if it gives none. It has the id of its question: a question has one answer.
func (q *question) grant(r Ruling) (*tool.Grant, error) {
	id, offered := r.Grant, q.Grants
	switch {
	case r.Action == session.AllowSession && id == "":
		id = approval.ToolGrant
	case id == "":
		return nil, nil
	case r.Action == session.Deny:
		offered = q.Denials
	case r.Action == session.AllowSession && id != approval.ToolGrant:
		return nil, ErrNoGrant
	}
	for _, g := range offered {
		if g.ID == id {
			g.ID = q.ID
			return &g, nil
		}
	}
	return nil, ErrNoGrant
}

// tooManyCalls is the result of each call above the bound.
var tooManyCalls = fmt.Sprintf("a reply may have %d calls, and this one has more; this call was not run, so make it in a later reply", maxCalls)

func toolNames(tools []tool.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// guarded is invalid for foreign schemas and arguments: a panic ends the call, and nothing else.
func guarded(log *slog.Logger, c *toolCall, names string) (why string) {
	defer func() {
		if p := recover(); p != nil {
			err := fault.Panicked(log.With("tool", c.Name), "the check of a call", p)
			why = "the arguments cannot be checked by an " + err.Error() + ", so the tool was not run"
		}
	}()
	return invalid(c.ToolCall, c.tool, names)
}

// invalid says in the model's words why a call cannot be run, empty if it can.
func invalid(c provider.ToolCall, t tool.Tool, names string) string {
	switch {
	case t.Name == "":
		return fmt.Sprintf("there is no tool %q; there are: %s", c.Name, names)
	case c.Invalid != "":
		return "the arguments are not a JSON object; the tool was not run"
	case len(c.Input) > maxArguments:
		return fmt.Sprintf("the arguments are longer than %d bytes; the tool was not run", maxArguments)
	}
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := arguments.Check(t.Schema, input); err != nil {
		return "the arguments do not fit the tool's schema, and it was not run: " + err.Error()
	}
	return ""
}

// examined is what the host of a call found out about it.
type examined struct {
	concern approval.Concern
	would   approval.Inspection
}

// inspectTime is how long people wait for what a host finds out of a call: an editor may have to be asked for the file.
const inspectTime = 10 * time.Second

// examineCall has a host say what is dangerous about a call, and what it would do if a person may be asked about it. A call
// whose examination panics does not run. After a panic of the inspection people see the arguments.
func examineCall(ctx context.Context, log *slog.Logger, examiner toolhost.Examiner, inspector toolhost.Inspector, call provider.ToolCall, q approval.Question) (found examined, why string) {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	inspecting := false
	defer func() {
		if p := recover(); p != nil {
			err := fault.Panicked(log.With("tool", call.Name), "the examination of a call", p)
			if !inspecting {
				why = "the call cannot be examined by an " + err.Error() + ", so the tool was not run"
			}
		}
	}()
	if examiner != nil {
		found.concern = examiner.Examine(ctx, q.Tool, call)
		q.Concern = found.concern
	}
	if inspecting = true; inspector != nil && q.Rule() == tool.Ask {
		found.would = inspector.Inspect(approval.WithDecision(ctx, approval.Decision{Tool: q.Tool, Concern: found.concern}), call)
	}
	return found, why
}

// denial tells the model why a rule refused its call.
// partsSize is the bytes of parts as clients get them.
func partsSize(parts []approval.Part) int {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // strings alone
	}
	return len(text)
}

// toolStart is the ToolStart of a call; host is empty where it does not run.
func toolStart(reply session.MessageID, c session.Call, host tool.Kind, title string) feed.ToolStart {
	e := feed.ToolStart{Message: reply, Block: c.Number, CallID: c.ID, Name: c.Name, Arguments: c.Input, Invalid: c.Invalid,
		Host: host, Title: title}
	if len(e.Arguments) == 0 && e.Invalid == "" {
		e.Arguments = json.RawMessage("{}")
	}
	return e
}
