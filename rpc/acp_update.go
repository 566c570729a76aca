package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// thread is a session as an editor follows it.
type thread struct {
	e  *editor
	id session.ID

	mu      sync.Mutex
	prompts map[session.TurnID]method.Reply // requests of this client that are open
	mine    map[session.TurnID]bool         // turns that this client asked for: it shows their prompts itself
	shown   string                          // the options that were sent last

	compacted method.Reply // of a request for a summary; nil: none is open

	waits atomic.Bool // some prompt is open

	// What follows belongs to the sender; begin fills it before.
	tools     map[string]tool.Tool
	dir       string            // of the session
	pending   []json.RawMessage // notifications without a form, for the next update
	calls     map[string][]*acpCall
	questions map[string]*acpQuestion // by confirm id
	provider  string                  // of the turn that runs
	texts     map[int]bool            // blocks of text of the message that is being written
	summary   string                  // the id of a compaction that was told and is not over
}

const (
	maxChunk   = 32 << 10 // bytes of text in an update
	maxPending = 64       // of notifications that wait for an update to ride on
)

// told keeps the options that the client has now, and reports whether they are news.
func (th *thread) told(list []acpOption) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.toldLocked(list)
}

func (th *thread) toldLocked(list []acpOption) bool {
	text := string(compactJSON(list))
	news := text != th.shown
	th.shown = text
	return news
}

