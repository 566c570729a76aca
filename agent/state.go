package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/session"
)

// state is all that a session is at the moment. Only the agent's goroutine sees it.
type state struct {
	id    session.ID
	cfg   Config
	log   *slog.Logger
	ctx   context.Context // the agent's: ends when it is closed
	view  *session.View
	feed  *feed.Feed
	owned session.Log // released when the agent ends

	live   atomic.Value             // session.Status: see noteStatus
	busy   atomic.Bool              // run is not nil, for a Group to see
	size   atomic.Int64             // see measure
	run    *turn                    // nil between turns
	queue  []feed.Queued            // turns that wait, in order; shared with updates, so what is in it never changes
	held   bool                     // queued prompts wait for a word
	queued int64                    // bytes of the prompts in queue, which are in the log and not in memory
	sizes  map[session.TurnID]int64 // of each
	calls  sync.WaitGroup           // goroutines of model calls

	compacting *compacting // nil: no summary is on its way

	waiters  map[session.TurnID][]waiter
	used     time.Time // when anything happened last
	notified notified
	titled   session.TurnID  // whose prompt the title is of; empty: that was before the load, or somebody gave it
	unsaved  []session.Entry // these close a crash's open turn in the view, and not yet in the store

	resolved map[string]bool // questions that are over, by id

	ended        error // set: the loop ends
	failedToKeep bool  // the store failed
}

// waiter is somebody who waits for the end of a turn.
type waiter struct {
	ended chan struct{}   // closed when the turn has ended, or the agent
	until <-chan struct{} // closed when nobody waits any more
}

// notified records the notices that a session has sent, so that it sends each one once.
type notified struct {
	simulator bool
	clamp     string
	crossing  crossing
	once      map[string]bool  // missing media and reduced schemas, by the text of the notice
	near      [2]bool          // the session's budget is nearly used up: tokens, cost
	unpriced  session.ModelRef // the model whose price is unknown
	retires   session.ModelRef // the model that retires soon
	answers   string           // the model that then answered under its name, if it was redirected

	unthinking map[session.ModelRef]bool // that no thinking was seen, though the model was asked to think
}

// crossing is a switch of models: the last turn that the one before answered, and the one after.
type crossing struct {
	from session.TurnID
	to   session.ModelRef
}

