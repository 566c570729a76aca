package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Prompt is a prompt of a user.
type Prompt struct {
	Content  provider.Blocks // text and media
	Override session.Override
	Reject   bool           // refuse it while a turn runs, rather than queue it
	Steer    bool           // have the turn that runs take it in, rather than queue it
	Stamp    *session.Stamp // nil: two of the same are two prompts

	// NotBefore is when the prompt is sent, at the earliest: until then its turn is parked. Deadline is when the turn ends if it has
	// not ended by then. Both are in Unix milliseconds; 0: none. A prompt with either does not steer.
	NotBefore, Deadline int64
}

// Receipt says how a prompt is handled that is now on disk.
type Receipt struct {
	Turn        session.TurnID
	Message     session.MessageID
	Disposition feed.Disposition
}

// Prompt stores a prompt, and starts or queues its turn. Both are on disk on return. A prompt whose stamp the session has seen
// changes nothing, and gets the receipt of the first one. Errors: ErrBusy, ErrHeld, ErrCompacting, ErrQueueFull, *room.Error, session.ErrReused,
// *provider.LevelError, *provider.StorageError, *media.Error, and those of the store.
func (a *Agent) Prompt(ctx context.Context, p Prompt) (Receipt, error) {
	return ask(ctx, a, func(s *state) (Receipt, error) { return s.prompt(p) })
}

// Prompted returns the receipt of the prompt that had a stamp, or nil. A caller uses it before it checks a repeated prompt, because
// a prompt that was accepted once may be refused by today's checks. Error: session.ErrReused.
func (a *Agent) Prompted(ctx context.Context, stamp session.Stamp) (*Receipt, error) {
	return ask(ctx, a, func(s *state) (*Receipt, error) { return s.prompted(&stamp) })
}

func (s *state) prompted(stamp *session.Stamp) (*Receipt, error) {
	if stamp == nil {
		return nil, nil
	}
	t := s.view.Stamped(stamp.ID)
	if t == nil {
		return nil, nil
	}
	if err := stamp.Repeats(*t.Prompt.Stamp); err != nil {
		return nil, err
	}
	r := Receipt{Turn: t.ID, Message: t.Prompt.Message, Disposition: feed.Started}
	switch {
	case t.Prompt.Steer:
		r.Disposition = feed.Steered
	case t.Prompt.Queued:
		r.Disposition = feed.Enqueued
	case t.Prompt.Append:
		r.Disposition = feed.Appended
	}
	return &r, nil
}

func (s *state) prompt(p Prompt) (Receipt, error) {
	if first, err := s.receipt(p.Stamp); err != nil || first != nil {
		return *cmp.Or(first, new(Receipt)), err
	}
	c, err := s.conversation().next(s.view.Session.Settings, p.Override)
	if err == nil {
		err = s.cfg.admits(s.view.Session.Settings, p.Override.Fallbacks)
	}
	if err != nil {
		return Receipt{}, err
	}
	if p.Content, err = s.showable(c.provider, c.model, p.Content); err != nil {
		return Receipt{}, err
	}
	if err := s.cfg.gate.Room(s.ctx, s.ref.Owner, allowance); err != nil {
		return Receipt{}, err
	}
	release, err := s.reservePrompt(p.Content)
	if err != nil {
		return Receipt{}, err
	}
	defer release()
	busy, err := s.admit(p.Reject)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Turn: session.NewTurnID(), Message: session.NewMessageID(), Disposition: feed.Started}
	var into session.TurnID
	switch {
	case p.Steer && s.run != nil:
		if _, err := s.showable(s.run.provider, s.run.model, p.Content); err != nil {
			return Receipt{}, err
		}
		r.Disposition, into = feed.Steered, s.run.ID
	case busy:
		r.Disposition = feed.Enqueued
	}
	content, err := s.content(p, r.Disposition != feed.Started)
	if err != nil {
		return Receipt{}, err
	}
	said := session.Prompt{Message: r.Message, Content: content, Override: p.Override, Stamp: p.Stamp,
		Queued: busy, Steer: into != "", NotBefore: p.NotBefore, Deadline: p.Deadline}
	if r.Disposition != feed.Started {
		said.Chosen = s.view.Session.Settings.Chosen()
	}
	stored := fact{r.Turn, said, feed.PromptStored{Message: r.Message, Content: content, Disposition: r.Disposition, Into: into}}
	if r.Disposition == feed.Started {
		facts := []fact{stored, startFact(r.Turn, c)}
		if err := s.recordStart(r.Turn, c, p.NotBefore, facts); err != nil {
			return Receipt{}, err
		}
		s.runTurn(r.Turn, c)
		return r, nil
	}
	if err := s.record(stored); err != nil {
		return Receipt{}, err
	}
	s.queue.Held = false
	s.publishQueue()
	return r, nil
}

