package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session/jet"
)

// segment is a file of a copy, by its name.
type segment struct {
	first, last uint64 // the sequences that it covers, also those without a message
	sum         string // of its bytes
	again       int    // 0: a Follower wrote it; otherwise it takes the place of all segments inside it with a lower number
}

var segmentForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{20})-(\d{20})-([0-9a-f]{64})(?:-(\d{1,9}))?\.segment$`)
})

func (s segment) name() string {
	name := fmt.Sprintf("%020d-%020d-%s", s.first, s.last, s.sum)
	if s.again > 0 {
		name = fmt.Sprintf("%s-%d", name, s.again)
	}
	return name + ".segment"
}

// parseSegment reads the name of a file; ok is false if it is no segment.
func parseSegment(name string) (s segment, ok bool, err error) {
	parts := segmentForm().FindStringSubmatch(name)
	if parts == nil {
		return s, false, nil
	}
	first, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return s, false, fmt.Errorf("%s: %w", name, err)
	}
	last, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil || first == 0 || last < first {
		return s, false, fmt.Errorf("%s: from %d to %d: %w", name, first, last, err)
	}
	s = segment{first: first, last: last, sum: parts[3]}
	if parts[4] != "" {
		if s.again, err = strconv.Atoi(parts[4]); err != nil || s.again == 0 {
			return s, false, fmt.Errorf("%s: written again %s times: %w", name, parts[4], err)
		}
	}
	return s, true, nil
}

// header is the first line of a segment, in JSON.
type header struct {
	Format int    `json:"format"`
	Stream string `json:"stream"`
	Before string `json:"before,omitempty"` // the name of the segment before, as a Follower wrote it

	// Of a segment that takes the place of others:
	Ends  string    `json:"ends,omitempty"` // the name of the last of them, as a Follower wrote it; the next segment has it as Before
	Since time.Time `json:"since,omitzero"` // values that were replaced before this time are missing
}

// The formats of segments that a Follower writes, and of those that take the place of others.
const (
	format      = 1
	formatAgain = 2
)

// end is what the next segment has as Before.
func (h header) end(s segment) string {
	if h.Ends != "" {
		return h.Ends
	}
	return s.name()
}

// ErrNewer says that a copy was made by a newer build.
var ErrNewer = errors.New("the copy was made by a newer thinkd")

// writer collects the messages of a segment.
type writer struct {
	buffer      bytes.Buffer
	first, last uint64
	since       time.Time // when the oldest message came
}

func (w *writer) begin(h header, first uint64) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	w.buffer.Reset()
	w.buffer.Write(append(line, '\n'))
	w.first, w.last, w.since = first, first-1, time.Time{}
	return nil
}

func (w *writer) empty() bool { return w.last < w.first }

func (w *writer) add(m jet.Message) {
	if w.empty() {
		w.since = time.Now()
	}
	w.last = m.Seq
	form := binary.AppendUvarint(nil, m.Seq)
	form = binary.AppendVarint(form, m.Time.UnixNano())
	for _, text := range []string{m.Subject, m.Head, m.TTL} {
		form = append(binary.AppendUvarint(form, uint64(len(text))), text...)
	}
	form = binary.AppendUvarint(form, uint64(len(m.Data)))
	w.buffer.Write(form)
	w.buffer.Write(m.Data)
}

func (w *writer) segment() segment {
	sum := sha256.Sum256(w.buffer.Bytes())
	return segment{first: w.first, last: w.last, sum: hex.EncodeToString(sum[:])}
}

// read reads a segment and checks its bytes against its name.
func (s segment) read(dir string) (h header, list []jet.Message, err error) {
	broken := func(err error) (header, []jet.Message, error) {
		return h, nil, fmt.Errorf("%s: %w", filepath.Join(dir, s.name()), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, s.name()))
	if err != nil {
		return h, nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != s.sum {
		return broken(errors.New("its bytes are not those that its name says"))
	}
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	if err := json.Unmarshal(line, &h); err != nil {
		return broken(err)
	}
	if h.Format > formatAgain {
		return broken(ErrNewer)
	}
	for at := s.first; len(rest) > 0; {
		m, left, err := cut(rest)
		if err == nil && (m.Seq < at || m.Seq > s.last) {
			err = fmt.Errorf("message %d is out of order", m.Seq)
		}
		if err != nil {
			return broken(err)
		}
		list, rest, at = append(list, m), left, m.Seq+1
	}
	return h, list, nil
}

var errShort = errors.New("it ends inside a message")

// cut takes a message off the front.
func cut(data []byte) (m jet.Message, rest []byte, err error) {
	number := func() uint64 {
		n, used := binary.Uvarint(data)
		if used <= 0 {
			err, data = errShort, nil
			return 0
		}
		data = data[used:]
		return n
	}
	text := func() []byte {
		n := number()
		if n > uint64(len(data)) {
			err, data = errShort, nil
			return nil
		}
		value := data[:n:n]
		data = data[n:]
		return value
	}
	m.Seq = number()
	at, used := binary.Varint(data)
	if used <= 0 {
		return m, nil, errShort
	}
	data = data[used:]
	m.Time = time.Unix(0, at)
	m.Subject, m.Head, m.TTL = string(text()), string(text()), string(text())
	m.Data = text()
	return m, data, err
}
