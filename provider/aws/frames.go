package aws

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/sse"
)

// A frame, with lengths in bytes (docs: event stream encoding):
//
//	length 4 | length of the headers 4 | CRC-32 of these 8 4 | headers | payload | CRC-32 of all before 4
//
// The library checks both sums and decodes the headers. It believes any length, so the lengths are checked here before a byte is read for
// them.
const (
	preludeSize = 12
	frameLeast  = preludeSize + 4
	frameMost   = 16 << 20 // the limit of Amazon's own encoders for a payload
	headersMost = 128 << 10
)

// EventStreamType is the MIME type of event streams.
const EventStreamType = "application/vnd.amazon.eventstream"

// EventStream is the framing of Converse: the name of an event is in a header, its JSON is the payload.
func EventStream() *exchange.Framing {
	return &exchange.Framing{Type: EventStreamType, Read: func(r io.Reader) iter.Seq2[sse.Event, error] {
		return frames(r, func(name string, payload []byte) (sse.Event, error) {
			return sse.Event{Kind: sse.Message, Name: name, Data: payload}, nil
		})
	}}
}

// Chunks is the framing of InvokeModel: each payload has one JSON event of the model's own API in base64.
func Chunks() *exchange.Framing {
	return &exchange.Framing{Type: EventStreamType, Read: func(r io.Reader) iter.Seq2[sse.Event, error] {
		var data []byte
		return frames(r, func(name string, payload []byte) (sse.Event, error) {
			inner := gjson.GetBytes(payload, "bytes")
			if name != "chunk" || inner.Type != gjson.String {
				return sse.Event{Kind: sse.Comment}, nil // of a later version: the connection lives
			}
			var err error
			if data, err = base64.StdEncoding.AppendDecode(data[:0], []byte(inner.Str)); err != nil {
				return sse.Event{}, fmt.Errorf("a chunk of the event stream is not base64: %w", err)
			}
			return sse.Event{Kind: sse.Message, Data: data}, nil
		})
	}}
}

// frames yields what read makes of each frame, and [sse.Part] while one is not complete. The last error is that of r, or says what is wrong with a frame.
func frames(r io.Reader, read func(name string, payload []byte) (sse.Event, error)) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		in := bufio.NewReaderSize(r, 16<<10)
		decoder := eventstream.NewDecoder()
		var frame, payload []byte
		for {
			var err error
			going := true
			frame, err = next(in, frame[:0], func() bool {
				going = yield(sse.Event{Kind: sse.Part}, nil)
				return going
			})
			if err == io.EOF || !going {
				return
			}
			var ev sse.Event
			if err == nil {
				var m eventstream.Message
				if m, err = decoder.Decode(bytes.NewReader(frame), payload[:0]); err == nil {
					payload = m.Payload
					ev, err = eventOf(m, read)
				} else if _, wrong := errors.AsType[eventstream.ChecksumError](err); wrong {
					err = errors.New("a frame of the event stream has a wrong checksum")
				}
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// next reads one frame into buf. It calls part after each read that does not complete the frame, and gives up if that says no. io.EOF says that
// the stream ended behind a frame.
func next(in *bufio.Reader, buf []byte, part func() bool) ([]byte, error) {
	prelude, err := in.Peek(preludeSize)
	switch {
	case err == io.EOF && len(prelude) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	length, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	if length < frameLeast || length > frameMost || headers > headersMost || headers > length-frameLeast {
		return nil, fmt.Errorf("a frame of the event stream has the length %d, with headers of %d", length, headers)
	}
	for room := int(length); room > 0; { // in pieces: a length alone takes no memory
		from := len(buf)
		buf = slices.Grow(buf, min(room, 64<<10))
		n, err := in.Read(buf[from:min(cap(buf), from+room)])
		buf, room = buf[:from+n], room-n
		switch {
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case room > 0 && !part():
			return buf, nil
		}
	}
	return buf, nil
}

// eventOf is what a frame says. The host's own errors are exceptions, which the API names, or errors, which it does not.
func eventOf(m eventstream.Message, read func(name string, payload []byte) (sse.Event, error)) (sse.Event, error) {
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	switch header(":message-type") {
	case "event":
		return read(header(":event-type"), m.Payload)
	case "exception":
		return sse.Event{}, failure(header(":exception-type"), gjson.GetBytes(m.Payload, "message").Str)
	case "error":
		return sse.Event{}, failure(header(":error-code"), header(":error-message"))
	}
	return sse.Event{Kind: sse.Comment}, nil // of a later version
}

// statuses are those that the API's exceptions have as answers of their own (docs: ConverseStream, InvokeModelWithResponseStream).
var statuses = map[string]int{
	"validationexception": http.StatusBadRequest, "accessdeniedexception": http.StatusForbidden, "resourcenotfoundexception": http.StatusNotFound,
	"modeltimeoutexception": http.StatusRequestTimeout, "modelstreamerrorexception": http.StatusFailedDependency,
	"modelerrorexception": http.StatusFailedDependency, "throttlingexception": http.StatusTooManyRequests,
	"modelnotreadyexception": http.StatusTooManyRequests, "serviceunavailableexception": http.StatusServiceUnavailable,
}

// failure is an error of the host within a stream.
func failure(kind, text string) error {
	status, ok := statuses[strings.ToLower(kind)]
	if !ok {
		status = http.StatusInternalServerError
	}
	body, err := json.Marshal(map[string]string{"__type": kind, "message": text})
	if err != nil {
		return err
	}
	return &exchange.Failed{Status: status, Body: body}
}
