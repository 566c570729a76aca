package thinkd

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// A Turn is the sequence of events that one prompt causes. [Session.Prompt] makes it.
type Turn struct {
	ID          string
	MessageID   string
	Disposition Disposition

	session *Session
	stop    func()
	into    string // the turn that a steered prompt joined

	mu     sync.Mutex
	events []Event
	ended  bool
	ready  chan struct{} // has a token if there may be events
}

// Prompt sends a prompt. The session id of params is set here.
func (s *Session) Prompt(ctx context.Context, params SessionPromptParams) (*Turn, error) {
	t := &Turn{session: s, ready: make(chan struct{}, 1)}
	t.stop = s.Listen(t.take) // from now on: events may arrive together with the response
	params.SessionID = s.ID
	answer, err := s.client.SessionPrompt(ctx, params)
	if err != nil {
		t.stop()
		return nil, err
	}
	t.ID, t.MessageID, t.Disposition = answer.TurnID, answer.MessageID, answer.Disposition
	return t, nil
}

// Say sends a text as a prompt.
func (s *Session) Say(ctx context.Context, text string) (*Turn, error) {
	return s.Prompt(ctx, SessionPromptParams{Text: text})
}

// Steer adds a prompt to the running turn: the model gets it with its next call. Without a running turn it begins one.
func (s *Session) Steer(ctx context.Context, text string) (*Turn, error) {
	return s.Prompt(ctx, SessionPromptParams{Text: text, WhenBusy: WhenBusySteer})
}

// Wait waits for the end, with or without iteration.
func (t *Turn) Wait(ctx context.Context) (TurnWaitResult, error) {
	return t.session.client.TurnWait(ctx, TurnWaitParams{SessionID: t.session.ID, TurnID: t.ID})
}

// Cancel cancels this turn, running or waiting. What it has written is kept. It reports whether there was something to cancel.
func (t *Turn) Cancel(ctx context.Context) (bool, error) {
	r, err := t.session.client.SessionCancel(ctx, SessionCancelParams{SessionID: t.session.ID, TurnID: t.ID})
	return r.Cancelled, err
}

// Edit replaces the text of a prompt that waits.
func (t *Turn) Edit(ctx context.Context, text string) error {
	_, err := t.session.client.QueueUpdate(ctx, QueueUpdateParams{SessionID: t.session.ID, TurnID: t.ID, Text: text})
	return err
}

// Move moves a prompt that waits in front of another one, or to the end if that is nil.
func (t *Turn) Move(ctx context.Context, before *Turn) error {
	params := QueueMoveParams{SessionID: t.session.ID, TurnID: t.ID}
	if before != nil {
		params.Before = before.ID
	}
	_, err := t.session.client.QueueMove(ctx, params)
	return err
}

// Events are the events of the turn up to its *[TurnEndEvent], which is the last one. A *[Snapshot] comes in between if the daemon no longer
// had the events of a lost connection. If the turn has ended meanwhile, the iteration ends there, and Wait returns its end. Iterate once.
// Events that are not read yet wait in memory.
func (t *Turn) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer t.stop()
		for {
			e, err := t.next(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			snapshot, isSnapshot := e.(*Snapshot)
			if !isSnapshot && !t.concerns(e) {
				continue
			}
			if !yield(e, nil) {
				return
			}
			if _, over := e.(*TurnEndEvent); over {
				return
			}
			if !isSnapshot {
				continue
			}
			if gone, err := t.gone(ctx, snapshot.State); gone || err != nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// take gets each event of the session.
func (t *Turn) take(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e == nil {
		t.ended = true
	} else {
		t.events = append(t.events, e)
	}
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

func (t *Turn) next(ctx context.Context) (Event, error) {
	for {
		t.mu.Lock()
		if len(t.events) > 0 {
			e := t.events[0]
			t.events = t.events[1:]
			t.mu.Unlock()
			return e, nil
		}
		ended := t.ended
		t.mu.Unlock()
		if ended {
			return nil, ErrClosed
		}
		select {
		case <-t.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (t *Turn) concerns(e Event) bool {
	of, ok := e.(interface{ turn() string })
	if !ok || of.turn() == "" {
		return false
	}
	if p, ok := e.(*PromptEvent); ok && p.TurnID == t.ID {
		t.into = p.Into
	}
	return of.turn() == t.ID || of.turn() == t.into
}

// gone reports after a snapshot that this turn neither runs nor waits: it has ended meanwhile.
func (t *Turn) gone(ctx context.Context, state SessionAttachResult) (bool, error) {
	if state.Open != nil && (state.Open.TurnID == t.ID || state.Open.TurnID == t.into) {
		return false, nil
	}
	queue, err := t.session.Queue(ctx)
	return !slices.ContainsFunc(queue, func(q Queued) bool { return q.TurnID == t.ID }), err
}
