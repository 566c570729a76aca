package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/loaded"
	"github.com/thinkd/thinkd/agent/media"
	"github.com/thinkd/thinkd/agent/park"
	"github.com/thinkd/thinkd/agent/queue"
	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/agent/stored"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/agent/watch"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

var (
	// ErrBusy refuses a prompt with Reject while a turn runs.
	ErrBusy = errors.New("a turn is running")

	// ErrHeld and ErrCompacting refuse it if no turn runs, but the queue is held, or earlier turns are being summarised.
	ErrHeld       = errors.New("prompts are pending, and the queue is held")
	ErrCompacting = errors.New("earlier turns are being summarised")

	// ErrFinished refuses to continue a session: its last turn was not cut off, a message was added since, or a summary has replaced it.
	ErrFinished = errors.New("there is no unfinished turn to continue")

	// ErrNotUndoable refuses to undo a summary: there is none, another one is newer, or there was a prompt since.
	ErrNotUndoable = errors.New("there is no summary that can be undone")

	// ErrNoSummary means that the session has no such summary.
	ErrNoSummary = errors.New("no such summary")

	// ErrPinned refuses to pin a message because maxPinned messages are pinned already.
	ErrPinned = fmt.Errorf("%d messages are pinned already", maxPinned)

	// ErrNotQueued refuses to change a prompt that does not wait in the queue. ErrSteers refuses to move one that steers the running turn,
	// or to give it a choice of its own.
	ErrNotQueued = errors.New("the prompt does not wait in the queue")
	ErrSteers    = errors.New("the prompt steers the running turn")

	// ErrNotParked refuses to resume a turn that is not parked, and ErrAsked one that waits for the answer to a question.
	ErrNotParked = errors.New("the turn is not parked")
	ErrAsked     = errors.New("the turn waits for the answer to a question")

	// ErrQueueFull refuses a prompt because maxQueue prompts wait already.
	ErrQueueFull = fmt.Errorf("%d prompts are pending already", maxQueue)

	// ErrNoTurn means that the session has no such turn.
	ErrNoTurn = errors.New("no such turn")

	// ErrNoMessage means that the session has no such message.
	ErrNoMessage = errors.New("no such message")
)

// maxQueue is how many prompts of a session may wait.
const maxQueue = 1000

// maxPinned is how many messages of a session may be pinned: each call sends them all.
const maxPinned = 100

// Cluster is the other nodes of a cluster, which count together what users spend and store.
type Cluster interface {
	gate.Cluster
	stored.Cluster

	// Successor names the node that serves a session which has left this one, or one that serves it when it is asked. Empty: there is none.
	Successor(ctx context.Context, ref session.Ref) (node string)
}

