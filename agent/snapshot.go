package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/forecast"
	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/todo"
	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// State is the current state of a session, and what its next turn would get.
type State struct {
	Session  session.Session // Status is live
	Model    provider.Model
	Decision provider.Decision
	Running  bool
	Grants   []tool.Grant    // that apply now; shared, so nobody may change them
	Plan     []tool.PlanItem // of the models; nil: there is none
}

// Message is a message of the history, with the start and the end of its turn.
type Message struct {
	session.Message
	Refused bool // some model is not sent it, since its provider refused it
	Pinned  bool // later summaries keep it word for word; a reply and the results of its calls are kept together

	Start *session.TurnStart // nil: its turn never started
	Stop  *session.TurnEnd   // nil: its turn runs or waits
	Last  bool               // of its turn so far
	Open  []Open             // blocks that are being written, in order
	Steps []session.Step     // of its turn, right after the message; the first message of a turn also has those before it, with At 0

	Into      session.TurnID  // of a prompt that steered: the turn that took it in; empty: its own turn has it
	Continues session.TurnID  // of the model's: the turn that its turn goes on with; empty: none
	Joins     *feed.Joined    // of the first of these: the text that its first text is a part of; nil: none
	Served    *session.Served // which model writes it; nil: it is not of a model, or that is not known
}

// Unsent reports whether this is a prompt that no model gets: it was removed from the queue, or could not start.
func (m Message) Unsent() bool {
	return m.Role == provider.User && m.Start == nil && m.Stop != nil && m.Stop.StopReason != session.StopEndTurn
}

// Snapshot is a session's state at an update, for a client that joins.
type Snapshot struct {
	State
	Seq      uint64    // the next update has Seq + 1
	Messages []Message // the newest of the turns that have ended, in order
	More     bool      // there are older ones
	Turn     *OpenTurn // nil: none runs
	Queue    feed.QueueUpdate
	Waiting  []Message // of the turns in Queue

	Summaries []Summary // that were made right after one of the messages, those of Turn included; in order

	// Since is every update after the one that AttachAfter got, up to Seq. Growth may be merged. If it is nil, these updates are
	// not in memory any more, and the client starts from the rest of the snapshot. Otherwise it needs nothing else.
	Since []*feed.Update
}

// OpenTurn is all of the running turn.
type OpenTurn struct {
	ID        session.TurnID
	Model     feed.Model
	Reasoning provider.Decision
	Payer     *session.Payer           // nil: not known
	Options   *provider.OptionDecision // nil: none are asked for
	Messages  []Message
	Parked    *feed.TurnParked // nil: it is not parked
	Confirms  []feed.Confirm   // open questions
	Tools     []OpenTool       // calls that run
	Continues session.TurnID   // the unfinished turn that it goes on with; empty: none
	Joins     *feed.Joined     // the text that its first text is a part of; nil: none
}

// State returns the current state of the session.
func (a *Agent) State(ctx context.Context) (State, error) {
	return ask(ctx, a, func(s *state) (State, error) { return s.state(), nil })
}

func (s *state) state() State {
	record := s.view.Session
	record.Status, record.Usage = s.status(), s.usage()
	c, err := s.conversation().decide(record.Settings, session.Override{})
	if err != nil { // the row changed since the level was chosen, and the policy is to refuse
		lenient := record.Settings
		lenient.Fallback = provider.Downgrade
		c, _ = s.conversation().decide(lenient, session.Override{})
	}
	record.Warm = nil
	if until := s.warmUntil(c); until != 0 {
		record.Warm = &session.Warm{Until: until, Model: c.ref()}
	}
	return State{Session: record, Model: c.model, Decision: c.decision, Running: s.run != nil, Grants: s.view.Grants, Plan: todo.Of(s.view)}
}

// Attach returns the current state of the session, and a subscription to all later updates, without a gap. The snapshot has at most
// limit messages of ended turns. The caller must close the subscription. Errors: those of the store.
func (a *Agent) Attach(ctx context.Context, limit int) (Snapshot, *feed.Subscription, error) {
	return a.attach(ctx, limit, func(*state) []*feed.Update { return nil })
}

