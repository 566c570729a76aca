package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/agent/fault"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/loaded"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// state is everything that an agent knows of its session. Only the agent's goroutine uses it.
type state struct {
	id      session.ID
	ref     session.Ref
	store   session.Sessions // of the session's owner
	cfg     Config
	log     *slog.Logger
	ctx     context.Context // the agent's: ends when it is closed
	view    *session.View
	feed    *feed.Feed
	owned   session.Log     // released when the agent ends
	moves   session.Movable // owned, if several nodes share the store; nil: they do not
	departs bool            // the session is to move to another node: it starts nothing more

	live atomic.Value // Live: see noteStatus
	busy atomic.Bool  // a turn works, for a Group to see
	size atomic.Int64 // see measure

	viewers atomic.Int32 // subscribers, for the goroutine of a call: see pace

	run   *turn // nil between turns
	queue *queue.Queue
	calls sync.WaitGroup // goroutines of model calls

	compacting *compacting              // nil: no summary is on its way
	follows    func() *session.Reserved // reserves for the call that follows the facts that are recorded; nil: none follows
	ready      *prepared                // the call that is about to be made; nil: it was not prepared
	kept       int                      // entries that were kept
	allowed    bool                     // a person allowed the first call of the turn that is about to start
	agreed     bool                     // a person allowed what the prompt of that turn may cost
	asides     *aside.Desk
	sum        *gate.Sum // what the session's calls used

	waiters  map[session.TurnID][]waiter
	used     time.Time // when anything happened last
	notified notified
	titled   session.TurnID  // whose prompt the title is of; empty: that was before the load, or somebody gave it
	unsaved  []session.Entry // these close a crash's open turn in the view, and not yet in the store

	pending []func() // what happens when the session does not stand still any more: see contact.go

	resolved map[string]bool // questions that are over, by id

	users *atomic.Int32 // calls that use the agent: see loading

	unlisted bool // what lists show has changed, and the change is not published yet: see noteStatus
	deleted  bool

	ended        error // set: the loop ends
	mayReturn    bool  // it ends only to free memory: its models stay loaded as long as it asked for
	failedToKeep bool  // the store failed
}

// Live says what a session does at the moment. The store does not know that.
type Live struct {
	Status session.Status
	Needs  watch.Need // of any person; empty: nothing
}

// waiter is a caller that waits for the end of a turn.
type waiter struct {
	ended chan struct{}   // closed when the turn has ended, or the agent
	until <-chan struct{} // closed when nobody waits any more
}

// conversation returns the conversation so far, without the messages that the running call leaves out on trial.
func (s *state) conversation() conversation {
	v := conversation{cfg: &s.cfg, view: s.view}
	if s.run != nil {
		v.trial = s.run.trial
	}
	return v
}

// uses notes a call of a model that its server may keep in memory, so that the model is unloaded after the session.
func (s *state) uses(c choice) {
	server, ok := c.provider.(provider.Unloader)
	if !ok || s.cfg.loaded == nil {
		return
	}
	var unload loaded.Unload
	if s.view.Session.Settings.KeepAlive != "" {
		unload = func(ctx context.Context) error { return server.Unload(ctx, c.model) }
	}
	s.cfg.loaded.Use(s.id, loaded.Model{At: cmp.Or(c.address, c.model.Provider), ID: c.model.ID}, unload)
}