// reservePrompt reserves what the log takes of a prompt until release. It may wait for the store of a cluster.
func (s *state) reservePrompt(content provider.Blocks) (release func(), err error) {
	err = s.await(s.ctx, func(ctx context.Context) (err error) {
		release, err = s.cfg.stored.ReservePrompt(ctx, s.ref.Owner, content)
		return err
	})
	return release, err
}

// showable is what a user says with what the headers of its media say, or a *media.Error that names another model if a model does not
// take some of it.
func (s *state) showable(p provider.Provider, m provider.Model, content provider.Blocks) (provider.Blocks, error) {
	content = content.MapMedia(func(b provider.Media) (provider.Block, bool) { return media.Describe(b), true })
	err := media.Check(media.For(p, m), content)
	if refused, ok := errors.AsType[*media.Error](err); ok && refused.Kind != "" && refused.Reason != media.Text {
		simulated := m.Provider == s.cfg.Simulator
		refused.Try = media.Suggest(s.cfg.Catalog.Models(), refused.Kind, m, func(other provider.Model) bool {
			set := s.view.Session.Settings
			return (other.Provider == s.cfg.Simulator) == simulated && s.conversation().egress(other.Provider) == nil &&
				media.Check(media.For(s.cfg.provider(set, other.Provider), other), content) == nil
		})
	}
	return content, err
}

// receipt is that of the first prompt with a stamp; nil: there was none, and the store takes a new one.
func (s *state) receipt(stamp *session.Stamp) (*Receipt, error) {
	if first, err := s.prompted(stamp); first != nil || err != nil {
		return first, err
	}
	return nil, s.writable()
}

// content is what is stored of a prompt, whose media are files by then. A prompt that waits needs room in the queue.
func (s *state) content(p Prompt, waits bool) (provider.Blocks, error) {
	if waits {
		if err := s.queue.RoomFor(p.Content, s.cfg.Limits.SessionQueue, s.cfg.Limits.Queues); err != nil {
			return nil, err
		}
	}
	return transcript.KeepMedia(s.cfg.Blobs, p.Content)
}

// admit reports whether a prompt has to wait, or why it is refused.
func (s *state) admit(reject bool) (busy bool, err error) {
	busy = s.run != nil || s.compacting != nil || s.queue.Len() > 0
	switch {
	case reject && s.run == nil && s.compacting != nil:
		return busy, ErrCompacting
	case reject && s.run == nil && s.queue.Held:
		return busy, ErrHeld
	case reject && busy:
		return busy, ErrBusy
	case s.queue.Len() >= maxQueue:
		return busy, ErrQueueFull
	}
	return busy, nil
}

// Append adds a user message to the conversation without a model call; the next prompt sends it, in order. It is on disk when Append
// returns. If a turn or a compaction runs, or prompts wait, it waits behind them as a prompt does, and its receipt is Enqueued. So
// nothing is put between the messages of a running turn. It does not continue a held queue: that would start paid work.
//
// The message has a turn of its own, which ends with StopEndTurn and never starts. Override and Steer of p do not count. A repeated stamp
// and the errors are those of [Agent.Prompt].
func (a *Agent) Append(ctx context.Context, p Prompt) (Receipt, error) {
	return ask(ctx, a, func(s *state) (Receipt, error) { return s.append(p) })
}