// AttachAfter is Attach for a client that has every update up to after. Snapshot.Since has the later ones, if they are still in
// memory: updates are kept while a turn runs, within bounds. For an idle session Since is either empty or nil.
func (a *Agent) AttachAfter(ctx context.Context, after uint64, limit int) (Snapshot, *feed.Subscription, error) {
	return a.attach(ctx, limit, func(s *state) []*feed.Update { return s.feed.Since(after) })
}

func (a *Agent) attach(ctx context.Context, limit int, since func(*state) []*feed.Update) (Snapshot, *feed.Subscription, error) {
	sub := feed.NewSubscription()
	snap, err := ask(ctx, a, func(s *state) (Snapshot, error) {
		snap := Snapshot{State: s.state(), Seq: s.feed.Seq(), Queue: s.queue.Update(), Since: since(s)}
		if s.run != nil {
			snap.Turn = &OpenTurn{ID: s.run.ID, Model: s.run.shown(), Reasoning: s.run.decision, Payer: s.run.Now().Payer, Options: s.run.optionsShown(), Messages: s.messages(s.run.Turn),
				Confirms: s.confirms(), Tools: s.openTools()}
			snap.Turn.Parked = s.parkedNow()
			snap.Turn.Continues, snap.Turn.Joins = goesOn(s.run.Turn)
		}
		for _, t := range s.view.Queue() {
			whole, err := s.whole(s.ctx, t)
			if err != nil {
				return snap, err
			}
			snap.Waiting = append(snap.Waiting, s.messages(whole)...)
		}
		var err error
		end := place{turn: len(s.view.Turns)} // behind the running turn stand those that were taken out of the queue
		snap.Messages, snap.More, err = s.newest(place{}, end, limit, func(t *session.Turn) bool { return !t.Queued() && !t.Running() })
		if err != nil {
			return snap, err
		}
		shown := snap.Messages
		if snap.Turn != nil {
			shown = slices.Concat(shown, snap.Turn.Messages)
		}
		if snap.Summaries, err = s.summariesAfter(IDsOf(shown)); err != nil {
			return snap, err
		}
		s.feed.Add(sub)
		return snap, nil
	})
	if err != nil {
		sub.Close() // if f still runs, the feed finds it closed
		return Snapshot{}, nil, err
	}
	return snap, sub, nil
}

// Subscribe is [Agent.Attach] without the snapshot.
func (a *Agent) Subscribe(ctx context.Context) (*feed.Subscription, error) {
	_, sub, err := a.Attach(ctx, 0)
	return sub, err
}

// Ended is a turn that has ended, with the model's last message.
type Ended struct {
	Turn    session.TurnID
	End     session.TurnEnd
	Start   *session.TurnStart
	Message *Message // nil: the model said nothing
}

// Wait returns when a turn has ended, or at once if it already has. Errors: ErrNoTurn if the session never had the turn, and
// feed.ErrClosed if the agent ended first. The end of the turn is then in the log, so the caller can ask again.
func (a *Agent) Wait(ctx context.Context, id session.TurnID) (Ended, error) {
	for {
		ended := make(chan struct{})
		e, err := ask(ctx, a, func(s *state) (*Ended, error) {
			t := s.view.Turn(id)
			if t == nil {
				return nil, ErrNoTurn
			}
			if t.End == nil {
				s.waiters[id] = append(s.waiters[id], waiter{ended, ctx.Done()})
				return nil, nil
			}
			if t.Into != "" {
				t = s.view.Turn(t.Into)
			}
			t, err := s.whole(s.ctx, t)
			if err != nil {
				return nil, err
			}
			e := &Ended{Turn: id, End: *t.End}
			e.Start = t.Now()
			for _, m := range s.messages(t) {
				if m.Role == provider.Assistant {
					e.Message = &m
				}
			}
			return e, nil
		})
		switch {
		case err != nil:
			return Ended{}, err
		case e != nil:
			return *e, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return Ended{}, context.Cause(ctx)
		}
	}
}

// MaxMetadata bounds the metadata of a session, in bytes, because every list has them.
const MaxMetadata = 64 << 10

// ErrMetadata refuses a change after which the metadata would be too large.
var ErrMetadata = fmt.Errorf("metadata would be larger than %d bytes", MaxMetadata)

// Change is a change of settings by a user. Absent members stay the same.
type Change = session.Setting

