package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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
	Asked  jet.Conns // on which nodes ask what the copy has; nil: nobody is answered

	has jet.Copied

	// What follows is set by tests.
	size  int
	every time.Duration
	poll  time.Duration
	loss  time.Duration
}

// Run copies until ctx ends, and then writes what it has. It returns an error if a stream cannot be copied any more. The other streams are copied on.
func (f *Follower) Run(ctx context.Context) error {
	streams, err := jet.FindStreams(ctx, f.Link, f.Prefix)
	if ctx.Err() != nil { // before the servers answered: nothing was read
		return nil
	}
	if err != nil {
		return err
	}
	names := append(streams.Logs(), streams.State(), streams.Made(), streams.Tables())
	stop, err := f.has.Serve(f.Asked, f.Prefix)
	if err != nil {
		return err
	}
	errs := make([]error, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		running.Go(func() { // ends with ctx
			if errs[i] = f.follow(ctx, name, i < streams.Shards); errs[i] != nil {
				f.Log.Error("A stream is not copied any more", "stream", name, "error", errs[i])
			}
		})
	}
	running.Wait()
	return errors.Join(append(errs, stop())...)
}

// tail is the copy of one stream, at its end.
type tail struct {
	*Follower
	stream string
	dir    string
	chain  *jet.Chain // nil: the messages have no chain
	writer
	list   []segment
	newest jet.Message // the last that was written to a file; Seq 0: none
	looked time.Time   // when the stream was last compared with the copy
}

func (f *Follower) follow(ctx context.Context, stream string, logs bool) error {
	t := &tail{Follower: f, stream: stream, dir: filepath.Join(f.Dir, stream)}
	if logs {
		t.chain = &jet.Chain{Most: chainMemory, Before: func(ctx context.Context, seq uint64) (jet.Message, bool, error) {
			return jet.ReadMessage(ctx, f.Link, stream, seq)
		}}
	}
	if err := t.open(); err != nil {
		return err
	}
	failing := false
	for try := 0; ; try++ {
		full, err := t.step(ctx, try)
		switch {
		case ctx.Err() != nil:
			return t.flush(context.WithoutCancel(ctx))
		case errors.Is(err, ErrLost), errors.Is(err, ErrDamaged):
			return fmt.Errorf("stream %s: %w", stream, err)
		case err != nil && !failing:
			t.Log.Warn("A stream cannot be copied; it is tried again each second", "stream", stream, "error", err)
		case err == nil && failing:
			t.Log.Info("A stream is copied again", "stream", stream)
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
		_, messages, err := t.list[n-1].read(t.dir)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		first = t.list[n-1].last + 1
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
	h := header{Format: format, Stream: t.stream}
	if n := len(t.list); n > 0 {
		h.Before = t.list[n-1].name()
	}
	return t.begin(h, first)
}

// step reads some messages, and writes a segment if it is time. full is true if there may be more.
func (t *tail) step(ctx context.Context, try int) (full bool, err error) {
	list, err := jet.ReadStream(ctx, t.Link, try, t.stream, t.last+1, batchSize)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		if err := t.check(ctx, m); err != nil {
			return false, err
		}
		t.add(m)
	}
	size := t.size
	if size == 0 {
		size = segmentSize
	}
	every := t.or(t.every, segmentTime)
	switch {
	case t.buffer.Len() >= size, !t.empty() && time.Since(t.since) >= every:
		err = t.flush(ctx)
	case time.Since(t.looked) >= every:
		err = t.kept(ctx)
	}
	return len(list) > 0, err
}

// check reports a message that does not follow the one before in its log. It is copied all the same: it is what is there. Nodes still get the
// message before, because the store may have lost it.
func (t *tail) check(ctx context.Context, m jet.Message) error {
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
	there, err := segments(t.dir)
	if err != nil {
		return err
	}
	if len(there) != len(t.list) {
		return fmt.Errorf("%w: %s: another process writes to it", ErrDamaged, t.dir)
	}
	s := t.segment()
	if err := durable.Replace(filepath.Join(t.dir, s.name()), t.buffer.Bytes()); err != nil {
		return err
	}
	_, messages, err := s.read(t.dir)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrDamaged, err), os.Remove(filepath.Join(t.dir, s.name())))
	}
	t.list, t.newest = append(t.list, s), messages[len(messages)-1]
	return t.next(s.last + 1)
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
