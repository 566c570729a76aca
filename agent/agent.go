package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

var (
	// ErrBusy refuses a prompt that was not to be queued.
	ErrBusy = errors.New("a turn is running")

	// ErrHeld and ErrCompacting refuse it where no turn runs: prompts wait for a word, or earlier turns are being summarised.
	ErrHeld       = errors.New("prompts wait in a queue that is held")
	ErrCompacting = errors.New("earlier turns are being summarised")

	// ErrQueueFull refuses a prompt since maxQueue wait already.
	ErrQueueFull = fmt.Errorf("%d prompts wait already", maxQueue)

	// ErrNoTurn says that a turn is not one of this session's.
	ErrNoTurn = errors.New("no such turn")

	// ErrNoMessage says that a message is not one of this session's.
	ErrNoMessage = errors.New("no such message")
)

// Config is what all agents of a daemon share.
type Config struct {
	Store session.Store

	// Left lists the sessions with a turn that a crash left open, for NewGroup to close; nil: there are none. A turn that it
	// does not list is closed when its session is loaded.
	Left func(context.Context) ([]session.ID, error)

	Blobs   session.Blobs // where media are kept; nil: in the log
	Catalog Catalog

	// Provider finds a provider by its configured id, nil if there is none. One without a key is there: its calls
	// fail with provider.KindAuth.
	Provider func(id string) provider.Provider

	// Level is the operator's level for all sessions, empty if none; Defaults are those of a provider, asked for each
	// turn, on the agent's goroutine.
	Level    provider.Level
	Defaults func(providerID string) registry.Defaults

	// Patience is for how long a provider may be silent, before its answer and in it; nil or 0: as Limits says. A server
	// on one's own machine loads a model first.
	Patience func(providerID string) time.Duration

	// Address is where a provider is reached, as it may be stored; nil or empty: not known.
	Address func(providerID string) string

	// Simulator is the id of the provider whose answers are made up, so that a notice says so.
	Simulator string

	// Hosts lists who runs tools for a session, or for one that has no id yet: the operator's hosts, and the session's
	// own. It never waits. Nil: nobody.
	Hosts func(session.Session) []tool.Host

	// Rest hears that a session is let go: nothing of it runs, and it may be loaded again. Deleted hears that there is no
	// such session any more. Both may be nil. They are called on goroutines that somebody waits for, so they return soon.
	Rest, Deleted func(session.ID)

	// Ended hears of each turn that had started and is over, once its end is on disk. It is called on the agents'
	// goroutines, of several at the same time, and must return soon. May be nil.
	Ended func(Report)

	// Called hears of each exchange with a model that is over, and Ran of each tool that ran; else they are like Ended, but
	// for what is on disk. Where they are nil nothing is made for them.
	Called func(CallReport)
	Ran    func(ToolReport)

	// Learned hears what a provider's refusals say of a model. It is called on the agents' goroutines, of several at the same
	// time, and must return soon. May be nil.
	Learned func(session.ModelRef, provider.Learned)

	// CompactAt is the share of a model's window from which on earlier turns are summarised before the next call; 0: never
	// by itself.
	CompactAt float64

	// Rules are the operator's for tools.
	Rules tool.Policy

	Limits Limits
	Log    *slog.Logger

	room *room // of the group's sessions; nil: there is no group
}

// Catalog knows the models: a *[registry.Catalog], or a *[registry.Current], whose catalog is replaced now and then. A
// turn keeps what it began with.
type Catalog interface {
	Model(providerID, name string) provider.Model
	Find(modelID string) (provider.Model, error)
	Models() []provider.Model
	Providers() []string
}

