package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// The limits of what is not in a file yet. They bound what is lost if all servers are lost at once.
const (
	segmentSize = 8 << 20
	segmentTime = 60 * time.Second
)

const (
	pollTime    = time.Second // between two looks for new messages
	lossTime    = 10 * time.Second
	batchSize   = 4 << 20
	chainMemory = 100_000 // logs whose last message is remembered
)

// ErrLost says that the store servers do not have what was copied. Nothing more is copied then: the copy is what is left of it.
var ErrLost = errors.New("the store has lost messages that it had acknowledged")

// Follower copies a store.
type Follower struct {
	Link   jet.Link
	Prefix string // of the store
	Dir    string
	Log    *slog.Logger
	Asked  jet.Conns     // on which nodes ask what the copy has; nil: nobody is answered
	Keep   time.Duration // how far back the copy can be restored to a point in time; 0: DefaultKeep

	has jet.Copied

	// What follows is set by tests.
	size       int
	every      time.Duration
	poll       time.Duration
	loss       time.Duration
	settle     time.Duration
	cleanEvery time.Duration
	clock      func() time.Time
	theirs     func(context.Context) (time.Time, error) // the clock of the store servers
}

// tail is the copy of one stream, at its end.
type tail struct {
	*Follower
	streams jet.Streams
	stream  string
	dir     string
	chain   *jet.Chain // nil: the messages have no chain
	writer
	ends   string      // the name of the last segment, as a Follower wrote it
	newest jet.Message // the last that was written to a file; Seq 0: none
	looked time.Time   // when the stream was last compared with the copy

	mu   sync.Mutex // of list, and of what is removed from dir
	list []segment
}

func (f *Follower) tail(streams jet.Streams, stream string) *tail {
	t := &tail{Follower: f, streams: streams, stream: stream, dir: filepath.Join(f.Dir, stream)}
	if slices.Contains(streams.Logs(), stream) {
		t.chain = &jet.Chain{Most: chainMemory, Before: func(ctx context.Context, seq uint64) (jet.Message, bool, error) {
			return jet.ReadMessage(ctx, f.Link, stream, seq)
		}}
	}
	return t
}

// run copies until ctx ends, or until the stream cannot be copied any more.
func (t *tail) run(ctx context.Context) error {
	failing := false
	for try := 0; ; try++ {
		full, err := t.step(ctx, try)
		switch {
		case ctx.Err() != nil:
			return t.flush(context.WithoutCancel(ctx))
		case errors.Is(err, ErrLost), errors.Is(err, ErrDamaged):
			return fmt.Errorf("stream %s: %w", t.stream, err)
		case errors.Is(err, errNotMade) && !failing:
			t.Log.Warn("A stream is not copied yet", "stream", t.stream, "reason", err)
		case err != nil && !failing:
			t.Log.Warn("A stream cannot be copied; it is tried again each second", "stream", t.stream, "error", err)
		case err == nil && failing:
			t.Log.Info("A stream is copied again", "stream", t.stream)
		}
		failing = err != nil
		if full && err == nil {
			continue
		}
		select {
		case <-time.After(t.or(t.poll, pollTime)):
		case <-ctx.Done():
		}
	}
}

func (f *Follower) or(set, otherwise time.Duration) time.Duration {
	if set != 0 {
		return set
	}
	return otherwise
}

func (f *Follower) now() time.Time {
	if f.clock != nil {
		return f.clock()
	}
	return time.Now()
}

func (f *Follower) sizeOf() int {
	if f.size != 0 {
		return f.size
	}
	return segmentSize
}

