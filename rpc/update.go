package rpc

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// encodeUpdate is an update as a notification. Growth, which is nearly all that is ever sent, is put together without
// reflection; the rest is not worth that.
func encodeUpdate(u *agent.Update) []byte {
	out := make([]byte, 0, 256)
	out = append(out, `{"jsonrpc":"2.0","method":"`...)
	out = append(out, u.Event.Method()...)
	out = append(out, `","params":{"session_id":"`...)
	out = append(out, u.Session...)
	out = append(out, '"')
	if u.FirstSeq != 0 {
		out = append(out, `,"first_seq":`...)
		out = strconv.AppendUint(out, u.FirstSeq, 10)
	}
	out = append(out, `,"seq":`...)
	out = strconv.AppendUint(out, u.Seq, 10)
	out = append(out, `,"ts":`...)
	out = strconv.AppendInt(out, u.Time, 10)
	if u.Turn != "" {
		out = append(out, `,"turn_id":"`...)
		out = append(out, u.Turn...)
		out = append(out, '"')
	}
	switch e := u.Event.(type) {
	case agent.ThinkingDelta:
		out = appendGrowth(out, e.Message, e.Block, e.Delta)
	case agent.MessageDelta:
		out = appendGrowth(out, e.Message, e.Block, e.Delta)
	default:
		if members := eventMembers(u.Event); len(members) > len(`{}`) {
			out = append(out, ',')
			out = append(out, members[1:len(members)-1]...)
		}
	}
	return append(out, `}}`...)
}

func appendGrowth(out []byte, message session.MessageID, block int, text string) []byte {
	out = append(out, `,"message_id":"`...)
	out = append(out, message...)
	out = append(out, `","block":`...)
	out = strconv.AppendInt(out, int64(block), 10)
	out = append(out, `,"delta":`...)
	return gjson.AppendJSONString(out, text)
}

// eventMembers is an event's JSON object. Events are ours and hold nothing that JSON cannot: an error is a fault of
// this build.
func eventMembers(e agent.Event) []byte {
	var v any = e
	switch e := e.(type) {
	case agent.PromptStored:
		content, err := wireBlocks(e.Content)
		if err != nil {
			panic(err)
		}
		v = wirePrompt{e.Message, content, e.Disposition}
	case agent.TurnEnd:
		v = wireTurnEnd{e.StopReason, e.Limit, e.Usage, e.DurationMS, failure(e.Error)}
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

type wirePrompt struct {
	Message     session.MessageID `json:"message_id"`
	Content     []json.RawMessage `json:"content"`
	Disposition agent.Disposition `json:"disposition"`
}

type wireTurnEnd struct {
	StopReason string         `json:"stop_reason"`
	Limit      string         `json:"limit,omitempty"`
	Usage      provider.Usage `json:"usage"`
	DurationMS int64          `json:"duration_ms"`
	Error      *Error         `json:"error,omitempty"`
}

// encodeStale tells a connection that it missed updates of a session.
func encodeStale(id session.ID, after uint64) []byte {
	out := append([]byte(nil), `{"jsonrpc":"2.0","method":"stale","params":{"session_id":"`...)
	out = append(out, id...)
	out = append(out, `","after_seq":`...)
	out = strconv.AppendUint(out, after, 10)
	return append(out, `}}`...)
}
