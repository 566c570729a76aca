package otlp

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
)

// A message is one of OTLP's Protocol Buffers, with the fields that are set. The number of a field is for its binary form, its name
// for its JSON. Both forms are written from the same message.
//
// The tests parse every message with the generated code of OpenTelemetry. The program does not contain that code:
// docs/dependencies.md has what it costs.
type message []field

type field struct {
	number int
	name   string
	value  value
}

// value is what a field holds. It appends itself with the field's number, or as JSON.
type value interface {
	appendProto(b []byte, number int) []byte
	appendJSON(b []byte) []byte
}

// The values are named like the types of Protocol Buffers.
type (
	text     string // valid UTF-8
	id       []byte
	boolean  bool
	whole    int64  // int64
	enum     uint32 // an enum, or uint32
	fixed32  uint32
	fixed64  uint64
	double   float64
	fixed64s []uint64
	doubles  []float64
	messages []message // a repeated field
)

// The wire types of Protocol Buffers (protobuf.dev: "Encoding").
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendTag(b []byte, number, wire int) []byte {
	return binary.AppendUvarint(b, uint64(number)<<3|uint64(wire))
}

func appendBytes[T ~string | ~[]byte](b []byte, number int, content T) []byte {
	b = binary.AppendUvarint(appendTag(b, number, wireBytes), uint64(len(content)))
	return append(b, content...)
}

// encodeProto is the binary form of a whole message.
func (m message) encodeProto() (b []byte) {
	for _, f := range m {
		b = f.value.appendProto(b, f.number)
	}
	return b
}

func (m message) appendProto(b []byte, number int) []byte {
	return appendBytes(b, number, m.encodeProto())
}
func (s text) appendProto(b []byte, number int) []byte { return appendBytes(b, number, s) }
func (i id) appendProto(b []byte, number int) []byte   { return appendBytes(b, number, i) }

func (n whole) appendProto(b []byte, number int) []byte {
	return binary.AppendUvarint(appendTag(b, number, wireVarint), uint64(n))
}

func (n enum) appendProto(b []byte, number int) []byte { return whole(n).appendProto(b, number) }

func (v boolean) appendProto(b []byte, number int) []byte {
	if v {
		return whole(1).appendProto(b, number)
	}
	return whole(0).appendProto(b, number)
}

func (n fixed32) appendProto(b []byte, number int) []byte {
	return binary.LittleEndian.AppendUint32(appendTag(b, number, wireFixed32), uint32(n))
}

func (n fixed64) appendProto(b []byte, number int) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, number, wireFixed64), uint64(n))
}

func (x double) appendProto(b []byte, number int) []byte {
	return fixed64(math.Float64bits(float64(x))).appendProto(b, number)
}

// appendProto packs numbers into one field.
func (list fixed64s) appendProto(b []byte, number int) []byte {
	b = binary.AppendUvarint(appendTag(b, number, wireBytes), uint64(8*len(list)))
	for _, n := range list {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

func (list doubles) appendProto(b []byte, number int) []byte {
	bits := make(fixed64s, len(list))
	for i, x := range list {
		bits[i] = math.Float64bits(x)
	}
	return bits.appendProto(b, number)
}

func (list messages) appendProto(b []byte, number int) []byte {
	for _, m := range list {
		b = m.appendProto(b, number)
	}
	return b
}

// OTLP's JSON differs from that of other Protocol Buffers: ids are hexadecimal, not base64, and enums are numbers (OTLP Specification,
// "JSON Protobuf Encoding"). Integers of 64 bits are strings in both.

func (m message) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, f := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.value.appendJSON(append(text(f.name).appendJSON(b), ':'))
	}
	return append(b, '}')
}

func (s text) appendJSON(b []byte) []byte {
	quoted, _ := json.Marshal(string(s)) // a string has no error
	return append(b, quoted...)
}

func (i id) appendJSON(b []byte) []byte      { return text(hex.EncodeToString(i)).appendJSON(b) }
func (v boolean) appendJSON(b []byte) []byte { return strconv.AppendBool(b, bool(v)) }
func (n whole) appendJSON(b []byte) []byte {
	return text(strconv.FormatInt(int64(n), 10)).appendJSON(b)
}
func (n enum) appendJSON(b []byte) []byte    { return strconv.AppendUint(b, uint64(n), 10) }
func (n fixed32) appendJSON(b []byte) []byte { return enum(n).appendJSON(b) }
func (n fixed64) appendJSON(b []byte) []byte {
	return text(strconv.FormatUint(uint64(n), 10)).appendJSON(b)
}

// appendJSON writes what is no number as a word.
func (x double) appendJSON(b []byte) []byte {
	switch {
	case math.IsInf(float64(x), 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(float64(x), -1):
		return append(b, `"-Infinity"`...)
	case math.IsNaN(float64(x)):
		return append(b, `"NaN"`...)
	}
	return strconv.AppendFloat(b, float64(x), 'g', -1, 64)
}

func (list fixed64s) appendJSON(b []byte) []byte {
	return appendList(b, list, func(b []byte, n uint64) []byte { return fixed64(n).appendJSON(b) })
}

func (list doubles) appendJSON(b []byte) []byte {
	return appendList(b, list, func(b []byte, x float64) []byte { return double(x).appendJSON(b) })
}

func (list messages) appendJSON(b []byte) []byte {
	return appendList(b, list, func(b []byte, m message) []byte { return m.appendJSON(b) })
}

func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}