// record stores facts and publishes them: all are on disk in one commit before the first is published. After an error none is
// published, and the agent ends, because nobody knows what the store has. The next request loads the session again.
func (s *state) record(facts ...fact) error {
	now := s.cfg.Now().UnixMilli()
	seq := s.feed.Seq()
	var entries []session.Entry
	for _, f := range facts {
		var number uint64
		if f.event != nil {
			seq++
			number = seq
		}
		if f.body != nil {
			entries = append(entries, session.Entry{Seq: number, Time: now, Turn: f.turn, Body: privacy.Kept(s.view.Session.Storage, f.body)})
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
	if s.run != nil {
		s.noteStatus() // a client that sees the end of a turn lists the session as idle
	}
	for _, f := range facts {
		if f.event != nil {
			s.feed.Publish(f.turn, now, f.event)
			s.unlisted = s.unlisted || listed(f.event)
		}
	}
	s.used = s.cfg.Now()
	return nil
}

// keep applies entries to the view and writes them. The view comes first, so that the log never gets an entry that the view refuses.
// If the write fails, the view is wrong, and ends with the agent.
func (s *state) keep(entries []session.Entry) error {
	for _, e := range entries {
		if err := s.apply(e); err != nil {
			return err
		}
	}
	s.kept += len(entries)
	if reserve := s.follows; reserve != nil {
		s.follows = nil
		if r := reserve(); r != nil {
			e := session.Entry{Time: s.cfg.Now().UnixMilli(), Turn: s.ready.turn, Body: *r}
			if err := s.apply(e); err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	// The commit outlives a call for the end: what was begun is finished.
	_, err := s.owned.Append(context.WithoutCancel(s.ctx), entries...)
	s.sum.Logged()
	if err != nil {
		return err
	}
	if s.cfg.stored.Wants(s.ref.Owner) {
		s.cfg.stored.Add(s.ref, stored.Bytes(entries))
	}
	for _, e := range entries {
		if _, said := e.Body.(session.Prompt); said {
			s.view.Unload(s.view.Turn(e.Turn)) // if it waits: the log has it
		}
	}
	return nil
}

// apply calls the view's Apply and updates the queue. Otherwise each prompt would walk the whole view, which is slow with a long
// history and a long queue.
func (s *state) apply(e session.Entry) error {
	untitled := s.view.Session.Title == ""
	if t := s.view.Turn(e.Turn); t != nil && t.Unloaded { // it leaves the queue
		if err := s.view.Reload(context.WithoutCancel(s.ctx), s.store, t); err != nil {
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
		if b.Replaces {
			s.queue.Replace(e.Turn, b)
		} else {
			s.queue.Add(e.Turn, b)
		}
	case session.Moved:
		s.queue.Move(e.Turn, b.Before)
	case session.TurnStart, session.TurnEnd, session.Steered:
		s.queue.Remove(e.Turn)
	}
	return nil
}

// numbered reports whether the log knows that this process has published something. Until then the next process would begin with
// the same numbers.
func (s *state) numbered() bool { return s.view.LastSeq > s.feed.Base() }

// tell publishes an event that the log does not keep. For the first event of a process the log keeps the number (numbered).
func (s *state) tell(turn session.TurnID, e feed.Event) { s.tellAt(s.cfg.Now().UnixMilli(), turn, e) }

// tellAt is tell with the time of an entry that the log has of the same thing.
func (s *state) tellAt(time int64, turn session.TurnID, e feed.Event) {
	if s.numbered() {
		s.publishAt(time, turn, e)
		return
	}
	if err := s.record(fact{turn, nil, e}); err != nil { // which has ended the agent
		s.log.Debug("an update is not published", "method", e.Method(), "err", err)
	}
}

func (s *state) publishQueue() { s.tell("", s.queue.Update()) }

// publishWaiting tells when the turn begins to wait for people, and when it goes on.
func (s *state) publishWaiting() {
	if waits := s.run.round.waitsForPeople(); waits != s.run.waits {
		s.run.waits = waits
		s.tell("", feed.SessionUpdate{Status: s.status()})
	}
}

func (s *state) publish(turn session.TurnID, e feed.Event) {
	s.publishAt(s.cfg.Now().UnixMilli(), turn, e)
}

func (s *state) publishAt(time int64, turn session.TurnID, e feed.Event) {
	s.feed.Publish(turn, time, e)
	s.unlisted = s.unlisted || listed(e)
}

// publishGrowth tells what a call said, in one update that stands for as many pieces as there are ends.
func (s *state) publishGrowth(e feed.Event, ends []int) {
	s.feed.PublishGrowth(s.run.ID, s.run.call.byteAt.UnixMilli(), e, ends)
}

// keepNumber stores a number when too many above the last that the log has were used: see session.MaxUnstored. An answer
// of millions of pieces is one block, and stores none. The loop calls it after whatever happened.
func (s *state) keepNumber() {
	if s.feed.Seq()-max(s.view.LastSeq, s.feed.Base()) < session.MaxUnstored || s.failedToKeep || s.ended != nil {
		return
	}
	if err := s.keep([]session.Entry{{Seq: s.feed.Seq(), Time: s.cfg.Now().UnixMilli(), Body: session.Setting{}}}); err != nil {
		s.storeFailed(err)
	}
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
	open, err := session.LeftOpen(ctx, s.store, s.owned, s.id, s.cfg.Now())
	if err != nil || len(open) == 0 { // an earlier write is there after all
		return err
	}
	_, err = s.owned.Append(ctx, s.unsaved...)
	return err
}

// storeFailed notifies clients that nothing can be stored, and ends the agent, because only the log knows what it has now.
func (s *state) storeFailed(err error) {
	if moved(err) {
		s.log.Warn("the session may be at another node", "err", err)
	} else {
		s.log.Error("session cannot be written", "err", err)
		s.noticeReadOnly(err)
	}
	s.stopCall(err, callEnd{fault: "store"})
	s.dropRound(err)
	s.dropCompaction(err)
	s.leaveGate()
	s.run = nil
	s.end(err)
}

// moved reports whether an error says that another node has the session by now, or may have it.
func moved(err error) bool {
	return errors.Is(err, session.ErrFenced) || errors.Is(err, session.ErrCutOff)
}

// noticeReadOnly tells people that nothing can be kept, under a number that the log may never know of.
func (s *state) noticeReadOnly(err error) {
	s.failedToKeep = true
	s.publish("", warn(noticeStoreReadOnly, "the session cannot be written: "+storeTrouble(err)))
}

// storeTrouble is why the store failed, without a path of the machine.
func storeTrouble(err error) string {
	for _, known := range []error{session.ErrLost, session.ErrNoAnswer, session.ErrReadOnly, session.ErrReplaced, session.ErrDamaged, session.ErrNotFound, session.ErrClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the store failed"
}

// stopCall ends the running exchange, if there is one. end says how it ended.
func (s *state) stopCall(cause error, end callEnd) {
	if s.run == nil || s.run.call == nil {
		return
	}
	c := s.run.call
	c.stop(cause)
	s.called(c, end)
	if c.ignored > 0 {
		s.run.log.Warn("events without a block were ignored", "provider", s.run.model.Provider, "count", c.ignored)
	}
	s.run.call = nil
}

// called tells of an exchange of the running turn.
func (s *state) called(c *call, end callEnd) {
	if s.cfg.Called == nil {
		return
	}
	r := s.run
	s.cfg.Called(report.Call{Session: s.id, Turn: r.ID, Model: r.ref(), API: r.model.API, Reasoning: r.decision, Begun: c.begun,
		Heard: c.heard, Ended: s.cfg.Now(), Stop: end.stop.Reason, As: end.stop.Model, Usage: end.usage, Fault: end.fault})
}

// dropRound ends the goroutines of a round; what they still send is not read.
func (s *state) dropRound(cause error) {
	if r := s.run; r != nil && r.round != nil {
		r.round.stop(cause)
		r.round = nil
	}
}

// dropCompaction stops a summary that is on its way; only the usage changes. The facts have it, as
// an estimate if the vendor had begun to answer. Callers that wait for the summary get the cause. The turn does not: it ends itself.
func (s *state) dropCompaction(cause error) (facts []fact) {
	c := s.compacting
	if c == nil {
		return nil
	}
	s.compacting = nil
	var sum summary.Result
	if used, ok := c.Used(); ok {
		sum.Usage = used
		facts = []fact{{c.turn, s.countSummary(c, sum.Usage), nil}}
	} else {
		s.countSummary(c, provider.Usage{})
	}
	s.summarised(c, sum, cmp.Or(cause, errNoSummary))
	c.stop(cause)
	if c.turn == "" {
		c.over(cause)
	}
	return facts
}

// countSummary is the entry of a summary that used so much. In a turn that counts for the turn and its budget.
func (s *state) countSummary(c *compacting, usage provider.Usage) session.Compaction {
	if c.turn != "" && s.run != nil {
		s.run.usage = s.run.usage.Add(usage)
	}
	if c.hold != "" {
		s.settleHold(c.hold, usage)
		c.pass.SettleLogged(usage)
	} else {
		c.pass.Settle(usage)
	}
	return session.Compaction{Model: refOf(c.Model), Usage: usage, InTurn: c.turn != ""}
}

// summarised tells of the exchange for a summary that is over; err is nil if it came to something.
func (s *state) summarised(c *compacting, sum summary.Result, err error) {
	if s.cfg.Called == nil {
		return
	}
	r := report.Call{Session: s.id, Turn: c.turn, Model: refOf(c.Model), API: c.Model.API, Reasoning: c.Decision, Summary: true,
		Begun: c.begun, Ended: s.cfg.Now(), Usage: sum.Usage}
	if r.Stop = provider.StopEndTurn; err != nil {
		r.Stop, r.Fault = "", s.faultOf(err)
	}
	s.cfg.Called(r)
}

// faultOf is the function of the same name. What ends with the agent ends by it, whatever it says.
func (s *state) faultOf(err error) string {
	if s.ctx.Err() != nil {
		return string(session.StopInterrupted)
	}
	return faultOf(err)
}

// faultOf is an error in one word.
func faultOf(err error) string {
	if pe, ok := errors.AsType[*provider.Error](err); ok {
		return string(pe.Kind)
	}
	if errors.Is(err, errNoSummary) || errors.Is(err, context.Canceled) {
		return string(session.StopCancelled)
	}
	return "internal"
}

// leaveGate gives up what the next call has reserved, or the running call: it used nothing, or is not known to.
func (s *state) leaveGate() {
	if s.ready != nil {
		s.ready.pass.Leave()
		s.ready = nil
	}
	if s.run != nil {
		s.run.pass.Leave()
		s.run.pass = nil
	}
}

// settleHold ends a reservation in the ledger.
func (s *state) settleHold(id string, used provider.Usage) {
	if err := s.cfg.Store.Ledger().Settle(context.WithoutCancel(s.ctx), s.ref, id, used, nil); err != nil {
		s.log.Warn("the ledger has a call as it was reserved, not as it was used", "err", err)
	}
}

// usage is the session's so far, with the running turn's calls that are over.
func (s *state) usage() provider.Usage {
	sum := s.view.Session.Usage
	if s.run != nil {
		sum = sum.Add(s.run.usage)
	}
	return sum
}

// parkTurn parks the running turn. The facts belong to the same commit.
func (s *state) parkTurn(p session.TurnParked, facts ...fact) {
	r := s.run
	s.leaveGate()
	p.Restarted = r.restarted
	p.RanMS = r.ran(s.cfg.Now()).Milliseconds()
	if s.record(append(facts, parkedFact(r.ID, p))...) != nil {
		return
	}
	s.cfg.parks.Put(park.New(s.ref, r.Turn, s.cfg.Limits.Park))
	s.measure()
}

// resumed is the fact that the parked turn goes on; none if it is not parked.
func (s *state) resumed(by session.ResumedBy) []fact {
	r := s.run
	if r.Parked == nil {
		return nil
	}
	if place, ok := s.cfg.parks.At(s.ref); ok && by == session.ResumedByTime && place.Restored {
		r.restarted = true
	}
	r.begun = s.cfg.Now().Add(-r.ran(s.cfg.Now()))
	s.cfg.parks.Resume(s.ref)
	body := session.TurnResumed{By: by}
	return []fact{{r.ID, body, feed.TurnResumed{TurnResumed: body}}}
}

// parkedNow is what clients see of the parked turn, nil if it is not parked. After a restart fewer turns resume by themselves.
func (s *state) parkedNow() *feed.TurnParked {
	if s.run == nil || s.run.Parked == nil {
		return nil
	}
	shown := feed.NewTurnParked(*s.run.Parked)
	if place, ok := s.cfg.parks.At(s.ref); ok {
		shown.Until, shown.Resumes = place.Until, session.ResumesOnRequest
		if place.Alone {
			shown.Resumes = session.ResumesAlone
		}
	}
	return &shown
}

// mayStart reports whether a queued turn is to start now.
func (s *state) mayStart() bool {
	return !s.departs && !s.running() && s.compacting == nil && !s.queue.Held && s.ended == nil && s.queue.Len() > 0
}

// running reports whether a turn runs. The end of a turn ends it when it is in the log, before run becomes nil.
func (s *state) running() bool { return s.run != nil && s.run.Running() }

// parked reports whether the turn that runs is parked: it waits between two steps.
func (s *state) parked() bool { return s.running() && s.run.Parked != nil }

// works reports whether a turn runs that is not parked.
func (s *state) works() bool { return s.running() && s.run.Parked == nil }

// status is what the session is doing.
func (s *state) status() session.Status {
	switch {
	case s.parked():
		return session.Parked
	case s.running() && s.run.round.waitsForPeople():
		return session.Waiting
	case s.running() || s.compacting != nil || s.mayStart():
		return session.Running
	case s.queue.Held:
		return session.Held
	}
	return session.Idle
}

// needs is what the session needs of a person.
func (s *state) needs() watch.Need {
	if s.run != nil {
		if need := s.run.round.needs(); need != "" {
			return need
		}
	}
	shown := s.parkedNow()
	if shown != nil && shown.Resumes == session.ResumesOnRequest || s.status() == session.Held {
		return watch.Parked
	}
	return ""
}

// noteStatus lets the group know what the session is doing, for lists, and whether the daemon may end. It tells those who watch the
// list if that has changed, or anything else that lists show. It runs after each step of the loop, so what a step changes is one change.
func (s *state) noteStatus() {
	s.busy.Store(s.works() || s.compacting != nil)
	now := Live{s.status(), s.needs()}
	if before := s.live.Load(); before != now {
		s.live.Store(now)
		s.unlisted = s.unlisted || before != nil
	}
	if s.unlisted {
		s.unlisted = false
		s.list(now)
	}
}

// list tells those who watch the list how the session is now.
func (s *state) list(now Live) {
	if s.cfg.lists == nil || s.deleted || !s.cfg.lists.Watched(s.ref) {
		return
	}
	s.cfg.lists.Publish(s.ref.Owner, s.row(now))
}

// row is the session as lists show it.
func (s *state) row(now Live) watch.Change {
	record := s.view.Session.Changing()
	record.Status, record.Usage = now.Status, s.usage()
	return watch.Change{Kind: watch.Changed, Session: record, Needs: now.Needs, Epoch: s.owned.Epoch()}
}

// listed reports whether an event changes what lists show of a session, in addition to its Live.
func listed(e feed.Event) bool {
	switch e.(type) {
	case feed.PromptStored, feed.TurnStart, feed.TurnEnd, feed.UsageTotal, feed.SessionUpdate:
		return true
	}
	return false
}

// measure takes note of what the session holds. It is for the load and for moments after which nothing of it runs.
func (s *state) measure() { s.holds(room.OfView(s.view)) }

// holds says how many bytes the session holds now.
func (s *state) holds(bytes int64) { s.cfg.held.Add(bytes - s.size.Swap(bytes)) }

func (s *state) wakeWaiters(id session.TurnID) {
	for _, w := range s.waiters[id] {
		close(w.ended)
	}
	delete(s.waiters, id)
}

// pruneWaiters forgets those who gave up.
func (s *state) pruneWaiters() {
	for id, waiting := range s.waiters {
		waiting = slices.DeleteFunc(waiting, func(w waiter) bool {
			select {
			case <-w.until:
				return true
			default:
				return false
			}
		})
		if s.waiters[id] = waiting; len(waiting) == 0 {
			delete(s.waiters, id)
		}
	}
}

// end makes the loop end.
func (s *state) end(err error) {
	if s.ended == nil {
		s.ended = err
	}
}

// guard runs f; a panic ends this session's agent and nothing else. The next call loads the session again.
func (s *state) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p)
		}
	}()
	f()
}

func (s *state) panicked(p any) error {
	err := fault.Panicked(s.log, "session", p)
	s.end(err)
	return err
}

// stopsOther reports whether a turn ends when another model answers.
func (s *state) stopsOther() bool {
	return cmp.Or(s.view.Session.OnOther, s.cfg.OnOther) == provider.OtherStop
}