// Set stores a change and publishes it. It applies from the next turn: State.Running reports whether a turn runs that keeps its old
// settings. Errors: *provider.LevelError for a level that the model lacks under the policy "error", ErrMetadata, and those of
// the store. After an error nothing has changed.
func (a *Agent) Set(ctx context.Context, c Change) (State, error) {
	return ask(ctx, a, func(s *state) (State, error) {
		if err := s.writable(); err != nil {
			return State{}, err
		}
		after := s.view.Session
		after.Apply(session.Entry{Body: c})
		if len(c.Metadata) > 0 && session.MetadataSize(after.Metadata) > MaxMetadata {
			return State{}, ErrMetadata
		}
		next, err := s.conversation().decide(after.Settings, session.Override{})
		if err == nil {
			err = s.cfg.admits(after.Settings, nil)
		}
		if err != nil {
			return State{}, err
		}
		update := feed.SessionUpdate{Title: c.Title, Metadata: c.Metadata, Archived: c.Archived, OnTop: c.OnTop}
		if c.Model != nil || c.Level != nil || c.Fallback != nil || c.Display != nil {
			model := next.shown()
			update.Model, update.Level, update.Preferred = &model, next.decision.Effective, after.Level
		}
		if c.Mode != nil {
			update.Mode = *c.Mode
		}
		update.Fallbacks, update.AskAbove = c.Fallbacks, c.AskAbove
		if c.OnOther != nil {
			update.OnOther = *c.OnOther
		}
		update.Options = c.Options
		if len(c.Revoke) > 0 {
			left := session.Without(s.view.Grants, c.Revoke)
			update.Grants = &left
		}
		facts := []fact{{"", c, update}}
		if c.Mode != nil {
			facts = append(facts, s.refusedBy(*c.Mode)...)
		}
		if err := s.record(facts...); err != nil {
			return State{}, err
		}
		if len(facts) > 1 {
			s.goOn()
		}
		return s.state(), s.ended
	})
}

// MarkRead notes that a principal has read the session up to the end of a turn; empty: all of it. It is durable on return. Errors:
// ErrNoTurn, and those of the store.
func (a *Agent) MarkRead(ctx context.Context, principal string, upto session.TurnID) error {
	_, err := ask(ctx, a, func(s *state) (struct{}, error) {
		ended := s.view.Session.Ended
		if upto != "" {
			t := s.view.Turn(upto)
			if t == nil {
				return struct{}{}, ErrNoTurn
			}
			ended -= s.view.EndedAfter(t)
		}
		marked := s.view.Session
		if !marked.MarkRead(principal, ended) {
			return struct{}{}, nil
		}
		err := s.await(context.WithoutCancel(s.ctx), func(ctx context.Context) error { return s.store.MarkRead(ctx, s.id, principal, ended) })
		if err != nil {
			return struct{}{}, err
		}
		s.view.Session, s.unlisted = marked, true
		return struct{}{}, nil
	})
	return err
}

// Pins are the pinned messages of a session.
type Pins struct {
	Pinned  []session.MessageID
	Applies PinApplies // of the change that was asked for
}

// PinApplies says when a pin, or its end, changes what models are sent.
type PinApplies string

const (
	PinAppliesNow  PinApplies = "now"          // the message is sent, or not sent, as it should be
	PinAppliesNext PinApplies = "next_summary" // not before the next summary: what models were sent stays the same until then
)

// Words lists both.
func (PinApplies) Words() []string { return provider.Words(PinAppliesNow, PinAppliesNext) }

// Pin keeps a message word for word in addition to all later summaries; with on false, it ends that. A reply and the results of its
// calls are kept together. The change is on disk on return. Errors: ErrNoMessage, session.ErrUnfinished for a message that is in the queue or is
// being written, ErrPinned, and those of the store.
func (a *Agent) Pin(ctx context.Context, id session.MessageID, on bool) (Pins, error) {
	return ask(ctx, a, func(s *state) (Pins, error) {
		at, err := s.find(id, place{})
		if err != nil {
			return Pins{}, err
		}
		t := s.view.Turns[at.turn]
		if at.message == len(t.Messages) || !t.Finished(t.Messages[at.message]) {
			return Pins{}, session.ErrUnfinished
		}
		pinned := s.view.Session.Pinned
		if on && !slices.Contains(pinned, id) && len(pinned) >= maxPinned {
			return Pins{}, ErrPinned
		}
		if on != slices.Contains(pinned, id) {
			if err := s.pin(id, on); err != nil {
				return Pins{}, err
			}
		}
		p := Pins{Pinned: s.view.Session.Pinned, Applies: PinAppliesNow}
		turn, message := s.view.Rest()
		if c := s.view.Compaction(); c != nil && (at.turn < turn || at.turn == turn && at.message < message) {
			kept := slices.ContainsFunc(c.Pinned, func(p session.Pinned) bool { return p.Message == id || p.Answer == id })
			if kept != on {
				p.Applies = PinAppliesNext
			}
		}
		return p, nil
	})
}

