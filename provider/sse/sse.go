// Package sse reads an event stream as model APIs send it.
//
// Fields, line ends and the byte order mark are those of the WHATWG text (HTML, section 9.2 "Server-sent events").
// Four things that the text lets a browser drop are told here, since a model API's client needs them: comments, which
// say that the other side lives; bytes that complete nothing yet; JSON that some hosts send in the middle of a stream
// without "data:", mostly the body of an error; and what stood unfinished when the stream ended.
//
// The result does not depend on how the bytes were cut into reads, but for [Part]. An event takes at most three times
// its size in memory, one above [MaxEvent] is an error. Nothing is read ahead of what has come: an event is told
// before the next read.
package sse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// MaxEvent is the largest event in bytes, its field names and line ends included.
const MaxEvent = 32 << 20

// keep is how much of a buffer is held for the next event.
const keep = 1 << 20

// ErrTooLong says that an event, or a single line, is longer than [MaxEvent].
var ErrTooLong = fmt.Errorf("an event of more than %d MiB", MaxEvent>>20)

// Kind says what an [Event] is.
type Kind int

const (
	Message Kind = iota // an event with data
	Comment             // a line that begins with a colon; Data is the rest of it
	Part                // bytes came that complete nothing yet; at most one a read
	Bare                // JSON without "data:"
	Cut                 // the stream ended before the blank line; for a browser this never happened
)

// Event is one piece of a stream. Data is valid until the next one is asked for.
type Event struct {
	Kind Kind
	Name string // of the field "event"; empty: none was given
	Data []byte
}