func (s *state) append(p Prompt) (Receipt, error) {
	if first, err := s.receipt(p.Stamp); err != nil || first != nil {
		return *cmp.Or(first, new(Receipt)), err
	}
	model := s.view.Session.Model
	content, err := s.showable(s.cfg.provider(s.view.Session.Settings, model.Provider), s.cfg.Catalog.Model(model.Provider, model.ID), p.Content)
	if err != nil {
		return Receipt{}, err
	}
	p.Content = content
	release, err := s.reservePrompt(p.Content)
	if err != nil {
		return Receipt{}, err
	}
	defer release()
	busy, err := s.admit(p.Reject)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Turn: session.NewTurnID(), Message: session.NewMessageID(), Disposition: feed.Appended}
	if busy {
		r.Disposition = feed.Enqueued
	}
	if content, err = s.content(p, busy); err != nil {
		return Receipt{}, err
	}
	untitled := s.view.Session.Title == ""
	said := fact{r.Turn, session.Prompt{Message: r.Message, Content: content, Stamp: p.Stamp, Queued: busy, Append: true},
		feed.PromptStored{Message: r.Message, Content: content, Disposition: r.Disposition}}
	if busy {
		if err := s.record(said); err != nil {
			return Receipt{}, err
		}
		s.publishQueue()
		return r, s.ended
	}
	if err := s.record(said, endFact(r.Turn, appended)); err != nil {
		return Receipt{}, err
	}
	if title := s.view.Session.Title; untitled && title != "" {
		s.tell("", feed.SessionUpdate{Title: &title})
	}
	return r, s.ended
}

// appended ends the turn of a message that was added without a model call.
var appended = session.TurnEnd{StopReason: session.StopEndTurn}

// settle adds the first message of the queue to the conversation, which is where it stands now.
func (s *state) settle(id session.TurnID) {
	if s.record(endFact(id, appended)) == nil {
		s.wakeWaiters(id)
		s.publishQueue()
	}
}

// takeSteering takes the prompts that were to steer the running turn into it. They stand behind the results of tools: no
// vendor lets anything stand between a call and its result.
func (s *state) takeSteering() error {
	var facts []fact
	for _, id := range s.queue.Steering() {
		facts = append(facts, fact{id, session.Steered{Into: s.run.ID}, nil})
	}
	if len(facts) == 0 {
		return nil
	}
	if err := s.recordCall(s.run.ID, s.run.choice, facts...); err != nil {
		return err
	}
	s.queue.Held = s.queue.Held && s.queue.Len() > 0
	s.publishQueue()
	return nil
}

// Continued is a turn that goes on with an unfinished one, or would.
type Continued struct {
	Turn session.TurnID // empty: none was started
	session.Continuation
}

// Continue starts a turn that continues the last one, if that was interrupted or cancelled, failed, or reached the model's limit.
// There is no new prompt. The turn has the model and the level that the earlier prompt requested, otherwise those of the session. It
// does not wait in the queue, and pending prompts stay there. Its start is on disk when Continue returns. dry starts nothing.
//
// A repeated stamp changes nothing and gets the result of the first call. Errors: ErrFinished, ErrBusy, ErrCompacting,
// session.ErrReused, *provider.LevelError, and those of the store.
func (a *Agent) Continue(ctx context.Context, stamp *session.Stamp, dry bool) (Continued, error) {
	return ask(ctx, a, func(s *state) (Continued, error) { return s.resume(stamp, dry) })
}

func (s *state) resume(stamp *session.Stamp, dry bool) (Continued, error) {
	if first, err := s.prompted(stamp); first != nil || err != nil {
		if err != nil {
			return Continued{}, err
		}
		t := s.view.Turn(first.Turn)
		return Continued{t.ID, *t.Prompt.Continues}, nil
	}
	switch {
	case s.run != nil:
		return Continued{}, ErrBusy
	case s.compacting != nil:
		return Continued{}, ErrCompacting
	}
	if err := s.writable(); err != nil && !dry {
		return Continued{}, err
	}
	cut := s.view.Unfinished()
	if cut == nil {
		return Continued{}, ErrFinished
	}
	return s.continueTurn(cut, cut.Prompt.Override, stamp, dry)
}

