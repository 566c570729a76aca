package exchange

import (
	"fmt"
	"io"
	"iter"

	"github.com/thinkd/thinkd/provider/sse"
)

// Framing is how a stream that has no server-sent events divides its bytes into events.
type Framing struct {
	Type  string // the MIME type
	First byte   // of each stream, by which one is known whose MIME type is wrong

	// Read yields the events of a stream, by the rules of [sse.Read]. An error of type *[Failed] is the host's own, any other one is
	// about the connection.
	Read func(io.Reader) iter.Seq2[sse.Event, error]
}

// Failed is an error of the host that a frame of a stream has in place of an event.
type Failed struct {
	Status int    // that the error would have as an answer of its own
	Body   []byte // as such an answer would have it
}

func (f *Failed) Error() string { return fmt.Sprintf("the host failed with status %d", f.Status) }