// Read yields the events of r as they come. An error of r other than io.EOF, or [ErrTooLong], comes last. The sequence
// can be used once.
func Read(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		d := decoder{in: bufio.NewReaderSize(r, 64<<10), first: true}
		for {
			ev, err := d.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// decoder holds one event at a time. buf is its data so far, each line with its LF, and after start the raw line that
// is being read: so a long line is never held twice.
type decoder struct {
	in    *bufio.Reader
	buf   []byte
	start int
	name  string
	last  string // the name before: the same word is not allocated for every delta
	data  bool   // there was a data field
	bare  bool   // buf is JSON without "data:" that goes over several lines
	first bool   // no line was read yet
	cr    bool   // the last line ended in CR: a LF now belongs to it
	fresh bool   // bytes were taken in since the last event
	used  bool   // the event in buf was told
	again bool   // bare JSON in buf was told, the line after it not yet looked at
	eof   bool
}

func (d *decoder) next() (Event, error) {
	if d.used {
		d.reset()
	}
	if d.again {
		line, name := d.buf[d.start:], d.name
		d.reset()
		d.buf, d.name = append(d.buf, line...), name
		if ev, ok := d.take(); ok {
			return ev, nil
		}
	}
	for !d.eof {
		if d.in.Buffered() == 0 && d.fresh {
			d.fresh = false
			return Event{Kind: Part}, nil
		}
		whole, err := d.line()
		if d.eof = err == io.EOF; d.eof {
			break
		}
		if err != nil {
			return Event{}, err
		}
		if !whole {
			continue
		}
		if ev, ok := d.take(); ok {
			d.fresh = false
			return ev, nil
		}
	}
	return d.rest()
}

// line takes in what is there of a line and reports whether that was its end. CR ends a line as well, so ReadSlice,
// which waits for one delimiter, will not do.
func (d *decoder) line() (whole bool, err error) {
	if _, err := d.in.Peek(1); err != nil {
		return false, err
	}
	chunk, err := d.in.Peek(d.in.Buffered())
	if err != nil {
		return false, err
	}
	d.fresh = true
	text, skip := chunk, len(chunk)
	if d.cr && chunk[0] == '\n' {
		text, skip = nil, 1
	} else if n := bytes.IndexAny(chunk, "\r\n"); n >= 0 {
		text, skip, whole = chunk[:n], n+1, true
	}
	d.cr = whole && chunk[len(text)] == '\r'
	if len(d.buf)+len(text) > MaxEvent {
		return false, ErrTooLong
	}
	if n := len(d.buf); n+len(text) > cap(d.buf) && n >= keep {
		// Twice as much: append's own steps of a quarter leave five times a long event for the collector.
		d.buf = slices.Grow(d.buf, min(n, MaxEvent-n)+1) // and its last line end
	}
	d.buf = append(d.buf, text...)
	_, err = d.in.Discard(skip)
	return whole, err
}

// take makes of the line at the end of buf what it is.
func (d *decoder) take() (Event, bool) {
	line := d.buf[d.start:]
	if d.first {
		d.first = false
		if rest, ok := bytes.CutPrefix(line, []byte("\uFEFF")); ok {
			line = line[:copy(line, rest)]
			d.buf = d.buf[:d.start+len(line)]
		}
	}
	field, value, colon := bytes.Cut(line, []byte(":"))
	switch {
	case len(line) == 0:
		return d.dispatch()
	case d.bare && !known(field):
		d.buf = append(d.buf, '\n')
		d.start = len(d.buf)
		return Event{}, false
	case d.bare: // the stream's own lines begin again
		d.again = true
		return Event{Kind: Bare, Data: d.buf[:d.start-1]}, true
	case colon && len(field) == 0:
		ev := Event{Kind: Comment, Data: value}
		d.buf = d.buf[:d.start]
		return ev, true
	case line[0] == '{' || line[0] == '[':
		return d.json(line)
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		d.data = true
		d.buf = append(d.buf[:d.start+copy(line, value)], '\n')
		d.start = len(d.buf)
	case "event":
		if string(value) != d.last {
			d.last = string(value)
		}
		d.name = d.last
		d.buf = d.buf[:d.start]
	default:
		d.buf = d.buf[:d.start]
	}
	return Event{}, false
}

func known(field []byte) bool {
	switch string(field) {
	case "", "data", "event", "id", "retry":
		return true
	}
	return false
}

// json handles a line without "data:". Whole JSON is told at once, the beginning of one that goes over several lines
// is kept until a blank line or a line of the stream's own. Within an event with data it is an unknown field.
func (d *decoder) json(line []byte) (Event, bool) {
	if json.Valid(line) {
		d.buf = d.buf[:d.start]
		return Event{Kind: Bare, Data: line}, true
	}
	if d.data {
		d.buf = d.buf[:d.start]
		return Event{}, false
	}
	d.bare = true
	d.buf = append(d.buf, '\n')
	d.start = len(d.buf)
	return Event{}, false
}

// dispatch ends an event at its blank line. Without data there is none.
func (d *decoder) dispatch() (Event, bool) {
	d.used = true
	switch {
	case d.bare:
		return Event{Kind: Bare, Data: d.buf[:len(d.buf)-1]}, true
	case d.data:
		return Event{Name: d.name, Data: d.buf[:len(d.buf)-1]}, true
	}
	d.reset()
	return Event{}, false
}

// rest is what stands unfinished at the end.
func (d *decoder) rest() (Event, error) {
	if len(d.buf) > d.start {
		if ev, ok := d.take(); ok {
			return ev, nil
		}
	}
	d.used = true
	switch {
	case d.bare:
		return Event{Kind: Bare, Data: d.buf[:len(d.buf)-1]}, nil
	case d.data:
		return Event{Kind: Cut, Name: d.name, Data: d.buf[:len(d.buf)-1]}, nil
	}
	return Event{}, io.EOF
}

func (d *decoder) reset() {
	if cap(d.buf) > keep {
		d.buf = nil // a rare long event does not stay in memory
	}
	d.buf, d.start, d.name = d.buf[:0], 0, ""
	d.data, d.bare, d.used, d.again = false, false, false, false
}