// continueTurn starts a turn that goes on with one that has ended.
func (s *state) continueTurn(cut *session.Turn, o session.Override, stamp *session.Stamp, dry bool) (Continued, error) {
	v := s.conversation()
	c, err := v.next(s.view.Session.Settings, o)
	if err != nil {
		return Continued{}, err
	}
	returner, _ := c.provider.(provider.Returner)
	on, ok := v.share(c.ref()).Continue(cut, returner, v.asked(c))
	if !ok {
		return Continued{}, ErrFinished
	}
	if dry {
		return Continued{Continuation: *on}, nil
	}
	id := session.NewTurnID()
	start := startFact(id, c)
	start.event = continued(start.event.(feed.TurnStart), on)
	prompt := session.Prompt{Message: session.NewMessageID(), Content: provider.Blocks{}, Override: o, Stamp: stamp, Continues: on}
	if err := s.recordCall(id, c, fact{id, prompt, nil}, start); err != nil {
		return Continued{}, err
	}
	s.runTurn(id, c)
	return Continued{id, *on}, nil
}

// continued is the start of a turn that goes on with another one.
func continued(start feed.TurnStart, on *session.Continuation) feed.TurnStart {
	start.Continues = on.Turn
	if text, ok := on.Joins(); ok {
		start.Joins = &feed.Joined{Message: text.Message, Block: text.Block}
	}
	return start
}

// startNext starts the first queued turn, if none runs and the queue is not held. The loop calls it after each event, for one turn,
// because a turn may end as soon as it starts, and many of these must not block the mailbox. A turn that cannot start ends with an
// error.
func (s *state) startNext() {
	if !s.mayStart() {
		return
	}
	next := s.view.Turn(s.queue.First())
	if next.Prompt.Append {
		s.settle(next.ID)
		return
	}
	c, err := s.conversation().next(next.Prompt.Settings(s.view.Session.Settings), next.Prompt.Override)
	if err != nil {
		end := session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}
		if s.record(endFact(next.ID, end)) == nil {
			s.wakeWaiters(next.ID)
			s.publishQueue()
		}
		return
	}
	if s.recordStart(next.ID, c, next.Prompt.NotBefore, []fact{startFact(next.ID, c)}) == nil {
		s.publishQueue()
		s.runTurn(next.ID, c)
	}
}

// recordStart records the start of a turn, which is parked if it must not begin before a time.
func (s *state) recordStart(id session.TurnID, c choice, notBefore int64, facts []fact) error {
	if later, ok := s.later(notBefore); ok {
		return s.record(append(facts, parkedFact(id, later))...)
	}
	return s.recordCall(id, c, facts...)
}

// later is how a turn is parked that must not start before a time. It is not ok if that time has come.
func (s *state) later(notBefore int64) (p session.TurnParked, ok bool) {
	now := s.cfg.Now().UnixMilli()
	return session.TurnParked{Why: session.ParkedClient, Since: now, Until: notBefore, Resumes: session.ResumesAlone}, notBefore > now
}

// runTurn runs a turn whose start is recorded.
func (s *state) runTurn(id session.TurnID, c choice) {
	s.run = &turn{Turn: s.view.Turn(id), choice: c, log: s.log.With("turn", id), begun: s.cfg.Now(), allowed: s.allowed, agreed: s.agreed}
	s.allowed, s.agreed = false, false
	if s.parked() {
		s.cfg.parks.Put(park.New(s.ref, s.run.Turn, 0))
		return
	}
	s.busy.Store(true)
	s.noticeStart()
	s.proceed()
}

// proceed makes the next model call of the running turn, if its model can be called.
func (s *state) proceed() {
	c := s.run.choice
	if c.provider == nil {
		s.failed(&provider.Error{Provider: c.model.Provider, Kind: provider.KindAuth,
			Message: "no such provider is configured"})
		return
	}
	if d := s.run.Prompt.Deadline; d != 0 && s.cfg.Now().UnixMilli() >= d {
		s.overLimit(limitDeadline)
		return
	}
	if err := gone(c.model); err != nil {
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: s.failure(err)}, session.Failed)
		return
	}
	s.callModel()
}