// Config has what all agents of a daemon share.
type Config struct {
	Store session.Store

	// Shared says that other processes use the store too: a log may move to one of them (session.Movable).
	Shared bool

	// Cluster is the other processes that spend the quotas and the limits for all sessions too; nil: there are none.
	Cluster Cluster

	// Left lists the sessions of all owners with a turn that a crash left open; NewGroup ends these turns. nil: there are none.
	// Other open turns end when their session is loaded.
	Left func(context.Context) ([]session.Ref, error)

	Blobs   session.Blobs // stores media; nil: the log has them
	Catalog Catalog

	// Provider finds a provider by its configured id; nil: there is none. A provider without a key exists, and its calls fail
	// with provider.KindAuth.
	Provider func(id string) provider.Provider

	// Own is for users with keys of their own: how their sessions call a provider, and who pays for that. Its functions are like Provider and
	// Payer, and own reports whether a key of the user or the tenant pays. nil: all sessions use Provider and Payer.
	Own *OwnKeys

	// Level is the operator's level for all sessions; empty: none. Defaults returns those of a provider. It runs for each turn,
	// on the goroutine of the agent.
	Level    provider.Level
	Options  provider.Options // of all sessions: what a turn, a session or its agent states comes first
	Defaults func(providerID string) registry.Defaults

	// Patience is how long a provider may be silent, before its answer and within; nil or 0: the times of Limits. A server on the
	// same machine may have to load a model first.
	Patience func(providerID string) time.Duration

	// Address is the address of a provider, without secrets, because it is stored; nil or empty: not known.
	Address func(providerID string) string

	// Payer returns who would pay for a provider's call now. Its Account distinguishes two keys, and reveals nothing about them. If Payer
	// is nil or returns nil, that is not known. It runs before each call, for several agents in parallel, and must return soon. key names
	// a key of the provider; empty: its first.
	Payer func(providerID, key string) *session.Payer

	// Fallbacks are called in order if a session's model cannot be called, unless the session has its own.
	Fallbacks []session.Link

	// Egress are the labels of a provider, which say where its data goes: see package egress. nil: no provider has any.
	Egress func(providerID string) []string

	// OnOther says what happens if another model answers, in sessions that have no setting for it; empty: a notice.
	OnOther provider.OtherModel

	// Simulator is the id of the built-in simulator, whose sessions get a notice; empty: there is none.
	Simulator string

	// Hosts lists the hosts of tools for a session of an owner, which may have no id yet: the operator's hosts, and the session's own. It
	// never waits. nil: there are none.
	Hosts func(session.Owner, session.Session) []toolhost.Host

	// Guests lists the users with whom a session is shared. It runs for each change of a list and must return soon. nil: no session is shared.
	Guests func(session.Ref) []session.Owner

	// Rest runs after a session was unloaded: nothing of it runs, and it may be loaded again. Deleted runs after an owner deleted a
	// session, whether there was one or not. Both may be nil, and must return soon, because callers wait on their goroutines.
	Rest, Deleted func(session.Ref)

	// Ended runs after each turn, once the end of the turn is on disk. The agents call it on their goroutines, in parallel. It
	// must return soon. nil: no reports.
	Ended func(report.Turn)

	// Called runs after each model call and Ran after each tool. They follow the rules of Ended, except that nothing is on disk
	// yet.
	Called func(report.Call)
	Ran    func(report.Tool)

	// Learned gets the facts about a model that are in a provider's refusals, such as its window. It follows the rules of Ended.
	Learned func(session.ModelRef, provider.Learned)

	// Quota returns how much a user may use in a day and in a month; nil: there is no bound. It runs before each call, and must return soon.
	Quota func(session.Owner) gate.Quota

	// Stored returns how many bytes the sessions of a user may take; 0: any number. nil: no user has a bound. It runs before each request
	// that stores something, and must return soon.
	Stored func(session.Owner) int64

	// CompactAt is the share of a model's window, above which earlier turns are summarised before the next call; 0: only on
	// request, or after a request that was too long.
	CompactAt float64

	// Rules are the operator's for tools.
	Rules tool.Policy

	Limits Limits
	Log    *slog.Logger

	// Now is the clock; nil: time.Now. Every timestamp, duration, price and deadline of a session comes from it. It is safe for
	// concurrent use. Its times have a monotonic reading, as those of time.Now, so that a clock that is set ends no turn.
	//
	// Deadlines are compared with Now once a second while a turn runs. Only waits of at most a minute are timers of Go: the
	// pause before a retry, and the silence of a call for a summary.
	Now func() time.Time

	// Jitter is a random time from 0 to most, excluded, by which pauses of parked turns are longer; nil: math/rand. It is safe
	// for concurrent use.
	Jitter func(most time.Duration) time.Duration

	owner  session.Owner  // whose session it is; the zero one in the config of a group
	stored *stored.Meter  // nil: nothing is counted
	queued *queue.Total   // by the group's sessions; nil: there is no group
	loaded *loaded.Models // by the group's sessions; nil: there is no group
	crowd  *atomic.Int32  // model calls of the group that run
	held   *atomic.Int64  // the sum of state.size of the group's agents, also of those that load
	parks  *park.Yard     // the group's parked turns
	lists  *watch.Hub     // of those who watch the group's sessions; nil: there is no group
	gate   *gate.Gate     // the group's, which every model call passes
	scaler *media.Scaler  // the group's, which makes images smaller
}

// Catalog knows the models: a *[registry.Catalog], or a *[registry.Current], whose catalog is replaced from time to time. A turn
// keeps the row that it started with.
type Catalog interface {
	Model(providerID, name string) provider.Model
	Served(asked provider.Model, answer string) registry.Service
	Find(modelID string) (provider.Model, error)
	Models() []provider.Model
	Providers() []string
}

// Limits bound turns, sessions, and the daemon as a whole. A member that is 0 has its default; see [DefaultLimits].
type Limits struct {
	ModelCalls    int           // of a turn
	TurnBytes     int           // of thinking and text of a turn
	TurnTime      time.Duration // of a turn
	ToolTime      time.Duration // of a tool call
	ToolOutput    int           // bytes of text that a model gets of the result of a tool call
	TurnBudget    budget.Limit  // of a turn
	SessionBudget budget.Limit  // of a session; its turns end at once when it is used up
	Spending      gate.Limits   // of all sessions; a turn that reaches one is parked until a person decides

	// AskAbove is what a prompt into a cold session may cost, in USD. A turn that may cost more is parked before its first call, until
	// a person decides. 0: any amount. A session may have its own.
	AskAbove provider.Money

	SessionQueue int64 // bytes of the prompts that wait in a session
	Queues       int64 // bytes of the prompts that wait in all sessions
	Loaded       int64 // bytes of all loaded sessions

	Idle time.Duration // until an idle session without subscribers is unloaded
	Park time.Duration // that a turn may be parked because a call failed; 0: such a turn ends

	ConfirmTime  time.Duration // until a question that nobody answers counts as denied
	ConfirmPark  bool          // a question that nobody answers parks the turn instead, without a deadline
	ConfirmBytes int           // of the parts of a call that a person can approve, as JSON

	Headers      time.Duration // without any answer: the call is stalled
	QuietNotice  time.Duration // without a byte: the session gets a notice
	QuietBytes   time.Duration // without a byte: the call is stalled
	QuietContent time.Duration // without content, whatever else comes: the call is stalled
}

