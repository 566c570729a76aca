package failure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// Known is the table from our errors to the protocol's, nil if err is not in it. No text of a cause passes: it may
// name a file or a host.
func Known(err error) *conn.Error {
	if e, ok := errors.AsType[*conn.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*provider.LevelError](err); ok {
		return &conn.Error{Code: conn.CodeLevel, Message: e.Error(), Data: map[string]any{"thinking_levels": e.Supported}}
	}
	if e, ok := errors.AsType[*provider.StorageError](err); ok {
		refused := conn.InvalidParams("thinking_storage", "%v", e)
		refused.Data["model"], refused.Data["valid"] = e.Model, e.Valid
		return refused
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return providerError(e)
	}
	if e, ok := errors.AsType[*registry.NotFoundError](err); ok {
		return &conn.Error{Code: conn.CodeNoModel, Message: e.Error(), Data: map[string]any{"candidates": words(e.Candidates)}}
	}
	if e, ok := errors.AsType[*registry.AmbiguousError](err); ok {
		return &conn.Error{Code: conn.CodeInvalidParams, Message: e.Error(), Data: map[string]any{"candidates": words(e.Candidates)}}
	}
	if e, ok := errors.AsType[*registry.OverrideError](err); ok {
		return conn.InvalidParams(e.Field, "%v", e.Err)
	}
	if e, ok := errors.AsType[*gate.Exceeded](err); ok {
		return Quota(e.Which, e.Resets, e.Error())
	}
	if e, ok := errors.AsType[*stored.Full](err); ok {
		return Quota("stored_bytes", time.Time{}, e.Error())
	}
	if e, ok := errors.AsType[*room.Error](err); ok {
		return &conn.Error{Code: conn.CodeOverloaded, Message: e.Error(), Data: map[string]any{"limit": e.Limit}}
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		return refusedMedia(e)
	}
	if e, ok := errors.AsType[*session.ElsewhereError](err); ok {
		return elsewhere(e)
	}
	if e, ok := errors.AsType[*session.UnsyncedError](err); ok {
		return &conn.Error{Code: conn.CodeClosing, Kind: "unsynced", Message: e.Error(), Data: map[string]any{"server": e.Server, "setting": "sync_interval"}}
	}
	for _, row := range sentinels {
		if errors.Is(err, row.is) {
			return row.says
		}
	}
	return nil
}

// Quota is the error for a user's quota that has no room. resets zero: that is not known.
func Quota(which string, resets time.Time, message string) *conn.Error {
	e := &conn.Error{Code: conn.CodeQuota, Message: message, Data: map[string]any{"which": which}}
	if !resets.IsZero() {
		e.Data["resets_at"] = resets.UnixMilli()
	}
	return e
}

// againSoon is when a client asks again whose session moves, or whose node is cut off.
const againSoon = time.Second

// elsewhere names the node that serves the session.
func elsewhere(e *session.ElsewhereError) *conn.Error {
	says := &conn.Error{Code: conn.CodeClosing, Kind: "elsewhere", Message: e.Error(), Data: map[string]any{"retry_after_ms": againSoon.Milliseconds()}}
	if e.Node != "" {
		says.Data["node"] = e.Node
	}
	return says
}

// refusedMedia names the block, the model, and a model that takes it.
func refusedMedia(e *media.Error) *conn.Error {
	says := conn.InvalidParams("content", "%v", e)
	says.Data["model_id"], says.Data["reason"] = e.Model, string(e.Reason)
	if e.Block >= 0 {
		says.Data["block"] = e.Block
	}
	if e.Kind != "" {
		says.Data["media"] = e.Kind
	}
	if len(e.Takes) > 0 {
		says.Data["takes"] = e.Takes
	}
	if e.Try != "" {
		says.Data["candidates"] = []string{e.Try}
	}
	return says
}