// Limits end what would run away. The zero value of a member is its default.
type Limits struct {
	ModelCalls    int           // of a turn, default 50
	TurnBytes     int           // of thinking and text of a turn, default 64 MiB
	TurnTime      time.Duration // default 60 min
	ToolTime      time.Duration // of a call of a tool, default 10 min
	ToolOutput    int           // bytes of text that a model gets of a call's result, default 256 KiB
	TurnBudget    budget.Limit  // of a turn
	SessionBudget budget.Limit  // of a session; its turns end at once when it is used up

	SessionQueue int64 // bytes of the prompts that wait in a session, default 16 MiB
	Queues       int64 // and in all sessions, default 64 MiB
	Loaded       int64 // bytes of all sessions that are loaded, default 512 MiB

	Idle time.Duration // until an idle session without subscribers is let go, default 10 min

	ConfirmTime  time.Duration // until a question that nobody answers is answered no, default 5 min
	ConfirmBytes int           // of the parts of a call that a person can approve, as JSON, default 1 MiB

	Headers      time.Duration // without an answer at all: the call is stalled, default 120 s
	QuietNotice  time.Duration // without a byte: a notice follows, default 90 s
	QuietBytes   time.Duration // without a byte: the call is stalled, default 300 s
	QuietContent time.Duration // without content, whatever else comes: the call is stalled, default 10 min
}

// DefaultLimits are the limits of a [Config] that states none.
func DefaultLimits() Limits { return Limits{}.withDefaults() }

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	if l.ModelCalls == 0 {
		l.ModelCalls = 50
	}
	if l.TurnBytes == 0 {
		l.TurnBytes = 64 << 20
	}
	size := func(n *int64, value int64) {
		if *n == 0 {
			*n = value
		}
	}
	size(&l.SessionQueue, 16<<20)
	size(&l.Queues, 64<<20)
	size(&l.Loaded, 512<<20)
	set(&l.TurnTime, 60*time.Minute)
	if l.ToolOutput == 0 {
		l.ToolOutput = 256 << 10
	}
	set(&l.ToolTime, 10*time.Minute)
	set(&l.ConfirmTime, 5*time.Minute)
	if l.ConfirmBytes == 0 {
		l.ConfirmBytes = 1 << 20
	}
	set(&l.Idle, 10*time.Minute)
	set(&l.Headers, 120*time.Second)
	set(&l.QuietNotice, 90*time.Second)
	set(&l.QuietBytes, 300*time.Second)
	set(&l.QuietContent, 10*time.Minute)
	return l
}

// address is where a provider is reached.
func (cfg Config) address(providerID string) string {
	if cfg.Address == nil {
		return ""
	}
	return cfg.Address(providerID)
}

// patient is the limits for a provider's calls.
func (cfg Config) patient(providerID string) Limits {
	l := cfg.Limits
	if cfg.Patience == nil {
		return l
	}
	if d := cfg.Patience(providerID); d > 0 {
		l.Headers, l.QuietBytes, l.QuietContent = max(l.Headers, d), max(l.QuietBytes, d), max(l.QuietContent, d)
	}
	return l
}

// Agent runs one session. Its methods are safe for concurrent use; each waits only for the agent's goroutine and at
// most one commit of the store. After the agent has ended they return ErrClosed.
type Agent struct {
	id    session.ID
	inbox chan func(*state)
	done  chan struct{} // closed when the goroutine has ended
	stop  context.CancelCauseFunc
	live  *atomic.Value // the session's status
	busy  *atomic.Bool  // a turn runs
	size  *atomic.Int64 // bytes that the session holds, at the last look

	lastSeq uint64 // set before done is closed, if the store failed: the log may not know of it
}

// Start loads a session and runs it until Close, until ctx ends, or until it has been idle for Limits.Idle. A turn
// that a crash left open is closed first.
func Start(ctx context.Context, id session.ID, cfg Config) (*Agent, error) {
	return start(ctx, id, cfg, 0)
}