// open finds where to go on.
func (t *tail) open() (err error) {
	if err := errors.Join(durable.MakeDir(t.Dir), durable.MakeDir(t.dir)); err != nil {
		return err
	}
	if t.list, err = segments(t.dir); err != nil {
		return err
	}
	first := uint64(1)
	if n := len(t.list); n > 0 {
		h, messages, err := t.list[n-1].read(t.dir)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		first, t.ends = t.list[n-1].last+1, h.end(t.list[n-1])
		if len(messages) > 0 {
			t.newest = messages[len(messages)-1]
		}
		if err := t.remember(messages); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return t.next(first)
}

// next begins a segment.
func (t *tail) next(first uint64) error {
	return t.begin(header{Format: format, Stream: t.stream, Before: t.ends}, first)
}

// step reads some messages, and writes a segment if it is time. full is true if there may be more.
func (t *tail) step(ctx context.Context, try int) (full bool, err error) {
	list, err := jet.ReadStream(ctx, t.Link, try, t.stream, t.last+1, batchSize)
	if err != nil {
		return false, t.missing(ctx, err)
	}
	for _, m := range list {
		if err := t.check(ctx, m); err != nil {
			return false, err
		}
		t.add(m)
	}
	every := t.or(t.every, segmentTime)
	switch {
	case t.buffer.Len() >= t.sizeOf(), !t.empty() && time.Since(t.since) >= every:
		err = t.flush(ctx)
	case time.Since(t.looked) >= every:
		err = t.kept(ctx)
	}
	return len(list) > 0, err
}

// errNotMade says that a stream is not there, and that it never had anything that was copied.
var errNotMade = errors.New("the stream is not there yet: a node with this version of thinkd makes it when it starts, and then it is copied")

// missing says why a stream cannot be read, if that is because it is not there.
func (t *tail) missing(ctx context.Context, err error) error {
	_, there, asked := jet.LastSeq(ctx, t.Link, t.stream)
	switch {
	case asked != nil || there:
		return err
	case t.last == 0:
		return errNotMade
	}
	return t.kept(ctx)
}

// check reports a message that does not follow the one before in its log. It is copied all the same: it is what is there. Nodes still get the
// message before, because the store may have lost it.
func (t *tail) check(ctx context.Context, m jet.Message) error {
	if t.stream == t.streams.State() {
		_, id, _, err := t.streams.FormatOf(m)
		t.has.Name(id)
		return err
	}
	if t.chain == nil {
		return nil
	}
	_, err := t.chain.Next(ctx, m)
	if errors.Is(err, session.ErrDamaged) {
		t.Log.Error("The chain of a log is broken", "stream", t.stream, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return t.has.Add(m)
}

// remember has nodes learn what is in the last segment: it is what the servers would lose first.
func (t *tail) remember(list []jet.Message) error {
	if t.chain == nil {
		return nil
	}
	for _, m := range list {
		if err := t.has.Add(m); err != nil {
			return err
		}
	}
	return nil
}

// flush writes a segment, unless there is nothing for it.
func (t *tail) flush(ctx context.Context) error {
	if t.empty() {
		return nil
	}
	if err := t.kept(ctx); err != nil {
		return err
	}
	s := t.segment()
	if err := t.write(s); err != nil {
		return err
	}
	return t.next(s.last + 1)
}

// write writes what was collected to a file.
func (t *tail) write(s segment) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	there, err := segments(t.dir)
	if err != nil {
		return err
	}
	if !slices.Equal(there, t.list) {
		return t.shared()
	}
	if err := durable.Replace(filepath.Join(t.dir, s.name()), t.buffer.Bytes()); err != nil {
		return err
	}
	_, messages, err := s.read(t.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrDamaged, err), os.Remove(filepath.Join(t.dir, s.name())))
	}
	t.list, t.ends, t.newest = append(t.list, s), s.name(), messages[len(messages)-1]
	return nil
}

func (t *tail) shared() error {
	return fmt.Errorf("%w: %s: another process writes to it", ErrDamaged, t.dir)
}

// kept makes sure that the stream still has what the copy has: an outdated leader answers for less than lossTime.
func (t *tail) kept(ctx context.Context) error {
	for again := false; ; again = true {
		lost, err := t.lost(ctx)
		if err != nil {
			return err
		}
		if lost == "" {
			t.looked = time.Now()
			return nil
		}
		if again {
			return fmt.Errorf("%w: %s", ErrLost, lost)
		}
		select {
		case <-time.After(t.or(t.loss, lossTime)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lost says what the stream does not have any more, or "".
func (t *tail) lost(ctx context.Context) (string, error) {
	last, ok, err := jet.LastSeq(ctx, t.Link, t.stream)
	if err != nil {
		return "", err
	}
	if !ok && t.last == 0 {
		return "", errNotMade
	}
	if !ok {
		return "the stream is gone", nil
	}
	if last < t.last {
		return fmt.Sprintf("the copy ends at message %d, and the stream at %d", t.last, last), nil
	}
	if t.newest.Seq == 0 {
		return "", nil
	}
	now, ok, err := jet.ReadMessage(ctx, t.Link, t.stream, t.newest.Seq)
	if err != nil || !ok { // it was deleted, or replaced by a newer value
		return "", err
	}
	if now.Subject != t.newest.Subject || now.Head != t.newest.Head || string(now.Data) != string(t.newest.Data) {
		return fmt.Sprintf("message %d is another one in the stream than in the copy", now.Seq), nil
	}
	return "", nil
}
