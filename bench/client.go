package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidwall/gjson"
)

// client speaks the native protocol. It must cost less than what it measures, so it finds deltas by their bytes, and neither decodes
// nor keeps them. One goroutine reads. Another one may write in parallel.
type client struct {
	in    messages
	out   func([]byte) error // one message
	calls int

	// What was read so far.
	bytes   int             // of thinking
	ends    int             // of turns
	failure error           // of the first turn that failed
	first   time.Time       // when the first delta came
	last    time.Time       // when the last message was read, if deltas are stamped
	stamped bool            // deltas have the time at which they were sent
	late    []time.Duration // the delay of each stamped delta
}

// messages is the connection that a client reads.
type messages interface {
	next() ([]byte, error) // valid until the one after it
}

// deltas returns the number of deltas so far. A merged message counts as several.
func (c *client) deltas() int { return c.bytes / deltaSize }

var (
	deltaMethod = []byte(`"method":"thinking_delta"`)
	endMethod   = []byte(`"method":"turn_end"`)
	staleMethod = []byte(`"method":"stale"`)
	deltaMember = []byte(`"delta":"`)
	resultOf    = []byte(`"id":`)
)

const methodWithin = 64 // the method of a notification is within this number of bytes

// read reads one message. It returns the answer if the message is one, or nil.
func (c *client) read() (answer []byte, err error) {
	m, err := c.in.next()
	if err != nil {
		return nil, err
	}
	head := m[:min(len(m), methodWithin)]
	switch {
	case bytes.Contains(head, deltaMethod):
		return nil, c.delta(m)
	case bytes.Contains(head, endMethod):
		c.ends++
		if reason := gjson.GetBytes(m, "params.stop_reason").Str; reason != "end_turn" && c.failure == nil {
			c.failure = fmt.Errorf("a turn ends with %s: %s", reason, gjson.GetBytes(m, "params.error").Raw)
		}
		return nil, c.failure
	case bytes.Contains(head, staleMethod):
		return nil, errors.New("a subscription has ended as stale")
	case bytes.Contains(head, resultOf):
		return m, nil
	}
	return nil, nil
}

func (c *client) delta(m []byte) error {
	at := bytes.Index(m, deltaMember)
	if at < 0 {
		return fmt.Errorf("a delta without one: %s", m)
	}
	text := m[at+len(deltaMember):]
	end := bytes.IndexByte(text, '"')
	if end < 0 || end%deltaSize != 0 {
		return fmt.Errorf("a delta that is not whole: %s", m)
	}
	if c.bytes == 0 {
		c.first = time.Now()
	}
	c.bytes += end
	if !c.stamped {
		return nil
	}
	c.last = time.Now()
	for text = text[:end]; len(text) > 0; text = text[deltaSize:] {
		sent, err := readStamp(text[:deltaSize])
		if err != nil {
			return err
		}
		c.late = append(c.late, c.last.Sub(sent))
	}
	return nil
}

// send writes a request, and does not wait for the answer.
func (c *client) send(method, params string) (id int, err error) {
	c.calls++
	return c.calls, c.out(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, c.calls, method, params))
}

// call sends a request and reads up to its answer.
func (c *client) call(method, params string) (gjson.Result, error) {
	id, err := c.send(method, params)
	if err != nil {
		return gjson.Result{}, err
	}
	return c.answer(id)
}

// answer reads up to the answer of a request.
func (c *client) answer(id int) (gjson.Result, error) {
	for {
		m, err := c.read()
		if err != nil {
			return gjson.Result{}, err
		}
		if m == nil || int(gjson.GetBytes(m, "id").Int()) != id {
			continue
		}
		if e := gjson.GetBytes(m, "error"); e.Exists() {
			return gjson.Result{}, fmt.Errorf("an error is answered: %s", e.Raw)
		}
		return gjson.ParseBytes(bytes.Clone(m)).Get("result"), nil
	}
}

// initialize makes the first request of every client.
func (c *client) initialize() error {
	_, err := c.call("initialize", `{"protocol_version":1,"client":{"name":"bench","version":"1"}}`)
	return err
}

// session creates a session and returns its id. An empty model leaves the choice to the daemon.
func (c *client) session(model string) (string, error) {
	params := "{}"
	if model != "" {
		params = fmt.Sprintf(`{"model_id":%q}`, model)
	}
	r, err := c.call("session/new", params)
	return r.Get("session_id").Str, err
}

// prompt starts a turn.
func (c *client) prompt(session string, o order) error {
	_, err := c.call("session/prompt", promptParams(session, o))
	return err
}

func promptParams(session string, o order) string {
	return fmt.Sprintf(`{"session_id":%q,"text":%q}`, session, o)
}

// until reads until a number of turns have ended.
func (c *client) until(ends int) error {
	for c.ends < ends {
		if _, err := c.read(); err != nil {
			return err
		}
	}
	return nil
}

// untilDelta reads up to the first delta.
func (c *client) untilDelta() error {
	for c.bytes == 0 {
		if _, err := c.read(); err != nil {
			return err
		}
	}
	return nil
}

// reset sets all counts to 0.
func (c *client) reset() {
	c.bytes, c.ends, c.late, c.first = 0, 0, c.late[:0], time.Time{}
}

// lines are messages of one line each. The buffer holds the longest.
type lines struct{ in *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, 1<<20)} }

func (l lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.in.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}