func (s *state) pin(id session.MessageID, on bool) error {
	if err := s.writable(); err != nil {
		return err
	}
	change := session.Setting{Pin: []session.MessageID{id}}
	if !on {
		change = session.Setting{Unpin: change.Pin}
	}
	after := s.view.Session
	after.Apply(session.Entry{Body: change})
	list := append([]session.MessageID{}, after.Pinned...)
	return s.record(fact{"", change, feed.SessionUpdate{Pinned: &list}})
}

// Explanation describes a turn with another model or level.
type Explanation struct {
	Model    provider.Model
	Decision provider.Decision
	Options  *provider.OptionDecision // nil: none are asked for
	Earlier  *provider.Conversion     // how earlier thinking would be sent; nil: not known
	Cache    feed.Cache
	LeftOut  []Omitted // messages that the model does not get, because its provider refused them
}

// Explain returns what a turn with another model or level would get. Nothing changes. Errors: *provider.LevelError.
func (a *Agent) Explain(ctx context.Context, o session.Override) (Explanation, error) {
	type asked struct {
		choice
		req *provider.Request
		out []Omitted
		cfg Config
	}
	q, err := ask(ctx, a, func(s *state) (asked, error) {
		set := s.view.Session.Settings
		if o.Model != nil {
			set.Model = *o.Model
		}
		if o.Level != "" {
			set.Level = o.Level
		}
		v := s.conversation()
		c, err := v.decide(set, session.Override{Options: o.Options})
		return asked{c, v.requestFor(c), v.omitted(c.ref()), s.cfg}, err
	})
	e := Explanation{Model: q.model, Decision: q.decision, Options: q.optionsShown(), Cache: q.cache, LeftOut: q.out}
	if e.Cache.State == "" { // nothing was said yet, so nothing can be lost
		e.Cache.State = provider.CacheKept
	}
	if err != nil {
		return e, err
	}
	if p, ok := q.provider.(provider.Converter); ok { // here, since it may take a while, and the session goes on
		q.cfg.load(q.req) // its notices about missing media come with the call itself
		c, err := p.Convert(q.req)
		switch {
		case err == nil:
			e.Earlier = &c
		case !errors.Is(err, provider.ErrNotKnownYet):
			return e, err
		}
	}
	return e, nil
}

// Quote says what the next prompt would cost.
type Quote struct {
	Model     provider.Model
	Decision  provider.Decision
	Cache     feed.Cache
	WarmUntil int64 // Unix milliseconds; 0: nothing is kept, or that is not known
	Running   bool  // a turn runs: the quote covers the conversation up to now
	forecast.Forecast
}

// aPrompt stands for a prompt that nobody has written yet.
var aPrompt = provider.Blocks{provider.Text{Text: "."}}

// Quote computes what a prompt would cost after the conversation so far, also with another model or level. prompt has the text and the
// media of the prompt, as far as they are known. Nothing changes. Errors: *provider.LevelError, and those of the store.
func (a *Agent) Quote(ctx context.Context, o session.Override, prompt provider.Blocks) (Quote, error) {
	type drafted struct {
		Quote
		draft *forecast.Draft
		cfg   Config
	}
	if len(prompt) == 0 {
		prompt = aPrompt
	}
	d, err := ask(ctx, a, func(s *state) (drafted, error) {
		set := s.view.Session.Settings
		if o.Model != nil {
			set.Model = *o.Model
		}
		if o.Level != "" {
			set.Level = o.Level
		}
		c, err := s.conversation().decide(set, session.Override{})
		if err != nil {
			return drafted{}, err
		}
		q := Quote{Model: c.model, Decision: c.decision, Cache: c.cache, WarmUntil: s.warmUntil(c), Running: s.run != nil}
		var compact *transcript.Passage
		var pinned []session.Pinned
		if s.run == nil {
			if p, ok := s.conversation().share(c.ref()).Plan(nil, transcript.KeptAsked, c.model.Window); ok {
				compact = &p
				if pinned, err = s.pinnedUpto(c, p.Upto); err != nil {
					return drafted{}, err
				}
			}
		}
		return drafted{q, s.conversationWith(c, prompt).draft(c, compact, pinned), s.cfg}, nil
	})
	if err != nil {
		return d.Quote, err
	}
	d.Forecast = d.draft.Quote(func(req *provider.Request) { d.cfg.load(req) }) // here, since it may take a while, and the session goes on
	return d.Quote, nil
}

