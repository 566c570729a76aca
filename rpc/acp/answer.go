package acp

import (
	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
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
		reply(promptResult{stopWords[end.StopReason], th.ride(nil)}, nil)
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
