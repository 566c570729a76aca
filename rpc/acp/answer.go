package acp

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// stopWords are ACP's words for how a turn ended. The list is closed.
var stopWords = map[session.StopReason]string{
	session.StopEndTurn: "end_turn", session.StopMaxTokens: "max_tokens", session.StopRefusal: "refusal",
	session.StopCancelled: stopCancelled, session.StopModelCalls: "max_turn_requests", session.StopMismatch: "end_turn", session.StopLimit: "max_turn_requests",
}

// stopCancelled is ACP's word.
const stopCancelled = "cancelled"

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
		return
	case stopWords[end.StopReason] != "":
		reply(promptResult{stopWords[end.StopReason], usageOf(end.Usage), th.ride(nil)}, nil)
	case end.Error != nil:
		e := failure.OfTurn(end.Error)
		if e.Code == conn.CodeProvider && th.provider != "" {
			e.Data["provider"] = th.provider
		}
		reply(nil, e)
	default: // interrupted
		reply(nil, &conn.Error{Code: conn.CodeClosing, Message: "the daemon went down in this turn"})
	}
	th.markRead(turn)
}

// markRead notes that a person has read the session up to the end of a turn: the editor shows it to the one who prompted.
func (th *thread) markRead(turn session.TurnID) {
	ctx := th.e.Conn.Context()
	err := th.e.Sessions().Do(ctx, th.id, func(a *agent.Agent) error { return a.MarkRead(ctx, th.e.Principal.Name, turn) })
	if err != nil {
		th.e.Log().Debug("a turn is not marked as read", "session", th.id, "turn", turn, "err", err)
	}
}

// answerEnded answers a prompt whose turn ended while this client did not follow the session.
func (th *thread) answerEnded(turn session.TurnID) {
	ctx := th.e.Conn.Context()
	ended, err := service.OnAgent(ctx, th.e, th.id, func(a *agent.Agent) (agent.Ended, error) { return a.Wait(ctx, turn) })
	if err != nil {
		th.answer(turn, nil, err)
		return
	}
	th.answer(turn, &feed.TurnEnd{TurnEnd: ended.End}, nil)
}

// answerCompact answers the request, if it is open.
func (th *thread) answerCompact(value any, err error) {
	th.mu.Lock()
	reply := th.compacted
	th.compacted = nil
	th.mu.Unlock()
	if reply != nil {
		reply(value, err)
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

// errStays answers a prompt whose turn has not ended when the daemon ends: it is queued, or its turn is parked. The log keeps both, so that a prompt that
// is sent again would run twice.
var errStays = &conn.Error{Code: conn.CodeClosing, Message: "the daemon is shutting down; the prompt stays in its session", Unknown: true}

// ended ends the thread with the error of its subscription. The error that it returns ends the connection.
func (th *thread) ended(ctx context.Context, why error) error {
	_, stale := errors.AsType[*feed.Stale](why)
	switch {
	case ctx.Err() != nil:
		return why
	case stale:
		return conn.ErrStalled // ACP has no word for a gap; a client that comes again loads the session
	case errors.Is(why, feed.ErrClosed): // the daemon ends, and the connection after it
		th.answerCompact(nil, why) // unlike a prompt, a compaction does not stay
		th.fail(errStays)
		return nil
	}
	return th.lost(ctx, why)
}

// lost is for a session that cannot go on here, although the daemon does: another node of a cluster has it, or nothing can be stored. The client gets
// a text in the session, and an error for each open prompt. Its next prompt follows the session again, wherever that is by then.
func (th *thread) lost(ctx context.Context, why error) error {
	said := conn.Error{Code: conn.CodeInternal, Message: "the session has ended because of an internal error"}
	if known := failure.Known(why); known != nil {
		said = *known
	}
	said.Unknown = true // the prompts were accepted, and may go on elsewhere: nobody is to send them again without a look
	th.e.lose(th)
	err := th.e.Notify(ctx, door.ACPStale(string(th.id), said.Message))
	th.fail(&said)
	return err
}

// prompt has the agent take a prompt.
func (th *thread) prompt(ctx context.Context, said agent.Prompt, reply method.Reply) error {
	e := th.e
	e.Attend()
	// The turn may be over before the agent's answer is here: the sender waits for the lock.
	th.mu.Lock()
	r, err := service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (agent.Receipt, error) { return a.Prompt(ctx, said) })
	if err == nil {
		th.prompts[r.Turn], th.mine[r.Turn] = reply, true
		th.waits.Store(true)
	}
	th.mu.Unlock()
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { // at the latest with the connection; run waits where it has work
		if errors.Is(context.Cause(ctx), conn.ErrCancelled) {
			e.Run(func() { th.cancel(e.Conn.Context(), r.Turn) })
		}
	})
	return nil
}

// cancel ends one turn, running or queued. The answer to its prompt comes from the sender.
func (th *thread) cancel(ctx context.Context, turn session.TurnID) {
	e := th.e
	_, err := service.OnAgent(ctx, e, th.id, func(a *agent.Agent) (bool, error) { return a.Cancel(ctx, turn) })
	if err != nil && ctx.Err() == nil {
		e.server.config.Log.Warn("a cancelled prompt continues", "session", th.id, "turn", turn, "err", err)
	}
}
