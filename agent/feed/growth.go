package feed

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Bounds of what waits for one subscriber. An update weighs as many bytes as its text has, but at most maxWeight: what
// is larger came in one piece (the end of a block, a prompt, a list) and is shared with the session's view and with
// all subscribers, as its encoded form is. So a subscriber that does not read makes the daemon hold 1,024 updates of at
// most 1 MiB in all. Four of them may be larger than they weigh.
const (
	maxWaiting      = 1024      // updates
	maxWaitingBytes = 1 << 20   // of weight
	maxWeight       = 256 << 10 // of an update; growth is not merged beyond it
)

// growing is a block that grows; zero for none.
type growing struct {
	message session.MessageID
	block   int
	call    string // of a tool, in place of both
}

// grown is the block that an event is growth of, and the text, if the event is growth. Growth of one block may be merged.
func grown(e Event) (growing, string) {
	switch e := e.(type) {
	case ThinkingDelta:
		return growing{message: e.Message, block: e.Block}, e.Delta
	case MessageDelta:
		return growing{message: e.Message, block: e.Block}, e.Delta
	case ToolOutput:
		return growing{call: e.CallID}, e.Chunk
	}
	return growing{}, ""
}

// withText is the same growth with another text.
func withText(e Event, text string) Event {
	switch e := e.(type) {
	case ThinkingDelta:
		e.Delta = text
		return e
	case MessageDelta:
		e.Delta = text
		return e
	case ToolOutput:
		e.Chunk = text
		return e
	}
	return e
}

// weight is what an update counts against the bounds.
func weight(e Event) int {
	size := 0
	switch e := e.(type) {
	case ThinkingDelta:
		size = len(e.Delta)
	case MessageDelta:
		size = len(e.Delta)
	case ThinkingEnd:
		size = len(e.Text)
	case TextEnd:
		size = len(e.Text) + len(e.JSON) + weightOfSources(e.Sources)
	case MessageEnd:
		for _, cited := range e.Cited {
			size += weightOfSources(cited.Sources)
		}
	case PromptStored:
		size = weightOf(e.Content)
	case ToolStart:
		size = len(e.Arguments) + len(e.Invalid)
	case ToolOutput:
		size = len(e.Chunk)
	case ToolEnd:
		size = weightOf(e.Content)
	case Plan:
		for _, item := range e.Items {
			size += len(item.Content)
		}
	case Confirm:
		size = len(e.Arguments)
	case SessionUpdate:
		for name, value := range e.Metadata {
			size += len(name) + len(value)
		}
	case QueueUpdate:
		size = len(e.Queue) * MaxQueuedText
	}
	return min(size, maxWeight)
}

func weightOfSources(list []provider.Citation) (size int) {
	for _, source := range list {
		size += len(source.URL) + len(source.Title) + len(source.Quote)
	}
	return size
}

func weightOf(content provider.Blocks) (size int) {
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			size += len(b.Text)
		case provider.Media:
			size += len(b.Data)
		}
	}
	return size
}
