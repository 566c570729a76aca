package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// Code is the number of an error in an answer.
type Code int

// JSON-RPC's own codes, the one that the Language Server Protocol has for a cancelled request, and ours.
const (
	CodeParse          Code = -32700
	CodeInvalidRequest Code = -32600
	CodeMethodNotFound Code = -32601
	CodeInvalidParams  Code = -32602
	CodeInternal       Code = -32603
	CodeCancelled      Code = -32800

	CodeNotFound     Code = 1001
	CodeBusy         Code = 1002
	CodeNoModel      Code = 1003
	CodeProvider     Code = 1004
	CodeStale        Code = 1005
	CodeClosing      Code = 1006
	CodeTooLarge     Code = 1007
	CodeUnauthorized Code = 1008
	CodeOverloaded   Code = 1009
	CodeLevel        Code = 1010
)

// kinds has the stable word of each code, for an error that names no other.
var kinds = map[Code]string{
	CodeParse:          "parse_error",
	CodeInvalidRequest: "invalid_request",
	CodeMethodNotFound: "method_not_found",
	CodeInvalidParams:  "invalid_params",
	CodeInternal:       "internal",
	CodeCancelled:      "cancelled",

	CodeNotFound:     "not_found",
	CodeBusy:         "busy",
	CodeNoModel:      "no_model",
	CodeProvider:     "provider",
	CodeStale:        "stale",
	CodeClosing:      "closing",
	CodeTooLarge:     "too_large",
	CodeUnauthorized: "unauthorized",
	CodeOverloaded:   "overloaded",
	CodeLevel:        "level_not_supported",
}

// Error is an error as a client gets it. Its JSON is the error member of an answer and of turn_end alike. Message is
// for people; a client switches on data.kind, which is Kind, or the code's own word where Kind is empty.
type Error struct {
	Code    Code
	Kind    string
	Message string
	Data    map[string]any // members of data beside kind
	unknown bool           // it may have been done all the same
	bare    bool           // no data at all: the answers that the JSON-RPC specification prints
}

func (e *Error) Error() string { return e.Message }

// MarshalJSON writes code, message and data.
func (e *Error) MarshalJSON() ([]byte, error) {
	w := struct {
		Code    Code           `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data,omitempty"`
	}{Code: e.Code, Message: e.Message}
	if !e.bare {
		w.Data = map[string]any{"kind": e.kind()}
		maps.Copy(w.Data, e.Data)
	}
	return json.Marshal(w)
}

func (e *Error) kind() string {
	if e.Kind != "" {
		return e.Kind
	}
	return kinds[e.Code]
}

// Section 7 of the JSON-RPC specification prints these, so they are just that.
var (
	errParse          = &Error{Code: CodeParse, Message: "Parse error", bare: true}
	errInvalidRequest = &Error{Code: CodeInvalidRequest, Message: "Invalid Request", bare: true}
	errMethodNotFound = &Error{Code: CodeMethodNotFound, Message: "Method not found", bare: true}
)

// refuse is an Invalid Request that can say more than that.
func refuse(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid Request",
		Data: map[string]any{"detail": fmt.Sprintf(format, args...)}}
}

// invalidParams names the member that is wrong; an empty field means the params as a whole.
func invalidParams(field, format string, args ...any) *Error {
	e := &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
	if field != "" {
		e.Message = field + ": " + e.Message
		e.Data = map[string]any{"field": field}
	}
	return e
}

func tooLarge(what string, limit int) *Error {
	return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%s is larger than %d bytes", what, limit),
		Data: map[string]any{"limit": limit}}
}

// errCancelRequest is the cause of a request's end by $/cancelRequest.
var errCancelRequest = errors.New("cancelled by the client")

// known is the table from our errors to the protocol's, nil if err is not in it. No text of a cause passes: it may
// name a file or a host.
func known(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*provider.LevelError](err); ok {
		return &Error{Code: CodeLevel, Message: e.Error(), Data: map[string]any{"thinking_levels": e.Supported}}
	}
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return providerError(e)
	}
	if e, ok := errors.AsType[*registry.NotFoundError](err); ok {
		return &Error{Code: CodeNoModel, Message: e.Error(), Data: map[string]any{"candidates": words(e.Candidates)}}
	}
	if e, ok := errors.AsType[*registry.AmbiguousError](err); ok {
		return &Error{Code: CodeInvalidParams, Message: e.Error(), Data: map[string]any{"candidates": words(e.Candidates)}}
	}
	if e, ok := errors.AsType[*registry.OverrideError](err); ok {
		return invalidParams(e.Field, "%v", e.Err)
	}
	if e, ok := errors.AsType[*agent.RoomError](err); ok {
		return &Error{Code: CodeOverloaded, Message: e.Error(), Data: map[string]any{"limit": e.Limit}}
	}
	if e, ok := errors.AsType[*agent.MediaError](err); ok {
		return invalidParams("content", "%v", e)
	}
	for _, row := range sentinels {
		if errors.Is(err, row.is) {
			return row.says
		}
	}
	return nil
}