// unpark resumes the parked turn. Prompts that were to steer it are taken in before its next model call.
func (s *state) unpark(by session.ResumedBy) {
	r := s.run
	why := r.Parked.Why
	record := s.recordCall
	if r.compacts != nil { // the next call is that for the summary
		record = func(_ session.TurnID, _ choice, facts ...fact) error { return s.record(facts...) }
	}
	if record(r.ID, r.choice, s.resumed(by)...) != nil {
		return
	}
	s.busy.Store(true)
	switch {
	case why == session.ParkedClient:
		s.noticeStart()
	case r.calls > 0:
		r.calls-- // the call that failed is made again
	}
	if s.takeSteering() == nil {
		s.proceed()
	}
}

// Resumption is how a parked turn resumes. The zero Resumption resumes it as it is.
type Resumption struct {
	Model *session.ModelRef // nil: that of the turn

	// Raise is by how much the limit is raised at which the turn is parked: that of a day until the day ends, and the other one
	// until a person writes or approves something. 0: the next call is allowed, and no other.
	Raise provider.Money

	// Compact summarises earlier turns before the next call, for a turn that is parked at session.LimitPrompt. If that fails, the turn
	// is parked again.
	Compact bool
}

// ErrNoCompaction refuses to summarise first for a turn whose question does not offer that.
var ErrNoCompaction = errors.New("the turn does not ask whether to summarise first")

// ErrNotOperator refuses to raise a limit for all sessions for a session that is not the operator's.
var ErrNotOperator = errors.New("only the operator can raise a limit for all sessions")

// ErrNoLimit refuses to raise a limit for a turn that is not parked at one.
var ErrNoLimit = errors.New("the turn is not parked at a limit that can be raised")

// ResumeTurn resumes a parked turn at once. With a model, the turn ends as cancelled, and a new turn continues it with that model:
// see [Agent.Continue]. It returns the turn that goes on. The start is on disk on return. Errors: ErrNoTurn, ErrNotParked, ErrAsked,
// ErrNoLimit, ErrNotOperator, ErrNoCompaction, *provider.LevelError, and those of the store.
func (a *Agent) ResumeTurn(ctx context.Context, id session.TurnID, r Resumption) (session.TurnID, error) {
	return ask(ctx, a, func(s *state) (session.TurnID, error) { return s.resumeTurn(id, r) })
}

func (s *state) resumeTurn(id session.TurnID, how Resumption) (session.TurnID, error) {
	model := how.Model
	switch {
	case s.view.Turn(id) == nil:
		return "", ErrNoTurn
	case !s.parked() || s.run.ID != id:
		return "", ErrNotParked
	case s.run.Parked.Why == session.ParkedApproval:
		return "", ErrAsked
	}
	q := s.run.Parked.Spending
	prompt := q != nil && q.Limit == session.LimitPrompt
	switch {
	case how.Raise > 0 && (q == nil || prompt):
		return "", ErrNoLimit
	case how.Compact && (!prompt || q.Quote.Compact == nil || model != nil):
		return "", ErrNoCompaction
	case how.Compact:
		s.run.compacts = q
	case q != nil && !prompt && s.ref.Owner != session.Operator: // a user tries again, within the limit
		if how.Raise > 0 {
			return "", ErrNotOperator
		}
	case q != nil && !prompt:
		s.run.allowed = how.Raise == 0 || !s.cfg.gate.Raise(q.Limit, how.Raise)
	}
	if model == nil {
		s.unpark(session.ResumedByClient)
		return id, s.ended
	}
	cut, allowed := s.run.Turn, s.run.allowed
	o := cut.Prompt.Override
	o.Model = model
	if _, err := s.conversation().decide(s.view.Session.Settings, o); err != nil {
		return "", err
	}
	s.endTurn(session.TurnEnd{StopReason: session.StopCancelled}, session.Cancelled)
	if s.ended != nil {
		return "", s.ended
	}
	s.allowed, s.agreed = allowed, prompt
	on, err := s.continueTurn(cut, o, nil, false)
	s.allowed, s.agreed = false, false // also if no turn was started
	return on.Turn, err
}

