package otlp

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
)

// partial is how much of a request a collector rejected while it accepted the rest (OTLP Specification, "Partial Success"). An
// answer with words and without items is a warning.
type partial struct {
	rejected int
	words    string
}

// parseJSON parses an answer in JSON. Some collectors answer with nothing or in another form: all items were accepted.
func parseJSON(answer []byte) partial {
	var a struct {
		Partial struct {
			Spans  json.Number `json:"rejectedSpans"`
			Points json.Number `json:"rejectedDataPoints"`
			Words  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return partial{}
	}
	n, _ := strconv.Atoi(string(a.Partial.Spans) + string(a.Partial.Points)) // one of them is set
	return partial{max(n, 0), a.Partial.Words}
}

// parseProto parses an answer in Protocol Buffers. Those for spans and for metrics have the same numbers: in field 1 is a message
// whose field 1 is the number of rejected items, and whose field 2 is the reason.
func parseProto(answer []byte) (p partial) {
	eachField(answer, func(number int, inner []byte, _ uint64) {
		if number != 1 {
			return
		}
		eachField(inner, func(number int, words []byte, count uint64) {
			switch number {
			case 1:
				p.rejected = max(int(int64(count)), 0)
			case 2:
				p.words = string(words)
			}
		})
	})
	return p
}

// eachField calls yield with the fields of a message, up to the first fault in it. A field is bytes or a number.
func eachField(b []byte, yield func(number int, bytes []byte, n uint64)) {
	for len(b) > 0 {
		tag, size := binary.Uvarint(b)
		if size <= 0 {
			return
		}
		b = b[size:]
		var content []byte
		var n uint64
		switch tag & 7 {
		case wireVarint:
			if n, size = binary.Uvarint(b); size <= 0 {
				return
			}
		case wireBytes:
			length, prefix := binary.Uvarint(b)
			if prefix <= 0 || length > uint64(len(b)-prefix) {
				return
			}
			size = prefix + int(length)
			content = b[prefix:size]
		case wireFixed64:
			size = 8
		case wireFixed32:
			size = 4
		default:
			return
		}
		if size > len(b) {
			return
		}
		yield(int(tag>>3), content, n)
		b = b[size:]
	}
}