// warmUntil is until when the vendor keeps what a call with choice c could read from its cache, in Unix milliseconds. It may have
// passed. 0: there is nothing, or that is not known.
func (s *state) warmUntil(c choice) int64 {
	before := s.conversation().answered(nil)
	if before == nil || c.cache.State != provider.CacheKept && c.cache.State != provider.CacheCold {
		return 0
	}
	return warmUntil(before)
}

// Page selects messages of the history: those before or after one, or the newest.
type Page struct {
	Before, After session.MessageID
	FromStart     bool // without a cursor: the oldest, not the newest
	Limit         int
}

// History returns a page of messages in order, and whether there are more in its direction. Errors: ErrNoMessage for a cursor that
// is not a message of this session, or a Before that is not after After; and those of the store.
func (a *Agent) History(ctx context.Context, p Page) (page []Message, more bool, err error) {
	type result struct {
		page []Message
		more bool
	}
	r, err := ask(ctx, a, func(s *state) (r result, err error) {
		r.page, r.more, err = s.page(p)
		return r, err
	})
	return r.page, r.more, err
}

// Recall searches the messages that the newest summary replaces, for a model. What a provider refused is left out. It reads a page
// of the log after the other, and waits only for the agent's goroutine. Errors: those of the store.
func (a *Agent) Recall(ctx context.Context, q recall.Query) (string, error) {
	end, err := ask(ctx, a, func(s *state) (end place, err error) {
		end.turn, end.message = s.view.Rest()
		return end, nil
	})
	if err != nil {
		return "", err
	}
	if end == (place{}) {
		return "No summary replaces anything: you have all of this conversation.", nil
	}
	type result struct {
		page []Message
		more bool
		next place
	}
	found := recall.Search(func(yield func(recall.Message) bool) {
		for r := (result{more: true}); r.more && err == nil; {
			from := r.next
			r, err = ask(ctx, a, func(s *state) (r result, err error) {
				r.page, r.more, err = s.oldest(from, end, recallPage)
				if err == nil && r.more {
					r.next, err = s.find(r.page[len(r.page)-1].ID, from)
					r.next.message++
				}
				return r, err
			})
			for _, m := range r.page {
				if recallable(m) && !yield(recall.Message{ID: string(m.ID), Role: m.Role, Blocks: blocksOf(m)}) {
					return
				}
			}
		}
	}, q)
	return found, err
}

// IDsOf lists the ids of messages.
func IDsOf(messages []Message) []session.MessageID {
	ids := make([]session.MessageID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
	}
	return ids
}

// recallPage is how many messages Recall reads at once.
const recallPage = 50

// recallable reports whether models may get a message.
func recallable(m Message) bool {
	return !m.Refused && !m.Unsent() && !(m.Stop != nil && m.Stop.StopReason == session.StopRefusal)
}

func blocksOf(m Message) (blocks provider.Blocks) {
	for _, p := range m.Parts {
		blocks = append(blocks, p.Block)
	}
	return blocks
}

// place is where a message stands.
type place struct {
	turn    int // index in the view
	message int // index in the turn
}

func (s *state) page(p Page) (page []Message, more bool, err error) {
	first, end := place{}, place{turn: len(s.view.Turns)}
	if p.After != "" {
		if first, err = s.find(p.After, first); err != nil {
			return nil, false, err
		}
		first.message++
	}
	if p.Before != "" {
		if end, err = s.find(p.Before, first); err != nil {
			return nil, false, err
		}
	}
	if p.After != "" || p.FromStart {
		return s.oldest(first, end, p.Limit)
	}
	return s.newest(first, end, p.Limit, func(*session.Turn) bool { return true })
}