// load reads the log and closes the turn that a crash left open. Where the store takes no writes for now, that turn is
// closed in the view alone, so that the session can be read; the next write, or time, closes it in the store.
func load(ctx context.Context, id session.ID, cfg Config) (*state, error) {
	now := time.Now()
	s := &state{id: id, cfg: cfg, ctx: ctx, log: cfg.Log.With("session", id), used: now,
		sizes: make(map[session.TurnID]int64), waiters: make(map[session.TurnID][]waiter), resolved: make(map[string]bool)}
	log, err := cfg.Store.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	s.owned = log
	if err := s.read(now); err != nil {
		return nil, errors.Join(err, log.Release(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// read makes the state of the log.
func (s *state) read(now time.Time) error {
	view, err := session.Load(s.ctx, s.cfg.Store, s.id)
	if err != nil {
		return err
	}
	if view.Running() != nil {
		view, err = s.recover(now)
		if err != nil {
			return err
		}
	}
	s.view = view
	for _, t := range view.Queue() {
		s.queue = append(s.queue, feed.NewQueued(t.ID, t.Prompt))
		s.waits(t.ID, t.Prompt)
		view.Unload(t)
	}
	s.held = len(s.queue) > 0
	s.feed = feed.New(s.id, session.FirstSeq(view.LastSeq, s.owned.Epoch()))
	s.measure()
	return nil
}

func (s *state) recover(now time.Time) (*session.View, error) {
	ends, err := session.LeftOpen(s.ctx, s.cfg.Store, s.owned, s.id, now)
	if err != nil {
		return nil, err
	}
	if _, err = s.owned.Append(s.ctx, ends...); err != nil && !errors.Is(err, session.ErrReadOnly) {
		return nil, err
	}
	view, loadErr := session.Load(s.ctx, s.cfg.Store, s.id)
	if err == nil || loadErr != nil || view.Running() == nil { // a failed write may be there after all
		return view, loadErr
	}
	s.unsaved = ends
	for _, e := range ends {
		if err := view.Apply(e); err != nil {
			return nil, err
		}
	}
	return view, nil
}

// fact is something that happened: what the log keeps of it and what clients are told; either may be missing.
type fact struct {
	turn  session.TurnID
	body  session.Body
	event feed.Event
}

// record makes facts true: all are on disk in one commit before the first is told. After an error none is told, and
// the session is closed, since what the store holds is unknown: it is loaded anew by whoever asks next.
func (s *state) record(facts ...fact) error {
	now := time.Now().UnixMilli()
	seq := s.feed.Seq()
	var entries []session.Entry
	for _, f := range facts {
		var told uint64
		if f.event != nil {
			seq++
			told = seq
		}
		if f.body != nil {
			entries = append(entries, session.Entry{Seq: told, Time: now, Turn: f.turn, Body: f.body})
		}
	}
	if len(entries) == 0 && seq > s.feed.Seq() && !s.numbered() {
		entries = append(entries, session.Entry{Seq: s.feed.Seq() + 1, Time: now, Body: session.Setting{}}) // which changes nothing
	}
	if len(entries) > 0 {
		if err := s.keep(entries); err != nil {
			s.storeFailed(err)
			return err
		}
	}
	for _, f := range facts {
		if f.event != nil {
			s.feed.Publish(f.turn, now, f.event)
		}
	}
	s.used = time.Now()
	return nil
}

// keep folds entries and writes them. The fold comes first, so that nothing gets into the log that it refuses; if the
// write fails, the view is of no use any more and ends with the agent.
func (s *state) keep(entries []session.Entry) error {
	for _, e := range entries {
		if err := s.apply(e); err != nil {
			return err
		}
	}
	// The commit outlives a call for the end: what was begun is finished.
	if _, err := s.owned.Append(context.WithoutCancel(s.ctx), entries...); err != nil {
		return err
	}
	for _, e := range entries {
		if _, said := e.Body.(session.Prompt); said {
			s.view.Unload(s.view.Turn(e.Turn)) // if it waits: the log has it
		}
	}
	return nil
}

// apply is the view's Apply, and keeps the queue beside it: a session with a long history and a long queue would be
// walked for each prompt otherwise.
func (s *state) apply(e session.Entry) error {
	untitled := s.view.Session.Title == ""
	if t := s.view.Turn(e.Turn); t != nil && t.Unloaded { // it leaves the queue
		if err := s.view.Reload(context.WithoutCancel(s.ctx), s.cfg.Store, t); err != nil {
			return err
		}
	}
	if err := s.view.Apply(e); err != nil {
		return err
	}
	if _, said := e.Body.(session.Prompt); said && untitled && s.view.Session.Title != "" {
		s.titled = e.Turn
	}
	switch b := e.Body.(type) {
	case session.Prompt:
		s.enqueue(feed.NewQueued(e.Turn, b), b.Steer)
		s.waits(e.Turn, b)
	case session.TurnStart, session.TurnEnd, session.Steered:
		i := slices.IndexFunc(s.queue, func(q feed.Queued) bool { return q.Turn == e.Turn })
		switch {
		case i == 0:
			s.queue = s.queue[1:]
		case i > 0: // into a new array: updates share the old one
			s.queue = slices.Concat(s.queue[:i], s.queue[i+1:])
		}
		s.setQueued(s.queued - s.sizes[e.Turn])
		delete(s.sizes, e.Turn)
	}
	return nil
}

// storeFailed tells people that nothing can be kept, and ends the agent: what the log holds now, only the log knows.
func (s *state) storeFailed(err error) {
	s.log.Error("session cannot be written", "err", err)
	s.tellReadOnly(err)
	s.stopCall(err, callEnd{fault: "store"})
	s.dropRound(err)
	s.dropCompaction(err)
	s.run = nil
	s.end(err)
}

// tellReadOnly tells people that nothing can be kept, under a number that the log may never know of.
func (s *state) tellReadOnly(err error) {
	s.failedToKeep = true
	s.publish("", warn(noticeStoreReadOnly, "the session cannot be written: "+storeTrouble(err)))
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

// numbered reports whether the log knows that this process has told something. Until then the next process would begin
// with the same numbers.
func (s *state) numbered() bool { return s.view.LastSeq > s.feed.Base() }

// tell publishes what is not kept, but for the first thing that is told: that is kept by its number.
func (s *state) tell(turn session.TurnID, e feed.Event) {
	if s.numbered() {
		s.publish(turn, e)
		return
	}
	if err := s.record(fact{turn, nil, e}); err != nil { // which has ended the agent
		s.log.Debug("an update is not published", "method", e.Method(), "err", err)
	}
}

// keepNumber stores a number when too many above the last that the log has were used: see session.MaxUnstored. An answer
// of millions of pieces is one block, and stores none. The loop calls it after whatever happened.
func (s *state) keepNumber() {
	if s.feed.Seq()-max(s.view.LastSeq, s.feed.Base()) < session.MaxUnstored || s.failedToKeep || s.ended != nil {
		return
	}
	if err := s.keep([]session.Entry{{Seq: s.feed.Seq(), Time: time.Now().UnixMilli(), Body: session.Setting{}}}); err != nil {
		s.storeFailed(err)
	}
}

func (s *state) publish(turn session.TurnID, e feed.Event) {
	s.feed.Publish(turn, time.Now().UnixMilli(), e)
}

// tellGrowth tells what a call said, in one update that stands for as many pieces as there are ends.
func (s *state) tellGrowth(e feed.Event, ends []int) {
	s.feed.PublishGrowth(s.run.ID, s.run.call.byteAt.UnixMilli(), e, ends)
}

// writable closes in the store what a crash left open, if that could not be done at load. The entries are those that
// the view has. While the store takes no writes the session stays as it is.
func (s *state) writable() error {
	if s.unsaved == nil {
		return nil
	}
	err := s.save(context.WithoutCancel(s.ctx))
	switch {
	case err == nil:
		s.unsaved = nil
	case !errors.Is(err, session.ErrReadOnly):
		s.storeFailed(err)
	}
	return err
}

func (s *state) save(ctx context.Context) error {
	open, err := session.LeftOpen(ctx, s.cfg.Store, s.owned, s.id, time.Now())
	if err != nil || len(open) == 0 { // an earlier write is there after all
		return err
	}
	_, err = s.owned.Append(ctx, s.unsaved...)
	return err
}

// end makes the loop end.
func (s *state) end(err error) {
	if s.ended == nil {
		s.ended = err
	}
}

// hangUp lets go of everyone who waits.
func (s *state) hangUp() {
	s.setQueued(0)
	s.size.Store(0)
	s.stopCall(feed.ErrClosed, callEnd{fault: string(session.StopInterrupted)})
	s.dropRound(feed.ErrClosed)
	s.dropCompaction(feed.ErrClosed)
	s.feed.Close(feed.ErrClosed)
	for id := range s.waiters {
		s.wakeWaiters(id)
	}
}

// noteStatus lets the group know what the session is doing, for lists.
func (s *state) noteStatus() {
	if now := s.status(); s.live.Load() != now {
		s.live.Store(now)
	}
}

// period is how often time is looked after: each second while a turn runs, else now and then.
func (s *state) period() time.Duration {
	if s.run != nil {
		return time.Second
	}
	return max(s.cfg.Limits.Idle/10, time.Millisecond)
}

// tick looks after time: stalls, limits, and idleness.
func (s *state) tick(now time.Time) {
	if s.run != nil {
		s.used = now
		s.watch(now)
		return
	}
	if err := s.writable(); err != nil {
		s.log.Debug("the turn that a crash left open is still open in the store", "err", err)
	}
	s.feed.Prune()
	s.pruneWaiters()
	if s.feed.Subscribed() || len(s.waiters) > 0 || s.compacting != nil {
		s.used = now
	}
	if now.Sub(s.used) >= s.cfg.Limits.Idle {
		s.end(feed.ErrClosed)
	}
}

// status is what the session is doing.
func (s *state) status() session.Status {
	switch {
	case s.waitsForPeople():
		return session.Waiting
	case s.run != nil || s.compacting != nil || s.mayStart():
		return session.Running
	case s.held:
		return session.Held
	}
	return session.Idle
}
