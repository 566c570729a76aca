package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
)

// state is all that a session is at the moment. Only the agent's goroutine sees it.
type state struct {
	id   session.ID
	cfg  Config
	log  *slog.Logger
	ctx  context.Context // the agent's: ends when it is closed
	view *session.View
	feed feed

	run   *turn          // nil between turns
	held  bool           // queued prompts wait for a word
	calls sync.WaitGroup // goroutines of model calls

	waiters map[session.TurnID][]chan struct{} // closed when the turn has ended
	used    time.Time                          // when anything happened last
	told    told
	unsaved error // a crash's open turn could not be closed in the store: why
	ended   error // set: the loop ends
}

// told is what people need not be told twice.
type told struct {
	simulator bool
	clamp     string
}

// load reads the log. Where the store takes no writes for now, the open turn is closed in memory alone, so that the
// session can be read; the next write closes it in the store.
func load(ctx context.Context, id session.ID, cfg Config) (*state, error) {
	s := &state{id: id, cfg: cfg, ctx: ctx, log: cfg.Log.With("session", id), used: time.Now(),
		waiters: make(map[session.TurnID][]chan struct{})}
	return s, s.reload()
}

func (s *state) reload() error {
	s.unsaved = session.Recover(s.ctx, s.cfg.Store, s.id, time.Now())
	if s.unsaved != nil && !errors.Is(s.unsaved, session.ErrReadOnly) {
		return s.unsaved
	}
	view, err := session.Load(s.ctx, s.cfg.Store, s.id)
	if err != nil {
		return err
	}
	s.view = view
	s.held = len(view.Queue()) > 0
	if s.feed.subs == nil {
		s.feed = newFeed(firstSeq(view))
	}
	return nil
}

// firstSeq is where the numbering begins: at 0 for a session that has told nothing yet, else above all that was told.
func firstSeq(v *session.View) uint64 {
	if v.LastSeq == 0 {
		return 0
	}
	return session.NextBase(v.LastSeq)
}

// fact is something that happened: what the log keeps of it and what clients are told; either may be missing.
type fact struct {
	turn  session.TurnID
	body  session.Body
	event Event
}

// record makes facts true: all are on disk in one commit before the first is told. After an error none is told, and
// the session is closed, since what the store holds is unknown: it is loaded anew by whoever asks next.
func (s *state) record(facts ...fact) error {
	now := milliseconds(time.Now())
	seq := s.feed.seq
	var entries []session.Entry
	var updates []*Update
	for _, f := range facts {
		var told uint64
		if f.event != nil {
			seq++
			told = seq
			updates = append(updates, &Update{Session: s.id, Seq: seq, Time: now, Turn: f.turn, Event: f.event})
		}
		if f.body != nil {
			entries = append(entries, session.Entry{Seq: told, Time: now, Turn: f.turn, Body: f.body})
		}
	}
	if len(entries) > 0 {
		if err := s.keep(entries); err != nil {
			return err
		}
	}
	s.feed.seq = seq
	for _, u := range updates {
		s.feed.publish(u)
	}
	s.used = time.Now()
	return nil
}

func (s *state) keep(entries []session.Entry) error {
	// The commit outlives a call for the end: what was begun is finished.
	_, err := s.cfg.Store.Append(context.WithoutCancel(s.ctx), s.id, entries...)
	if err == nil {
		for _, e := range entries {
			if err = s.view.Apply(e); err != nil {
				break
			}
		}
	}
	if err != nil {
		s.storeFailed(err)
	}
	return err
}

// storeFailed tells people that nothing can be kept, and ends the agent: what the log holds now, only the log knows.
func (s *state) storeFailed(err error) {
	s.log.Error("session cannot be written", "err", err)
	s.tell("", Notice{Warning, noticeStoreReadOnly, "the session cannot be written: " + storeTrouble(err)})
	s.stopCall(err)
	s.run = nil
	s.end(err)
}

// storeTrouble is why the store failed, without a path of the machine.
func storeTrouble(err error) string {
	for _, known := range []error{session.ErrReadOnly, session.ErrReplaced, session.ErrDamaged, session.ErrNotFound, session.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the store failed"
}

// tell publishes what is not kept.
func (s *state) tell(turn session.TurnID, e Event) {
	s.feed.seq++
	s.feed.publish(&Update{Session: s.id, Seq: s.feed.seq, Time: milliseconds(time.Now()), Turn: turn, Event: e})
}

// writable closes in the store what a crash left open, if that could not be done at load.
func (s *state) writable() error {
	if s.unsaved == nil {
		return nil
	}
	if err := s.reload(); err != nil {
		return err
	}
	return s.unsaved
}

// end makes the loop end.
func (s *state) end(err error) {
	if s.ended == nil {
		s.ended = err
	}
}

// hangUp lets go of everyone who waits.
func (s *state) hangUp() {
	s.stopCall(ErrClosed)
	s.feed.close(ErrClosed)
	for _, waiting := range s.waiters {
		for _, w := range waiting {
			close(w)
		}
	}
	clear(s.waiters)
}

// tick looks after time: stalls, limits, and idleness.
func (s *state) tick(now time.Time) {
	if s.run != nil {
		s.used = now
		s.watch(now)
		return
	}
	if len(s.feed.subs) > 0 || len(s.waiters) > 0 {
		s.used = now
	}
	if now.Sub(s.used) >= s.cfg.Limits.Idle {
		s.end(ErrClosed)
	}
}

// status is what the session is doing.
func (s *state) status() session.Status {
	switch {
	case s.run != nil:
		return session.Running
	case s.held:
		return session.Held
	}
	return session.Idle
}
