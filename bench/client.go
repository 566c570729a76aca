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

// client speaks the protocol of a subject. It must cost less than what it measures, so it finds deltas by their bytes, and neither
// decodes nor keeps them. One goroutine reads. Another one may write in parallel.
type client struct {
	protocol
	in    messages
	out   func([]byte) error // one message
	calls int

	// What was read so far.
	bytes   int             // of thinking
	ends    int             // of turns
	first   time.Time       // when the first delta came
	last    time.Time       // when the last message was read, if deltas are stamped
	stamped bool            // deltas have the time at which they were sent
	late    []time.Duration // the delay of each stamped delta
}

// A protocol is how a subject is asked and how its messages are read.
type protocol interface {
	initialize(c *client) error                             // the first request of every client
	session(c *client, model string) (id string, err error) // creates a session; an empty model leaves the choice to the subject
	prompt(c *client, session string, o order) error        // starts a turn; does not wait for an answer that comes as a message
	sort(m []byte) (k kind, text []byte, err error)         // text is that of a delta; an error ends the measurement
}

// kind is what a message means to the client.
type kind int

const (
	isOther kind = iota
	isDelta
	isEnd
	isAnswer
)

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
	anyMethod   = []byte(`"method":`)
	errorMember = []byte(`"error":`)
)

const methodWithin = 64 // the method of a notification is within this number of bytes

// read reads one message. It returns the answer if the message is one, or nil.
func (c *client) read() (answer []byte, err error) {
	m, err := c.in.next()
	if err != nil {
		return nil, err
	}
	k, text, err := c.sort(m)
	if err != nil {
		return nil, err
	}
	switch k {
	case isDelta:
		return nil, c.delta(text)
	case isEnd:
		c.ends++
	case isAnswer:
		return m, nil
	}
	return nil, nil
}

// textOf returns the string that follows a member's name. The bench's texts have no escapes.
func textOf(m, member []byte) ([]byte, error) {
	_, text, ok := bytes.Cut(m, member)
	end := bytes.IndexByte(text, '"')
	if !ok || end < 0 {
		return nil, fmt.Errorf("a message without %s: %s", member, m)
	}
	return text[:end], nil
}

func (c *client) delta(text []byte) error {
	if len(text)%deltaSize != 0 {
		return fmt.Errorf("a delta that is not whole: %s", text)
	}
	if c.bytes == 0 {
		c.first = time.Now()
	}
	c.bytes += len(text)
	if !c.stamped {
		return nil
	}
	c.last = time.Now()
	for ; len(text) > 0; text = text[deltaSize:] {
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
	r, err := c.answer(id)
	return r.Get("result"), err
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
		return gjson.ParseBytes(bytes.Clone(m)), nil
	}
}

// native is thinkd's own protocol. The floor speaks it too.
type native struct{}

func (native) initialize(c *client) error {
	_, err := c.call("initialize", `{"protocol_version":1,"client":{"name":"bench","version":"1"}}`)
	return err
}

func (native) session(c *client, model string) (string, error) {
	params := "{}"
	if model != "" {
		params = fmt.Sprintf(`{"model_id":%q}`, model)
	}
	r, err := c.call("session/new", params)
	return r.Get("session_id").Str, err
}

func (native) prompt(c *client, session string, o order) error {
	_, err := c.send("session/prompt", promptParams(session, o))
	return err
}

func promptParams(session string, o order) string {
	return fmt.Sprintf(`{"session_id":%q,"text":%q}`, session, o)
}

func (native) sort(m []byte) (kind, []byte, error) {
	head := m[:min(len(m), methodWithin)]
	switch {
	case bytes.Contains(head, deltaMethod):
		text, err := textOf(m, deltaMember)
		return isDelta, text, err
	case bytes.Contains(head, endMethod):
		if reason := gjson.GetBytes(m, "params.stop_reason").Str; reason != "end_turn" {
			return isEnd, nil, fmt.Errorf("a turn ends with %s: %s", reason, gjson.GetBytes(m, "params.error").Raw)
		}
		return isEnd, nil, nil
	case bytes.Contains(head, staleMethod):
		return isOther, nil, errors.New("a subscription has ended as stale")
	}
	return sortAnswer(m)
}

// sortAnswer sorts a message of JSON-RPC that is no notification of interest.
func sortAnswer(m []byte) (kind, []byte, error) {
	switch head := m[:min(len(m), methodWithin)]; {
	case bytes.Contains(head, anyMethod):
		return isOther, nil, nil
	case bytes.Contains(head, errorMember):
		return isAnswer, nil, fmt.Errorf("an error is answered: %s", m)
	case bytes.Contains(head, resultOf):
		return isAnswer, nil, nil
	}
	return isOther, nil, nil
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
