package conn

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Limits of one message, whatever its size.
const (
	MaxDepth  = 128  // objects and arrays inside one another
	MaxMethod = 128  // bytes of a method's name
	MaxID     = 1024 // bytes of an id as sent: it is kept while the request is in flight
	MaxBatch  = 64   // elements
)

// Message is one JSON-RPC message of a client. It points into the frame that it was read from.
type Message struct {
	ID       string // as sent, byte for byte; empty: there is none
	Method   string
	Params   json.RawMessage // an object or an array; nil: none
	Response bool            // it answers something, and the rest is empty
	Refused  *Error          // the answer, if the message is malformed; ID is set if it could be read

	quoted []byte // the method as sent
}

// checkFrame checks that a frame is one JSON value, and reports whether it is a batch.
func checkFrame(frame []byte) (isBatch bool, err *Error) {
	if !utf8.Valid(frame) || !json.Valid(frame) {
		// encoding/json stops at 10,000 levels; a deeper frame may be valid, but is refused anyway.
		if depth(frame) > MaxDepth {
			return false, InvalidRequest("nested deeper than %d levels", MaxDepth)
		}
		return false, ErrParse
	}
	return frame[skipSpace(frame, 0)] == '[', nil
}

// readMessage checks one valid JSON value. With an error, the message has the id, if that could be read.
//
// An id null is refused: its answer would look like the answer to a message that cannot be read, and the
// specification (section 4) knows it for those only.
func readMessage(value []byte) (m Message, err *Error) {
	value = value[skipSpace(value, 0):]
	if len(value) == 0 || value[0] != '{' {
		return Message{}, ErrInvalidRequest
	}
	fields, err := readFields(value)
	if err != nil {
		return Message{}, err
	}
	if fields.method == nil && (fields.result != nil || fields.failure != nil) {
		return Message{Response: true}, nil
	}
	if m.ID, err = readID(fields.id); err != nil {
		return Message{}, err
	}
	if len(fields.method) == 0 || fields.method[0] != '"' || unquote(fields.version) != "2.0" {
		return m, ErrInvalidRequest
	}
	m.quoted, m.Method = fields.method, unquote(fields.method)
	if len(m.Method) > MaxMethod {
		return m, InvalidRequest("the method's name is longer than %d bytes", MaxMethod)
	}
	if depth(value) > MaxDepth {
		return m, InvalidRequest("nested deeper than %d levels", MaxDepth)
	}
	switch {
	case len(fields.params) == 0 || string(fields.params) == "null":
	case fields.params[0] == '{' || fields.params[0] == '[':
		m.Params = fields.params
	default:
		return m, InvalidRequest("params are neither an object nor an array")
	}
	return m, nil
}

// fields are the members that JSON-RPC knows, as sent; nil: absent.
type fields struct {
	version, id, method, params, result, failure []byte
}

func readFields(object []byte) (fields, *Error) {
	var f fields
	for name, value := range Members(object) {
		var field *[]byte
		switch name {
		case "jsonrpc":
			field = &f.version
		case "id":
			field = &f.id
		case "method":
			field = &f.method
		case "params":
			field = &f.params
		case "result":
			field = &f.result
		case "error":
			field = &f.failure
		default:
			continue
		}
		if *field != nil {
			// Readers differ on which of two counts; a peer in between might have checked the other one.
			return fields{}, InvalidRequest("%s is there twice", name)
		}
		*field = value
	}
	return f, nil
}

func readID(id []byte) (string, *Error) {
	switch {
	case id == nil:
		return "", nil
	case len(id) > MaxID:
		return "", InvalidRequest("the id is longer than %d bytes", MaxID)
	case id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9':
		return string(id), nil
	case string(id) == "null":
		return "", InvalidRequest("the id is null; leave it out of a notification")
	}
	return "", InvalidRequest("the id is neither a string nor a number")
}

// Members yields the members of a valid JSON object: names unquoted, values as they are.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := skipSpace(object, 1); object[i] != '}'; {
			end := skipString(object, i)
			name := object[i:end]
			i = skipSpace(object, skipSpace(object, end)+1) // over the colon
			end = skipValue(object, i)
			if !yield(unquote(name), object[i:end]) {
				return
			}
			if i = skipSpace(object, end); object[i] == ',' {
				i = skipSpace(object, i+1)
			}
		}
	}
}

// Elements yields the elements of a valid JSON array.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := skipSpace(array, skipSpace(array, 0)+1); array[i] != ']'; {
			end := skipValue(array, i)
			if !yield(array[i:end]) {
				return
			}
			if i = skipSpace(array, end); array[i] == ',' {
				i = skipSpace(array, i+1)
			}
		}
	}
}

// The skip functions take valid JSON and say where a part of it ends.

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipValue(data []byte, i int) int {
	for open := 0; ; {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			open++
			i++
		case '}', ']':
			open--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			i++
		default:
			for i < len(data) && !isDelimiter(data[i]) {
				i++
			}
		}
		if open == 0 {
			return i
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', ':', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// depth counts how deep objects and arrays are inside one another, in any bytes.
func depth(data []byte) int {
	var open, deepest int
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			open++
			deepest = max(deepest, open)
		case '}', ']':
			open--
		}
	}
	return deepest
}

// unquote reads a valid JSON string; what is none is empty.
func unquote(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	if plain := quoted[1 : len(quoted)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return ""
	}
	return s
}
