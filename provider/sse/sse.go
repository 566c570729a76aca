// Package sse reads an event stream as model APIs send it.
//
// Fields, line ends and the byte order mark are those of the WHATWG text (HTML, section 9.2 "Server-sent events").
// A browser may drop four things that a client of a model API needs, so this package returns them: comments, which show that the other
// side is alive; bytes that complete nothing yet; JSON that some hosts send in the middle of a stream without "data:", usually the body
// of an error; and an incomplete event at the end of the stream.
//
// The result does not depend on how the bytes were cut into reads, except for [Part]. An event takes at most three times its size in memory.
// One above [MaxEvent] is an error. An event is returned before the next read.
package sse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// MaxEvent is the largest event in bytes, its field names and line ends included.
const MaxEvent = 32 << 20

const (
	usual = 16 << 10 // bytes of a buffer at first: few events are longer, and a connection gives no more in one read
	most  = 1 << 20  // of one that is held for the next event
)

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
	return Lines(r, func([]byte) bool { return false })
}

// Lines is Read for an answer that is bare JSON, one value a line. What known says yes to is one, and is returned next
// without a look at it.
func Lines(r io.Reader, known func(line []byte) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		d := decoder{in: r, whole: known, buf: make([]byte, usual), first: true}
		for {
			ev, err := d.next()
			if err == io.EOF {
				return
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// decoder holds what was read of one event, and what came behind it. Data stays where it was read, and only from an
// event's second line on a line moves up to the one before: so data of one line is never copied.
//
//	buf: ... [data so far] ... [the line at hand ... ][not looked at ...] free
//	         from       to     line             looked              end
type decoder struct {
	in    io.Reader
	err   error                  // of in, behind what is in buf
	whole func(line []byte) bool // a line is known to be JSON

	buf                         []byte
	from, to, line, looked, end int
	feed                        int // where the next LF is, or end; before looked: not known

	name  string
	last  string // the name before: the same word is not allocated for every delta
	data  bool   // there was a data field
	bare  bool   // the data is JSON without "data:" that goes over several lines
	first bool   // no line was read yet
	cr    bool   // the last line ended in CR: a LF now belongs to it
	fresh bool   // bytes were looked at since the last event
}

func (d *decoder) next() (Event, error) {
	for {
		line, whole := d.cut()
		if len(line)+d.to-d.from > MaxEvent {
			return Event{}, ErrTooLong
		}
		if whole {
			if ev, ok := d.take(line); ok {
				d.fresh = false
				return ev, nil
			}
			continue
		}
		if d.fresh {
			d.fresh = false
			return Event{Kind: Part}, nil
		}
		if err := d.read(); err == io.EOF {
			return d.rest()
		} else if err != nil {
			return Event{}, err
		}
	}
}

// read takes in more, when all that is there was looked at.
func (d *decoder) read() error {
	held := d.to - d.from + d.end - d.line
	if d.end == len(d.buf) || len(d.buf) > most && held < most/2 {
		d.room(held)
	}
	d.feed = -1
	for range 100 {
		if d.err != nil {
			return d.err
		}
		var n int
		n, d.err = d.in.Read(d.buf[d.end:])
		if n > 0 {
			d.end += n
			return nil
		}
	}
	return io.ErrNoProgress
}

// room makes some behind what is held: where that is most of the buffer, or little of a long one, in another buffer.
func (d *decoder) room(held int) {
	buf := d.buf
	if held > len(buf)/8*7 || len(buf) > most && held < most/2 {
		// Twice as much: smaller steps leave several times a long event for the collector.
		buf = make([]byte, min(max(2*held, usual), MaxEvent+usual))
	}
	to := copy(buf, d.buf[d.from:d.to])
	end := to + copy(buf[to:], d.buf[d.line:d.end])
	d.from, d.to, d.line, d.looked, d.end = 0, to, to, end, end
	d.buf = buf
}

// cut is the next line, or as much of it as is there. CR ends one, LF does, and both together.
func (d *decoder) cut() (line []byte, whole bool) {
	if d.looked == d.end {
		return d.buf[d.line:d.end], false
	}
	d.fresh = true
	if d.cr && d.buf[d.looked] == '\n' {
		d.looked++
		d.line = d.looked
	}
	d.cr = false
	if d.feed < d.looked { // it is looked for once, however many CR come before it
		d.feed = d.end
		if n := bytes.IndexByte(d.buf[d.looked:d.end], '\n'); n >= 0 {
			d.feed = d.looked + n
		}
	}
	stop := d.feed
	if n := bytes.IndexByte(d.buf[d.looked:stop], '\r'); n >= 0 {
		stop, d.cr = d.looked+n, true
	}
	line, whole = d.buf[d.line:stop], stop < d.end
	d.looked = min(stop+1, d.end)
	return line, whole
}

// take makes of the line that was cut what it is.
func (d *decoder) take(line []byte) (Event, bool) {
	begun, stop := d.line, d.line+len(line)
	d.line = d.looked
	if d.first {
		d.first = false
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if len(line) == 0 {
		return d.dispatch()
	}
	field, value, colon := bytes.Cut(line, []byte(":"))
	switch {
	case d.bare && !known(field):
		d.keep(line, stop)
		return Event{}, false
	case d.bare: // the stream's own lines begin again: this one is cut once more, when the JSON was returned
		ev := Event{Kind: Bare, Data: d.buf[d.from : d.to-1]}
		d.line, d.looked, d.feed, d.cr = begun, begun, -1, false
		d.from, d.to, d.bare = 0, 0, false
		return ev, true
	case colon && len(field) == 0:
		return Event{Kind: Comment, Data: value}, true
	case line[0] == '{' || line[0] == '[':
		return d.json(line, stop)
	}
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		d.data = true
		d.keep(value, stop)
	case "event":
		if string(value) != d.last {
			d.last = string(value)
		}
		d.name = d.last
	}
	return Event{}, false
}

// keep adds text, which reaches up to stop, to the data, and a LF: there is room for it where the line had its end.
func (d *decoder) keep(text []byte, stop int) {
	if d.from == d.to {
		d.from, d.to = stop-len(text), stop
	} else {
		d.to += copy(d.buf[d.to:], text)
	}
	d.buf[d.to] = '\n'
	d.to++
}

func known(field []byte) bool {
	switch string(field) {
	case "", "data", "event", "id", "retry":
		return true
	}
	return false
}

// json handles a line without "data:". Whole JSON is returned at once, the beginning of one that goes over several lines
// is kept until a blank line or a line of the stream's own. Within an event with data it is an unknown field.
func (d *decoder) json(line []byte, stop int) (Event, bool) {
	if d.whole(line) || json.Valid(line) {
		return Event{Kind: Bare, Data: line}, true
	}
	if !d.data {
		d.bare = true
		d.keep(line, stop)
	}
	return Event{}, false
}

// dispatch ends an event at its blank line. Without data there is none.
func (d *decoder) dispatch() (Event, bool) {
	ev, told := Event{Name: d.name}, d.data || d.bare
	if d.bare {
		ev = Event{Kind: Bare}
	}
	if told {
		ev.Data = d.buf[d.from : d.to-1]
	}
	d.from, d.to, d.name, d.data, d.bare = 0, 0, "", false, false
	return ev, told
}

// rest is what stands unfinished at the end.
func (d *decoder) rest() (Event, error) {
	if d.line < d.end {
		if d.end == len(d.buf) { // keep wants a byte more
			d.room(len(d.buf))
		}
		d.looked = d.end
		if ev, ok := d.take(d.buf[d.line:d.end]); ok {
			return ev, nil
		}
	}
	ev, told := d.dispatch()
	if !told {
		return ev, io.EOF
	}
	if ev.Kind == Message {
		ev.Kind = Cut
	}
	return ev, nil
}
