package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Report is what a copy has.
type Report struct {
	Prefix  string         `json:"prefix"`
	Since   time.Time      `json:"since,omitzero"` // the earliest point in time to which it can be restored; zero: any
	Shards  int            `json:"shards"`
	Streams []StreamReport `json:"streams"`
	Broken  []string       `json:"broken,omitempty"` // logs whose messages do not follow each other
}

// StreamReport is what a copy has of one stream.
type StreamReport struct {
	Name     string    `json:"name"`
	Segments int       `json:"segments"`
	Messages int       `json:"messages"`
	Bytes    int       `json:"bytes"`
	Last     uint64    `json:"last_seq"`
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Sessions int       `json:"sessions,omitempty"`
	Deleted  int       `json:"deleted,omitempty"` // of the sessions
}

// Verify reads all of a copy. It checks each file against its name, that none is missing, and the chain of each log. The error is ErrDamaged if a file is
// not what it was; a broken chain is in the report.
func Verify(ctx context.Context, dir string) (Report, error) {
	c, err := open(dir)
	if err != nil {
		return Report{}, err
	}
	r := Report{Prefix: c.streams.Prefix, Shards: c.streams.Shards}
	for _, stream := range c.names() {
		s, since, broken, err := c.verify(ctx, stream)
		if err != nil {
			return r, err
		}
		if since.After(r.Since) {
			r.Since = since
		}
		r.Streams, r.Broken = append(r.Streams, s), append(r.Broken, broken...)
	}
	return r, nil
}

// contents is a copy that is read.
type contents struct {
	dir     string
	streams jet.Streams
}

// open finds the streams of a copy.
func open(dir string) (c contents, err error) {
	c.dir = dir
	folders, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, f := range folders {
		if prefix, ok := strings.CutSuffix(f.Name(), "_STATE"); ok && f.IsDir() {
			if c.streams.Prefix != "" {
				return c, fmt.Errorf("%s has copies of several stores", dir)
			}
			c.streams.Prefix = prefix
		}
	}
	if c.streams.Prefix == "" {
		return c, fmt.Errorf("%s has no copy of a store", dir)
	}
	_, _, err = each(dir, c.streams.State(), func(m jet.Message) error {
		shards, _, ok, err := c.streams.FormatOf(m)
		if ok {
			c.streams.Shards = shards
		}
		return err
	})
	if err == nil && c.streams.Shards == 0 {
		err = fmt.Errorf("%w: the format of the store is missing", ErrDamaged)
	}
	return c, err
}

func (c contents) names() []string {
	return append(c.streams.Logs(), c.streams.State(), c.streams.Made(), c.streams.Tables())
}

func (c contents) logs(stream string) bool { return slices.Contains(c.streams.Logs(), stream) }

func (c contents) verify(ctx context.Context, stream string) (r StreamReport, since time.Time, broken []string, err error) {
	r.Name = stream
	var chain jet.Chain
	sessions, deleted := make(map[session.ID]bool), make(map[session.ID]bool)
	breaks := make(map[session.ID]string)
	list, since, err := each(c.dir, stream, func(m jet.Message) error {
		if r.Messages == 0 {
			r.From = m.Time
		}
		r.Messages, r.Bytes, r.To, r.Last = r.Messages+1, r.Bytes+len(m.Data), m.Time, m.Seq
		if !c.logs(stream) {
			return ctx.Err()
		}
		l, err := chain.Next(ctx, m)
		if err != nil && !errors.Is(err, session.ErrDamaged) {
			return err
		}
		if sessions[l.Session] = true; l.Deleted {
			deleted[l.Session] = true
		}
		if err != nil && breaks[l.Session] == "" {
			breaks[l.Session] = err.Error()
		}
		return ctx.Err()
	})
	r.Segments, r.Sessions, r.Deleted = len(list), len(sessions), len(deleted)
	for id, why := range breaks {
		if !deleted[id] { // messages of a deleted session may be gone before they are copied
			broken = append(broken, why)
		}
	}
	slices.Sort(broken)
	return r, since, broken, err
}
