package acp

import (
	"context"
	"errors"
	"strconv"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/acp/blocks"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// Kinds of notice about a summary.
const (
	noticeCompacting   = "compacting"
	noticeCompacted    = "compacted"
	noticeNotCompacted = "compaction_failed"
)

// compact has the earlier turns summarised. The sender answers with the notice of the summary. If the summary fails, the answer comes
// from here.
func (th *thread) compact(ctx context.Context, reply method.Reply) error {
	e := th.e
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.compacted != nil {
		return agent.ErrBusy
	}
	over, err := service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (<-chan error, error) { return a.Compact(ctx) })
	if err != nil {
		return err
	}
	if over == nil { // there is nothing to summarise
		reply(promptResult{Stop: "end_turn"}, nil)
		return nil
	}
	th.compacted = reply
	e.Run(func() { // ends with the summary, the agent or the connection; serve waits
		select {
		case err := <-over:
			switch {
			case agent.Cancelled(err):
				th.answerCompact(promptResult{Stop: stopCancelled}, nil)
			case err != nil:
				th.answerCompact(nil, err)
			}
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), conn.ErrCancelled) {
				return // it was answered, or the client is gone
			}
			late := e.Conn.Context()
			_, err := service.OnAgent(late, e, th.id, func(a *agent.Agent) (method.Nothing, error) { return method.Nothing{}, a.StopCompaction(late) })
			th.answerCompact(promptResult{Stop: stopCancelled}, err)
		}
	})
	return nil
}

// uncompact undoes the newest summary.
func (th *thread) uncompact(ctx context.Context, reply method.Reply) error {
	_, err := service.OnAgent(ctx, th.e, th.id, func(a *agent.Agent) (session.SummaryID, error) { return a.Uncompact(ctx, "") })
	if err == nil {
		reply(promptResult{Stop: "end_turn"}, nil)
	}
	return err
}

// tellCompaction sends the state of a summary. Clients that cannot show it get a notice. A summary may fail without a notice: then
// the next turn ends it.
func (th *thread) tellCompaction(ctx context.Context, u *feed.Update, e feed.Notice) error {
	switch {
	case !bool(th.e.can.Session.Compaction):
		if err := th.notice(ctx, u, string(e.Severity), e.Message); err != nil {
			return err
		}
	case e.Kind == noticeCompacted: // the summary itself came before
		if err := th.later(u); err != nil {
			return err
		}
	default:
		if err := th.compaction(ctx, u, e); err != nil {
			return err
		}
	}
	if e.Kind == noticeCompacted {
		th.answerCompact(promptResult{Stop: "end_turn", Meta: th.ride(nil)}, nil)
	}
	return nil
}

func (th *thread) compaction(ctx context.Context, u *feed.Update, e feed.Notice) error {
	if e.Kind == noticeCompacting || th.summary == "" {
		if err := th.endCompaction(ctx, u); err != nil {
			return err
		}
		th.summary = string(e.Summary)
		if th.summary == "" { // it failed before it began
			th.summary = string(th.id) + "." + strconv.FormatUint(u.Seq, 10)
		}
	}
	up := update{Kind: "compaction_update", Compaction: th.summary, Status: "in_progress"}
	if e.Kind == noticeNotCompacted {
		up.Status, up.Error = "failed", e.Message
		th.summary = ""
	}
	return th.send(ctx, u, up)
}

// summarised sends a summary that was made. u is nil if it was made before this client came.
func (th *thread) summarised(ctx context.Context, u *feed.Update, s feed.Summary) error {
	if !th.e.can.Session.Compaction {
		if u == nil {
			return nil
		}
		return th.later(u)
	}
	up := update{Kind: "compaction_update", Compaction: string(s.ID), Status: "completed"}
	for piece := range blocks.Chunks(s.Text) {
		up.Summary = append(up.Summary, blocks.Content{Type: "text", Text: piece})
	}
	if u != nil {
		s.Text = "" // the update has it
		if err := th.later(&feed.Update{Session: u.Session, Seq: u.Seq, Time: u.Time, Turn: u.Turn, Event: feed.SummaryStored{Summary: s}}); err != nil {
			return err
		}
		th.summary = ""
	}
	return th.send(ctx, u, up)
}

// endCompaction ends a summary as failed, if one was on its way.
func (th *thread) endCompaction(ctx context.Context, u *feed.Update) error {
	if th.summary == "" {
		return nil
	}
	up := update{Kind: "compaction_update", Compaction: th.summary, Status: "failed"}
	th.summary = ""
	return th.send(ctx, u, up)
}
