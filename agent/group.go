package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/loaded"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/search"
)

// Group has the agents of a daemon, one for each loaded session of any owner. It is safe for concurrent use.
type Group struct {
	cfg Config
	ctx context.Context

	stop  context.CancelCauseFunc
	loads sync.WaitGroup // a goroutine for each agent

	searching chan struct{} // has an element for each search that runs
	seals     seals         // of cursors

	mu      sync.Mutex
	agents  map[session.Ref]*loading
	used    map[session.Ref]uint64 // the last Seq of each session whose store failed: its log may not know of it
	closed  bool
	leaving bool // all sessions move to other nodes: see Drain
}

// loading is an agent, or one that is on its way: ready is closed when agent or err is set.
type loading struct {
	ready chan struct{}
	agent *Agent
	err   error
	users atomic.Int32 // calls of Do that have the agent, or wait for it: it does not rest meanwhile
}

// NewGroup ends the turns of Config.Left, and returns a group without agents. The agents end with Close or ctx.
func NewGroup(ctx context.Context, cfg Config) (*Group, error) {
	cfg = cfg.withDefaults()
	cfg.queued, cfg.loaded = new(queue.Total), new(loaded.Models)
	cfg.parks, cfg.lists, cfg.crowd, cfg.held = park.NewYard(cfg.Jitter), watch.NewHub(cfg.Guests), new(atomic.Int32), new(atomic.Int64)
	cfg.gate, cfg.scaler = gate.New(cfg.Limits.Spending, gate.Quotas{Of: cfg.Quota, Used: cfg.usedBy}, cfg.Now), new(media.Scaler)
	if cfg.Cluster != nil {
		cfg.gate.Join(cfg.Cluster, func(ctx context.Context, today session.Day) (session.Budgets, error) {
			return cfg.Store.Ledger().Budgets(ctx, today)
		})
	}
	cfg.stored = stored.New(cfg.Store, cfg.Stored, cfg.Cluster)
	if err := cfg.recover(ctx); err != nil {
		return nil, err
	}
	if err := cfg.openLedger(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	g := &Group{cfg: cfg, ctx: ctx, stop: stop, agents: make(map[session.Ref]*loading),
		used: make(map[session.Ref]uint64), searching: make(chan struct{}, searches)}
	g.loads.Go(g.wakeParked) // ends with ctx; Close waits
	if cfg.Cluster != nil {
		g.loads.Go(g.giveBack) // the same
	}
	return g, nil
}

// giveBackTime is how often a node gives back what it does not need of quotas and limits.
const giveBackTime = time.Second

// giveBack ends with the group's context.
func (g *Group) giveBack() {
	tick := time.NewTicker(giveBackTime)
	defer tick.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-tick.C:
		}
		if err := errors.Join(g.cfg.gate.Look(g.ctx), g.cfg.stored.Look(g.ctx)); err != nil && g.ctx.Err() == nil {
			g.cfg.Log.Debug("what this node has reserved of quotas and limits stays reserved for now", "err", err)
		}
	}
}

// parkedLook is how often the clock is compared with the times of parked turns. A timer would not run while the machine sleeps.
const parkedLook = time.Second

// wakeParked resumes parked turns when their time has come.
func (g *Group) wakeParked() {
	tick, looks := time.NewTicker(parkedLook), true
	defer tick.Stop()
	for {
		if timed := g.cfg.parks.Timed() > 0; timed != looks {
			if looks = timed; looks {
				tick.Reset(parkedLook)
			} else {
				tick.Stop()
			}
		}
		select {
		case <-g.ctx.Done():
			return
		case <-g.cfg.parks.Changed():
			continue
		case <-tick.C:
		}
		due, postponed := g.cfg.parks.Due(g.cfg.Now())
		for _, p := range due {
			g.loads.Go(func() { g.wake(p) }) // ends with the group's context at the latest; Close waits
		}
		for _, p := range postponed {
			g.loads.Go(func() { g.tellPostponed(p) }) // the same
		}
	}
}

// wakeAgain is how long a turn waits whose session could not be loaded.
const wakeAgain = 30 * time.Second

