package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// restOf is what is left of a message that was refused: it is skipped as it comes.
type restOf struct {
	line  bool   // up to the end of the line
	bytes int64  // so many
	lost  bool   // there is no telling where the next message begins; a Content-Length header will
	found string // the value of one at the end of the line that was refused
}

// readLine is one message per line. Empty lines are nothing; a last line without its end is a message too.
func (f *byteFrames) readLine() ([]byte, error) {
	for {
		line, err := f.line(f.limit)
		if line = trimSpace(line); len(line) > 0 {
			return line, nil // the error, if there is one, comes again
		}
		if err != nil {
			return nil, err
		}
	}
}

// line reads to the end of a line. Above limit it gives up at once, with an *Error: the client may wait for the
// answer before it sends the rest.
func (f *byteFrames) line(limit int) ([]byte, error) {
	if err := f.skipLine(); err != nil {
		return nil, err
	}
	f.long = f.long[:0]
	for {
		part, err := f.in.ReadSlice('\n')
		whole := part
		if len(f.long) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			f.keep(part)
			whole = f.long
		}
		if size := len(bytes.TrimRight(whole, "\r\n")); size > limit {
			f.rest.line = errors.Is(err, bufio.ErrBufferFull)
			f.long = nil
			return nil, tooLarge("the message", limit)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// keep adds to a message that is larger than the reader's buffer. The room doubles each time, up to the limit: what append
// would leave behind on the way is several times the message.
func (f *byteFrames) keep(part []byte) {
	if cap(f.long)-len(f.long) < len(part) {
		more := min(len(f.long), max(f.limit-len(f.long), 0))
		f.long = slices.Grow(f.long, max(more, len(part)))
	}
	f.long = append(f.long, part...)
}

func (f *byteFrames) skipLine() error {
	for f.rest.line {
		switch _, err := f.in.ReadSlice('\n'); {
		case err == nil:
			f.rest.line = false
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	return nil
}

// trimSpace takes off JSON's white space.
func trimSpace(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

const (
	contentLength = "content-length"
	maxHeaderLine = 1024
)

// readBody is one message behind its headers (Language Server Protocol, base protocol). Lines may end without CR,
// unknown headers are ignored.
//
// What is no header block has no end that could be known: the client gets one error, and everything is skipped up to
// the next header that names a length. It may stand at the end of a line, since bodies end without one.
func (f *byteFrames) readBody() ([]byte, error) {
	if err := f.skipBytes(); err != nil {
		return nil, err
	}
	length, begun := int64(-1), false
	if f.rest.found != "" {
		length = readLength(f.rest.found)
		f.rest.lost, f.rest.found = length < 0, ""
	}
	for {
		line, err := f.headerLine()
		if _, refused := errors.AsType[*Error](err); refused {
			f.rest.lost = true
			return nil, errParse
		}
		if err != nil {
			return nil, err // a header without its body is no message
		}
		line = trimSpace(line)
		if len(line) == 0 && length >= 0 {
			return f.body(length)
		}
		if len(line) == 0 && !begun {
			continue // between messages
		}
		begun = true
		name, value, ok := header(line, f.rest.lost)
		switch {
		case ok && name == contentLength:
			length, f.rest.lost = readLength(value), false
			if length >= 0 {
				continue
			}
		case ok:
			continue
		}
		if !f.rest.lost {
			f.rest.lost = true
			_, f.rest.found, _ = header(line, true)
			return nil, errParse
		}
	}
}

// headerLine is a line that is short or refused; when lost, the end of any line.
func (f *byteFrames) headerLine() ([]byte, error) {
	if !f.rest.lost {
		return f.line(maxHeaderLine)
	}
	if err := f.skipLine(); err != nil {
		return nil, err
	}
	for f.long = f.long[:0]; ; {
		part, err := f.in.ReadSlice('\n')
		f.long = append(f.long, part...)
		if more := len(f.long) - maxHeaderLine; more > 0 {
			f.long = append(f.long[:0], f.long[more:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return f.long, err
		}
	}
}

// header reads a header line; with anywhere, also a length at the end of something else.
func header(line []byte, anywhere bool) (name, value string, ok bool) {
	text := strings.ToLower(string(line))
	if anywhere {
		i := strings.LastIndex(text, contentLength)
		if i < 0 {
			return "", "", false
		}
		text = text[i:]
	}
	name, value, ok = strings.Cut(text, ":")
	for _, c := range []byte(name) {
		if !(c == '-' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(value), ok && name != ""
}

// readLength reads digits; -1: they are none. What no int64 holds is as large as one gets.
func readLength(digits string) int64 {
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return math.MaxInt64
	case err != nil:
		return -1
	}
	return int64(n)
}

// body reads length bytes. Memory follows the bytes that come, not the number that was announced.
func (f *byteFrames) body(length int64) ([]byte, error) {
	if length > int64(f.limit) {
		f.rest.bytes = length
		return nil, tooLarge("the message", f.limit)
	}
	if length == 0 {
		return nil, errParse
	}
	f.long = f.long[:0]
	for len(f.long) < int(length) {
		if _, err := f.in.Peek(1); err != nil {
			return nil, unexpected(err)
		}
		part, err := f.in.Peek(min(f.in.Buffered(), int(length)-len(f.long)))
		if err != nil {
			return nil, unexpected(err)
		}
		f.keep(part)
		if _, err := f.in.Discard(len(part)); err != nil {
			return nil, err
		}
	}
	return f.long, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (f *byteFrames) skipBytes() error {
	for f.rest.bytes > 0 {
		n, err := f.in.Discard(int(min(f.rest.bytes, 1<<20)))
		f.rest.bytes -= int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
