package agent

import (
	"context"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// State is a session as it stands, with what its next turn would get.
type State struct {
	Session  session.Session // Status is live
	Model    provider.Model
	Decision provider.Decision
	Running  bool
}

// Message is a message of the history with what it was made with.
type Message struct {
	session.Message
	Start *session.TurnStart // nil: its turn never started
	Stop  *session.TurnEnd   // nil: its turn runs or waits
	Open  []Open             // blocks that are being written, in order
}

// Open is a block that is being written.
type Open struct {
	Number int
	Block  provider.Block // as far as it came
}

// Snapshot is a session's state at an update, for a client that joins.
type Snapshot struct {
	State
	Seq      uint64    // the next update has Seq + 1
	Messages []Message // the newest of the turns that have ended, in order
	More     bool      // there are older ones
	Turn     *OpenTurn // nil: none runs
	Queue    QueueUpdate
}

// OpenTurn is all of the running turn.
type OpenTurn struct {
	ID        session.TurnID
	Model     Model
	Reasoning provider.Decision
	Messages  []Message
}

// State tells what the session is and what its next turn would get.
func (a *Agent) State(ctx context.Context) (State, error) {
	return ask(ctx, a, func(s *state) (State, error) { return s.state(), nil })
}

func (s *state) state() State {
	record := s.view.Session
	record.Status = s.status()
	c, err := s.decide(record.Settings, session.Override{})
	if err != nil { // the row changed since the level was chosen, and the policy is to refuse
		lenient := record.Settings
		lenient.Fallback = provider.Downgrade
		c, _ = s.decide(lenient, session.Override{})
	}
	return State{Session: record, Model: c.model, Decision: c.decision, Running: s.run != nil}
}

// Attach is the session as it stands, and a subscription to all that follows, without a gap. At most limit messages
// of ended turns come along.
func (a *Agent) Attach(ctx context.Context, limit int) (Snapshot, *Subscription, error) {
	var sub *Subscription
	snap, err := ask(ctx, a, func(s *state) (Snapshot, error) {
		var open *OpenTurn
		end := len(s.view.Turns)
		if s.run != nil {
			end = slices.Index(s.view.Turns, s.run.Turn)
			open = &OpenTurn{ID: s.run.ID, Model: s.run.shown(), Reasoning: s.run.decision, Messages: s.messages(s.run.Turn)}
		}
		var ended []Message
		for _, t := range slices.Backward(s.view.Turns[:end]) {
			if len(ended) > limit {
				break
			}
			if t.Queued() {
				continue
			}
			ended = append(s.messages(t), ended...)
		}
		more := len(ended) > limit
		if more {
			ended = ended[len(ended)-limit:]
		}
		sub = s.feed.subscribe()
		return Snapshot{State: s.state(), Seq: s.feed.seq, Messages: ended, More: more, Turn: open, Queue: s.queue()}, nil
	})
	if err != nil && sub != nil {
		sub.Close()
	}
	return snap, sub, err
}

// Subscribe is Attach without the state.
func (a *Agent) Subscribe(ctx context.Context) (*Subscription, error) {
	_, sub, err := a.Attach(ctx, 0)
	return sub, err
}

// messages copies a turn's messages; those of the running turn have their open blocks.
func (s *state) messages(t *session.Turn) []Message {
	list := make([]Message, 0, len(t.Messages)+1)
	found := false
	for _, m := range t.Messages {
		out := Message{Message: *m, Start: t.Start, Stop: t.End}
		out.Parts = slices.Clone(m.Parts)
		if s.run != nil && s.run.reply.id == m.ID {
			out.Open, found = s.run.reply.blocks(), true
		}
		list = append(list, out)
	}
	if s.run != nil && s.run.Turn == t && s.run.reply.id != "" && !found {
		m := session.Message{ID: s.run.reply.id, Turn: t.ID, Role: provider.Assistant}
		list = append(list, Message{Message: m, Start: t.Start, Open: s.run.reply.blocks()})
	}
	return list
}

// blocks is what is being written.
func (m *reply) blocks() []Open {
	var list []Open
	for _, b := range slices.SortedFunc(maps.Values(m.open), func(a, b *block) int { return a.number - b.number }) {
		switch b.kind {
		case provider.KindThinking:
			list = append(list, Open{b.number, provider.Thinking{Text: string(b.text), Kind: b.as}})
		case provider.KindText:
			list = append(list, Open{b.number, provider.Text{Text: string(b.text)}})
		}
	}
	return list
}

// Page selects messages of the history: those before or after one, or the newest.
type Page struct {
	Before, After session.MessageID
	FromStart     bool // without a cursor: the oldest, not the newest
	Limit         int
}

// History is a page of messages in order, and whether there are more in its direction. ErrNoMessage for a cursor that
// is none of this session's.
func (a *Agent) History(ctx context.Context, p Page) (page []Message, more bool, err error) {
	type result struct {
		page []Message
		more bool
	}
	r, err := ask(ctx, a, func(s *state) (result, error) {
		var all []Message
		for _, t := range s.view.Turns {
			all = append(all, s.messages(t)...)
		}
		index := func(id session.MessageID) int {
			return slices.IndexFunc(all, func(m Message) bool { return m.ID == id })
		}
		if p.After != "" {
			i := index(p.After)
			if i < 0 {
				return result{}, ErrNoMessage
			}
			all = all[i+1:]
		}
		if p.Before != "" {
			i := index(p.Before)
			if i < 0 {
				return result{}, ErrNoMessage
			}
			all = all[:i]
		}
		if len(all) <= p.Limit {
			return result{all, false}, nil
		}
		if p.After != "" || p.FromStart {
			return result{all[:p.Limit], true}, nil
		}
		return result{all[len(all)-p.Limit:], true}, nil
	})
	return r.page, r.more, err
}

// Ended is a turn that has ended, with the model's last message.
type Ended struct {
	Turn    session.TurnID
	End     session.TurnEnd
	Start   *session.TurnStart
	Message *Message // nil: the model said nothing
}

// Wait returns when a turn has ended; at once if it has. ErrNoTurn if the session never had it, ErrClosed if the
// session was closed first: the turn's end is in the log then, for whoever asks again.
func (a *Agent) Wait(ctx context.Context, id session.TurnID) (Ended, error) {
	for {
		var ended chan struct{}
		e, err := ask(ctx, a, func(s *state) (Ended, error) {
			t := s.view.Turn(id)
			if t == nil {
				return Ended{}, ErrNoTurn
			}
			if t.End == nil {
				ended = make(chan struct{})
				s.waiters[id] = append(s.waiters[id], ended)
				return Ended{}, nil
			}
			e := Ended{Turn: id, End: *t.End, Start: t.Start}
			for _, m := range s.messages(t) {
				if m.Role == provider.Assistant {
					e.Message = &m
				}
			}
			return e, nil
		})
		if err != nil || ended == nil {
			return e, err
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return Ended{}, context.Cause(ctx)
		}
	}
}

// Change is what a user sets. Absent members stay.
type Change = session.Setting

// Set stores a change and tells it; it acts on the next turn. Running tells whether a turn runs that keeps what it
// began with. A level that the model refuses by the policy in force is a *provider.LevelError, and nothing changes.
func (a *Agent) Set(ctx context.Context, c Change) (State, error) {
	return ask(ctx, a, func(s *state) (State, error) {
		if err := s.writable(); err != nil {
			return State{}, err
		}
		after := s.view.Session
		after.Apply(session.Entry{Body: c})
		next, err := s.decide(after.Settings, session.Override{})
		if err != nil {
			return State{}, err
		}
		told := SessionUpdate{Title: c.Title, Metadata: c.Metadata}
		if c.Model != nil || c.Level != nil || c.Fallback != nil || c.Display != nil {
			model := next.shown()
			told.Model, told.Level, told.Preferred = &model, next.decision.Effective, after.Level
		}
		if err := s.record(fact{"", c, told}); err != nil {
			return State{}, err
		}
		return s.state(), nil
	})
}

// Explain is the decision that another model or level would get; nothing changes.
func (a *Agent) Explain(ctx context.Context, o session.Override) (provider.Model, provider.Decision, error) {
	c, err := ask(ctx, a, func(s *state) (choice, error) {
		set := s.view.Session.Settings
		if o.Model != nil {
			set.Model = *o.Model
		}
		if o.Level != "" {
			set.Level = o.Level
		}
		return s.decide(set, session.Override{})
	})
	return c.model, c.decision, err
}