// wake resumes or ends a parked turn whose time has come.
func (s *state) wake(place park.Place) {
	if !s.parked() || s.run.ID != place.Turn {
		s.cfg.parks.Abandon(s.ref)
		return
	}
	p := s.run.Parked
	switch {
	case place.Ends == 0 || s.cfg.Now().UnixMilli() < place.Ends:
		s.unpark(session.ResumedByTime)
	case p.Error != nil:
		s.endTurn(session.TurnEnd{StopReason: session.StopError, Error: p.Error}, session.Failed)
	default:
		s.overLimit(limitDeadline)
	}
}

// noticeStart tells what people should know as a turn starts: that the answers are made up, that a level was not to be
// had, that the vendor's prompt cache is lost.
func (s *state) noticeStart() {
	if s.returned(); s.ended != nil {
		return
	}
	s.noticeModel()
	if s.run.cache.State == provider.CacheLost {
		s.tell(s.run.ID, inform(noticeCacheLost, s.run.cache.Why))
	}
}

// returned tells that the session goes back to its first choice with the running turn.
func (s *state) returned() {
	from := s.run.Start.Returned
	if from == nil {
		return
	}
	was := choice{model: s.cfg.Catalog.Model(from.Model.Provider, from.Model.ID), decision: provider.Decision{Effective: from.Level}, key: from.Key}
	s.tellAt(s.run.Steps[0].Time, s.run.ID, s.fellBack(was, nil, false))
}

// Cancel ends a turn. An empty id means the running turn, or, between turns, the compaction that [Agent.Compact] started. The id of a
// queued turn takes its prompt out of the queue. Cancel reports whether there was something to end. The finished blocks of the turn
// stay in the log, and its end is on disk on return. Errors: ErrNoTurn for an id that the session never had, and those of the store.
//
// The model call and the tools of the turn stop at once, also while the agent waits for its store.
func (a *Agent) Cancel(ctx context.Context, id session.TurnID) (bool, error) {
	q := newInquiry(func(s *state) (bool, error) { return s.cancel(id) })
	c := &cancel{request: q, turn: id}
	select {
	case a.inbox <- c: // in its place among the other requests
	case a.cancels <- c: // the agent waits for its store
	case <-a.done:
		return false, feed.ErrClosed
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return q.answer(ctx)
}

func (s *state) cancel(id session.TurnID) (bool, error) {
	if id == "" || s.run != nil && s.run.ID == id {
		if s.run == nil {
			compacts := s.compacting != nil
			return compacts, s.stopCompaction(errNoSummary)
		}
		s.endTurn(session.TurnEnd{StopReason: session.StopCancelled}, session.Cancelled)
		return s.ended == nil, s.ended
	}
	return s.dequeue(id)
}

// Edit is a change of a prompt that waits. What is zero stays as it is.
type Edit struct {
	Content  provider.Blocks
	Override session.Override // each member for itself
}

// EditQueued changes a prompt that waits, also its settings for the turn. The prompt keeps its place, its message and its stamp. The change
// is on disk on return. Errors: ErrNoTurn, ErrNotQueued, ErrSteers for an override, *room.Error, *provider.LevelError, *provider.StorageError,
// *media.Error, and those of the store.
func (a *Agent) EditQueued(ctx context.Context, id session.TurnID, e Edit) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) { return struct{}{}, s.editQueued(id, e) })
	return err
}

