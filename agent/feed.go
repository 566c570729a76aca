package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/thinkd/thinkd/provider"
)

// Bounds of what waits for one subscriber. An update weighs as many bytes as its text has, but at most maxWeight: what
// is larger came in one piece (the end of a block, a prompt, a list) and is shared with the session's view and with
// all subscribers, as its encoded form is. So a subscriber that does not read makes the daemon hold 1,024 updates of at
// most 1 MiB in all, of which four may be larger than they weigh.
const (
	maxWaiting      = 1024      // updates
	maxWaitingBytes = 1 << 20   // of weight
	maxWeight       = 256 << 10 // of an update; growth is not merged beyond it
)

// feed tells updates to subscribers. It belongs to the agent's goroutine; only the subscriptions are shared.
type feed struct {
	seq    uint64 // of the last update
	first  uint64 // what seq was when the session was loaded: whatever is told is above it
	subs   []*Subscription
	memory memory
}

func newFeed(seq uint64) feed { return feed{seq: seq, first: seq, memory: memory{after: seq}} }

// publish never waits.
func (f *feed) publish(u *Update) { f.grow(u, nil) }

// grow is publish for growth that came in several pieces: ends says where the text of each ends in that of u.
func (f *feed) grow(u *Update, ends []int) {
	u.weight = weight(u.Event)
	what, text := grown(u.Event)
	f.memory.add(u, what, text, ends)
	if len(f.subs) == 0 {
		return
	}
	f.subs = slices.DeleteFunc(f.subs, func(sub *Subscription) bool { return !sub.push(u, what, text) })
}

// add makes sub a subscription to all that is published from now on.
func (f *feed) add(sub *Subscription) {
	sub.begin(f.seq)
	f.subs = append(f.subs, sub)
}

// canConfirm reports whether a client is there that can ask a person.
func (f *feed) canConfirm() bool {
	return slices.ContainsFunc(f.subs, func(sub *Subscription) bool { return sub.confirms.Load() && !sub.over() })
}

// prune lets go of subscriptions that their owners closed.
func (f *feed) prune() {
	f.subs = slices.DeleteFunc(f.subs, (*Subscription).over)
}

// close ends all subscriptions: each has its waiting updates still to read, then err.
func (f *feed) close(err error) {
	for _, sub := range f.subs {
		sub.end(err)
	}
	f.subs = nil
}

// weight is what an update counts against the bounds.
func weight(e Event) int {
	size := 0
	switch e := e.(type) {
	case ThinkingDelta:
		size = len(e.Delta)
	case MessageDelta:
		size = len(e.Delta)
	case ThinkingEnd:
		size = len(e.Text)
	case TextEnd:
		size = len(e.Text) + weightOfSources(e.Sources)
	case MessageEnd:
		for _, cited := range e.Cited {
			size += weightOfSources(cited.Sources)
		}
	case PromptStored:
		size = weightOf(e.Content)
	case ToolStart:
		size = len(e.Arguments) + len(e.Invalid)
	case ToolOutput:
		size = len(e.Chunk)
	case ToolEnd:
		size = weightOf(e.Content)
	case Confirm:
		size = len(e.Arguments)
	case SessionUpdate:
		for name, value := range e.Metadata {
			size += len(name) + len(value)
		}
	case QueueUpdate:
		size = len(e.Queue) * queuedText
	}
	return min(size, maxWeight)
}

func weightOfSources(list []provider.Citation) (size int) {
	for _, source := range list {
		size += len(source.URL) + len(source.Title) + len(source.Quote)
	}
	return size
}

func weightOf(content provider.Blocks) (size int) {
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			size += len(b.Text)
		case provider.Media:
			size += len(b.Data)
		}
	}
	return size
}

// Subscription is one client's view of a session's updates. One goroutine at a time reads it; Close is for any.
type Subscription struct {
	ready    chan struct{} // has a token when Next should look
	confirms atomic.Bool   // see Confirms

	mu        sync.Mutex // held for moments only; nobody waits while holding it
	tell      func()     // that there is something where there was nothing
	queue     []waiting
	tail      growing // what the last one in the queue is growth of
	bytes     int     // weight of the queue
	delivered uint64  // the last Seq that Next returned
	err       error   // what Next returns when the queue is empty
}

