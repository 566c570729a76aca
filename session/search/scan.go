package search

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Reader is what a Scan reads: the sessions of one owner. Every [session.Sessions] is one.
type Reader interface {
	Get(ctx context.Context, id session.ID) (session.Session, error)
	List(ctx context.Context, q session.Query) (page []session.Session, next string, err error)
	Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error)
}

// Query says what to find, and where.
type Query struct {
	Text    string
	In      []Place        // none: everywhere except in thoughts
	Session session.ID     // only in this session; empty: in those of Of
	Of      session.Filter // ignored with Session
	Cursor  string         // of the page before; empty: the first page
	Limit   int            // of sessions; with Session, of excerpts
}

// Bounds end a Scan. Each must be above 0. A Scan goes beyond them by what it reads at once, which is 64 entries of a log.
type Bounds struct {
	Time   time.Duration
	Bytes  int // of texts
	Result int // bytes
}

// Page is what a Scan found.
type Page struct {
	Found      []Found
	Read       int    // sessions that were read to their end
	Unreadable int    // sessions that could not be read
	Next       string // empty: there is no more to read
}

// Found is a session with matches. A session that one Scan could not read to its end is on several pages.
type Found struct {
	Session  session.Session // as List returns it
	Hits     int             // matches that this Scan found
	Excerpts []Excerpt       // from the first texts that match, in their order
}

// Excerpt is a line from a text that matches.
type Excerpt struct {
	In      Place             `json:"in"`
	Message session.MessageID `json:"message_id,omitempty"` // empty: the title
	Block   int               `json:"block,omitempty"`
	Text    string            `json:"text"`
	Matches []Match           `json:"matches"`

	hits int // in the whole text
}

// Match is a part of Excerpt.Text: its bytes from Start up to End.
type Match struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

const (
	maxExcerpts = 3  // of a session, in a search over all
	maxMatches  = 20 // in an excerpt
	readAtOnce  = 64 // entries
)

// Scan reads sessions until a bound or the end is reached. Errors: ErrText, session.ErrCursor, session.ErrNotFound for Query.Session, the
// cause of ctx, and those of the store.
func Scan(ctx context.Context, r Reader, q Query, b Bounds) (Page, error) {
	m, err := newMatcher(q.Text)
	if err != nil {
		return Page{}, err
	}
	c, err := readCursor(q.Cursor)
	if err != nil {
		return Page{}, err
	}
	s := &scan{r: r, m: m, q: q, left: b, ends: time.Now().Add(b.Time), excerpts: maxExcerpts}
	if q.Session != "" {
		s.excerpts = q.Limit
		err = s.one(ctx, c)
	} else {
		err = s.all(ctx, c)
	}
	return s.page, err
}

// scan is a Scan that runs.
type scan struct {
	r        Reader
	m        *matcher
	q        Query
	left     Bounds // without Time
	ends     time.Time
	excerpts int // of a session, at most
	page     Page
}

// spent reports whether a bound is reached.
func (s *scan) spent() bool {
	return s.left.Bytes <= 0 || s.left.Result <= 0 || !time.Now().Before(s.ends)
}

// one searches one session.
func (s *scan) one(ctx context.Context, c cursor) error {
	record, err := s.r.Get(ctx, s.q.Session)
	if err != nil {
		return err
	}
	at, done, err := s.session(ctx, record, c.place)
	if !done {
		s.page.Next = cursor{place: at}.String()
	}
	return err
}

// all searches the sessions that the filter selects. It lists them one by one: a cursor of a list is where a page of it ends.
func (s *scan) all(ctx context.Context, c cursor) error {
	for {
		list, next, err := s.r.List(ctx, session.Query{Cursor: c.list, Limit: 1, Filter: s.q.Of})
		if err != nil || len(list) == 0 {
			return err
		}
		listed, from := list[0], place{}
		if listed.ID == c.session { // otherwise it changed meanwhile, and is listed again, later
			from = c.place
		}
		at, done, err := s.listed(ctx, listed, from)
		switch {
		case err != nil:
			return err
		case !done:
			s.page.Next = cursor{c.list, listed.ID, at}.String()
			return nil
		case next == "":
			return nil
		}
		if c = (cursor{list: next}); len(s.page.Found) >= s.q.Limit || s.spent() {
			s.page.Next = c.String()
			return nil
		}
	}
}