// begin is the thread at a snapshot. Prompts of an earlier thread whose turns have ended since are answered.
func (th *thread) begin(snap agent.Snapshot) {
	th.dir = snap.Session.CWD
	th.tools = make(map[string]tool.Tool)
	for _, t := range snap.Session.Tools {
		th.tools[t.Name] = t
	}
	open := make(map[session.TurnID]bool)
	for _, q := range snap.Queue.Queue {
		open[q.Turn] = true
	}
	if t := snap.Turn; t != nil {
		open[t.ID], th.provider = true, t.Model.Provider
		for _, call := range t.Tools {
			started := th.call(call.Message, call.Block, call.CallID)
			started.output = call.Output
		}
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	for turn := range th.prompts {
		if !open[turn] {
			th.e.c.Run(func() { th.answerEnded(turn) })
		}
	}
}

// answerEnded answers a prompt whose turn has ended while nobody was looking.
func (th *thread) answerEnded(turn session.TurnID) {
	ctx := th.e.c.Conn.Context()
	ended, err := service.OnAgent(ctx, th.e.c, th.id, func(a *agent.Agent) (agent.Ended, error) { return a.Wait(ctx, turn) })
	if err != nil {
		th.answer(turn, nil, err)
		return
	}
	th.answer(turn, &feed.TurnEnd{TurnEnd: ended.End}, nil)
}

// run tells what happens until the session's end, or the client's. It answers the prompts of the turns that end.
func (th *thread) run(ctx context.Context, snap agent.Snapshot, sub *feed.Subscription) error {
	defer th.unask()
	if err := th.send(ctx, nil, acpUpdate{Kind: "available_commands_update", Commands: acpCommands()}); err != nil {
		return err
	}
	if t := snap.Turn; t != nil {
		for _, q := range t.Confirms {
			if err := th.question(ctx, nil, q); err != nil {
				return err
			}
		}
	}
	for {
		u, err := sub.Next(ctx)
		if errors.Is(err, feed.ErrClosed) {
			th.fail(err)
			return nil
		}
		if _, stale := errors.AsType[*feed.Stale](err); stale {
			return conn.ErrStalled // ACP has no word for a gap; a client that comes again loads the session
		}
		if err != nil {
			return err
		}
		if err := th.tell(ctx, u); err != nil {
			return err
		}
		if e, ok := u.Event.(feed.SessionUpdate); ok && e.Deleted {
			th.fail(session.ErrNotFound)
			th.e.lose(th)
			return nil
		}
	}
}

// fail answers all prompts that are open.
func (th *thread) fail(err error) {
	th.mu.Lock()
	var open []session.TurnID
	for turn := range th.prompts {
		open = append(open, turn)
	}
	th.mu.Unlock()
	for _, turn := range open {
		th.answer(turn, nil, err)
	}
	th.answerCompact(nil, err)
}

// tell tells an update in the forms that ACP has; the rest waits for the next that has one.
func (th *thread) tell(ctx context.Context, u *feed.Update) error {
	switch e := u.Event.(type) {
	case feed.PromptStored:
		th.mu.Lock()
		mine := th.mine[u.Turn]
		th.mu.Unlock()
		if mine {
			return nil
		}
		return th.says(ctx, u, string(e.Message), "user_message_chunk", e.Content)
	case feed.ThinkingDelta:
		return th.grow(ctx, u, "agent_thought_chunk", blockID(e.Message, e.Block), e.Delta)
	case feed.MessageStart:
		th.texts = make(map[int]bool)
		if e.Served != nil {
			return th.later(u)
		}
	case feed.MessageDelta:
		if th.texts != nil { // nil: this client came in the middle of the message
			th.texts[e.Block] = true
		}
		return th.grow(ctx, u, "agent_message_chunk", blockID(e.Message, e.Block), e.Delta)
	case feed.ThinkingEnd:
		e.Text = "" // the chunks had it
		return th.later(&feed.Update{Session: u.Session, Seq: u.Seq, Time: u.Time, Turn: u.Turn, Event: e})
	case feed.TextEnd:
		return th.cites(ctx, u, blockID(e.Message, e.Block), e.Sources)
	case feed.MessageEnd:
		for _, cited := range e.Cited {
			if err := th.cites(ctx, u, blockID(e.Message, cited.Block), cited.Sources); err != nil {
				return err
			}
		}
		if e.Served != nil {
			return th.later(u)
		}
	case feed.MediaEnd:
		return th.makes(ctx, u, blockID(e.Message, e.Block), provider.Media{Type: e.MimeType, Hash: e.Hash, Size: e.Size})
	case feed.ToolStart, feed.ToolOutput, feed.ToolEnd:
		return th.tellTool(ctx, u)
	case feed.Confirm:
		return th.question(ctx, u, e)
	case feed.ConfirmResolved:
		return th.resolved(ctx, e.ID)
	case feed.UsageTotal:
		return th.usage(ctx, u, e.Usage)
	case feed.Retry:
		text := "The model call is repeated: " + e.Message
		if slices.ContainsFunc(e.Discarded, func(block int) bool { return th.texts[block] }) {
			text += ". The paragraph before this is void: the model repeats it" // ACP cannot take text back
		}
		return th.notice(ctx, u, "warning", text)
	case feed.ThinkingConverted:
		return th.notice(ctx, u, "info", "Earlier thinking of "+e.From+" is not all of use to "+e.To)
	case feed.Notice:
		if e.Kind == noticeCompacting || e.Kind == noticeCompacted || e.Kind == noticeNotCompacted {
			return th.tellCompaction(ctx, u, e)
		}
		return th.notice(ctx, u, string(e.Severity), e.Message)
	case feed.SessionUpdate:
		return th.changed(ctx, u, e)
	case feed.TurnStart:
		if err := th.endCompaction(ctx, u); err != nil {
			return err
		}
		th.provider = e.Model.Provider
		return th.later(u)
	case feed.QueueUpdate:
		return th.later(u)
	case feed.TurnEnd:
		if err := th.later(u); err != nil {
			return err
		}
		th.answer(u.Turn, &e, nil)
	}
	return nil
}

// blockID is the messageId of a block: clients put together what has the same.
func blockID(message session.MessageID, block int) string {
	return string(message) + "." + strconv.Itoa(block)
}

// later keeps an update for the next that has a form. A session in which nothing has one for long loses the oldest.
func (th *thread) later(u *feed.Update) error {
	if len(th.pending) == maxPending {
		th.pending = th.pending[1:]
	}
	th.pending = append(th.pending, th.e.c.server.out.Update(u))
	return nil
}

// ride takes what waits along.
func (th *thread) ride(m meta) meta {
	if len(th.pending) > 0 {
		if m == nil {
			m = make(meta)
		}
		m[metaKey+"/events"] = th.pending
		th.pending = nil
	}
	return m
}

// send writes a session/update; u is nil where it tells no update of the session.
func (th *thread) send(ctx context.Context, u *feed.Update, up acpUpdate) error {
	if u != nil {
		at := map[string]any{"seq": u.Seq, "turnId": u.Turn}
		if u.FirstSeq != 0 {
			at["firstSeq"] = u.FirstSeq
		}
		up.Meta = meta{metaKey + "/update": at}
	}
	up.Meta = th.ride(up.Meta)
	message, err := encodeACP(acpMessage{Version: "2.0", Method: "session/update", Params: acpNotice{th.id, up}})
	if err != nil {
		return err
	}
	return th.e.c.Notify(ctx, message)
}

type acpNotice struct {
	Session session.ID `json:"sessionId"`
	Update  acpUpdate  `json:"update"`
}

// grow tells text of a block, in pieces. Nothing is told of no text: clients would show an empty box.
func (th *thread) grow(ctx context.Context, u *feed.Update, kind, id, text string) error {
	for piece := range chunksOf(text) {
		if err := th.send(ctx, u, acpUpdate{Kind: kind, MessageID: id, Content: acpContent{Type: "text", Text: piece}}); err != nil {
			return err
		}
	}
	return nil
}

// cites lists the pages that a text refers to, each once: ACP has no other form for them.
func (th *thread) cites(ctx context.Context, u *feed.Update, id string, sources []provider.Citation) error {
	if list := provider.SourceList(sources); list != "" {
		return th.grow(ctx, u, "agent_message_chunk", id, "\n\nSources:\n"+list)
	}
	return nil
}

// makes shows an image that the model made, or says what it made.
func (th *thread) makes(ctx context.Context, u *feed.Update, id string, b provider.Media) error {
	for _, b := range th.fetched(provider.Blocks{b}) {
		if err := th.send(ctx, u, acpUpdate{Kind: "agent_message_chunk", MessageID: id, Content: acpMedia(b.(provider.Media))}); err != nil {
			return err
		}
	}
	return nil
}

// chunksOf is the parts of a text, of at most maxChunk bytes, each of whole characters and none empty.
func chunksOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			n := min(len(text), maxChunk)
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n--
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// says tells a whole message of a user.
func (th *thread) says(ctx context.Context, u *feed.Update, id, kind string, content provider.Blocks) error {
	for _, b := range th.fetched(content) {
		var err error
		switch b := b.(type) {
		case provider.Text:
			err = th.grow(ctx, u, kind, id, b.Text)
		case provider.Media:
			err = th.send(ctx, u, acpUpdate{Kind: kind, MessageID: id, Content: acpMedia(b)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (th *thread) usage(ctx context.Context, u *feed.Update, usage provider.Usage) error {
	if usage.Context == nil || usage.Context.Window == 0 {
		return th.later(u) // how full nobody knows what is, is nothing to show
	}
	up := acpUpdate{Kind: "usage_update", Used: &usage.Context.Used, Size: &usage.Context.Window}
	if usage.Cost != nil {
		up.Cost = &acpCost{usage.Cost.Amount.Units(), usage.Cost.Currency}
	}
	return th.send(ctx, u, up)
}

// notice tells those who can show it.
func (th *thread) notice(ctx context.Context, u *feed.Update, severity, text string) error {
	if err := th.later(u); err != nil || !th.e.can.Session.Notices {
		return err
	}
	return th.send(ctx, u, acpUpdate{Kind: "notice", Severity: severity, Title: text})
}

// changed tells of settings. Options that this client has just been given are no news.
func (th *thread) changed(ctx context.Context, u *feed.Update, e feed.SessionUpdate) error {
	if e.Title != nil && *e.Title != "" {
		up := acpUpdate{Kind: "session_info_update", Title: *e.Title, UpdatedAt: acpTime(u.Time)}
		if err := th.send(ctx, u, up); err != nil {
			return err
		}
	}
	if e.Model == nil && e.Level == "" && e.Mode == "" {
		return nil
	}
	st, err := service.OnAgent(ctx, th.e.c, th.id, func(a *agent.Agent) (agent.State, error) { return a.State(ctx) })
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, feed.ErrClosed) {
		return nil // the end of it comes next
	}
	if err != nil {
		return err
	}
	list := th.e.c.options(st)
	if !th.told(list) {
		return nil
	}
	if err := th.send(ctx, u, acpUpdate{Kind: "config_option_update", Options: list}); err != nil || e.Mode == "" {
		return err
	}
	return th.send(ctx, u, acpUpdate{Kind: "current_mode_update", Mode: modesOf(st).Current})
}

// acpStops are ACP's words for how a turn ended. The list is closed.
var acpStops = map[session.StopReason]string{
	session.StopEndTurn: "end_turn", session.StopMaxTokens: "max_tokens", session.StopRefusal: "refusal",
	session.StopCancelled: stopCancelled, session.StopModelCalls: "max_turn_requests", session.StopLimit: "max_turn_requests",
}

// answer answers the prompt of a turn, if it is one of this client's: with its end, or with an error.
func (th *thread) answer(turn session.TurnID, end *feed.TurnEnd, err error) {
	th.mu.Lock()
	reply := th.prompts[turn]
	delete(th.prompts, turn)
	delete(th.mine, turn)
	th.waits.Store(len(th.prompts) > 0)
	th.mu.Unlock()
	if reply == nil {
		return
	}
	switch {
	case err != nil:
		reply(nil, err)
	case acpStops[end.StopReason] != "":
		reply(acpPromptResult{acpStops[end.StopReason], th.ride(nil)}, nil)
	case end.Error != nil:
		e := failure.OfTurn(end.Error)
		if e.Code == conn.CodeProvider && th.provider != "" {
			e.Data["provider"] = th.provider
		}
		reply(nil, e)
	default: // interrupted
		reply(nil, &conn.Error{Code: conn.CodeClosing, Message: "the daemon went down in this turn"})
	}
}
