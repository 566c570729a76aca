package aws

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/thinkd/thinkd/provider/sim"
)

// StreamType is the Content-Type of event streams.
const StreamType = "application/vnd.amazon.eventstream"

// AppendEvent appends the frame of an event to b.
func AppendEvent(b []byte, kind string, payload []byte) []byte {
	return appendFrame(b, payload, ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

// AppendException appends the frame of an error in mid-stream to b. kind is the name of the exception, which begins with a small letter there.
func AppendException(b []byte, kind, text string) []byte {
	return appendFrame(b, sim.JSON(map[string]string{"message": text}), ":exception-type", kind, ":content-type", "application/json", ":message-type", "exception")
}

// appendFrame appends one message. Each header is a name of one byte of length, the type of strings, and a value of two bytes of
// length (docs: event stream encoding).
func appendFrame(b, payload []byte, headers ...string) []byte {
	var head []byte
	for i := 0; i < len(headers); i += 2 {
		head = append(append(head, byte(len(headers[i]))), headers[i]...)
		head = binary.BigEndian.AppendUint16(append(head, 7), uint16(len(headers[i+1])))
		head = append(head, headers[i+1]...)
	}
	from := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(16+len(head)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
	b = append(append(b, head...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
}