// listed searches a session of a list. One that was deleted meanwhile has nothing, and one that cannot be read is counted.
func (s *scan) listed(ctx context.Context, listed session.Session, from place) (at place, done bool, err error) {
	record, err := s.r.Get(ctx, listed.ID)
	if err == nil {
		at, done, err = s.session(ctx, record, from)
	}
	switch {
	case errors.Is(err, session.ErrNotFound):
		return at, true, nil
	case errors.Is(err, session.ErrDamaged):
		s.page.Unreadable++
		return at, true, nil
	}
	return at, done, err
}

// session searches the logs of a session from a place on, and returns where it stopped; done means at the end.
func (s *scan) session(ctx context.Context, record session.Session, from place) (at place, done bool, err error) {
	f := Found{Session: record.Changing()}
	defer func() {
		if done {
			s.page.Read++
		}
		if f.Hits > 0 {
			s.page.Found = append(s.page.Found, f)
			s.left.Result -= 1<<10 + len(record.Title) + len(record.CWD) + session.MetadataSize(record.Metadata)
		}
	}()
	if from == (place{}) {
		s.look(&f, text{place: InTitle, text: record.Title})
	}
	spans := append(slices.Clone(record.Shared), session.Span{Session: record.ID, Upto: session.WholeLog})
	for at = from; at.span < len(spans); at = (place{at.span + 1, 0}) {
		log := spans[at.span]
		for at.entry < log.Upto {
			entries, err := s.r.Entries(ctx, log.Session, at.entry, int(min(readAtOnce, log.Upto-at.entry)))
			if err != nil {
				return at, false, err
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				at.entry++
				s.entry(&f, e)
				if s.q.Session != "" && len(f.Excerpts) >= s.excerpts {
					return at, false, nil
				}
			}
			if s.spent() {
				return at, false, nil
			}
		}
	}
	return at, true, nil
}

// entry looks at one entry of a log.
func (s *scan) entry(f *Found, e session.Entry) {
	if void, ok := e.Body.(session.Retry); ok { // the blocks of a call that failed are shown to nobody
		f.Excerpts = slices.DeleteFunc(f.Excerpts, func(x Excerpt) bool {
			gone := x.Message == void.Message && slices.Contains(void.Discarded, x.Block)
			if gone {
				f.Hits -= x.hits
			}
			return gone
		})
	}
	for _, t := range texts(e) {
		s.left.Bytes -= len(t.text)
		s.look(f, t)
	}
}

// look adds what matches in a text.
func (s *scan) look(f *Found, t text) {
	if wanted := slices.Contains(s.q.In, t.place); !wanted && (len(s.q.In) > 0 || t.place == InThought) {
		return
	}
	matches, hits := s.m.find(t.text, maxMatches)
	if hits == 0 {
		return
	}
	f.Hits += hits
	if s.q.Session == "" && len(f.Excerpts) >= s.excerpts {
		return
	}
	line, places := excerpt(t.text, matches, t.place == InAnswer || t.place == InThought)
	x := Excerpt{In: t.place, Message: t.message, Block: t.block, Text: line, Matches: make([]Match, 0, len(places)), hits: hits}
	for _, p := range places {
		x.Matches = append(x.Matches, Match{p.start, p.end})
	}
	f.Excerpts = append(f.Excerpts, x)
	s.left.Result -= len(line) + 128
}

// place is a position in the logs of a session: how many logs, and how many entries of the next one, were read.
type place struct {
	span  int
	entry uint64
}

// cursor is where a Scan goes on: in a session of the page of a list that begins at a cursor of the list, or at its beginning.
type cursor struct {
	list    string
	session session.ID
	place
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %s %d %d", c.list, c.session, c.span, c.entry))
}

func readCursor(word string) (c cursor, err error) {
	if word == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(word)
	parts := strings.Split(string(data), " ")
	if err != nil || len(parts) != 4 {
		return c, session.ErrCursor
	}
	c.list, c.session = parts[0], session.ID(parts[1])
	c.span, err = strconv.Atoi(parts[2])
	entry, failed := strconv.ParseUint(parts[3], 10, 64)
	if c.entry = entry; err != nil || failed != nil || c.span < 0 {
		return c, session.ErrCursor
	}
	return c, nil
}
