package door

import (
	"encoding/json"
	"slices"
	"strings"

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

// ACPText is a notification that shows a text in a session, as a message of the agent: the only one that every editor shows.
func ACPText(session, text string) ([]byte, error) {
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type update struct {
		Kind    string  `json:"sessionUpdate"`
		Content content `json:"content"`
	}
	type params struct {
		Session string `json:"sessionId"`
		Update  update `json:"update"`
	}
	return json.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{"2.0", "session/update", params{session, update{"agent_message_chunk", content{"text", text}}}})
}
