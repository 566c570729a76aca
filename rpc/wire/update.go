package wire

import (
	"encoding/json"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Update is the notification of an update. Texts are whole as far as there is room for them. Growth, which is nearly all that
// is ever sent, is written without reflection; the rest is not worth that.
func (e Encoder) Update(u *feed.Update) []byte {
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
	switch grown := u.Event.(type) {
	case feed.ThinkingDelta:
		out = appendGrowth(out, grown.Message, grown.Block, grown.Delta)
	case feed.MessageDelta:
		out = appendGrowth(out, grown.Message, grown.Block, grown.Delta)
	case feed.ToolOutput:
		out = conn.AppendString(append(out, `,"call_id":`...), grown.CallID)
		out = conn.AppendString(append(out, `,"chunk":`...), grown.Chunk)
	default:
		if members := eventMembers(e.withMedia(u.Event), e.MessageRoom()); len(members) > len(`{}`) {
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
	shown, err := Event(e, room)
	if err != nil {
		panic(err)
	}
	out, err := json.Marshal(shown)
	if err != nil {
		panic(err)
	}
	return out
}

// withMedia is an event with the data of its media, as far as there is room.
func (e Encoder) withMedia(of feed.Event) feed.Event {
	room := e.MessageRoom()
	switch of := of.(type) {
	case feed.PromptStored:
		of.Content = WithMedia(e.Blobs, of.Content, &room)
		return of
	case feed.ToolEnd:
		of.Content = WithMedia(e.Blobs, of.Content, &room)
		return of
	}
	return of
}

// Event is what clients see of an event: no vendor's state, lists that are never null, and as much of its texts as there is
// room for, in bytes.
func Event(e feed.Event, room int) (any, error) {
	switch e := e.(type) {
	case feed.PromptStored:
		content, err := newBlocks(e.Content, room)
		return promptStored{e.Message, content, e.Disposition, e.Into, e.Replaces}, err
	case feed.TurnStart:
		e.Reasoning = *NewReasoning(e.Reasoning)
		return e, nil
	case feed.ThinkingEnd:
		text, whole := head(e.Text, room)
		e.Text = text
		return thinkingEnd{e, !whole}, nil
	case feed.SummaryStored:
		text, whole := head(e.Text, room)
		e.Text = text
		return summaryStored{e.Summary, !whole}, nil
	case feed.TextEnd:
		text, whole := head(e.Text, room)
		e.Text = text
		if !whole { // the places of sources are in what is cut
			e.Sources, e.JSON = nil, nil
		} else if len(text)+len(e.JSON) > room {
			e.JSON = nil
		}
		return textEnd{e, !whole}, nil
	case feed.ServerTool:
		cut, whole := Cut(provider.ServerTool{Input: e.Arguments, Text: e.Text, Sources: e.Sources}, room)
		shown := cut.(provider.ServerTool)
		e.Arguments, e.Text, e.Sources, e.Truncated = shown.Input, shown.Text, shown.Sources, !whole
		return e, nil
	case feed.Retry:
		e.Discarded = append([]int{}, e.Discarded...)
		return e, nil
	case feed.ToolStart:
		return newToolStart(e, room), nil
	case feed.ToolEnd:
		content, err := newBlocks(e.Content, room)
		return toolEnd{e.Message, e.Number, e.CallID, content, e.Failed, e.DurationMS}, err
	case feed.Confirm:
		return NewConfirm(e, room), nil
	case feed.QueueUpdate:
		return NewWaiting(e), nil
	case feed.SessionUpdate:
		return sessionUpdate{e, fallbacks(e.Fallbacks)}, nil
	case feed.FellBack:
		return fellBack{e, failure.OfTurn(e.Error)}, nil
	case feed.TurnParked:
		return NewParked(e), nil
	case feed.TurnEnd:
		return turnEnd{e, failure.OfTurn(e.Error)}, nil
	}
	return e, nil
}

type thinkingEnd struct {
	feed.ThinkingEnd
	Truncated bool `json:"truncated,omitempty"` // text is only its beginning
}

type summaryStored struct {
	feed.Summary
	Truncated bool `json:"truncated,omitempty"`
}

type textEnd struct {
	feed.TextEnd
	Truncated bool `json:"truncated,omitempty"`
}

type promptStored struct {
	Message     session.MessageID `json:"message_id"`
	Content     []Block           `json:"content"`
	Disposition feed.Disposition  `json:"disposition"`
	Into        session.TurnID    `json:"into,omitempty"`
	Replaces    bool              `json:"replaces,omitempty"`
}

// sessionUpdate is a SessionUpdate with fallbacks as clients write them.
type sessionUpdate struct {
	feed.SessionUpdate
	Fallbacks *[]registry.FallbackModel `json:"fallbacks,omitempty"`
}

// fellBack is a FellBack with its failure as an error of the protocol.
type fellBack struct {
	feed.FellBack
	Error *conn.Error `json:"error,omitempty"` // in place of the log's
}

// Parked is a TurnParked with its failure as an error of the protocol.
type Parked struct {
	feed.TurnParked
	Error *conn.Error `json:"error,omitempty"` // in place of the log's
}

// NewParked is how clients get a parked turn.
func NewParked(p feed.TurnParked) Parked { return Parked{p, failure.OfTurn(p.Error)} }

// turnEnd is a TurnEnd with its failure as an error of the protocol.
type turnEnd struct {
	feed.TurnEnd
	Error *conn.Error `json:"error,omitempty"` // in place of the log's
}

// Update is a notification as a part of an answer: its method and params.
type Update struct{ json.RawMessage }

// JSONSchema is what rpc.discover tells of it.
func (Update) JSONSchema() *jsonschema.Schema {
	return method.Object(method.Required("method", method.Kind("string")), method.Required("params", method.Kind("object")))
}

// Updates shows published updates; nil if they take more than room bytes.
func (e Encoder) Updates(since []*feed.Update, room int) []Update {
	const version = `"jsonrpc":"2.0",`
	list := make([]Update, 0, len(since))
	for _, u := range since {
		message := e.Update(u)
		if room -= len(message); room < 0 {
			return nil
		}
		list = append(list, Update{append(message[:1], message[1+len(version):]...)})
	}
	return list
}
