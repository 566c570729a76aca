package door

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
)

// ACPMessageBytes is the largest message of a client that speaks ACP, at least. The SDK of the protocol has the same
// number.
const ACPMessageBytes = 32 << 20

// Codes that ACP has in addition to those of JSON-RPC.
const (
	acpLogIn     conn.Code = -32000
	ACPNotFound  conn.Code = -32002
	acpRateLimit conn.Code = -32010 // our own: ACP has none, and editors show -32603 as a fault of the agent
)

// ACPError is an error as ACP has it: its own codes, and in data what a client can act on. Some show nothing but
// data.error, so the text is there once more.
func ACPError(e *conn.Error) *conn.Error {
	out := &conn.Error{Code: e.Code, Kind: e.DataKind(), Message: e.Message, Data: map[string]any{"error": e.Message}}
	for name, value := range e.Data {
		switch name {
		case "retry_after_ms":
			name = "retryAfterMs"
		case "request_id":
			name = "requestId"
		}
		out.Data[name] = value
	}
	switch {
	case e.Code == conn.CodeNotFound:
		out.Code = ACPNotFound
	case e.Code == conn.CodeProvider && e.DataKind() == "auth":
		out.Code = acpLogIn
	case e.Code == conn.CodeProvider && slices.Contains([]string{"rate_limit", "quota", "overloaded"}, e.DataKind()):
		out.Code = acpRateLimit
	case e.Code == conn.CodeNoModel, e.Code == conn.CodeLevel:
		out.Code = conn.CodeInvalidParams
	case e.Code == conn.CodeUnauthorized, e.Code == conn.CodeForbidden:
		out.Code = conn.CodeInvalidRequest
	case e.Code > 0:
		out.Code = conn.CodeInternal
	}
	if e.Code > 0 {
		out.Data["retryable"] = acpRetryable(e)
	}
	if detail, ok := e.Data["detail"].(string); ok {
		out.Data["error"] = detail
	}
	return out
}

// acpRetryable reports whether the same request may go well later. One that may have been done is not to be made again: a
// prompt would run twice.
func acpRetryable(e *conn.Error) bool {
	if e.Unknown {
		return false
	}
	switch e.Code {
	case conn.CodeBusy, conn.CodeClosing, conn.CodeOverloaded, conn.CodeQuota:
		return true
	case conn.CodeProvider:
		return strings.Contains(" rate_limit overloaded transport stalled ", " "+e.DataKind()+" ")
	}
	return false
}

// acpStaleStart begins each [ACPStale].
const acpStaleStart = `{"jsonrpc":"2.0","method":"session/update","params":{"_meta":{"thinkd.dev/stale":true},"sessionId":`

// ACPStale is the notification that an editor gets no further updates of a session until it sends a prompt or opens the session again. ACP has no word
// for that, so it is a text for people, as a message of the agent: the only one that every editor shows. why is not empty.
func ACPStale(session, why string) []byte {
	quoted := func(text string) []byte {
		b, _ := json.Marshal(text) // every string can be encoded
		return b
	}
	out := append([]byte(acpStaleStart), quoted(session)...)
	out = append(out, `,"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":`...)
	out = append(out, quoted("\n\n["+strings.ToUpper(why[:1])+why[1:]+". What happens in the session is not shown here until you send a prompt or open the session again.]\n\n")...)
	return append(out, `}}}}`...)
}

// StaleInACP returns the session that a message of [ACPStale] is about; ok is false for other messages, of which only the beginning is read.
func StaleInACP(message []byte) (session string, ok bool) {
	if !bytes.HasPrefix(message, []byte(acpStaleStart)) {
		return "", false
	}
	return gjson.GetBytes(message, "params.sessionId").Str, true
}