// wake resumes one parked turn.
func (g *Group) wake(p park.Place) {
	err := g.For(p.Ref.Owner).Do(g.ctx, p.Ref.ID, func(a *Agent) error {
		_, err := ask(g.ctx, a, func(s *state) (struct{}, error) {
			s.wake(p)
			return struct{}{}, nil
		})
		return err
	})
	switch {
	case errors.Is(err, session.ErrNotFound):
		g.cfg.parks.Leave(p.Ref)
	case err != nil && g.ctx.Err() == nil:
		g.cfg.Log.Warn("a parked turn cannot resume yet", "session", p.Ref.ID, "turn", p.Turn, "err", err)
		g.cfg.parks.Delay(p.Ref, g.cfg.Now().Add(wakeAgain))
	}
}

// tellPostponed publishes the new time of a parked turn, if its session is loaded.
func (g *Group) tellPostponed(p park.Place) {
	g.mu.Lock()
	l := g.agents[p.Ref]
	g.mu.Unlock()
	if l == nil || !l.loaded() {
		return
	}
	_, _ = ask(g.ctx, l.agent, func(s *state) (struct{}, error) { // an agent that has ended has no subscribers
		if shown := s.parkedNow(); shown != nil && s.run.ID == p.Turn && s.feed.Subscribed() {
			s.tell(p.Turn, *shown)
		}
		return struct{}{}, nil
	})
}

// Parked returns the number of parked turns that resume or end automatically. The others need a client.
func (g *Group) Parked() int { return g.cfg.parks.Timed() }

// recover closes the turns that a crash left open.
func (cfg Config) recover(ctx context.Context) error {
	if cfg.Left == nil {
		return nil
	}
	left, err := cfg.Left(ctx)
	if err != nil {
		return fmt.Errorf("sessions with an open turn: %w", err)
	}
	for _, ref := range left {
		// A session that cannot be closed now is closed when it is loaded; the others are not delayed.
		if err := cfg.recoverOne(ctx, ref); err != nil {
			cfg.Log.Warn("open turn is not closed", "session", ref.ID, "err", err)
		}
	}
	return nil
}

