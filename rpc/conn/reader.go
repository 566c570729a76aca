package conn

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

// reader finds the messages in the bytes of a connection: one a line, or each behind its headers.
type reader struct {
	in       *bufio.Reader
	limit    int // bytes of a message
	detected bool
	headers  bool   // the client sends headers; known once detected
	long     []byte // a message that is larger than the buffer of in
	rest     restOf // what to skip first
}

func newReader(from io.Reader, limit, buffer int) *reader {
	return &reader{in: bufio.NewReaderSize(from, buffer), limit: limit}
}

// message is the next message, of a client whose framing is known.
func (r *reader) message() ([]byte, error) {
	if cap(r.long) > keepBuffer {
		r.long = nil
	}
	if r.headers {
		return r.readBody()
	}
	return r.readLine()
}

// headerStart begins the header block of a message: both headers of LSP begin with it.
const headerStart = "content-"

// detect looks at the first bytes that are no white space, one by one: it must not wait for a byte more than it
// needs, and not depend on how the bytes arrive. JSON begins with no letter C.
func (r *reader) detect() error {
	if r.detected {
		return nil
	}
	// Windows PowerShell puts a byte order mark in front of what it pipes.
	if err := r.skip("\xef\xbb\xbf"); err != nil {
		return err
	}
	for {
		c, err := r.in.Peek(1)
		if err != nil {
			return err
		}
		if c[0] != ' ' && c[0] != '\t' && c[0] != '\r' && c[0] != '\n' {
			break
		}
		if _, err := r.in.Discard(1); err != nil {
			return err
		}
	}
	r.headers = r.begins(headerStart)
	r.detected = true
	return nil
}

// begins reports whether the next bytes are the word, ASCII case ignored, without taking them.
func (r *reader) begins(word string) bool {
	for n := 1; n <= len(word); n++ {
		bytes, err := r.in.Peek(n)
		if err != nil || lower(bytes[n-1]) != word[n-1] {
			return false
		}
	}
	return true
}

func (r *reader) skip(word string) error {
	if !r.begins(word) {
		return nil
	}
	_, err := r.in.Discard(len(word))
	return err
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// readLine is one message per line. Empty lines are nothing; a last line without its end is a message too.
func (r *reader) readLine() ([]byte, error) {
	for {
		line, err := r.line(r.limit)
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
func (r *reader) line(limit int) ([]byte, error) {
	if err := r.skipLine(); err != nil {
		return nil, err
	}
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		whole := part
		if len(r.long) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			r.keep(part)
			whole = r.long
		}
		if size := len(bytes.TrimRight(whole, "\r\n")); size > limit {
			r.rest.line = errors.Is(err, bufio.ErrBufferFull)
			r.long = nil
			return nil, TooLarge("the message", limit)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// keep adds to a message that is larger than the reader's buffer. The room doubles each time, up to the limit: what append
// would leave behind on the way is several times the message.
func (r *reader) keep(part []byte) {
	if cap(r.long)-len(r.long) < len(part) {
		more := min(len(r.long), max(r.limit-len(r.long), 0))
		r.long = slices.Grow(r.long, max(more, len(part)))
	}
	r.long = append(r.long, part...)
}

func (r *reader) skipLine() error {
	for r.rest.line {
		switch _, err := r.in.ReadSlice('\n'); {
		case err == nil:
			r.rest.line = false
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
func (r *reader) readBody() ([]byte, error) {
	if err := r.skipBytes(); err != nil {
		return nil, err
	}
	length, begun := int64(-1), false
	if r.rest.found != "" {
		length = readLength(r.rest.found)
		r.rest.lost, r.rest.found = length < 0, ""
	}
	for {
		line, err := r.headerLine()
		if _, refused := errors.AsType[*Error](err); refused {
			r.rest.lost = true
			return nil, ErrParse
		}
		if err != nil {
			return nil, err // a header without its body is no message
		}
		line = trimSpace(line)
		if len(line) == 0 && length >= 0 {
			return r.body(length)
		}
		if len(line) == 0 && !begun {
			continue // between messages
		}
		begun = true
		name, value, ok := header(line, r.rest.lost)
		switch {
		case ok && name == contentLength:
			length, r.rest.lost = readLength(value), false
			if length >= 0 {
				continue
			}
		case ok:
			continue
		}
		if !r.rest.lost {
			r.rest.lost = true
			_, r.rest.found, _ = header(line, true)
			return nil, ErrParse
		}
	}
}

// headerLine is a line that is short or refused; when lost, the end of any line.
func (r *reader) headerLine() ([]byte, error) {
	if !r.rest.lost {
		return r.line(maxHeaderLine)
	}
	if err := r.skipLine(); err != nil {
		return nil, err
	}
	for r.long = r.long[:0]; ; {
		part, err := r.in.ReadSlice('\n')
		r.long = append(r.long, part...)
		if more := len(r.long) - maxHeaderLine; more > 0 {
			r.long = append(r.long[:0], r.long[more:]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, err
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
func (r *reader) body(length int64) ([]byte, error) {
	if length > int64(r.limit) {
		r.rest.bytes = length
		return nil, TooLarge("the message", r.limit)
	}
	if length == 0 {
		return nil, ErrParse
	}
	r.long = r.long[:0]
	for len(r.long) < int(length) {
		if _, err := r.in.Peek(1); err != nil {
			return nil, unexpected(err)
		}
		part, err := r.in.Peek(min(r.in.Buffered(), int(length)-len(r.long)))
		if err != nil {
			return nil, unexpected(err)
		}
		r.keep(part)
		if _, err := r.in.Discard(len(part)); err != nil {
			return nil, err
		}
	}
	return r.long, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *reader) skipBytes() error {
	for r.rest.bytes > 0 {
		n, err := r.in.Discard(int(min(r.rest.bytes, 1<<20)))
		r.rest.bytes -= int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
