package trail

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Reader reads the records of all nodes, and those of one directory that its node has not sent yet. It is safe for concurrent use.
type Reader struct {
	Stream *jet.Audit
	Dir    string // of this node
	Node   string // the name of this node
}

const (
	maxScan = 16 << 20 // bytes of records that one page reads
	maxDays = 64       // that one page looks at
)

// Read returns a page of the records that q selects after a place: at most limit of them. Pages have the days in order, and of a day the records in the
// order in which the store got them, at last those of this node that the store has not got. Each page is sorted by time. Each record is on one
// page. A record that the store gets while somebody reads is on a later page of its day, or on none.
//
// A page can be empty and still have a next one. If the servers do not answer, the error is session.ErrReadOnly.
func (r Reader) Read(ctx context.Context, q audit.Query, after audit.Place, limit int) (audit.Page, error) {
	m, _, err := readMark(r.Dir)
	if err != nil {
		return audit.Page{}, err
	}
	one := &reading{Reader: r, ctx: ctx, q: q, own: m.ID, at: after, limit: limit, left: maxScan}
	if err := one.pages(); err != nil {
		return audit.Page{}, err
	}
	slices.SortStableFunc(one.page.Records, func(a, b audit.Record) int { return cmp.Compare(a.Time, b.Time) })
	return one.page, nil
}

// Export writes all records that q selects as JSON lines, in the order of [Reader.Read]. damaged counts lines that are no records.
func (r Reader) Export(ctx context.Context, out io.Writer, q audit.Query) (damaged int, err error) {
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for at := new(audit.Place); at != nil; {
		page, err := r.Read(ctx, q, *at, 1000)
		if err != nil {
			return damaged, errors.Join(err, w.Flush())
		}
		for _, record := range page.Records {
			if err := lines.Encode(record); err != nil {
				return damaged, err
			}
		}
		damaged += page.Damaged
		at = page.Next
	}
	return damaged, w.Flush()
}

// reading is one page that is being read.
type reading struct {
	Reader
	ctx   context.Context
	q     audit.Query
	own   string // the id of the directory; empty: it has sent nothing
	at    audit.Place
	limit int
	left  int // bytes
	page  audit.Page
}

// full ends the page at the place.
func (r *reading) full() bool {
	if len(r.page.Records) < r.limit && r.left > 0 {
		return false
	}
	r.page.Next = new(r.at)
	return true
}

func (r *reading) pages() error {
	if r.at.Day != "" {
		if err := r.day(); err != nil || r.page.Next != nil {
			return err
		}
	}
	days, err := r.days()
	if err != nil {
		return err
	}
	for i, day := range days {
		r.at = audit.Place{Day: day}
		if i == maxDays {
			r.page.Next = new(r.at)
			return nil
		}
		if err := r.day(); err != nil || r.page.Next != nil {
			return err
		}
	}
	return nil
}

// days are those that are wanted after the place.
func (r *reading) days() ([]session.Day, error) {
	if r.q.To != "" && r.at.Day >= r.q.To {
		return nil, nil
	}
	all, err := r.Stream.Days(r.ctx)
	if err != nil {
		return nil, err
	}
	here, err := audit.Days(r.Dir)
	all = append(all, here...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(day session.Day) bool { return day <= r.at.Day || !r.q.On(day) }), err
}

// day reads the rest of a day.
func (r *reading) day() error {
	upto, err := r.Stream.End(r.ctx, r.at.Day)
	if err != nil {
		return err
	}
	for r.at.Seq <= upto {
		list, err := r.Stream.Read(r.ctx, r.at.Day, max(r.at.Seq, 1), upto)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		for _, m := range list {
			if r.message(m); r.page.Next != nil {
				return nil
			}
		}
	}
	return r.rest()
}

// message takes the records of a message that no page has yet.
func (r *reading) message(m jet.AuditMessage) {
	from, own := int64(0), m.Dir == r.own && !m.Damaged
	if m.Seq == r.at.Seq {
		from = min(r.at.Off, int64(len(m.Lines)))
	}
	if own && len(m.Lines) > 0 { // what was read from the file before it was sent
		from = max(from, min(r.at.Byte-m.From, int64(len(m.Lines))))
	}
	if len(m.Lines) == 0 && (!own || r.at.Byte < m.To) {
		r.page.Damaged++
	}
	r.at.Seq, r.at.Off = m.Seq, from
	r.lines(m.Lines[from:], m.Node, func(n int64) {
		r.at.Off = from + n
		if own {
			r.at.Byte = max(r.at.Byte, m.From+r.at.Off)
		}
	})
	if r.page.Next != nil {
		return
	}
	r.at.Seq, r.at.Off = m.Seq+1, 0
	if own {
		r.at.Byte = max(r.at.Byte, m.To)
	}
}

// rest takes what this node has not sent.
func (r *reading) rest() error {
	for r.page.Next == nil {
		text, to, err := audit.Chunk(r.Dir, r.at.Day, r.at.Byte, chunkBytes)
		if err != nil || to == r.at.Byte {
			return err
		}
		if len(text) == 0 {
			r.page.Damaged++
		}
		from := r.at.Byte
		if r.lines(text, r.Node, func(n int64) { r.at.Byte = from + n }); r.page.Next == nil {
			r.at.Byte = to
		}
	}
	return nil
}

// lines takes records until the page is full. passed says that the bytes before n are on the page.
func (r *reading) lines(text []byte, node string, passed func(n int64)) {
	at := int64(0)
	for n, record := range audit.Lines(text) {
		passed(n)
		r.left -= int(n - at)
		at = n
		switch {
		case record == nil:
			r.page.Damaged++
		case r.q.Selects(*record):
			record.Node = node
			r.page.Records = append(r.page.Records, *record)
		}
		if r.full() {
			return
		}
	}
}
