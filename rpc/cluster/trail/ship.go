package trail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// Config says what is sent, and where to.
type Config struct {
	Stream *jet.Audit
	Dir    string // with the files; it is this process's alone, except that commands append to the files
	Node   string // the name of this node
	Log    *slog.Logger
}

// Shipper sends the records of a directory. Its goroutine is the only one that sends; Close stops it.
type Shipper struct {
	Config
	gap time.Duration // between two passes

	wake  chan struct{}   // holds one: a record was written
	flush chan chan error // gets the error of a pass that begins after the request
	ctx   context.Context // of the goroutine
	stop  context.CancelFunc
	done  chan struct{}

	mark   mark                      // of the goroutine, as all below
	sent   map[session.Day]*position // what is known to be in the stream
	failed bool                      // the last pass
}

// position is how much of a file is in the stream.
type position struct {
	seq   uint64 // of its last message; 0: there is none
	bytes int64

	doubted bool // an append had no result
}

const (
	shipGap    = time.Second // bounds the messages of a node: one a second, except for a backlog
	shipLook   = time.Minute // after which the files are looked at, although this process has written nothing
	chunkBytes = 128 << 10   // of a message
	maxTries   = 5           // of a message, in one pass
)

// Start begins to send. A directory that has no id gets one.
func Start(c Config) (*Shipper, error) { return start(c, shipGap) }

func start(c Config, gap time.Duration) (*Shipper, error) {
	m, ok, err := readMark(c.Dir)
	if err == nil && !ok {
		m, err = newMark(c.Dir, "")
	}
	if err != nil {
		return nil, err
	}
	s := &Shipper{Config: c, gap: gap, wake: make(chan struct{}, 1), flush: make(chan chan error), done: make(chan struct{}), mark: m, sent: make(map[session.Day]*position)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	go s.run() // ends with ctx; Close waits for it
	return s, nil
}

// Wake says that a record was written. It does not block, and any goroutine may call it.
func (s *Shipper) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}

// Flush returns when all records that were written before are in the stream, or with an error when they cannot be sent now.
func (s *Shipper) Flush(ctx context.Context) error {
	answer := make(chan error, 1)
	for asked := s.flush; ; {
		select {
		case asked <- answer:
			asked = nil
		case err := <-answer:
			return err
		case <-s.done:
			return context.Canceled
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close sends what is left, until ctx ends, and stops the goroutine. The next start sends the rest.
func (s *Shipper) Close(ctx context.Context) error {
	err := s.Flush(ctx)
	s.stop()
	<-s.done
	if err != nil {
		return fmt.Errorf("audit: some records are sent to the store servers after the next start: %w", err)
	}
	return nil
}

func (s *Shipper) run() {
	defer close(s.done)
	look := time.NewTicker(shipLook)
	defer look.Stop()
	var answer chan error
	for {
		err := s.pass(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		s.report(err)
		if answer != nil {
			answer <- err // it holds one
			answer = nil
		}
		var wake chan struct{} // nil until the gap is over
		rest := time.NewTimer(s.gap)
		for next := false; !next; {
			select {
			case <-rest.C:
				wake, next = s.wake, err != nil
			case <-wake:
				next = true
			case <-look.C:
				next = true
			case answer = <-s.flush:
				next = true
			case <-s.ctx.Done():
				next = true
			}
		}
		rest.Stop()
	}
}

// report logs that sending has begun to fail, or works again.
func (s *Shipper) report(err error) {
	switch {
	case err != nil && !s.failed:
		s.Log.Error("audit: records wait in the data directory until the store servers take them", "err", err)
	case err == nil && s.failed:
		s.Log.Info("audit: all records are at the store servers")
	}
	s.failed = err != nil
}

// pass sends all that the files have and the stream has not.
func (s *Shipper) pass(ctx context.Context) error {
	days, err := audit.Days(s.Dir)
	if err != nil {
		return err
	}
	for _, day := range days {
		if day < s.mark.Since {
			continue
		}
		if err := s.ship(ctx, day); err != nil {
			return fmt.Errorf("%s: %w", day, err)
		}
	}
	return nil
}

// errRestored says that the stream has less than it had.
var errRestored = errors.New("the store servers have lost records, which are sent again")

// ship sends the rest of a file.
func (s *Shipper) ship(ctx context.Context, day session.Day) error {
	for tries := 0; ; {
		size, written, err := audit.Size(s.Dir, day)
		if err != nil {
			return err
		}
		at := s.sent[day]
		if at != nil && !at.doubted && at.bytes == size {
			return nil
		}
		if at == nil || at.doubted || at.bytes > size {
			found, err := s.find(ctx, day, size, written)
			if err != nil {
				return err
			}
			if at != nil && at.seq > found.seq { // so other files may be missing too
				clear(s.sent)
				return errRestored
			}
			at = found
			s.sent[day] = at
		}
		text, to, err := audit.Chunk(s.Dir, day, at.bytes, chunkBytes)
		if err != nil || to == at.bytes {
			return err
		}
		seq, err := s.Stream.Append(ctx, tries, jet.AuditMessage{Day: day, Dir: s.mark.ID, Node: s.Node, From: at.bytes, To: to, Lines: text}, at.seq)
		if err == nil {
			at.seq, at.bytes, tries = seq, to, 0
			continue
		}
		at.doubted = true // it may be stored: the stream says so
		if tries++; tries >= maxTries || ctx.Err() != nil {
			return err
		}
	}
}

// find reads from the stream how much of a file it has. If its last message is not what the file has, the directory is not the one that sent it: it
// gets another id.
func (s *Shipper) find(ctx context.Context, day session.Day, size int64, written time.Time) (*position, error) {
	last, ok, err := s.Stream.Last(ctx, day, s.mark.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		oldest, err := s.Stream.Oldest(ctx)
		if err != nil {
			return nil, err
		}
		if written.Before(oldest) { // it went from the stream, or would go at once
			return &position{bytes: size}, nil
		}
		return new(position), nil
	}
	same, err := s.has(last, day, size)
	if err != nil {
		return nil, err
	}
	if same {
		return &position{seq: last.Seq, bytes: last.To}, nil
	}
	m, err := newMark(s.Dir, day)
	if err != nil {
		return nil, err
	}
	s.Log.Warn("audit: the files are not those that were sent from this directory before, so they are sent again", "since", day, "before", s.mark.ID, "now", m.ID)
	s.mark = m
	clear(s.sent)
	return new(position), nil
}

// has reports whether a file has the bytes of a message.
func (s *Shipper) has(m jet.AuditMessage, day session.Day, size int64) (bool, error) {
	if m.Damaged || m.To > size {
		return false, nil
	}
	text, err := audit.Bytes(s.Dir, day, m.From, m.From+int64(len(m.Lines)))
	return bytes.Equal(text, m.Lines), err
}