// DefaultLimits are the limits of a [Config] that has none. There is no budget, and no turn is parked.
func DefaultLimits() Limits {
	return Limits{
		ModelCalls: 50,
		TurnBytes:  64 << 20,
		TurnTime:   60 * time.Minute,
		ToolTime:   10 * time.Minute,
		ToolOutput: 256 << 10,

		SessionQueue: 16 << 20,
		Queues:       64 << 20,
		Loaded:       512 << 20,

		Idle: 10 * time.Minute,

		ConfirmTime:  5 * time.Minute,
		ConfirmBytes: 1 << 20,

		Headers:      120 * time.Second,
		QuietNotice:  90 * time.Second,
		QuietBytes:   300 * time.Second,
		QuietContent: 10 * time.Minute,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	l.ModelCalls = cmp.Or(l.ModelCalls, d.ModelCalls)
	l.TurnBytes = cmp.Or(l.TurnBytes, d.TurnBytes)
	l.TurnTime = cmp.Or(l.TurnTime, d.TurnTime)
	l.ToolTime = cmp.Or(l.ToolTime, d.ToolTime)
	l.ToolOutput = cmp.Or(l.ToolOutput, d.ToolOutput)
	l.SessionQueue = cmp.Or(l.SessionQueue, d.SessionQueue)
	l.Queues = cmp.Or(l.Queues, d.Queues)
	l.Loaded = cmp.Or(l.Loaded, d.Loaded)
	l.Idle = cmp.Or(l.Idle, d.Idle)
	l.ConfirmTime = cmp.Or(l.ConfirmTime, d.ConfirmTime)
	l.ConfirmBytes = cmp.Or(l.ConfirmBytes, d.ConfirmBytes)
	l.Headers = cmp.Or(l.Headers, d.Headers)
	l.QuietNotice = cmp.Or(l.QuietNotice, d.QuietNotice)
	l.QuietBytes = cmp.Or(l.QuietBytes, d.QuietBytes)
	l.QuietContent = cmp.Or(l.QuietContent, d.QuietContent)
	return l
}

func (l Limits) budgeted() bool {
	return l.TurnBudget != (budget.Limit{}) || l.SessionBudget != (budget.Limit{}) || l.Spending != (gate.Limits{})
}

// OwnKeys are keys of users and tenants, which come before the operator's. Both members are required.
type OwnKeys struct {
	Provider func(owner session.Owner, id string) provider.Provider
	Payer    func(owner session.Owner, providerID, key string) (by *session.Payer, own bool)
}

// withDefaults fills in the limits and the clock.
func (cfg Config) withDefaults() Config {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.N[time.Duration]
	}
	return cfg
}

// address is where a provider is reached.
func (cfg Config) address(providerID string) string {
	if cfg.Address == nil {
		return ""
	}
	return cfg.Address(providerID)
}

// payer is who pays for the calls to a provider now. A user learns how calls are paid, and not the name of the operator's plan or key.
func (cfg Config) payer(providerID, key string) *session.Payer {
	var p *session.Payer
	switch own := false; {
	case cfg.Own != nil && cfg.owner != session.Operator:
		if p, own = cfg.Own.Payer(cfg.owner, providerID, key); own {
			return p
		}
	case cfg.Payer != nil:
		p = cfg.Payer(providerID, key)
	}
	if p != nil && cfg.owner != session.Operator {
		hidden := *p
		hidden.Name = session.Operator.String()
		return &hidden
	}
	return p
}

// usedBy lists what an owner used.
func (cfg Config) usedBy(ctx context.Context, owner session.Owner, from, to session.Day) ([]session.Line, error) {
	return cfg.Store.Ledger().Lines(ctx, &owner, from, to)
}

// full is the limit for which the gate refused a call. A user learns which one it is, and not how much the operator allows and others spend.
func (cfg Config) full(err error) (*gate.Full, bool) {
	full, ok := errors.AsType[*gate.Full](err)
	if ok && cfg.owner != session.Operator {
		full = full.WithoutAmounts()
	}
	return full, ok
}

// find finds a provider as the owner of the session calls it; nil: there is none.
func (cfg Config) find(providerID string) provider.Provider {
	if cfg.Own != nil && cfg.owner != session.Operator {
		return cfg.Own.Provider(cfg.owner, providerID)
	}
	return cfg.Provider(providerID)
}

// provider finds a provider for a session with these settings, nil if there is none. Each call of a session gets its provider here, so
// nothing goes to one outside the session's egress.
func (cfg Config) provider(set session.Settings, providerID string) provider.Provider {
	return egress.Guard(cfg.find(providerID), set.Egress, providerID, cfg.egress(providerID))
}

// egress are the labels of a provider.
func (cfg Config) egress(providerID string) []string {
	if cfg.Egress == nil {
		return nil
	}
	return cfg.Egress(providerID)
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

// host is who runs a tool, nil if nobody does any more.
func (cfg Config) host(of session.Session, t tool.Tool) toolhost.Host {
	if cfg.Hosts == nil {
		return nil
	}
	for _, h := range cfg.Hosts(cfg.owner, of) {
		if h.Name() == t.Source {
			return h
		}
	}
	return nil
}