var sentinels = []struct {
	is   error
	says *conn.Error
}{
	{conn.ErrCancelled, &conn.Error{Code: conn.CodeCancelled, Message: "the request was cancelled"}},
	{agent.ErrBusy, &conn.Error{Code: conn.CodeBusy, Message: "a turn is running"}},
	{agent.ErrHeld, &conn.Error{Code: conn.CodeBusy, Message: agent.ErrHeld.Error() + "; resume it or remove its prompts with session/queue"}},
	{agent.ErrCompacting, &conn.Error{Code: conn.CodeBusy, Message: agent.ErrCompacting.Error()}},
	{agent.ErrFinished, &conn.Error{Code: conn.CodeNotFound, Kind: "nothing_to_continue",
		Message: "there is no unfinished turn to continue: the last turn was not cut off, a message was added since, a summary has replaced it, or the provider refused its prompt"}},
	{agent.ErrNotUndoable, &conn.Error{Code: conn.CodeNotFound, Kind: "nothing_to_undo",
		Message: "there is no summary that can be undone: none was made, another one is newer, or somebody has said something since"}},
	{agent.ErrNoSummary, &conn.Error{Code: conn.CodeNotFound, Message: agent.ErrNoSummary.Error()}},
	{agent.ErrPinned, &conn.Error{Code: conn.CodeOverloaded, Message: agent.ErrPinned.Error() + "; unpin one with message/unpin"}},
	{agent.ErrNotQueued, &conn.Error{Code: conn.CodeNotFound, Kind: "not_queued", Message: "the prompt does not wait in the queue: its turn has started or ended"}},
	{agent.ErrSteers, &conn.Error{Code: conn.CodeInvalidParams, Message: "turn_id: the prompt steers the running turn, so it has no place in the queue and no model or options of its own",
		Data: map[string]any{"field": "turn_id"}}},
	{agent.ErrNotParked, &conn.Error{Code: conn.CodeNotFound, Kind: "not_parked", Message: "the turn is not parked: it runs, waits in the queue, or has ended"}},
	{agent.ErrNoLimit, &conn.Error{Code: conn.CodeInvalidParams, Message: "raise: the turn is not parked at a limit that can be raised",
		Data: map[string]any{"field": "raise"}}},
	{agent.ErrNotOperator, &conn.Error{Code: conn.CodeForbidden, Message: "raise: " + agent.ErrNotOperator.Error(),
		Data: map[string]any{"field": "raise", "right": "settings"}}},
	{agent.ErrNoCompaction, &conn.Error{Code: conn.CodeInvalidParams, Message: "compact_first: the turn is not parked with a question that offers it, or model_id is given too",
		Data: map[string]any{"field": "compact_first"}}},
	{agent.ErrAsked, &conn.Error{Code: conn.CodeBusy, Message: "the turn waits for the answer to a question; send confirm/answer"}},
	{agent.ErrQueueFull, &conn.Error{Code: conn.CodeOverloaded, Message: agent.ErrQueueFull.Error()}},
	{aside.ErrFull, &conn.Error{Code: conn.CodeOverloaded, Message: fmt.Sprintf("%d side questions of this session are running; wait for one to end", aside.Most)}},
	{agent.ErrNoTurn, &conn.Error{Code: conn.CodeNotFound, Message: "no such turn"}},
	{agent.ErrNoCall, &conn.Error{Code: conn.CodeNotFound, Message: "no call with this id waits for a result"}},
	{agent.ErrNoConfirm, &conn.Error{Code: conn.CodeNotFound, Message: "no such question"}},
	{agent.ErrNoAction, &conn.Error{Code: conn.CodeInvalidParams, Message: "action: must be one of the question's actions",
		Data: map[string]any{"field": "action"}}},
	{agent.ErrNoGrant, &conn.Error{Code: conn.CodeInvalidParams, Message: "grant: must be one of the question's grants, with the action allow, or one of its denials, with deny",
		Data: map[string]any{"field": "grant"}}},
	{agent.ErrNoMessage, &conn.Error{Code: conn.CodeNotFound, Message: "no such message"}},
	{session.ErrUnfinished, &conn.Error{Code: conn.CodeBusy, Message: "the message is not finished yet"}},
	{feed.ErrClosed, &conn.Error{Code: conn.CodeClosing, Message: "the daemon is shutting down"}},
	{session.ErrReused, &conn.Error{Code: conn.CodeInvalidParams, Message: "client_id: was used before with other params",
		Data: map[string]any{"field": "client_id"}}},
	{registry.ErrSettingsFull, &conn.Error{Code: conn.CodeTooLarge, Message: registry.ErrSettingsFull.Error()}},
	{session.ErrNotFound, &conn.Error{Code: conn.CodeNotFound, Message: "no such session"}},
	{session.ErrCursor, &conn.Error{Code: conn.CodeInvalidParams, Message: "cursor: must be one that an earlier result returned",
		Data: map[string]any{"field": "cursor"}}},
	{session.ErrLost, &conn.Error{Code: conn.CodeClosing, Kind: "store_lost",
		Message: session.ErrLost.Error() + "; the operator can restore it from the second copy"}},
	{session.ErrNoAnswer, &conn.Error{Code: conn.CodeClosing, Kind: "cut_off", Message: session.ErrNoAnswer.Error(),
		Data: map[string]any{"retry_after_ms": againSoon.Milliseconds()}}},
	{session.ErrReadOnly, &conn.Error{Code: conn.CodeClosing, Kind: "store_readonly",
		Message: "nothing can be stored: the disk is full or failing"}},
	{session.ErrCutOff, &conn.Error{Code: conn.CodeClosing, Kind: "cut_off", Message: session.ErrCutOff.Error(),
		Data: map[string]any{"retry_after_ms": againSoon.Milliseconds()}}},
	{session.ErrFenced, elsewhere(new(session.ElsewhereError))},
	{session.ErrDamaged, &conn.Error{Code: conn.CodeInternal, Kind: "damaged",
		Message: "the stored data is damaged; run `thinkd doctor`"}},
	{session.ErrReplaced, &conn.Error{Code: conn.CodeClosing, Message: "the store was removed or replaced; the daemon is shutting down"}},
	{session.ErrClosed, &conn.Error{Code: conn.CodeClosing, Message: "the daemon is shutting down"}},
}

