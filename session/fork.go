package session

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnfinished says that a session cannot be forked at a message. The message is not complete, it is queued, or it was removed from
// the queue behind a turn that has not ended and that the fork would include.
var ErrUnfinished = errors.New("the message is not finished yet")

// Fork is the record of a new session that shares everything up to and including a message. It has the settings of now, and has used
// nothing. The caller sets its id. Without a message it shares the turns that have ended. ok is false if there is no such message.
// The error is ErrUnfinished.
func (v *View) Fork(message MessageID) (fork Session, ok bool, err error) {
	if message == "" {
		if message = v.lastEnded(); message == "" {
			return v.forkOfNothing(), true, nil
		}
	}
	fork = v.forkOfNothing()
	var last place
	ended := true // the turns before
	for _, t := range v.Turns {
		for i, m := range t.Messages {
			if last = later(last, m.place); m.ID != message {
				continue
			}
			if !ended || !t.Finished(m) {
				return fork, true, ErrUnfinished
			}
			if t.End != nil && i == len(t.Messages)-1 {
				last = later(last, t.ended)
			}
			fork.Shared = v.spans(last, message)
			fork.Pinned = v.pinnedUpto(message)
			return fork, true, nil
		}
		last = later(last, t.ended)
		ended = ended && t.End != nil
	}
	return fork, false, nil
}

// forkOfNothing is the record of a fork that shares no message.
func (v *View) forkOfNothing() Session {
	fork := v.Session.unused()
	fork.ID, fork.Read, fork.Shared, fork.Pinned = "", nil, nil, nil
	fork.Archived, fork.OnTop = false, false // people said that of the other one
	return fork
}

// Before names the message or the summary right before which a fork ends. One member is set.
type Before struct {
	Summary SummaryID
	Message MessageID
}

// ForkBeforeMessage is like Fork, and ends right before a message. Before the first message, the fork shares nothing.
func (v *View) ForkBeforeMessage(message MessageID) (fork Session, ok bool, err error) {
	at, number, ok := v.find(message)
	if !ok {
		return fork, false, nil
	}
	if number > 0 {
		return v.Fork(v.Turns[at].Messages[number-1].ID)
	}
	for _, t := range slices.Backward(v.Turns[:at]) {
		if (t.Start != nil || t.Appended()) && len(t.Messages) > 0 {
			return v.Fork(t.Messages[len(t.Messages)-1].ID)
		}
	}
	return v.forkOfNothing(), true, nil
}

// ForkBefore is Fork right before a summary was made, with the messages up to Summary.After: models are sent what the summary
// replaces. ok is false if there is no such summary.
func (v *View) ForkBefore(id SummaryID) (fork Session, ok bool) {
	s, ok := v.Summary(id)
	if !ok {
		return fork, false
	}
	fork = v.Session
	fork.ID, fork.Usage, fork.Queued = "", NewView(fork).Session.Usage, 0
	fork.Archived, fork.OnTop = false, false
	fork.Shared, fork.Pinned = v.spans(place{s.place.span, s.place.at - 1}, s.After), v.pinnedUpto(s.After)
	return fork, true
}

// pinnedUpto are the pinned messages that are not behind a message.
func (v *View) pinnedUpto(message MessageID) (list []MessageID) {
	turn, number, _ := v.find(message)
	for _, id := range v.Session.Pinned {
		if t, n, ok := v.find(id); ok && (t < turn || t == turn && n <= number) {
			list = append(list, id)
		}
	}
	return list
}

// spans are the logs up to a place.
func (v *View) spans(last place, message MessageID) []Span {
	spans := slices.Clone(v.Session.Shared[:min(last.span, len(v.Session.Shared))])
	id := v.Session.ID
	if last.span < len(v.Session.Shared) {
		id = v.Session.Shared[last.span].Session
	}
	return append(spans, Span{id, last.at, message})
}

// lastEnded is the last message of the turns that have ended, except those that were removed from the queue, empty if there is none.
func (v *View) lastEnded() MessageID {
	for _, t := range slices.Backward(v.Turns) {
		if (t.Start != nil || t.Appended()) && t.End != nil && len(t.Messages) > 0 {
			return t.Messages[len(t.Messages)-1].ID
		}
	}
	return ""
}

// share applies an entry of a log that the session's own log continues. It changes the turns, and nothing in the record.
func (v *View) share(e Entry) error {
	if e.Body == nil {
		return fmt.Errorf("entry of turn %q has no body", e.Turn)
	}
	if err := v.apply(e); err != nil {
		return fmt.Errorf("entry %s of turn %q: %w", e.Body.kind(), e.Turn, err)
	}
	v.at++
	return nil
}

// cut ends a span. It removes what follows the message of the span, and what belongs to the other session alone: grants and stamps. A
// turn that is cut in the middle ends as if it had been cancelled there.
func (v *View) cut(s Span) error {
	at, found, ok := v.find(s.Message)
	if !ok {
		return fmt.Errorf("the shared part of session %s has no message %s", s.Session, s.Message)
	}
	for _, t := range v.Turns[at+1:] {
		delete(v.turns, t.ID)
	}
	v.Turns = slices.Clip(v.Turns[:at+1])
	t := v.Turns[at]
	t.Messages = slices.Clip(t.Messages[:found+1])
	t.fell = slices.DeleteFunc(t.fell, func(f fell) bool { return f.at > found })
	t.Steps = slices.DeleteFunc(t.Steps, func(s Step) bool { return s.At > found+1 })
	t.Took = slices.DeleteFunc(t.Took, func(id TurnID) bool { return v.turns[id] == nil })
	if t.End == nil {
		t.cut = true
		t.End, t.ended, t.Parked = &TurnEnd{StopReason: StopCancelled, Usage: t.Usage}, v.now(), nil
		for _, id := range t.Took {
			v.turns[id].End = t.End
		}
	}
	for c := v.Compaction(); c != nil; c = v.Compaction() {
		if _, _, ok := v.find(c.Upto); ok {
			break
		}
		v.compactions = v.compactions[:len(v.compactions)-1]
	}
	v.undoable = false
	v.summaries = slices.DeleteFunc(v.summaries, func(s Summary) bool {
		_, _, ok := v.find(s.Upto)
		return !ok
	})
	for i, s := range v.summaries {
		if _, _, ok := v.find(s.After); !ok {
			v.summaries[i].After = v.lastSaid()
		}
	}
	v.Grants, v.stamps, v.stamped = nil, nil, nil
	v.span, v.at = v.span+1, 0
	v.release()
	return nil
}
