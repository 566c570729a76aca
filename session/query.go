package session

import (
	"encoding/base64"
	"encoding/binary"
	"iter"
	"strings"
)

// PageSize returns the largest number of sessions that a page has.
func (q Query) PageSize() int {
	if q.Limit <= 0 {
		return 100
	}
	return min(q.Limit, 1000)
}

// Selects reports whether f selects some sessions only.
func (f Filter) Selects() bool { return f != Filter{} }

// Matches reports whether f selects a session. It reads Title, CWD, Model, Updated, Archived and OnTop.
func (f Filter) Matches(s Session) bool {
	return (f.CWD == "" || s.CWD == f.CWD) &&
		(f.Model == ModelRef{} || s.Model == f.Model) &&
		(f.Since == 0 || s.Updated >= f.Since) && (f.Until == 0 || s.Updated < f.Until) &&
		(f.Archived == nil || s.Archived == *f.Archived) &&
		(f.OnTop == nil || s.OnTop == *f.OnTop) &&
		(f.Text == "" || strings.Contains(strings.ToLower(s.Title), strings.ToLower(f.Text)))
}

// A listing of several pages leaves no session out, whatever changes between the pages. Each change of a session has a number, and
// sessions are listed by the number of their last change, the highest first. A session that changes gets a number above all others,
// where the listing has already been. So after the oldest session come those that have changed since the first page, now the lowest
// number first: if one of them changes again, it moves ahead of the listing, never behind it.
//
//	numbers   1 ............. at ............. top ............
//	          not listed yet | listed already | changed since: listed last, upwards
type cursor struct {
	up  bool
	at  uint64 // the number of the last session that was listed
	top uint64 // the highest number when the listing began; without up
}

func (c cursor) String() string {
	data := []byte{0}
	if c.up {
		data[0] = 1
	}
	data = binary.BigEndian.AppendUint64(data, c.at)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(data, c.top))
}

func readCursor(word string) (cursor, error) {
	data, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil || len(data) != 17 || data[0] > 1 {
		return cursor{}, ErrCursor
	}
	return cursor{data[0] == 1, binary.BigEndian.Uint64(data[1:]), binary.BigEndian.Uint64(data[9:])}, nil
}

// Order is all sessions of a store at one moment, by the numbers of their last changes. A [Store] has one for [Query.Page].
type Order interface {
	Below(n uint64) iter.Seq2[uint64, ID] // numbers less than n, the highest first
	Above(n uint64) iter.Seq2[uint64, ID] // numbers greater than n, the lowest first
}

// Page answers [Store].List for a store that numbers changes: a page, and the cursor of the next. It needs all of one moment,
// so o and read look at one transaction, or run under one lock. read gives the record of a session, and reports whether q
// selects it; its error ends the page. A broken cursor is ErrCursor.
func (q Query) Page(o Order, read func(n uint64, id ID) (Session, bool, error)) (page []Session, next string, err error) {
	c := cursor{at: ^uint64(0)}
	for n := range o.Below(c.at) {
		c.top = n
		break
	}
	if q.Cursor != "" {
		if c, err = readCursor(q.Cursor); err != nil {
			return nil, "", err
		}
	}
	// take is false when the page is full.
	take := func(sessions iter.Seq2[uint64, ID]) (bool, error) {
		for n, id := range sessions {
			s, ok, err := read(n, id)
			if err != nil {
				return false, err
			}
			if !ok {
				continue
			}
			if len(page) == q.PageSize() {
				next = c.String()
				return false, nil
			}
			page, c.at = append(page, s), n
		}
		return true, nil
	}
	if !c.up {
		if more, err := take(o.Below(c.at)); !more {
			return page, next, err
		}
		c = cursor{up: true, at: c.top}
	}
	_, err = take(o.Above(c.at))
	return page, next, err
}
