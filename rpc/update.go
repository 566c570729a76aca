package rpc

import (
	"encoding/json"
	"strconv"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/session"
)

// encodeUpdate is an update as a notification, with whole texts as far as there is room for them. Growth, which is nearly all that is ever sent, is put together without
// reflection; the rest is not worth that.
func (s *Server) encodeUpdate(u *feed.Update) []byte {
	out := make([]byte, 0, 384+len(growth(u.Event)))
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
	case feed.ThinkingDelta:
		out = appendGrowth(out, e.Message, e.Block, e.Delta)
	case feed.MessageDelta:
		out = appendGrowth(out, e.Message, e.Block, e.Delta)
	case feed.ToolOutput:
		out = conn.AppendString(append(out, `,"call_id":`...), e.CallID)
		out = conn.AppendString(append(out, `,"chunk":`...), e.Chunk)
	default:
		if members := eventMembers(s.eventOf(u.Event, s.messageRoom()), s.messageRoom()); len(members) > len(`{}`) {
			out = append(out, ',')
			out = append(out, members[1:len(members)-1]...)
		}
	}
	return append(out, `}}`...)
}

// growth is the text of a delta.
func growth(e feed.Event) string {
	switch e := e.(type) {
	case feed.ThinkingDelta:
		return e.Delta
	case feed.MessageDelta:
		return e.Delta
	case feed.ToolOutput:
		return e.Chunk
	}
	return ""
}

func appendGrowth(out []byte, message session.MessageID, block int, text string) []byte {
	out = append(out, `,"message_id":"`...)
	out = append(out, message...)
	out = append(out, `","block":`...)
	out = strconv.AppendInt(out, int64(block), 10)
	out = append(out, `,"delta":`...)
	return conn.AppendString(out, text)
}

// eventMembers is an event's JSON object. Events are ours and hold nothing that JSON cannot: an error is a fault of
// this build.
func eventMembers(e feed.Event, room int) []byte {
	shown, err := shownEvent(e, room)
	if err != nil {
		panic(err)
	}
	out, err := json.Marshal(shown)
	if err != nil {
		panic(err)
	}
	return out
}

// shownEvent is what clients see of an event: no vendor's state, lists that are never null, and of its texts what has
// room.
func shownEvent(e feed.Event, room int) (any, error) {
	switch e := e.(type) {
	case feed.PromptStored:
		content, err := newWireBlocks(e.Content, room)
		return wirePrompt{e.Message, content, e.Disposition, e.Into}, err
	case feed.TurnStart:
		e.Reasoning = *newReasoning(e.Reasoning)
		return e, nil
	case feed.ThinkingEnd:
		text, whole := head(e.Text, room)
		e.Text = text
		return wireThinkingEnd{e, !whole}, nil
	case feed.TextEnd:
		text, whole := head(e.Text, room)
		e.Text = text
		if !whole { // the places of sources are in what is cut
			e.Sources = nil
		}
		return wireTextEnd{e, !whole}, nil
	case feed.Retry:
		e.Discarded = append([]int{}, e.Discarded...)
		return e, nil
	case feed.ToolStart:
		return newWireToolStart(e, room), nil
	case feed.ToolEnd:
		content, err := newWireBlocks(e.Content, room)
		return wireToolEnd{e.Message, e.Number, e.CallID, content, e.Failed, e.DurationMS}, err
	case feed.Confirm:
		return newWireConfirm(e, room), nil
	case feed.QueueUpdate:
		return newWireQueue(e), nil
	case feed.TurnEnd:
		return wireTurnEnd{e.TurnEnd, failure.OfTurn(e.Error)}, nil
	}
	return e, nil
}

type wireThinkingEnd struct {
	feed.ThinkingEnd
	Truncated bool `json:"truncated,omitempty"` // text is only its beginning
}

type wireTextEnd struct {
	feed.TextEnd
	Truncated bool `json:"truncated,omitempty"`
}

type wirePrompt struct {
	Message     session.MessageID `json:"message_id"`
	Content     []wireBlock       `json:"content"`
	Disposition feed.Disposition  `json:"disposition"`
	Into        session.TurnID    `json:"into,omitempty"`
}

// wireTurnEnd is a TurnEnd with its failure as an error of the protocol.
type wireTurnEnd struct {
	session.TurnEnd
	Error *conn.Error `json:"error,omitempty"` // in place of the log's
}
