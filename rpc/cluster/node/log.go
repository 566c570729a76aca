package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/rpc/cluster/heartbeat"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// logs are those that this node has claimed.
type logs struct {
	log     *slog.Logger
	beats   *heartbeat.Node
	contact *contact
	store   *jet.Store

	ctx     context.Context // of what the node does by itself
	stop    context.CancelFunc
	running sync.WaitGroup

	confirming chan struct{} // a place for each append without entries

	openMu sync.Mutex
	open   map[session.Ref]*log
	closed bool
}

// maxConfirming is how many logs are confirmed in parallel.
const maxConfirming = 64

// loss is a session that another node says to have claimed.
type loss struct {
	ref   session.Ref
	epoch uint64
}

// maxLosses is how many wait. What is more is noticed without a message.
const maxLosses = 10_000

func (s *logs) opened(l *log) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.open[l.ref] = l
}

func (s *logs) released(l *log) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if s.open[l.ref] == l {
		delete(s.open, l.ref)
	}
}

// find is the log of a session that this node has; nil: it has none.
func (s *logs) find(ref session.Ref) *log {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	return s.open[ref]
}

// unmark removes a mark, when the ledger has what the calls of the session used: a node whose sessions have no marks has its blocks given back. Nobody
// waits for it: a mark too many costs one look.
func (s *logs) unmark(owner session.Owner, seq uint64) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if s.closed {
		return
	}
	s.running.Go(func() { // ends with its request, or with the node
		err := s.store.Flush(s.ctx, owner)
		if err == nil {
			err = s.store.Unmark(s.ctx, seq)
		}
		if err != nil {
			s.log.Debug("a mark is not removed", "err", err)
		}
	})
}

// ending has nothing more begin.
func (s *logs) ending() {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.closed = true
}

// claim is what session/jet knows of a log that was claimed.
type claim interface {
	session.Log
	Held() bool
	HandOver(ctx context.Context) error
	Turn() session.TurnID
}

// log is a log that this node has claimed. It marks the session while there is something that must not be stranded, and knows since when
// nobody else can have claimed it.
type log struct {
	claim
	logs  *logs
	ref   session.Ref
	epoch uint64 // as the messages in the store have it

	lost      atomic.Bool  // the store has a claim of another node
	confirmed atomic.Int64 // when the newest message was sent that was acknowledged, by the clock of contact

	mu     sync.Mutex
	mark   uint64 // 0: there is none
	turn   session.TurnID
	queued map[session.TurnID]struct{} // prompts that were added since the claim, and wait
}

// Append adds entries, and returns when they are stored and this node is in contact. An append without entries fails at once while it is not. One with
// entries waits for the contact, until the node gives up what runs. One to a log that is known to be lost needs no contact: the store refuses it.
func (l *log) Append(ctx context.Context, entries ...session.Entry) (last uint64, err error) {
	beats := l.logs.beats
	if len(entries) == 0 && !beats.InContact() && !l.lost.Load() {
		return 0, session.ErrCutOff
	}
	ctx, stop := l.logs.contact.bound(ctx)
	defer stop()
	if err := l.begin(ctx, entries); err != nil {
		return 0, err
	}
	last, sent, err := l.put(ctx, entries)
	if err == nil {
		l.note(entries)
	}
	for err == nil && !beats.Unbroken(sent) { // the acknowledgement says nothing about now
		if err = l.logs.contact.wait(ctx); err == nil {
			_, sent, err = l.put(ctx, nil)
		}
	}
	if err != nil {
		return 0, known(err)
	}
	l.confirmed.Store(int64(sent))
	return last, nil
}

// put is one append. sent is when it began. All loaded sessions confirm their logs after a loss of contact, each by an append without entries: these take
// turns, so that thousands of them do not run into their time limits together, and appends with entries go on.
func (l *log) put(ctx context.Context, entries []session.Entry) (last uint64, sent time.Duration, err error) {
	if len(entries) == 0 {
		select {
		case l.logs.confirming <- struct{}{}:
			defer func() { <-l.logs.confirming }()
		case <-ctx.Done():
			return 0, 0, context.Cause(ctx)
		}
	}
	sent = l.logs.beats.Clock()
	last, err = l.claim.Append(ctx, entries...)
	return last, sent, err
}

// known is an error of the store as clients know it. After an append whose result is unknown, the session may be at another node.
func known(err error) error {
	if errors.Is(err, jet.ErrUnknown) && !errors.Is(err, session.ErrCutOff) {
		return fmt.Errorf("%w: %w", session.ErrCutOff, err)
	}
	return err
}

// begin marks the session, if entries make that necessary and it is not marked.
func (l *log) begin(ctx context.Context, entries []session.Entry) error {
	l.mu.Lock()
	marked := l.mark != 0
	l.mu.Unlock()
	if marked || !begins(entries) {
		return nil
	}
	seq, err := l.logs.store.Mark(ctx, l.ref, l.epoch)
	if err != nil {
		return fmt.Errorf("mark of session %s: %w", l.ref, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark = seq
	return nil
}

// remark marks the session by this claim.
func (l *log) remark(ctx context.Context) error {
	seq, err := l.logs.store.Mark(ctx, l.ref, l.epoch)
	if err != nil {
		return fmt.Errorf("mark of session %s: %w", l.ref, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark = max(l.mark, seq); l.idle() { // since it was looked at
		l.logs.unmark(l.ref.Owner, l.mark)
		l.mark = 0
	}
	return nil
}

func begins(entries []session.Entry) bool {
	for _, e := range entries {
		switch e.Body.(type) {
		case session.Prompt, session.TurnStart:
			return true
		}
	}
	return false
}

// note takes in entries that are stored. The mark is removed after the last turn.
func (l *log) note(entries []session.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		switch e.Body.(type) {
		case session.Prompt:
			l.queued[e.Turn] = struct{}{}
		case session.TurnStart:
			delete(l.queued, e.Turn)
			l.turn = e.Turn
		case session.TurnEnd:
			delete(l.queued, e.Turn)
			if l.turn == e.Turn {
				l.turn = ""
			}
		case session.Steered:
			delete(l.queued, e.Turn)
		}
	}
	if l.mark != 0 && l.idle() {
		l.logs.unmark(l.ref.Owner, l.mark)
		l.mark = 0
	}
}

// idle reports whether nothing in the session must be looked after. The caller has the lock.
func (l *log) idle() bool { return l.turn == "" && len(l.queued) == 0 }

// InContact implements session.Movable.
func (l *log) InContact() bool { return l.logs.beats.InContact() }

// Current implements session.Movable.
func (l *log) Current() bool { return l.logs.beats.Unbroken(time.Duration(l.confirmed.Load())) }

// Recent implements session.Movable.
func (l *log) Recent() bool { return l.logs.beats.InTime(time.Duration(l.confirmed.Load())) }

// Doubt implements session.Movable.
func (l *log) Doubt() { l.confirmed.Store(0) }

// HandOver gives up the log for the node that is asked to take the session.
func (l *log) HandOver(ctx context.Context) error {
	ctx, stop := l.logs.contact.bound(ctx)
	defer stop()
	if err := l.claim.HandOver(ctx); err != nil {
		return known(err)
	}
	l.logs.released(l)
	return nil
}

// Release gives up the log.
func (l *log) Release(ctx context.Context) error {
	l.logs.released(l)
	return l.claim.Release(ctx)
}