// find is the place of a message that is not before from.
func (s *state) find(id session.MessageID, from place) (place, error) {
	for i := from.turn; i < len(s.view.Turns); i++ {
		t := s.view.Turns[i]
		for j, m := range t.Messages {
			if m.ID == id && (i > from.turn || j >= from.message) {
				return place{i, j}, nil
			}
		}
		if s.run != nil && s.run.Turn == t && s.run.reply.id == id {
			return place{i, len(t.Messages)}, nil // nothing of it is in the view yet
		}
	}
	return place{}, ErrNoMessage
}

// oldest copies at most limit messages from first on to before end, and tells whether there are more.
func (s *state) oldest(first, end place, limit int) ([]Message, bool, error) {
	page := []Message{}
	for i := first.turn; i <= end.turn && i < len(s.view.Turns) && len(page) <= limit; i++ {
		part, err := s.part(i, first, end)
		if err != nil {
			return nil, false, err
		}
		page = append(page, part...)
	}
	if len(page) > limit {
		return page[:limit], true, nil
	}
	return page, false, nil
}

// newest copies the last messages from first on to before end, at most limit, of turns that are wanted, and tells
// whether there are more.
func (s *state) newest(first, end place, limit int, wanted func(*session.Turn) bool) ([]Message, bool, error) {
	var turns [][]Message
	count := 0
	for i := min(end.turn, len(s.view.Turns)-1); i >= first.turn && count <= limit; i-- {
		if wanted(s.view.Turns[i]) {
			part, err := s.part(i, first, end)
			if err != nil {
				return nil, false, err
			}
			turns = append(turns, part)
			count += len(part)
		}
	}
	slices.Reverse(turns)
	page := slices.Concat(turns...)
	if len(page) > limit {
		return page[len(page)-limit:], true, nil
	}
	return page, false, nil
}

// part copies those messages of a turn that stand from first on to before end.
func (s *state) part(turn int, first, end place) ([]Message, error) {
	t, err := s.whole(s.ctx, s.view.Turns[turn])
	if err != nil {
		return nil, err
	}
	list := s.messages(t)
	if turn == end.turn {
		list = list[:min(end.message, len(list))]
	}
	if turn == first.turn {
		list = list[min(first.message, len(list)):]
	}
	return list, nil
}

// messages copies a turn's messages; those of the running turn have their open blocks.
func (s *state) messages(t *session.Turn) []Message {
	list := make([]Message, 0, len(t.Messages)+1)
	found := false
	for _, m := range t.Messages {
		out := Message{Message: *m, Refused: s.view.Refused(m.ID), Pinned: s.view.IsPinned(t, m), Start: t.By(m), Stop: t.End}
		out.Parts = slices.Clone(m.Parts)
		if m.Turn != t.ID {
			out.Into = t.ID
		}
		if m.End != nil {
			out.Served = m.End.By()
		}
		if s.run != nil && s.run.reply.id == m.ID {
			out.Open, out.Served, found = s.run.reply.blocks(), s.run.answering.by, true
		}
		list = append(list, out)
	}
	if s.run != nil && s.run.Turn == t && s.run.reply.id != "" && !found {
		m := session.Message{ID: s.run.reply.id, Turn: t.ID, Role: provider.Assistant}
		list = append(list, Message{Message: m, Start: t.Now(), Open: s.run.reply.blocks(), Served: s.run.answering.by})
	}
	if len(list) > 0 {
		list[len(list)-1].Last = true
	}
	continues, joins := goesOn(t)
	for _, step := range t.Steps {
		if len(list) > 0 {
			m := &list[min(max(step.At, 1), len(list))-1]
			m.Steps = append(m.Steps, step)
		}
	}
	for i := range list {
		if list[i].Role == provider.Assistant {
			list[i].Continues, list[i].Joins, joins = continues, joins, nil
		}
	}
	return list
}

// goesOn is the turn that a turn goes on with, and the text that its first text is a part of.
func goesOn(t *session.Turn) (session.TurnID, *feed.Joined) {
	if t.Prompt.Continues == nil {
		return "", nil
	}
	start := continued(feed.TurnStart{}, t.Prompt.Continues)
	return start.Continues, start.Joins
}