// openLedger ends the reservations that a crash left, and counts what was spent for the limits of all sessions.
func (cfg Config) openLedger(ctx context.Context) error {
	ledger := cfg.Store.Ledger()
	var left []session.Hold
	if !cfg.Shared { // otherwise they may be those of calls that run elsewhere
		var err error
		if left, err = ledger.Holds(ctx); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	for _, h := range left {
		used := h.Usage
		used.Estimated = true
		if err := ledger.Settle(ctx, h.Ref, h.ID, used, nil); err != nil {
			cfg.Log.Warn("a call that a crash cut off is not in the ledger yet", "session", h.Ref.ID, "err", err)
		}
	}
	day := session.Day("")
	if cfg.Limits.Spending.Day > 0 { // otherwise nobody asks what was spent today, and the start does not wait for a sum of all lines
		day = cfg.gate.Today()
	}
	spent, err := ledger.Budgets(ctx, day)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	cfg.gate.Restore(spent)
	return nil
}

// Attend says that a person wrote or approved something, in any session.
func (g *Group) Attend() { g.cfg.gate.Attend() }

// Today returns the day that a call counts for if it begins now.
func (g *Group) Today() session.Day { return g.cfg.gate.Today() }

// Used lists what the model calls of this owner used from one day to another, both included.
func (o *Sessions) Used(ctx context.Context, from, to session.Day) ([]session.Line, error) {
	return o.group.cfg.Store.Ledger().Lines(ctx, &o.owner, from, to)
}

// Budgets returns, for each limit for all sessions, how much of it is spent and reserved now.
func (g *Group) Budgets() []session.Spending { return g.cfg.gate.Budgets() }

func (cfg Config) recoverOne(ctx context.Context, ref session.Ref) error {
	store := cfg.Store.For(ref.Owner)
	log, err := store.Claim(ctx, ref.ID)
	if err != nil {
		return err
	}
	parked, err := session.Recover(ctx, store, log, ref.ID, cfg.Now())
	if parked != nil {
		cfg.parks.Restore(park.Restored(ref, parked, cfg.Limits.Park))
	}
	return errors.Join(err, log.Release(context.WithoutCancel(ctx)))
}

// Config returns what the agents of this group share.
func (g *Group) Config() Config { return g.cfg }

// Sessions are the sessions of one owner, with their agents. The id of another owner's session is that of no session:
// session.ErrNotFound. It is safe for concurrent use.
type Sessions struct {
	group *Group
	owner session.Owner
	store session.Sessions
}

// For returns the sessions of one owner. It costs nothing: callers need not keep its result.
func (g *Group) For(owner session.Owner) *Sessions {
	return &Sessions{g, owner, g.cfg.Store.For(owner)}
}

func (o *Sessions) ref(id session.ID) session.Ref { return session.Ref{Owner: o.owner, ID: id} }

// Get returns a session's record from the store.
func (o *Sessions) Get(ctx context.Context, id session.ID) (session.Session, error) {
	return o.store.Get(ctx, id)
}

// List returns a page of records from the store, and the cursor of the next page: see [session.Sessions].
func (o *Sessions) List(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	if q.Cursor, err = o.group.seals.open(o.owner, q.Cursor); err != nil {
		return nil, "", err
	}
	page, next, err = o.store.List(ctx, q)
	return page, o.group.seals.seal(o.owner, next), err
}

// SealCursor encrypts a position in a list that all users share, as a cursor for this owner's clients. OpenCursor decrypts it. A cursor
// reveals nothing to users. For the operator, the position is not encrypted. Error of OpenCursor: [session.ErrCursor].
func (o *Sessions) SealCursor(place string) string { return o.group.seals.seal(o.owner, place) }

// OpenCursor returns the position from which SealCursor made a cursor.
func (o *Sessions) OpenCursor(cursor string) (string, error) {
	return o.group.seals.open(o.owner, cursor)
}

// searches is how many searches of a daemon run in parallel. Others wait: a search keeps a processor busy until it returns.
const searches = 2

// Search finds text in sessions: see [search.Scan].
func (o *Sessions) Search(ctx context.Context, q search.Query, b search.Bounds) (search.Page, error) {
	select {
	case o.group.searching <- struct{}{}:
	case <-ctx.Done():
		return search.Page{}, context.Cause(ctx)
	}
	defer func() { <-o.group.searching }()
	var err error
	if q.Cursor, err = o.group.seals.open(o.owner, q.Cursor); err != nil {
		return search.Page{}, err
	}
	page, err := search.Scan(ctx, o.store, q, b)
	page.Next = o.group.seals.seal(o.owner, page.Next)
	return page, err
}

// Create stores a new session. It sets ID, Created, Updated and Status; the caller sets the rest. Errors: *room.Error, and those of
// the store.
func (o *Sessions) Create(ctx context.Context, s session.Session) (session.Session, error) {
	s = o.group.cfg.begun(s)
	release, err := o.group.admit(ctx, o.owner, s)
	if err != nil {
		return s, err
	}
	defer release()
	if err := o.store.Create(ctx, s); err != nil {
		return s, err
	}
	o.created(s)
	return s, nil
}

// Watch returns a subscription to the changes of all sessions of the owner, from now on. The caller closes it.
func (o *Sessions) Watch() *watch.Subscription { return o.group.cfg.lists.Subscribe(o.owner) }

// admit makes room in memory for a session of an owner, and reserves what its record takes in the store until release.
func (g *Group) admit(ctx context.Context, o session.Owner, s session.Session) (release func(), err error) {
	if err := g.makeRoom(ctx, room.OfRecord(s), ""); err != nil {
		return nil, err
	}
	return g.cfg.stored.Reserve(ctx, o, room.OfRecord(s))
}

// Stored is how many bytes a user has stored whose quota bounds them; ok is false for other users. It may read the user's sessions.
func (g *Group) Stored(ctx context.Context, o session.Owner) (bytes int64, ok bool, err error) {
	return g.cfg.stored.Used(ctx, o)
}

// created tells those who watch the list of a new session.
func (o *Sessions) created(s session.Session) {
	o.group.cfg.stored.Add(o.ref(s.ID), room.OfRecord(s))
	o.group.cfg.lists.Publish(o.owner, watch.Change{Kind: watch.Created, Session: s.Changing()})
}

// Tell sends the change to the lists of a guest that a sharing makes: the session is there from now on, is there in another way, or is gone. The
// caller has stored the sharing.
func (o *Sessions) Tell(ctx context.Context, guest session.Owner, id session.ID, kind watch.Kind) error {
	lists := o.group.cfg.lists
	if kind == watch.Removed {
		lists.PublishTo(guest, o.owner, watch.Change{Kind: kind, Session: session.Session{ID: id}})
		return nil
	}
	s, err := o.Get(ctx, id)
	if err != nil {
		return err
	}
	now, _ := o.Live(s)
	s = s.Changing()
	s.Status = now.Status
	lists.PublishTo(guest, o.owner, watch.Change{Kind: kind, Session: s, Needs: now.Needs})
	return nil
}

// begun is the record of a session as it begins.
func (cfg Config) begun(s session.Session) session.Session {
	s.ID = session.NewID()
	s.Created = cfg.Now().UnixMilli()
	s.Updated = s.Created
	s.Status = session.Idle
	return s
}

// CreateOnce is Create for a stamped request. If the stamp is new, it creates a session, and stores the answer that answer makes of the
// session's id. It returns the creation of the first request with the stamp. Errors: session.ErrReused, and those of the store.
func (o *Sessions) CreateOnce(ctx context.Context, s session.Session, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error) {
	s = o.group.cfg.begun(s)
	release, err := o.group.admit(ctx, o.owner, s)
	if err != nil {
		return session.Creation{}, err
	}
	defer release()
	text, err := answer(s.ID)
	if err != nil {
		return session.Creation{}, err
	}
	first, err := o.store.CreateOnce(ctx, s, session.Creation{Stamp: stamp, Session: s.ID, Answer: text})
	if err != nil {
		return session.Creation{}, err
	}
	if first.Session == s.ID {
		o.created(s)
	}
	return first, stamp.Repeats(first.Stamp)
}

// Creation returns the session that the first request with a stamp created, and its answer. ok is false if there was none, or if the
// store has forgotten it.
// Error: session.ErrReused, and those of the store.
func (o *Sessions) Creation(ctx context.Context, stamp session.Stamp) (first session.Creation, ok bool, err error) {
	first, ok, err = o.store.Creation(ctx, stamp.ID)
	if ok && err == nil {
		err = stamp.Repeats(first.Stamp)
	}
	return first, ok, err
}

// Fork makes a session that goes on from a message of another one, or, without a message, from the turns that have ended. It
// shares the messages up to there, so models get the same bytes, and thinking that is bound to them stays valid. The fork has no grants:
// it asks again. The other session does not change, and may be deleted.
// Errors: ErrNoMessage, session.ErrUnfinished, and those of the store.
func (o *Sessions) Fork(ctx context.Context, id session.ID, message session.MessageID) (session.Session, error) {
	s, err := o.forked(ctx, id, forkAt(message))
	if err != nil {
		return s, err
	}
	return o.Create(ctx, s)
}

// ForkBefore is Fork from right before a message, or before a summary: then the fork has the messages that the summary replaced, and it is
// possible at any time. Errors: those of Fork, and ErrNoSummary.
func (o *Sessions) ForkBefore(ctx context.Context, id session.ID, at session.Before) (session.Session, error) {
	s, err := o.forked(ctx, id, forkBefore(at))
	if err != nil {
		return s, err
	}
	return o.Create(ctx, s)
}

// ForkBeforeOnce is ForkBefore for a stamped request, as CreateOnce is Create. Error: session.ErrReused too.
func (o *Sessions) ForkBeforeOnce(ctx context.Context, id session.ID, at session.Before, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error) {
	s, err := o.forked(ctx, id, forkBefore(at))
	if err != nil {
		return session.Creation{}, err
	}
	return o.CreateOnce(ctx, s, stamp, answer)
}

// ForkOnce is Fork for a stamped request, as CreateOnce is Create. Error: session.ErrReused too.
func (o *Sessions) ForkOnce(ctx context.Context, id session.ID, message session.MessageID, stamp session.Stamp, answer func(session.ID) (json.RawMessage, error)) (session.Creation, error) {
	s, err := o.forked(ctx, id, forkAt(message))
	if err != nil {
		return session.Creation{}, err
	}
	return o.CreateOnce(ctx, s, stamp, answer)
}

// forkAt makes the record of a fork that goes on from a message.
func forkAt(message session.MessageID) func(*session.View) (session.Session, error) {
	return func(v *session.View) (session.Session, error) {
		fork, ok, err := v.Fork(message)
		if !ok {
			return fork, ErrNoMessage
		}
		return fork, err
	}
}

// forkBefore makes the record of a fork that goes on from before a message or a summary.
func forkBefore(at session.Before) func(*session.View) (session.Session, error) {
	return func(v *session.View) (session.Session, error) {
		if at.Message != "" {
			fork, ok, err := v.ForkBeforeMessage(at.Message)
			if !ok {
				err = ErrNoMessage
			}
			return fork, err
		}
		fork, ok := v.ForkBefore(at.Summary)
		if !ok {
			return fork, ErrNoSummary
		}
		return fork, nil
	}
}

// forked is the record of a fork, without an id.
func (o *Sessions) forked(ctx context.Context, id session.ID, cut func(*session.View) (session.Session, error)) (fork session.Session, err error) {
	err = o.Do(ctx, id, func(a *Agent) error {
		fork, err = ask(ctx, a, func(s *state) (session.Session, error) {
			if err := s.writable(); err != nil { // what closes a crash's turn is to be in the log
				return session.Session{}, err
			}
			return cut(s.view)
		})
		return err
	})
	return fork, err
}

// Do runs f with the agent of a session, which is loaded if necessary. If the agent ends before f, f runs again with a new one, at
// most twice. Errors: session.ErrNotFound, *room.Error, feed.ErrClosed after Close, and those of f.
func (o *Sessions) Do(ctx context.Context, id session.ID, f func(*Agent) error) error {
	g := o.group
	for try := 0; ; try++ {
		l, err := g.use(o.ref(id))
		if left, ok := errors.AsType[*session.ElsewhereError](err); ok && g.cfg.Cluster != nil {
			left.Node = g.cfg.Cluster.Successor(ctx, o.ref(id))
		}
		if err != nil {
			return err
		}
		a, err := l.do(ctx, f)
		again := errors.Is(err, feed.ErrClosed) || errors.Is(err, session.ErrFenced) // nothing was written then
		if a == nil || !again || try == 2 || g.ctx.Err() != nil {
			return err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// do runs f with the agent when it is loaded, and gives up the use of it. The agent is nil if there is none.
func (l *loading) do(ctx context.Context, f func(*Agent) error) (*Agent, error) {
	defer l.users.Add(-1)
	select {
	case <-l.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.err != nil {
		return nil, l.err
	}
	return l.agent, f(l.agent)
}

// use is the agent of a session, which begins to load if necessary. The caller calls do.
func (g *Group) use(ref session.Ref) (*loading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, feed.ErrClosed
	}
	l := g.agents[ref]
	if l != nil && !l.ended() {
		l.users.Add(1)
	} else if g.leaving {
		return nil, new(session.ElsewhereError)
	} else {
		g.forgetLocked(ref, l)
		l = &loading{ready: make(chan struct{})}
		l.users.Add(1) // before the agent can find itself idle
		g.agents[ref] = l
		used := g.used[ref]
		g.loads.Go(func() { g.load(ref, l, used) }) // ends when the agent is loaded; Close waits
	}
	return l, nil
}

func (g *Group) load(ref session.Ref, l *loading, used uint64) {
	g.loads.Add(1)
	l.agent, l.err = start(g.ctx, ref, g.cfg, used, &l.users, func() {
		defer g.loads.Done()
		<-l.ready
		g.rested(ref, l)
	})
	if l.err != nil {
		g.loads.Done()
		if errors.Is(l.err, session.ErrReadOnly) { // clients do not get the reason, such as messages that the store has lost
			g.cfg.Log.Error("session cannot be opened", "session", ref.ID, "err", l.err)
		}
	} else {
		if err := g.makeRoom(g.ctx, l.agent.size.Load(), ref.ID); err != nil {
			l.agent.Close()
			l.err = err
		}
	}
	close(l.ready)
	if l.err != nil {
		g.forget(ref, l)
	}
}

// rested is what follows the end of an agent. The goroutine of the agent calls it: another one that waits would cost 3 KiB for each session.
func (g *Group) rested(ref session.Ref, l *loading) {
	if l.err != nil { // there was no room for the agent
		return
	}
	if g.cfg.Rest != nil {
		g.cfg.Rest(ref)
	}
	g.forget(ref, l)
	g.unload(l.agent.unload)
}

// unloadTime is how long a server may take to unload a model. The end of a daemon waits for it.
const unloadTime = 2 * time.Second

// unload frees models that no session uses any more. If a session begins to
// use one in this moment, the server still ends the call, and loads the model again for the next one.
func (g *Group) unload(models []loaded.Unload) {
	for _, unload := range models {
		ctx, stop := context.WithTimeout(context.WithoutCancel(g.ctx), unloadTime)
		if err := unload(ctx); err != nil {
			g.cfg.Log.Warn("a model is not unloaded; its server does it in its own time", "err", err)
		}
		stop()
	}
}

func (g *Group) forget(ref session.Ref, l *loading) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetLocked(ref, l)
}

// forgetLocked lets go of an agent that has ended, or of none. The first caller does it: the next load or the last.
func (g *Group) forgetLocked(ref session.Ref, l *loading) {
	if l == nil || g.agents[ref] != l {
		return
	}
	delete(g.agents, ref)
	if l.err == nil && l.agent.lastSeq > 0 {
		g.used[ref] = l.agent.lastSeq
	}
}

// loaded reports whether there is an agent.
func (l *loading) loaded() bool {
	select {
	case <-l.ready:
		return l.err == nil
	default:
		return false
	}
}

// ended reports whether this agent is of no use any more.
func (l *loading) ended() bool {
	select {
	case <-l.ready:
	default:
		return false
	}
	if l.err != nil {
		return true
	}
	select {
	case <-l.agent.done:
		return true
	default:
		return false
	}
}

// loadedSize is what all loaded sessions hold together.
func (g *Group) loadedSize() (n int64) {
	for _, a := range g.running() {
		n += a.size.Load()
	}
	return n
}

// makeRoom unloads sessions until there is room for more bytes. It returns a *room.Error if there is none.
//
// What a session takes is estimated when it is loaded and after each turn. Sessions are unloaded in which nothing runs and that
// nobody follows, the longest unused first; but is never one of them. What is on disk is not bounded here.
func (g *Group) makeRoom(ctx context.Context, more int64, but session.ID) error {
	limit := g.cfg.Limits.Loaded
	if g.cfg.held.Load()+more <= limit || g.loadedSize()+more <= limit { // the first is not less, and does not walk all agents
		return nil
	}
	type resting struct {
		*Agent
		used time.Time
	}
	var rest []resting
	for _, a := range g.running() {
		if a.id == but {
			continue
		}
		used, err := ask(ctx, a, func(s *state) (time.Time, error) { return s.used, nil })
		if err == nil { // else it is ending
			rest = append(rest, resting{a, used})
		}
	}
	slices.SortFunc(rest, func(a, b resting) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, a := range rest {
		if g.loadedSize()+more <= limit {
			return nil
		}
		gone, err := ask(ctx, a.Agent, func(s *state) (bool, error) {
			if !s.rests() {
				return false, nil
			}
			s.rest()
			return true, nil
		})
		if err == nil && gone {
			<-a.done
		}
	}
	if held := g.loadedSize(); held > 0 && held+more > limit {
		return &room.Error{What: "the sessions in use take too much memory", Limit: "max_loaded_bytes", Bytes: limit}
	}
	return nil // a session that is larger than all that may be is loaded alone
}

// rests reports whether nothing of the session runs and nobody follows it.
func (s *state) rests() bool {
	s.feed.Prune()
	s.pruneWaiters()
	return s.users.Load() == 0 && !s.works() && s.compacting == nil && !s.mayStart() && !s.feed.Subscribed() && len(s.waiters) == 0 && s.unsaved == nil && s.asides.Running() == 0
}

// Delete ends the running turn of a session, removes the session, and notifies its clients. It is no error if there is no such
// session.
func (o *Sessions) Delete(ctx context.Context, id session.ID) error {
	err := o.delete(ctx, id, func(*state) bool { return true })
	switch {
	case errors.Is(err, session.ErrNotFound):
		err = nil
	case errors.Is(err, session.ErrDamaged):
		err = o.store.Delete(ctx, id)
	}
	if err == nil {
		o.deleted(id)
	}
	return err
}

// DeleteUnused deletes a session only if nothing in it runs, waits or is queued, no client follows it, and old returns true for it. It
// reports whether the session was deleted. Errors: session.ErrNotFound, session.ErrDamaged, and those of the store.
func (o *Sessions) DeleteUnused(ctx context.Context, id session.ID, old func(session.Session) bool) (bool, error) {
	unused := false
	err := o.delete(ctx, id, func(s *state) bool {
		s.feed.Prune()
		s.pruneWaiters()
		unused = old(s.view.Session) && s.run == nil && s.queue.Len() == 0 && s.compacting == nil && !s.feed.Subscribed() &&
			len(s.waiters) == 0 && s.asides.Running() == 0
		return unused
	})
	if err == nil && unused {
		o.deleted(id)
	}
	return err == nil && unused, err
}

// Forget deletes all sessions of the owner, and all other data that the store has of the owner. It returns the ids of the sessions. The
// caller must make sure that no client acts for the owner until it returns. After an error, some sessions are deleted, and the call can
// be repeated. Errors: those of the store, and session.ErrOwner for the operator.
func (o *Sessions) Forget(ctx context.Context) (gone []session.ID, err error) {
	g := o.group
	if o.owner == session.Operator {
		return nil, session.ErrOwner
	}
	for {
		page, _, err := o.store.List(ctx, session.Query{Limit: 1000})
		if err != nil {
			return gone, err
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			if err := o.Delete(ctx, s.ID); err != nil {
				return gone, err
			}
			gone = append(gone, s.ID)
		}
	}
	if err := g.ended(ctx, o.owner); err != nil { // a call that ends charges the ledger
		return gone, err
	}
	if err := g.cfg.Store.Forget(ctx, o.owner); err != nil {
		return gone, err
	}
	g.cfg.gate.Forget(o.owner)
	return gone, nil
}

// ended waits until no agent of an owner is there.
func (g *Group) ended(ctx context.Context, owner session.Owner) error {
	g.mu.Lock()
	var left []*loading
	for ref, l := range g.agents {
		if ref.Owner == owner {
			left = append(left, l)
		}
	}
	g.mu.Unlock()
	for _, l := range left {
		select {
		case <-l.ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if l.err != nil {
			continue
		}
		select {
		case <-l.agent.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// delete removes a session, if its agent may.
func (o *Sessions) delete(ctx context.Context, id session.ID, may func(*state) bool) error {
	return o.Do(ctx, id, func(a *Agent) error {
		_, err := ask(ctx, a, func(s *state) (struct{}, error) {
			if !may(s) {
				return struct{}{}, nil
			}
			s.queue.Held = true // nothing queued starts any more
			if s.run != nil {
				s.endTurn(session.TurnEnd{StopReason: session.StopCancelled}, session.Cancelled)
			}
			if s.ended != nil {
				return struct{}{}, s.ended
			}
			if s.cfg.Blobs != nil { // first: after a crash they may be looked for in vain, but not forgotten
				if err := s.cfg.Blobs.Forget(); err != nil {
					s.log.Warn("media of deleted sessions stay until the next deletion", "err", err)
				}
			}
			if err := s.store.Delete(context.WithoutCancel(s.ctx), s.id); err != nil {
				s.storeFailed(err) // it may still be gone
				return struct{}{}, err
			}
			s.failedToKeep, s.deleted = false, true // no number of it is used again
			s.dropCompaction(session.ErrNotFound)
			s.publish("", feed.SessionUpdate{Deleted: true})
			s.end(feed.ErrClosed)
			return struct{}{}, nil
		})
		return err
	})
}

// deleted tells all others of a deletion.
func (o *Sessions) deleted(id session.ID) {
	g := o.group
	g.cfg.stored.Forget(o.ref(id))
	g.cfg.lists.Publish(o.owner, watch.Change{Kind: watch.Removed, Session: session.Session{ID: id}})
	g.mu.Lock()
	delete(g.used, o.ref(id))
	g.mu.Unlock()
	g.cfg.parks.Leave(o.ref(id))
	if g.cfg.Deleted != nil {
		g.cfg.Deleted(o.ref(id))
	}
}

// TellReadOnly notifies the clients of all sessions that the store takes no writes for now. A session that has something to
// write gets the error from the store, but a session that is only watched, or whose model thinks for long, would not notice. It returns
// when all sessions have published the notice, or when ctx ends. No session waits for another, because one may be blocked in a write until
// the store has read back its file.
func (g *Group) TellReadOnly(ctx context.Context) {
	var telling sync.WaitGroup
	for _, a := range g.running() {
		telling.Go(func() {
			// An agent that has ended meanwhile has published the notice, or has no subscriber.
			_, _ = ask(ctx, a, func(s *state) (struct{}, error) {
				if s.feed.Subscribed() {
					s.noticeReadOnly(session.ErrReadOnly)
				}
				return struct{}{}, nil
			})
		})
	}
	telling.Wait()
}

// DefaultsChanged sends the clients of a provider's open sessions the new levels, after the provider's defaults changed. It does
// not wait.
func (g *Group) DefaultsChanged(providerID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for _, l := range g.agents {
		g.loads.Go(func() { // ends with the group's context at the latest; Close waits
			select {
			case <-l.ready:
			case <-g.ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
			_, _ = ask(g.ctx, l.agent, func(s *state) (struct{}, error) { // an agent that has ended has no subscribers
				s.retell(providerID)
				return struct{}{}, nil
			})
		})
	}
}

// retell says what the next turn would get. Where that would be refused, the turn says so.
func (s *state) retell(providerID string) {
	set := s.view.Session.Settings
	if set.Model.Provider != providerID || !s.feed.Subscribed() {
		return
	}
	next, err := s.conversation().decide(set, session.Override{})
	if err != nil {
		return
	}
	model := next.shown()
	s.tell("", feed.SessionUpdate{Model: &model, Level: model.Level, Preferred: set.Level})
}

// running is all agents that are there at the moment.
func (g *Group) running() (agents []*Agent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.agents {
		if l.loaded() {
			agents = append(agents, l.agent)
		}
	}
	return agents
}

// Live returns what a session does and needs, given its record in the store. loaded reports whether the answer comes from its agent. Only
// an agent knows whether the session waits for a person, and what is about to start.
func (o *Sessions) Live(s session.Session) (now Live, loaded bool) {
	g, ref := o.group, o.ref(s.ID)
	g.mu.Lock()
	l := g.agents[ref]
	g.mu.Unlock()
	if l != nil && l.loaded() && !l.ended() {
		if now, ok := l.agent.live.Load().(Live); ok {
			return now, true
		}
	}
	now.Status = s.Status
	switch s.Status {
	case session.Held:
		now.Needs = watch.Parked
	case session.Parked:
		place, known := g.cfg.parks.At(ref)
		switch {
		case place.Why == session.ParkedApproval:
			now.Needs = watch.Approval
		case !known || !place.Alone:
			now.Needs = watch.Parked
		}
	}
	return now, false
}

// Running counts the sessions in which a turn runs.
func (g *Group) Running() int { return len(g.RunningSessions()) }

// RunningSessions lists the sessions of all owners in which a turn runs, by id.
func (g *Group) RunningSessions() []session.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []session.ID
	for ref, l := range g.agents {
		if l.loaded() && l.agent.busy.Load() {
			list = append(list, ref.ID)
		}
	}
	slices.Sort(list)
	return list
}

// Close interrupts all turns, and returns when all agents have ended. The store stays open.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.stop(feed.ErrClosed)
	g.loads.Wait()
	g.cfg.lists.Close()
	g.unload(g.cfg.loaded.Rest())
	return nil
}