var sentinels = []struct {
	is   error
	says *Error
}{
	{errCancelRequest, &Error{Code: CodeCancelled, Message: "the request was cancelled"}},
	{agent.ErrBusy, &Error{Code: CodeBusy, Message: "a turn is running"}},
	{agent.ErrHeld, &Error{Code: CodeBusy, Message: agent.ErrHeld.Error() + "; let it go on, or take them out, with session/queue"}},
	{agent.ErrCompacting, &Error{Code: CodeBusy, Message: agent.ErrCompacting.Error()}},
	{agent.ErrQueueFull, &Error{Code: CodeOverloaded, Message: agent.ErrQueueFull.Error()}},
	{agent.ErrNoTurn, &Error{Code: CodeNotFound, Message: "no such turn"}},
	{agent.ErrNoCall, &Error{Code: CodeNotFound, Message: "no such call waits for a result"}},
	{agent.ErrNoConfirm, &Error{Code: CodeNotFound, Message: "no such question"}},
	{agent.ErrNoAction, &Error{Code: CodeInvalidParams, Message: "action: is none of those that the question has",
		Data: map[string]any{"field": "action"}}},
	{agent.ErrNoGrant, &Error{Code: CodeInvalidParams, Message: "grant: is none of those that the question has, or stands beside another action than allow",
		Data: map[string]any{"field": "grant"}}},
	{agent.ErrNoMessage, &Error{Code: CodeNotFound, Message: "no such message"}},
	{session.ErrUnfinished, &Error{Code: CodeBusy, Message: "the message is not finished yet"}},
	{feed.ErrClosed, &Error{Code: CodeClosing, Message: "the daemon is going down"}},
	{session.ErrReused, &Error{Code: CodeInvalidParams, Message: "client_id: was used before with other params",
		Data: map[string]any{"field": "client_id"}}},
	{registry.ErrSettingsFull, &Error{Code: CodeTooLarge, Message: registry.ErrSettingsFull.Error()}},
	{session.ErrNotFound, &Error{Code: CodeNotFound, Message: "no such session"}},
	{session.ErrCursor, &Error{Code: CodeInvalidParams, Message: "cursor: is not one that an answer gave",
		Data: map[string]any{"field": "cursor"}}},
	{session.ErrReadOnly, &Error{Code: CodeClosing, Kind: "store_readonly",
		Message: "the store takes no writes for now: its disk is full or failing"}},
	{session.ErrDamaged, &Error{Code: CodeInternal, Kind: "damaged",
		Message: "what is stored of this is damaged; `thinkd doctor` tells more"}},
	{session.ErrReplaced, &Error{Code: CodeClosing, Message: "the store was removed or replaced; the daemon is going down"}},
	{session.ErrClosed, &Error{Code: CodeClosing, Message: "the daemon is going down"}},
}

// words is a list that is never null in JSON.
func words(list []string) []string { return append([]string{}, list...) }

func providerError(e *provider.Error) *Error {
	message := e.Message
	if message == "" {
		message = "the call failed: " + string(e.Kind)
	}
	if e.Provider != "" {
		message = e.Provider + ": " + message
	}
	out := &Error{Code: CodeProvider, Kind: string(e.Kind), Message: message, Data: map[string]any{}}
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

// requestError is known for an error that a request's handler returned: where the request's own context ended, the
// cause says why.
func requestError(ctx context.Context, err error) *Error {
	if e := known(err); e != nil {
		return e
	}
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause)) {
		if e := known(cause); e != nil {
			return e
		}
		return &Error{Code: CodeClosing, Message: "the connection is ending"}
	}
	return nil
}

// internalError tells nothing but where the log has more.
func internalError(ref string) *Error {
	return &Error{Code: CodeInternal, Message: "internal error", Data: map[string]any{"ref": ref}}
}
