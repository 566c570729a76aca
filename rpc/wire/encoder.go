package wire

import (
	"iter"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/session"
)

// ProtocolVersion is the only one of the native protocol so far. A client that asks for another one is answered with it.
const ProtocolVersion = 1

// Encoder writes what clients get. It is safe for concurrent use.
type Encoder struct {
	Blobs session.Blobs // where images and documents are kept; nil: in the log
	Limit int           // of a message, in bytes
}

const maxAnswer = 4 << 20 // bytes of a page, about; one message comes along whatever its size

// Room is how much an answer of pages holds, in bytes.
func (e Encoder) Room() int { return min(maxAnswer, e.Limit/2) }

// MessageRoom is how much of one message is shown, in bytes. It leaves room for the rest of an answer, and a prompt that a
// client could send fits.
func (e Encoder) MessageRoom() int { return max(e.Limit-4<<10, e.Limit/2) }

// Message shows a message with its media in about limit bytes: what does not fit is cut.
func (e Encoder) Message(m agent.Message, limit int) (Message, error) {
	if blobs := e.Blobs; blobs != nil {
		room := limit
		m.Parts = slices.Clone(m.Parts)
		for i, p := range m.Parts {
			m.Parts[i].Block = blockWithMedia(blobs, p.Block, &room)
		}
	}
	return newMessage(m, limit)
}

// Oldest shows the first messages of a list, as far as they fit into room bytes, but at least one.
func (e Encoder) Oldest(list []agent.Message, room int) ([]Message, error) {
	return e.fit(slices.Values(list), room, 1)
}

// Newest shows the last messages of a list, as far as they fit into room bytes, but at least as many as least says.
func (e Encoder) Newest(list []agent.Message, room, least int) ([]Message, error) {
	shown, err := e.fit(func(yield func(agent.Message) bool) {
		for _, m := range slices.Backward(list) {
			if !yield(m) {
				return
			}
		}
	}, room, least)
	slices.Reverse(shown)
	return shown, err
}

func (e Encoder) fit(list iter.Seq[agent.Message], room, least int) ([]Message, error) {
	shown := []Message{}
	for m := range list {
		w, err := e.Message(m, e.MessageRoom())
		if err != nil {
			return nil, err
		}
		if room -= w.Size(); room < 0 && len(shown) >= least {
			break
		}
		shown = append(shown, w)
	}
	return shown, nil
}