// start is Start for a session of which the update numbers up to used are taken, whatever the log says.
func start(ctx context.Context, id session.ID, cfg Config, used uint64) (*Agent, error) {
	cfg.Limits = cfg.Limits.withDefaults()
	ctx, stop := context.WithCancelCause(ctx)
	s, err := load(ctx, id, cfg)
	if err != nil {
		stop(err)
		return nil, err
	}
	if used > 0 {
		s.feed = feed.New(id, max(s.feed.Seq(), session.NextBase(used)))
	}
	a := &Agent{id: id, inbox: make(chan func(*state)), done: make(chan struct{}), stop: stop, live: &s.live, busy: &s.busy, size: &s.size}
	go a.loop(ctx, s) // ends by stop or by itself; Close waits on done
	return a, nil
}

// Close interrupts a running turn, ends all subscriptions, and returns when the agent's goroutines have ended.
func (a *Agent) Close() error {
	a.stop(feed.ErrClosed)
	<-a.done
	return nil
}

// Done is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// callsEnd is how long the end of an agent waits for the goroutines of its calls, after their context has ended. A tool that
// does not heed its context is left behind: the daemon has to end, and its results are not read any more.
const callsEnd = 4 * time.Second

func (s *state) waitForCalls() {
	ended := make(chan struct{})
	go func() { // ends with the last call
		defer close(ended)
		s.calls.Wait()
	}()
	late := time.NewTimer(callsEnd)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		s.cfg.Log.Error("a tool or a model call does not stop; the agent no longer waits for it", "session", s.view.Session.ID, "after", callsEnd)
	}
}

func (a *Agent) loop(ctx context.Context, s *state) {
	defer close(a.done)
	defer a.stop(feed.ErrClosed)
	defer func() {
		if err := s.owned.Release(context.WithoutCancel(ctx)); err != nil {
			s.log.Warn("the log is not released", "err", err)
		}
	}()
	defer s.waitForCalls()
	period := s.period()
	tick := time.NewTicker(period)
	defer tick.Stop()
	always := make(chan struct{})
	close(always)
	for s.ended == nil {
		s.busy.Store(s.run != nil || s.compacting != nil)
		s.noteStatus()
		if s.run == nil {
			s.feed.Forget()
		}
		var start chan struct{} // ready while a queued turn is to start, so that the loop comes round
		if s.mayStart() {
			start = always
		}
		if p := s.period(); p != period {
			period = p
			tick.Reset(p)
		}
		select {
		case f := <-a.inbox:
			s.guard(func() { f(s) })
		case <-s.stepped():
			s.guard(s.step)
		case sum := <-s.summed():
			s.guard(func() { s.compacted(sum) })
		case f := <-s.news():
			s.guard(f)
		case <-s.outputGrew():
			s.guard(s.publishOutput)
		case <-s.retryTime():
			s.guard(s.callAgain)
		case now := <-tick.C:
			s.guard(func() { s.tick(now) })
		case <-start:
		case <-ctx.Done():
			s.guard(s.interrupt)
			s.end(feed.ErrClosed)
		}
		s.guard(s.keepNumber)
		s.guard(s.startNext)
	}
	s.hangUp()
	if s.failedToKeep {
		a.lastSeq = s.feed.Seq()
	}
}

// guard runs f; a panic ends this session's agent and nothing else. The session is loaded anew by whoever asks next.
func (s *state) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p)
		}
	}()
	f()
}

func (s *state) panicked(p any) error {
	err := panicked(s.log, "session", p)
	s.end(err)
	return err
}

// ask runs f on the agent's goroutine and waits for its answer. If ctx ends first, f may still run. A panic in f is an
// internal error, never ErrClosed: what f did before may be on disk, so it must not be run again.
func ask[T any](ctx context.Context, a *Agent, f func(*state) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1) // one answer, also when nobody waits for it any more
	run := func(s *state) {
		defer func() {
			if p := recover(); p != nil {
				answers <- answer{err: s.panicked(p)}
			}
		}()
		value, err := f(s)
		s.noteStatus() // before anybody can ask for it
		answers <- answer{value, err}
	}
	var zero T
	select {
	case a.inbox <- run:
	case <-a.done:
		return zero, feed.ErrClosed
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
	select {
	case r := <-answers:
		return r.value, r.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}
