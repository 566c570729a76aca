package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Query selects records. The zero Query selects all.
type Query struct {
	From, To     session.Day // both included; empty: no bound
	Tenant, User string      // who called; empty: anybody
	Session      string      // that a request named or made; empty: any
	Within       *string     // only requests of users of this tenant, whatever Tenant says; nil: of all, and of the operator
}

// On reports whether q wants records of a day.
func (q Query) On(day session.Day) bool { return day >= q.From && (q.To == "" || day <= q.To) }

// Selects reports whether q wants a record, whatever its day.
func (q Query) Selects(r Record) bool {
	if q.Within != nil && (r.User == "" || r.Tenant != *q.Within) {
		return false
	}
	return (q.Tenant == "" || r.Tenant == q.Tenant) && (q.User == "" || r.User == q.User) && (q.Session == "" || r.Session == q.Session || r.Made == q.Session)
}

// Export writes the records of a folder as JSON lines, as they are in the files, the oldest first. A folder that is not there has none.
// damaged counts lines that are no records, such as one that a loss of power cut off.
func Export(out io.Writer, dir string, q Query) (damaged int, err error) {
	w := bufio.NewWriter(out)
	_, damaged, err = scan(dir, q, Place{}, func(_ Record, line []byte) (bool, error) {
		_, err := fmt.Fprintf(w, "%s\n", line)
		return err == nil, err
	})
	return damaged, errors.Join(err, w.Flush())
}

// Place is where a page of records ends. The zero Place is the beginning. It stays right while records are appended.
type Place struct {
	Day  session.Day
	Byte int64 // of the file of that day

	Seq uint64 // of the next message of a cluster's stream; 0: the first, or there is no cluster
	Off int64  // of that message
}

// String is the place for [ParsePlace].
func (p Place) String() string {
	if p.Seq == 0 {
		return fmt.Sprintf("%s.%d", p.Day, p.Byte)
	}
	return fmt.Sprintf("%s.%d.%d.%d", p.Day, p.Byte, p.Seq, p.Off)
}

// ParsePlace reads what String wrote.
func ParsePlace(text string) (p Place, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 4 {
		return Place{}, strconv.ErrSyntax
	}
	if _, err := time.Parse(time.DateOnly, parts[0]); err != nil {
		return Place{}, err
	}
	numbers := make([]int64, 3)
	for i, part := range parts[1:] {
		n, err := strconv.ParseInt(part, 10, 64)
		if err == nil && n < 0 {
			err = strconv.ErrRange
		}
		if err != nil {
			return Place{}, err
		}
		numbers[i] = n
	}
	return Place{session.Day(parts[0]), numbers[0], uint64(numbers[1]), numbers[2]}, nil
}

// Page is what a part of the files has.
type Page struct {
	Records []Record
	Damaged int    // lines that are no records
	Next    *Place // where the next page begins; nil: there is nothing more yet
}

// maxScan bounds how much of the files one page reads, in bytes, so that a page without matches comes soon too.
const maxScan = 16 << 20

// Read returns the records that q selects after a place, the oldest first: at most limit of them, and fewer if most of the files do
// not match. A page can be empty and still have a next one.
func Read(dir string, q Query, after Place, limit int) (p Page, err error) {
	p.Next, p.Damaged, err = scan(dir, q, after, func(r Record, _ []byte) (bool, error) {
		p.Records = append(p.Records, r)
		return len(p.Records) < limit, nil
	}, maxScan)
	return p, err
}

// scan calls take with the records that q selects after a place, and with their lines, until take returns false or so many bytes have
// been read. next is where it stopped; nil: at the end.
func scan(dir string, q Query, after Place, take func(Record, []byte) (bool, error), most ...int64) (next *Place, damaged int, err error) {
	days, err := Days(dir)
	if err != nil {
		return nil, 0, err
	}
	left := int64(math.MaxInt64)
	for _, n := range most {
		left = n
	}
	for _, day := range days {
		if !q.On(day) || day < after.Day {
			continue
		}
		var from int64
		if day == after.Day {
			from = after.Byte
		}
		at, n, stopped, err := scanDay(filepath.Join(dir, string(day)+ending), q, from, left, take)
		damaged += n
		left -= at - from
		if err != nil {
			return nil, damaged, err
		}
		if stopped {
			return &Place{Day: day, Byte: at}, damaged, nil
		}
	}
	return nil, damaged, nil
}

// scanDay reads a file from a byte on. at is after the last line that was read; stopped says that there may be more.
func scanDay(path string, q Query, from, left int64, take func(Record, []byte) (bool, error)) (at int64, damaged int, stopped bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return from, 0, false, err
	}
	defer f.Close() // it was only read
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, 0, false, err
	}
	at = from
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxRecord)
	lines.Split(func(data []byte, end bool) (int, []byte, error) {
		n, line, err := bufio.ScanLines(data, end)
		at += int64(n)
		return n, line, err
	})
	for more := true; more; {
		if at-from >= left {
			return at, damaged, true, nil
		}
		if more = lines.Scan(); !more || len(lines.Bytes()) == 0 { // a log that opened the file while another one was writing has ended a line that was whole
			continue
		}
		var r Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			damaged++
			continue
		}
		if !q.Selects(r) {
			continue
		}
		on, err := take(r, lines.Bytes())
		if err != nil || !on {
			return at, damaged, true, err
		}
	}
	if err := lines.Err(); err != nil {
		return at, damaged, false, fmt.Errorf("%s: %w", path, err)
	}
	return at, damaged, false, nil
}
