package archive

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session/jet"
)

// A cleaning removes what no restore needs from the segments of a copy. It reads each stream from its newest message to its oldest, because a
// newer message decides whether an older one stays. It writes segments again that change, and small ones as one:
//
//	1-100  101-200  201-230        the segments of a stream
//	1-100  101-230-1               101-230-1 takes the place of two, which are then removed
//
// A process that is killed in between leaves both, and the number at the end of the name says which one counts. The segment after 230 still names
// the original 201-230 as the one before; the header of 101-230-1 has that name.
//
// What decides that older messages go may go later, in a cleaning after the one that removed them: a cleaning that did not come to its end
// must find it again.

// DefaultKeep is how far back a copy can be restored to a point in time.
const DefaultKeep = 30 * 24 * time.Hour

const (
	cleanTime  = 24 * time.Hour   // between two cleanings
	settleTime = 10 * time.Minute // how old a tombstone is before it counts: by then the files have what was stored before it in other streams
)

// notes are what a copy knows of itself. They are in the file notesName of its directory.
type notes struct {
	Store   string            `json:"store,omitempty"`  // the id of the store
	Cleaned time.Time         `json:"cleaned,omitzero"` // when the last cleaning began that came to its end
	Upto    map[string]uint64 `json:"upto,omitempty"`   // by stream: the message up to which its tombstones have done their work
}

const notesName = "copy.json"

func readNotes(dir string) (n notes, err error) {
	data, err := durable.Read(filepath.Join(dir, notesName))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrDamaged, filepath.Join(dir, notesName), err)
	}
	return n, err
}

func (n notes) write(dir string) error {
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, notesName), data)
}

// belongs makes sure that the directory has the copy of a store with an id: what is copied of a store after a restore begins in a new one.
func (f *Follower) belongs(id string) error {
	f.has.Name(id)
	n, err := readNotes(f.Dir)
	if err != nil || id == "" || n.Store == id {
		return err
	}
	if n.Store != "" {
		return fmt.Errorf("%s is the copy of another store, or of this one before a restore: use a new directory", f.Dir)
	}
	n.Store = id
	return n.write(f.Dir)
}

// cleaning is what one run of clean knows.
type cleaning struct {
	since   time.Time // values that were replaced before this time go
	settled time.Time // tombstones after this time do not count yet
	stamps  time.Time // stamps before this time go
	upto    map[string]uint64
	deleted map[string]bool // the sessions of tombstones that are new, by owner and id
	size    int             // of a segment
}

// clean removes what no restore needs from the streams of a copy. Nobody else may write to its directory.
func (f *Follower) clean(ctx context.Context, tails []*tail) error {
	n, err := readNotes(f.Dir)
	if err != nil {
		return err
	}
	now, err := f.oldestNow(ctx, tails)
	if err != nil {
		return err
	}
	c := &cleaning{since: now.Add(-f.Keep), settled: now.Add(-f.or(f.settle, settleTime)), stamps: now.Add(-jet.TombstoneTime),
		upto: make(map[string]uint64), deleted: make(map[string]bool), size: f.sizeOf()}
	for _, t := range tails { // logs come first: they have the tombstones
		rule, done := c.rule(t, n.Upto[t.stream])
		if t.stream == t.streams.State() {
			if _, _, err := each(f.Dir, t.stream, c.account); err != nil {
				return err
			}
		}
		if err := c.stream(ctx, t, rule, done); err != nil {
			return fmt.Errorf("stream %s: %w", t.stream, err)
		}
	}
	n.Cleaned, n.Upto = now, c.upto
	return n.write(f.Dir)
}

// oldestNow is what time it is by the clock of this machine or of a store server, whichever is behind: a clock that is ahead must remove nothing.
func (f *Follower) oldestNow(ctx context.Context, tails []*tail) (time.Time, error) {
	now, theirs := f.now(), f.theirs
	if theirs == nil {
		theirs = func(ctx context.Context) (time.Time, error) {
			return jet.StreamTime(ctx, f.Link, tails[0].streams.State())
		}
	}
	store, err := theirs(ctx)
	if err == nil && !store.IsZero() && store.Before(now) {
		now = store
	}
	return now, err
}

// verdict is what happens to a message.
type verdict int

const (
	stays verdict = iota
	goes
	replacedLongAgo // it goes, and the copy cannot be restored to the time before
)

