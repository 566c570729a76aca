package agent

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// turn is the turn that runs.
type turn struct {
	*session.Turn
	choice
	log   *slog.Logger
	begun time.Time

	call  *call // nil: between calls
	reply reply
	retry *time.Timer    // set while a retry is awaited
	calls int            // model calls that were needed, retries not counted
	again int            // model calls that were made once more, after a repair or a wait
	tries int            // of the running model call, the first included
	usage provider.Usage // of the calls that are over

	suspects *suspects        // of the running call's refusal; nil: it was not refused so far
	trial    *session.LeftOut // what the running call leaves out on trial; nil: nothing

	emptied  bool            // the running call was made again since its answer was empty
	prompted bool            // a person made the running call's request, not a tool or the agent
	answered bool            // the provider has begun to answer the running call
	estimate budget.Estimate // of the running call
	near     [2]bool         // people know that the turn's budget is nearly used up: of tokens, of money
	thought  bool            // thinking was seen or counted in a call that is over
	unkept   []string        // kinds of notice that checkControl had told

	bytes    int    // of thinking and text so far
	lastTool string // the last tool call, by name and arguments
	same     int    // how often it came in a row

	toolBefore string // lastTool and same before the running call: calls that are void do not count
	sameBefore int

	round      *round // nil: no tools run
	overflowed bool   // earlier turns were summarised since a call was too long
	unsummed   bool   // earlier turns were not summarised, though that was due

	waits bool // people were told that it waits for them
	bad   int  // replies in a row of which no call could be run
}

// start is the fact that a turn begins with this choice.
func (c choice) start(id session.TurnID) fact {
	return fact{id, session.TurnStart{Model: c.ref(), Reasoning: c.decision, Address: c.address}, feed.TurnStart{Model: c.shown(), Reasoning: c.decision, Cache: c.cache}}
}

func (c choice) ref() session.ModelRef {
	return session.ModelRef{Provider: c.model.Provider, ID: c.model.ID}
}

func (c choice) shown() feed.Model {
	return feed.Model{Provider: c.model.Provider, ID: c.model.ID, Level: c.decision.Effective}
}

// mayStart reports whether a queued turn is to start now.
func (s *state) mayStart() bool {
	return s.run == nil && s.compacting == nil && !s.held && s.ended == nil && len(s.queue) > 0
}

// startNext starts the first queued turn, if none runs and the queue is not held. The loop calls it after whatever
// happened. It is one turn at a time, since a turn may end as it starts, and a long queue of such must not keep the
// mailbox waiting. A turn that cannot start ends with an error.
func (s *state) startNext() {
	if !s.mayStart() {
		return
	}
	next := s.view.Turn(s.queue[0].Turn)
	c, err := s.decide(s.view.Session.Settings, next.Prompt.Override)
	if err != nil {
		end := session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}
		if s.record(endFact(next.ID, end)) == nil {
			s.wakeWaiters(next.ID)
			s.tellQueue()
		}
		return
	}
	if s.record(c.start(next.ID)) == nil {
		s.tellQueue()
		s.runTurn(next.ID, c)
	}
}

// runTurn runs a turn whose start is recorded.
func (s *state) runTurn(id session.TurnID, c choice) {
	s.busy.Store(true)
	s.run = &turn{Turn: s.view.Turn(id), choice: c, log: s.log.With("turn", id), begun: time.Now()}
	s.tellStart()
	if c.provider == nil {
		s.failed(&provider.Error{Provider: c.model.Provider, Kind: provider.KindAuth,
			Message: "no such provider is configured"})
		return
	}
	if err := gone(c.model); err != nil {
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}, session.Failed)
		return
	}
	s.callModel()
}

// callModel makes the turn's next call with all that was said so far.
func (s *state) callModel() {
	r := s.run
	if r.calls > 0 {
		s.tell(r.ID, feed.UsageTotal{Usage: s.usage()})
	}
	r.calls++
	r.tries, r.suspects, r.trial, r.emptied = 1, nil, nil, false
	if !s.compactBefore() {
		s.startCall()
	}
}

// endTurn ends the running turn: what is open is closed as incomplete, and all ends are one commit. before are facts
// that belong there too.
func (s *state) endTurn(end session.TurnEnd, incomplete session.Incomplete, before ...fact) {
	r := s.run
	s.stopCall(nil, callEnd{fault: string(end.StopReason)})
	before = append(before, s.dropCompaction(nil)...)
	if r.retry != nil {
		r.retry.Stop()
	}
	facts := slices.Concat(before, s.closeMessage(end.StopReason, incomplete), s.leftOver())
	s.dropRound(nil)
	end.Usage = r.usage // with what closeMessage counts
	end.DurationMS = time.Since(r.begun).Milliseconds()
	facts = append(facts, fact{r.ID, nil, feed.UsageTotal{Usage: s.usage()}})
	if len(s.view.Turns) > 0 && s.view.Turns[0] == r.Turn || s.titled == r.ID || s.titled != "" && slices.Contains(r.Took, s.titled) {
		title := s.view.Session.Title
		facts = append(facts, fact{"", nil, feed.SessionUpdate{Title: &title}})
	}
	facts = append(facts, endFact(r.ID, end))
	if s.record(facts...) != nil {
		return
	}
	s.report(end)
	s.run = nil
	s.measure()
	s.wakeWaiters(r.ID)
	for _, steered := range r.Took {
		s.wakeWaiters(steered)
	}
}

