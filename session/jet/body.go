package jet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/session"
)

// maxBody is the longest of an append: what one process can hold a few times.
const maxBody = 256 << 20

// body is what an append stores. Every one has the record, so that the last message of a log is enough to know it.
type body struct {
	record  []byte // JSON of session.Session; of the first append whole, and of later ones what changes
	entries [][]byte
	items   []item   // a map of the log: what commits after the map before, and before this message
	shared  []shared // of the first append: the entries that a fork begins with
}

// shared is a copy of the beginning of another log.
type shared struct {
	id      session.ID
	entries [][]byte
}

// item is a message that commits.
type item struct {
	Seq    uint64 `json:"seq"`
	Pos    uint64 `json:"pos"`
	N      int    `json:"n,omitempty"`
	Digest digest `json:"digest"`
}

func (f found) item() item { return item{f.seq, f.Pos, f.N, f.digest()} }

func put(out, value []byte) []byte {
	return append(binary.AppendUvarint(out, uint64(len(value))), value...)
}

func putAll(out []byte, values [][]byte) []byte {
	out = binary.AppendUvarint(out, uint64(len(values)))
	for _, value := range values {
		out = put(out, value)
	}
	return out
}

func (b body) encode() ([]byte, error) {
	items, err := json.Marshal(b.items)
	if err != nil {
		return nil, err
	}
	out := put(put(nil, b.record), items)
	out = binary.AppendUvarint(out, uint64(len(b.shared)))
	for _, s := range b.shared {
		out = putAll(put(out, []byte(s.id)), s.entries)
	}
	out = putAll(out, b.entries)
	if len(out) > maxBody {
		return nil, fmt.Errorf("an append of %d MiB: at most %d can be stored", len(out)>>20, maxBody>>20)
	}
	return out, nil
}

var errShort = errors.New("the body of a message ends too early")

// cutter takes values off the front.
type cutter struct {
	rest []byte
	err  error
}

func (c *cutter) number() uint64 {
	n, used := binary.Uvarint(c.rest)
	if used <= 0 || n > uint64(len(c.rest)) { // a number counts bytes, or values of at least one byte each
		c.err, c.rest = errShort, nil
		return 0
	}
	c.rest = c.rest[used:]
	return n
}

func (c *cutter) value() []byte {
	n := c.number()
	if n > uint64(len(c.rest)) {
		c.err, c.rest = errShort, nil
		return nil
	}
	value := c.rest[:n:n]
	c.rest = c.rest[n:]
	return value
}

func (c *cutter) values() (list [][]byte) {
	for n := c.number(); n > 0 && c.err == nil; n-- {
		list = append(list, c.value())
	}
	return list
}

func decodeBody(data []byte) (b body, err error) {
	c := cutter{rest: data}
	b.record = c.value()
	items := c.value()
	for n := c.number(); n > 0 && c.err == nil; n-- {
		b.shared = append(b.shared, shared{session.ID(c.value()), c.values()})
	}
	b.entries = c.values()
	if c.err == nil {
		c.err = json.Unmarshal(items, &b.items)
	}
	if c.err == nil && len(c.rest) > 0 {
		c.err = fmt.Errorf("a message has %d bytes too many", len(c.rest))
	}
	return b, c.err
}

// changing is a record without what never changes of it.
func changing(data []byte) ([]byte, error) {
	var record session.Session
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, err
	}
	return json.Marshal(record.Changing())
}
