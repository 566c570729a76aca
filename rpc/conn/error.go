package conn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Code is the code of an error in an answer.
type Code int

// JSON-RPC's own codes, the code that the Language Server Protocol has for a cancelled request, and ours.
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
	CodeQuota        Code = 1011
	CodeForbidden    Code = 1012
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
	CodeQuota:        "quota",
	CodeForbidden:    "forbidden",
}

// Codes returns all of them, in ascending order.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds)) }

// Kind returns the stable word of a code; empty for a code that is not one of the constants above.
func (c Code) Kind() string { return kinds[c] }

// Error is an error as a client gets it: the error member of an answer. Message is for people. A client switches on
// data.kind, which is Kind, or the code's own word if Kind is empty. An Error does not change after it was made.
type Error struct {
	Code    Code
	Kind    string
	Message string
	Data    map[string]any // members of data besides kind

	// Unknown says that the request may still have taken effect. It is not part of the JSON.
	Unknown bool

	bare bool // no data at all: the answers that the JSON-RPC specification prints
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// MarshalJSON writes code, message and data.
func (e *Error) MarshalJSON() ([]byte, error) {
	w := struct {
		Code    Code           `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data,omitempty"`
	}{Code: e.Code, Message: e.Message}
	if !e.bare {
		w.Data = map[string]any{"kind": e.DataKind()}
		maps.Copy(w.Data, e.Data)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Error) UnmarshalJSON(text []byte) error {
	var r struct {
		Code    Code           `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	*e = Error{Code: r.Code, Message: r.Message, bare: r.Data == nil}
	if word, ok := r.Data["kind"].(string); ok && word != r.Code.Kind() {
		e.Kind = word
	}
	maps.DeleteFunc(r.Data, func(name string, _ any) bool { return name == "kind" })
	if len(r.Data) > 0 {
		e.Data = r.Data
	}
	return nil
}

// DataKind returns the word that a client finds in data.kind.
func (e *Error) DataKind() string {
	if e.Kind != "" {
		return e.Kind
	}
	return e.Code.Kind()
}

// Section 7 of the JSON-RPC specification prints these answers, so they have no data.
var (
	ErrParse          = &Error{Code: CodeParse, Message: "Parse error", bare: true}
	ErrInvalidRequest = &Error{Code: CodeInvalidRequest, Message: "Invalid Request", bare: true}
	ErrMethodNotFound = &Error{Code: CodeMethodNotFound, Message: "Method not found", bare: true}
)

// InvalidRequest returns ErrInvalidRequest with the reason in data.detail.
func InvalidRequest(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid Request",
		Data: map[string]any{"detail": fmt.Sprintf(format, args...)}}
}

// TooLarge says that something, such as "the message", is larger than a limit in bytes.
func TooLarge(what string, limit int) *Error {
	return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("%s is larger than %d bytes", what, limit),
		Data: map[string]any{"limit": limit}}
}

// EncodeFailure encodes the answer to a request that failed. The id is as the client sent it; empty: it could not be read,
// and the answer has null.
func EncodeFailure(id string, failure *Error) ([]byte, error) {
	text, err := json.Marshal(failure)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = "null"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, text), nil
}

// InvalidParams names the member that is wrong; an empty field means the params as a whole.
func InvalidParams(field, format string, args ...any) *Error {
	e := &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
	if field != "" {
		e.Message = field + ": " + e.Message
		e.Data = map[string]any{"field": field}
	}
	return e
}
