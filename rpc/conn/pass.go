package conn

import (
	"bytes"
	"strconv"
)

// A call may be answered by another server, to which the client's request is forwarded under a number of our own:
//
//	the client  ──{"id":"x","method":…}──►  Call.Forward(7)  ──{"id":7,"method":…}──►  the other server
//	the client  ◄──{"id":"x","result":…}──  Call.Pass        ◄──{"id":7,"result":…}──  PassedNumber
//
// The answer is not decoded: what stands behind the number is passed on as it is.

const answerStart = `{"jsonrpc":"2.0","id":`

// IsNotification reports whether the call has no answer.
func (c *Call) IsNotification() bool { return c.id == "" }

// Forward encodes the request for another server, under a number in place of its id. A notification has none.
func (c *Call) Forward(number uint64) []byte {
	out := make([]byte, 0, len(answerStart)+len(c.params)+len(c.method)+64)
	out = append(out, `{"jsonrpc":"2.0",`...)
	if c.id != "" {
		out = append(out, `"id":`...)
		out = strconv.AppendUint(out, number, 10)
		out = append(out, ',')
	}
	out = append(out, `"method":`...)
	out = append(out, c.quoted...)
	if c.params != nil {
		out = append(out, `,"params":`...)
		out = append(out, c.params...)
	}
	return append(out, '}')
}

// PassedNumber takes the number from an answer of another server of this program to a request of [Call.Forward]. rest is what stands behind the number. ok is
// false if the message is no such answer.
func PassedNumber(message []byte) (number uint64, rest []byte, ok bool) {
	after, ok := bytes.CutPrefix(message, []byte(answerStart))
	if !ok {
		return 0, nil, false
	}
	end := bytes.IndexByte(after, ',')
	if end < 0 {
		return 0, nil, false
	}
	number, err := strconv.ParseUint(string(after[:end]), 10, 64)
	return number, after[end:], err == nil
}

// Pass is [Call.Send] with the rest of another server's answer, of which it keeps nothing.
func (c *Call) Pass(rest []byte) error {
	if c.id == "" {
		return c.Send(nil)
	}
	out := make([]byte, 0, len(answerStart)+len(c.id)+len(rest))
	out = append(out, answerStart...)
	out = append(out, c.id...)
	return c.Send(append(out, rest...))
}
