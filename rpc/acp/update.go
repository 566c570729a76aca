package acp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/acp/option"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

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
			th.begun(call.CallID, started.id)
		}
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	for turn := range th.prompts {
		if !open[turn] {
			th.e.Run(func() { th.answerEnded(turn) })
		}
	}
}

// run sends updates until the end of the session or the connection. It answers the prompts of the turns that end.
func (th *thread) run(ctx context.Context, snap agent.Snapshot, sub *feed.Subscription) error {
	defer th.unask()
	if err := th.sendCommands(ctx); err != nil {
		return err
	}
	if err := th.usage(ctx, nil, snap.Session.Usage); err != nil {
		return err
	}
	if err := th.noteDirectory(ctx); err != nil {
		return err
	}
	if t := snap.Turn; t != nil {
		for _, q := range t.Confirms {
			if err := th.question(ctx, nil, q); err != nil {
				return err
			}
		}
		if t.Parked != nil && t.Parked.Spending != nil {
			if err := th.spend(ctx, nil, t.ID, *t.Parked); err != nil {
				return err
			}
		}
	}
	for {
		u, err := sub.Next(ctx)
		if err != nil {
			return th.ended(ctx, err)
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

// tell sends an update in the forms that ACP has. An update without a form waits for the next one that has a form.
func (th *thread) tell(ctx context.Context, u *feed.Update) error {
	switch e := u.Event.(type) {
	case feed.PromptStored:
		th.mu.Lock()
		mine := th.mine[u.Turn]
		th.mu.Unlock()
		if mine || e.Replaces { // an editor cannot change what it shows
			return nil
		}
		return th.says(ctx, u, string(e.Message), "user_message_chunk", e.Content)
	case feed.ThinkingDelta:
		return th.grow(ctx, u, kindThought, blockID(e.Message, e.Block), e.Delta)
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
	case feed.ServerTool:
		return th.serves(ctx, u, e)
	case feed.MediaEnd:
		return th.makes(ctx, u, blockID(e.Message, e.Block), provider.Media{Type: e.MimeType, Hash: e.Hash, Size: e.Size})
	case feed.ToolStart, feed.ToolOutput, feed.ToolEnd:
		return th.tellTool(ctx, u)
	case feed.Plan:
		return th.send(ctx, u, planUpdate(e.Items))
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
		if e.Kind == noticeTools && !bool(th.e.can.Session.Notices) {
			th.troubles = append(th.troubles, e.Message)
			return th.later(u)
		}
		if e.Kind == noticeCompacting || e.Kind == noticeCompacted || e.Kind == noticeNotCompacted {
			return th.tellCompaction(ctx, u, e)
		}
		return th.notice(ctx, u, string(e.Severity), e.Message)
	case feed.SummaryStored:
		return th.summarised(ctx, u, e.Summary)
	case feed.SummaryUndone:
		return th.notice(ctx, u, "info", "The summary was undone: the model gets the earlier messages again")
	case feed.SessionUpdate:
		return th.changed(ctx, u, e)
	case feed.TurnStart:
		if err := th.endCompaction(ctx, u); err != nil {
			return err
		}
		th.provider = e.Model.Provider
		if err := th.later(u); err != nil {
			return err
		}
		return th.showTroubles(ctx, u)
	case feed.FellBack:
		th.provider = e.To.Provider
		return th.notice(ctx, u, "warning", fellBackText(e))
	case feed.TurnParked:
		if e.Why == session.ParkedApproval { // the question says so
			return th.later(u)
		}
		if e.Spending != nil {
			return th.spend(ctx, u, u.Turn, e)
		}
		return th.notice(ctx, u, "warning", parkedText(e))
	case feed.QueueUpdate:
		return th.later(u)
	case feed.TurnResumed:
		if err := th.later(u); err != nil {
			return err
		}
		return th.spent(ctx, u, "completed")
	case feed.TurnEnd:
		if e.Into != "" { // no request waits for it
			th.answer(u.Turn, &e, nil)
			return nil
		}
		if err := th.later(u); err != nil {
			return err
		}
		if err := th.spent(ctx, u, "failed"); err != nil {
			return err
		}
		if err := th.sendCommands(ctx); err != nil { // a server may have started in the turn, or changed its prompts
			return err
		}
		th.answer(u.Turn, &e, nil)
	}
	return nil
}

// noticeTools is the kind of notice about a server whose tools the session lacks.
const noticeTools = "tools_missing"

// showTroubles shows errors of servers to an editor that cannot show notices: as calls that failed, in a turn, since some editors drop
// what comes before one.
func (th *thread) showTroubles(ctx context.Context, u *feed.Update) error {
	for i, text := range th.troubles {
		err := th.send(ctx, u, update{Kind: "tool_call", Call: fmt.Sprintf("%s.trouble.%d", u.Turn, i), Title: "Tools of an MCP server are missing", ToolKind: "other",
			Status: "failed", Content: blocks.Text(text)})
		if err != nil {
			return err
		}
	}
	th.troubles = nil
	return nil
}

// noteDirectory tells an editor that has opened the session in another directory that its tools work elsewhere.
func (th *thread) noteDirectory(ctx context.Context) error {
	if th.openedIn == "" || th.dir == "" || filepath.Clean(th.openedIn) == filepath.Clean(th.dir) {
		return nil
	}
	th.e.Log().Info("an editor opens a session in another directory than its own", "session", th.id)
	return th.notice(ctx, nil, "warning", fmt.Sprintf("This session works in %s, where it was created, and not in %s", th.dir, th.openedIn))
}

// fellBackText says with which model the turn goes on, and why.
func fellBackText(e feed.FellBack) string {
	to := fmt.Sprintf("%s/%s (thinking: %s)", e.To.Provider, e.To.ID, e.To.Level)
	if e.Key != "" {
		to += ", key " + e.Key
	}
	if e.Reason == feed.Returned {
		return "The session returns to " + to
	}
	text := "The turn continues with " + to
	if e.Error != nil {
		text += ", because a call of " + e.From.Provider + "/" + e.From.ID + " failed: " + e.Error.Message
	}
	return text
}

// parkedText says why a turn is parked, and what makes it go on. ACP has no such state: the prompt's request stays open.
func parkedText(p feed.TurnParked) string {
	var text string
	switch p.Why {
	case session.ParkedApproval:
		text = "The turn waits for an answer"
	case session.ParkedQuota:
		text = "The provider takes no more requests for now"
	case session.ParkedOutage:
		text = "The provider cannot be reached"
	case session.ParkedClient:
		text = "The prompt is sent later"
	}
	if p.Resumes == session.ResumesAlone && p.Until != 0 {
		return text + ". The turn continues at " + time.UnixMilli(p.Until).Format("2006-01-02 15:04") + "; cancel it to stop waiting"
	}
	return text + ". The turn waits until a client resumes it; cancel it to stop waiting"
}

// changed sends settings. Options that this client already has are not sent again.
func (th *thread) changed(ctx context.Context, u *feed.Update, e feed.SessionUpdate) error {
	if e.Title != nil && *e.Title != "" {
		up := update{Kind: "session_info_update", Title: *e.Title, UpdatedAt: timestamp(u.Time)}
		if err := th.send(ctx, u, up); err != nil {
			return err
		}
	}
	if e.Model == nil && e.Level == "" && e.Mode == "" && e.OnOther == "" && e.Options == nil {
		return nil
	}
	st, err := service.OnAgent(ctx, th.e, th.id, func(a *agent.Agent) (agent.State, error) { return a.State(ctx) })
	if err != nil {
		return nil // the end of the session comes next, or its node is cut off for a moment
	}
	list := th.e.options(st)
	if !th.sent(list) {
		return nil
	}
	if err := th.send(ctx, u, update{Kind: "config_option_update", Options: list}); err != nil || e.Mode == "" {
		return err
	}
	return th.send(ctx, u, update{Kind: "current_mode_update", Mode: option.ModesOf(st).Current})
}