// Fixed lists the errors that have one text.
func Fixed() []*conn.Error {
	var list []*conn.Error
	for _, row := range sentinels {
		list = append(list, row.says)
	}
	return list
}

// words is a list that is never null in JSON.
func words(list []string) []string { return append([]string{}, list...) }

func providerError(e *provider.Error) *conn.Error {
	message := e.Message
	if message == "" {
		message = "the call failed: " + string(e.Kind)
	}
	if e.Provider != "" {
		message = e.Provider + ": " + message
	}
	out := &conn.Error{Code: conn.CodeProvider, Kind: string(e.Kind), Message: message, Data: map[string]any{}}
	if e.Status != 0 {
		out.Data["status"] = e.Status
	}
	if e.RetryAfter > 0 {
		out.Data["retry_after_ms"] = e.RetryAfter.Milliseconds()
	}
	if e.RequestID != "" {
		out.Data["request_id"] = e.RequestID
	}
	return out
}

// OfRequest is known for an error that a request's handler returned: where the request's own context ended, the
// cause says why.
func OfRequest(ctx context.Context, err error) *conn.Error {
	if e := Known(err); e != nil {
		return e
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		if e := Known(cause); e != nil {
			return e
		}
		return &conn.Error{Code: conn.CodeClosing, Message: "the connection is ending"}
	}
	return nil
}

// OfTurn is a turn's failure as an error of the protocol.
func OfTurn(f *session.Failure) *conn.Error {
	if f == nil {
		return nil
	}
	e := &conn.Error{Code: conn.CodeProvider, Kind: f.Kind, Message: f.Message, Data: map[string]any{}}
	if f.Kind == conn.CodeInternal.Kind() {
		e.Code = conn.CodeInternal
	}
	if f.Status != 0 {
		e.Data["status"] = f.Status
	}
	if f.RetryAfterMS != 0 {
		e.Data["retry_after_ms"] = f.RetryAfterMS
	}
	if f.RequestID != "" {
		e.Data["request_id"] = f.RequestID
	}
	if f.Ref != "" {
		e.Data["ref"] = f.Ref
	}
	return e
}