// rule returns what decides about the messages of a stream, the newest first. done reports whether all messages up to a sequence stay.
func (c *cleaning) rule(t *tail, upto uint64) (rule func(m jet.Message) verdict, done func(seq uint64) bool) {
	c.upto[t.stream] = upto
	none := func(uint64) bool { return false }
	switch {
	case t.chain != nil:
		return c.logs(t.stream, upto)
	case t.stream == t.streams.State():
		return c.state(), none
	case t.stream == t.streams.Tables():
		return c.tables(t.stream, upto), none
	}
	return func(m jet.Message) verdict { // stamps
		if m.Time.Before(c.stamps) {
			return goes
		}
		return stays
	}, none
}

// tombstone remembers a tombstone, and decides whether it stays. fresh reports that no earlier cleaning has removed what it is about.
func (c *cleaning) tombstone(stream string, m jet.Message, upto uint64) (v verdict, fresh bool) {
	c.upto[stream] = max(c.upto[stream], m.Seq)
	if m.Seq <= upto && m.Time.Before(c.since) && m.Time.Before(c.stamps) {
		return goes, false
	}
	return stays, m.Seq > upto
}

// logs: the messages of a deleted session go, except its tombstone. Without a new tombstone, older segments need not be read.
func (c *cleaning) logs(stream string, upto uint64) (rule func(m jet.Message) verdict, done func(seq uint64) bool) {
	gone := make(map[[16]byte]bool) // by the subject
	rule = func(m jet.Message) verdict {
		l, err := jet.LinkedOf(m)
		switch {
		case err != nil: // somebody else put it there: Verify reports it
			return stays
		case !l.Deleted && gone[keyOf(m)]:
			return goes
		case !l.Deleted || m.Time.After(c.settled):
			return stays
		}
		v, fresh := c.tombstone(stream, m, upto)
		if fresh {
			gone[keyOf(m)], c.deleted[l.Owner+"."+string(l.Session)] = true, true
		}
		return v
	}
	return rule, func(seq uint64) bool { return seq <= upto && len(gone) == 0 }
}

// account remembers the session of an account that was deleted.
func (c *cleaning) account(m jet.Message) error {
	v, ok := jet.ValueOf(m.Subject)
	if !ok || v.Account() == "" {
		return nil
	}
	deleted, err := jet.DeletedAccount(m.Data)
	if deleted {
		c.deleted[v.Owner+"."+v.Key] = true
	}
	return err
}

// state: what a deleted session had goes, except its use. So does what an owner had who was forgotten, and values that were replaced long ago.
func (c *cleaning) state() func(m jet.Message) verdict {
	newer := make(map[[16]byte]time.Time) // when the value was stored that replaced the one that is read next
	forgotten := make(map[string]bool)
	return func(m jet.Message) verdict {
		at, replaced := newer[keyOf(m)]
		newer[keyOf(m)] = m.Time
		v, ok := jet.ValueOf(m.Subject)
		switch {
		case replaced && at.Before(c.since):
			return replacedLongAgo
		case !ok:
			return stays
		case forgotten[v.Owner]:
			return goes
		case v.Forgets():
			forgotten[v.Owner] = true
		case !c.deleted[v.Owner+"."+v.Key]:
		case v.Marks() != "":
			return goes
		case v.Account() != "":
			if empty, err := jet.DeletedAccount(m.Data); err == nil && !empty {
				return goes
			}
		}
		return stays
	}
}

// tables: what a row had before it was removed goes, and so does what it had before it was changed long ago.
func (c *cleaning) tables(stream string, upto uint64) func(m jet.Message) verdict {
	newer := make(map[[16]byte]time.Time)
	removed := make(map[[16]byte]bool)
	return func(m jet.Message) verdict {
		key := keyOf(m)
		at, replaced := newer[key]
		newer[key] = m.Time
		switch {
		case removed[key]:
			return goes
		case len(m.Data) == 0:
			removed[key] = true
			v, _ := c.tombstone(stream, m, upto)
			return v
		case replaced && at.Before(c.since):
			return replacedLongAgo
		}
		return stays
	}
}

func keyOf(m jet.Message) [16]byte {
	sum := sha256.Sum256([]byte(m.Subject))
	return [16]byte(sum[:16])
}

// group is a run of segments that may become one, the newest first.
type group struct {
	segments []segment
	lists    [][]jet.Message
	size     int
	changed  bool
	before   string    // of the oldest
	ends     string    // of the newest
	since    time.Time // of all
}