func (s *state) editQueued(id session.TurnID, e Edit) error {
	t, err := s.queued(id)
	if err != nil {
		return err
	}
	if t, err = s.whole(s.ctx, t); err != nil {
		return err
	}
	p := t.Prompt
	p.Replaces = true
	if e.Override != (session.Override{}) && (p.Steer || p.Append) {
		return ErrSteers
	}
	o := &p.Override
	o.Model, o.Level, o.Display = cmp.Or(e.Override.Model, o.Model), cmp.Or(e.Override.Level, o.Level), cmp.Or(e.Override.Display, o.Display)
	o.Options, o.Fallbacks = cmp.Or(e.Override.Options, o.Options), cmp.Or(e.Override.Fallbacks, o.Fallbacks)
	set := p.Settings(s.view.Session.Settings)
	c, err := s.conversation().next(set, p.Override)
	if err == nil {
		err = s.cfg.admits(set, p.Override.Fallbacks)
	}
	if err != nil {
		return err
	}
	changed := len(e.Content) > 0
	if changed {
		p.Content = e.Content
	}
	if p.Content, err = s.showable(c.provider, c.model, p.Content); err != nil {
		return err
	}
	if changed {
		if p.Content, err = s.content(Prompt{Content: p.Content}, true); err != nil {
			return err
		}
	}
	disposition := feed.Enqueued
	var into session.TurnID
	if p.Steer && s.run != nil {
		disposition, into = feed.Steered, s.run.ID
	}
	if err := s.record(fact{id, p, feed.PromptStored{Message: p.Message, Content: p.Content, Disposition: disposition, Into: into, Replaces: true}}); err != nil {
		return err
	}
	s.publishQueue()
	return nil
}

// MoveQueued puts a prompt that waits in front of another one, or at the end of the queue if before is empty. The new order is on disk on
// return. Errors: ErrNoTurn, ErrNotQueued and ErrSteers for either of the two, and those of the store.
func (a *Agent) MoveQueued(ctx context.Context, id, before session.TurnID) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) { return struct{}{}, s.moveQueued(id, before) })
	return err
}

func (s *state) moveQueued(id, before session.TurnID) error {
	for _, turn := range []session.TurnID{id, cmp.Or(before, id)} {
		t, err := s.queued(turn)
		if err != nil {
			return err
		}
		if t.Prompt.Steer {
			return ErrSteers
		}
	}
	if id == before {
		return nil
	}
	if err := s.record(fact{id, session.Moved{Before: before}, nil}); err != nil {
		return err
	}
	s.publishQueue()
	return nil
}

// queued is a turn that waits, in a store that takes changes.
func (s *state) queued(id session.TurnID) (*session.Turn, error) {
	t := s.view.Turn(id)
	switch {
	case t == nil:
		return nil, ErrNoTurn
	case !t.Queued():
		return nil, ErrNotQueued
	}
	return t, s.writable()
}

// Dequeue takes a queued turn out of the queue. A turn that has started or ended does not change. Errors: ErrNoTurn, and those of the
// store.
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
	s.queue.Held = s.queue.Held && s.queue.Len() > 0
	s.publishQueue()
	return true, nil
}

// Resume continues a held queue, and publishes it. Errors: those of the store.
func (a *Agent) Resume(ctx context.Context) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		if !s.queue.Held {
			return struct{}{}, nil
		}
		if err := s.writable(); err != nil {
			return struct{}{}, err
		}
		s.queue.Held = false
		s.publishQueue()
		return struct{}{}, s.ended
	})
	return err
}

// Queue lists the prompts that wait, and whether the queue is held.
func (a *Agent) Queue(ctx context.Context) (feed.QueueUpdate, error) {
	return ask(ctx, a, func(s *state) (feed.QueueUpdate, error) { return s.queue.Update(), nil })
}

// Leave cancels turns of a client that does not return, running and queued ones, unless another client is subscribed. The client
// must have closed its subscription. Turns that have ended do not change.
func (a *Agent) Leave(ctx context.Context, turns []session.TurnID) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		if s.feed.Prune(); s.feed.Subscribed() {
			return struct{}{}, nil
		}
		for _, id := range turns {
			if s.run != nil && s.run.ID == id {
				continue
			}
			if _, err := s.dequeue(id); err != nil {
				return struct{}{}, err
			}
		}
		if s.run != nil && slices.Contains(turns, s.run.ID) {
			s.endTurn(session.TurnEnd{StopReason: session.StopCancelled}, session.Cancelled)
		}
		return struct{}{}, s.ended
	})
	return err
}

// ToolsMissing publishes a notice that a host of tools could not be reached, and why.
func (a *Agent) ToolsMissing(ctx context.Context, why string) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		s.tell("", warn(noticeToolsMissing, why))
		return struct{}{}, s.ended
	})
	return err
}