// waiting is an update, or growth that stands for several.
type waiting struct {
	u     *Update
	grown []byte // nil: u as it is
	last  uint64 // Seq of the last one merged in
}

func (w waiting) weight() int {
	if w.grown != nil {
		return len(w.grown)
	}
	return w.u.weight
}

// Confirms says that the subscriber can ask a person about a call. Calls that no rule may allow are refused at once while
// no subscriber can.
func (s *Subscription) Confirms() { s.confirms.Store(true) }

func newSubscription() *Subscription {
	s := &Subscription{ready: make(chan struct{}, 1)}
	s.tell = func() { token(s.ready) }
	return s
}

func (s *Subscription) begin(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered = seq
}

// over reports whether nothing more will be put into the queue.
func (s *Subscription) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// Stale says that updates were dropped: whoever reads this reads entries after After and attaches anew.
type Stale struct {
	After uint64 // the last Seq that was delivered
}

func (s *Stale) Error() string { return fmt.Sprintf("updates after %d were dropped", s.After) }

// push adds an update, which may be growth, and reports whether the subscription goes on.
func (s *Subscription) push(u *Update, what growing, text string) bool {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return false
	}
	first := len(s.queue) == 0 // else the reader has been told, and looks again before it waits
	if !s.merge(u, what, text) {
		s.queue, s.tail = append(s.queue, waiting{u: u, last: u.Seq}), what
	}
	s.bytes += u.weight
	over := len(s.queue) > maxWaiting || s.bytes > maxWaitingBytes
	if over {
		s.queue, s.bytes = nil, 0
		s.err = &Stale{After: s.delivered}
	}
	tell := s.tell
	s.mu.Unlock()
	if first || over {
		tell() // without the lock: who is told may read at once
	}
	return !over
}

// merge adds growth to growth of the same block at the tail, if that is so.
func (s *Subscription) merge(u *Update, what growing, text string) bool {
	if what == (growing{}) || len(s.queue) == 0 || s.tail != what {
		return false
	}
	tail := &s.queue[len(s.queue)-1]
	if tail.weight()+len(text) > maxWeight {
		return false
	}
	if tail.grown == nil {
		_, begun := grown(tail.u.Event)
		tail.grown = append(make([]byte, 0, 4*(len(begun)+len(text))), begun...)
	}
	tail.grown = append(tail.grown, text...)
	tail.last = u.Seq
	return true
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	tell := s.tell
	s.mu.Unlock()
	tell()
}

// Tell is for a reader that waits for several subscriptions and uses TryNext alone: from now on f is called when there is
// something to read where there was nothing before, and once now. It is called by the session's goroutine, so it must not
// wait.
func (s *Subscription) Tell(f func()) {
	s.mu.Lock()
	s.tell = f
	s.mu.Unlock()
	f()
}

// Next waits for an update. It ends with *Stale when the queue overflowed, ErrClosed when the agent or the
// subscription ended, or ctx's cause.
func (s *Subscription) Next(ctx context.Context) (*Update, error) {
	for {
		if u, err := s.take(); u != nil || err != nil {
			return u, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TryNext is Next without waiting: nil, nil when there is nothing.
func (s *Subscription) TryNext() (*Update, error) { return s.take() }

func (s *Subscription) take() (*Update, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, s.err
	}
	w := s.queue[0]
	s.queue[0] = waiting{}
	s.queue = s.queue[1:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	s.delivered = w.last
	s.bytes -= w.weight()
	if w.grown == nil {
		return w.u, nil
	}
	merged := &Update{Session: w.u.Session, FirstSeq: w.u.first(), Seq: w.last, Time: w.u.Time, Turn: w.u.Turn}
	merged.Event = withText(w.u.Event, string(w.grown))
	return merged, nil
}

// Close ends the subscription; Next returns ErrClosed from then on.
func (s *Subscription) Close() {
	s.mu.Lock()
	s.queue, s.bytes, s.err = nil, 0, ErrClosed
	tell := s.tell
	s.mu.Unlock()
	tell()
}