func endFact(id session.TurnID, end session.TurnEnd) fact {
	return fact{id, end, feed.TurnEnd{TurnEnd: end}}
}

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

// interrupt ends the running turn since the daemon goes down.
func (s *state) interrupt() {
	if s.run != nil {
		s.held = true // the queue waits for the next start
		s.endTurn(session.TurnEnd{StopReason: session.StopInterrupted}, session.Interrupted)
	}
}

// Cancel ends the running turn (an empty id, or its own), or, with an empty id, a compaction that was asked for, or takes a queued one out; it reports whether there was
// one. What the turn had said stays in the log. The end is on disk when it returns. ErrNoTurn for an id that the
// session never had.
func (a *Agent) Cancel(ctx context.Context, id session.TurnID) (bool, error) {
	return ask(ctx, a, func(s *state) (bool, error) {
		if id == "" || s.run != nil && s.run.ID == id {
			if s.run == nil {
				compacts := s.compacting != nil
				return compacts, s.stopCompaction()
			}
			s.endTurn(session.TurnEnd{StopReason: session.StopCancelled}, session.Cancelled)
			return s.ended == nil, s.ended
		}
		return s.dequeue(id)
	})
}

// Dequeue takes a queued turn out; a turn that has started or ended is left as it is. ErrNoTurn.
func (a *Agent) Dequeue(ctx context.Context, id session.TurnID) error {
	_, err := ask(ctx, a, func(s *state) (bool, error) { return s.dequeue(id) })
	return err
}

func (s *state) dequeue(id session.TurnID) (bool, error) {
	t := s.view.Turn(id)
	if t == nil {
		return false, ErrNoTurn
	}
	if !t.Queued() {
		return false, nil
	}
	if err := s.writable(); err != nil {
		return false, err
	}
	if err := s.record(endFact(id, session.TurnEnd{StopReason: session.StopCancelled})); err != nil {
		return false, err
	}
	s.wakeWaiters(id)
	s.held = s.held && len(s.queue) > 0
	s.tellQueue()
	return true, nil
}

// Resume lets a held queue go on and tells what waits after that.
func (a *Agent) Resume(ctx context.Context) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		if !s.held {
			return struct{}{}, nil
		}
		if err := s.writable(); err != nil {
			return struct{}{}, err
		}
		s.held = false
		s.tellQueue()
		return struct{}{}, s.ended
	})
	return err
}

// Queue lists what waits, and whether it waits for a word.
func (a *Agent) Queue(ctx context.Context) (feed.QueueUpdate, error) {
	return ask(ctx, a, func(s *state) (feed.QueueUpdate, error) { return s.waiting(), nil })
}

// waiting is the queue as it is told. It costs nothing however long it is: the list is shared.
func (s *state) waiting() feed.QueueUpdate {
	if len(s.queue) == 0 {
		return feed.QueueUpdate{Queue: []feed.Queued{}, Held: s.held}
	}
	return feed.QueueUpdate{Queue: slices.Clip(s.queue), Held: s.held}
}

func (s *state) tellQueue() { s.tell("", s.waiting()) }

// takeSteering takes the prompts that were to steer the running turn into it. They stand behind the results of tools: no
// vendor lets anything stand between a call and its result.
func (s *state) takeSteering() error {
	var facts []fact
	for _, q := range s.queue {
		if s.view.Turn(q.Turn).Prompt.Steer {
			facts = append(facts, fact{q.Turn, session.Steered{Into: s.run.ID}, nil})
		}
	}
	if len(facts) == 0 {
		return nil
	}
	if err := s.record(facts...); err != nil {
		return err
	}
	s.tellQueue()
	return nil
}

// enqueue adds a prompt to the queue: at its end, or, to steer, behind those that steer.
func (s *state) enqueue(q feed.Queued, steer bool) {
	at := len(s.queue)
	if steer {
		at = slices.IndexFunc(s.queue, func(q feed.Queued) bool { return !s.view.Turn(q.Turn).Prompt.Steer })
		if at < 0 {
			at = len(s.queue)
		}
	}
	if at == len(s.queue) {
		s.queue = append(s.queue, q)
		return
	}
	s.queue = slices.Concat(s.queue[:at], []feed.Queued{q}, s.queue[at:]) // into a new array: updates share the old one
}