// stream cleans one.
func (c *cleaning) stream(ctx context.Context, t *tail, rule func(m jet.Message) verdict, done func(seq uint64) bool) error {
	list, err := t.tidy()
	if err != nil {
		return err
	}
	var g group
	for _, s := range slices.Backward(list) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if done(s.last) {
			break
		}
		h, messages, err := s.read(t.dir)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		kept, size, since := c.judge(messages, rule)
		if len(g.segments) > 0 && g.size+size > c.size {
			if err := t.replace(g); err != nil {
				return err
			}
			g = group{}
		}
		if len(g.segments) == 0 {
			g.ends = h.end(s)
		}
		g.segments, g.lists, g.size, g.before = append(g.segments, s), append(g.lists, kept), g.size+size, h.Before
		g.changed = g.changed || len(kept) < len(messages)
		for _, at := range []time.Time{h.Since, since} {
			if at.After(g.since) {
				g.since = at
			}
		}
	}
	return t.replace(g)
}

// judge returns the messages of a segment that stay, and their size.
func (c *cleaning) judge(messages []jet.Message, rule func(m jet.Message) verdict) (kept []jet.Message, size int, since time.Time) {
	for _, m := range slices.Backward(messages) {
		switch rule(m) {
		case stays:
			kept, size = append(kept, m), size+len(m.Data)+len(m.Head)+len(m.Subject)
		case replacedLongAgo:
			since = c.since
		case goes:
		}
	}
	slices.Reverse(kept)
	return kept, size, since
}

// tidy removes segments whose place others have taken, and returns the others.
func (t *tail) tidy() ([]segment, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list, replaced, err := sorted(t.dir)
	if err != nil {
		return nil, err
	}
	for _, s := range replaced {
		if err := os.Remove(filepath.Join(t.dir, s.name())); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(list, t.list) {
		return nil, t.shared()
	}
	return list, nil
}

// replace writes the segments of a group again, as one.
func (t *tail) replace(g group) error {
	if len(g.segments) < 2 && !g.changed {
		return nil
	}
	slices.Reverse(g.segments)
	slices.Reverse(g.lists)
	first, last := g.segments[0], g.segments[len(g.segments)-1]
	var w writer
	if err := w.begin(header{Format: formatAgain, Stream: t.stream, Before: g.before, Ends: g.ends, Since: g.since}, first.first); err != nil {
		return err
	}
	for _, m := range slices.Concat(g.lists...) {
		w.add(m)
	}
	w.last = last.last
	fresh := w.segment()
	for _, s := range g.segments {
		fresh.again = max(fresh.again, s.again+1)
	}
	return t.exchange(g.segments, fresh, w.buffer.Bytes())
}

// exchange puts one segment in the place of others.
func (t *tail) exchange(old []segment, fresh segment, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.list, old[0])
	if i < 0 || i+len(old) > len(t.list) || !slices.Equal(t.list[i:i+len(old)], old) {
		return t.shared()
	}
	if err := durable.Replace(filepath.Join(t.dir, fresh.name()), data); err != nil {
		return err
	}
	if _, _, err := fresh.read(t.dir); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrDamaged, err), os.Remove(filepath.Join(t.dir, fresh.name())))
	}
	t.list = slices.Replace(t.list, i, i+len(old), fresh)
	for _, s := range old {
		if err := os.Remove(filepath.Join(t.dir, s.name())); err != nil {
			return err
		}
	}
	return nil
}

// due is how long the next cleaning waits. A last one in the future was of a clock that was ahead.
func due(last, now time.Time, every time.Duration) time.Duration {
	if last.After(now) {
		return 0
	}
	return last.Add(every).Sub(now)
}

// cleanDaily cleans the copy once a day, until ctx ends.
func (f *Follower) cleanDaily(ctx context.Context, tails []*tail) {
	for {
		wait := time.Duration(0)
		n, err := readNotes(f.Dir)
		if err == nil {
			wait = due(n.Cleaned, f.now(), f.or(f.cleanEvery, cleanTime))
		} else {
			f.Log.Error("The copy is not cleaned", "error", err)
			wait = cleanTime
		}
		if wait <= 0 {
			err := f.clean(ctx, tails)
			if ctx.Err() != nil {
				return
			}
			if wait = f.or(f.cleanEvery, cleanTime); err != nil {
				f.Log.Error("The copy could not be cleaned; deleted sessions are still in it", "error", err, "next_try", wait)
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}
