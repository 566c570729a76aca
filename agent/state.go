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
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// request is a call of a method of Agent that waits for the agent's goroutine. That does one of the two, once.
type request interface {
	do(*state)
	refuse(error)
}

// cancel is a request to end a turn, or what runs if turn is empty.
type cancel struct {
	request
	turn  session.TurnID
	halts bool // it has stopped something
}

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
	departs atomic.Bool     // the session is to move to another node: it starts nothing more

	inbox     chan request // of the agent
	cancels   chan *cancel
	cancelled []*cancel // those that were heard, and wait for the end of the step: see await.go

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
	return !s.departs.Load() && !s.running() && s.compacting == nil && !s.queue.Held && s.ended == nil && s.queue.Len() > 0
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
