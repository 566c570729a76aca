package agent

import (
	"context"
	"errors"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/privacy"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/session"
)

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
	err := s.commit(context.WithoutCancel(s.ctx), entries...)
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
	err := s.await(context.WithoutCancel(s.ctx), s.save)
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
