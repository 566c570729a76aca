package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/fallback"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/relay"
	"github.com/thinkd/thinkd/agent/summary"
	"github.com/thinkd/thinkd/agent/suspect"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// turn is the turn that runs.
type turn struct {
	*session.Turn
	choice
	log   *slog.Logger
	begun time.Time // later by the time that it was parked

	call  *call // nil: between calls
	reply reply

	answering  answering      // of the running call, or of the last one
	substitute string         // the other model that clients were notified of, by the name in its answer
	paidBy     *session.Payer // the call before; nil: there was none, or it is not known

	retry *time.Timer    // set while a retry is awaited
	calls int            // model calls that were needed, retries not counted
	again int            // model calls that were made once more, after a repair or a wait
	tries int            // of the running model call, the first included
	usage provider.Usage // of the calls that are over

	cacheUse session.CacheUse   // by them
	failures []fallback.Failure // of links that were tried before for the running model call

	suspects *suspect.Suspects // of the running call's refusal; nil: it was not refused so far
	trial    *session.LeftOut  // what the running call leaves out on trial; nil: nothing

	emptied   bool              // the running call was made again since its answer was empty
	prompted  bool              // a person made the running call's request, not a tool or the agent
	answered  bool              // the provider has begun to answer the running call
	estimate  budget.Estimate   // of the running call
	pass      *gate.Pass        // of the running call, or of one that failed and is made again; nil: there is none
	allowed   bool              // a person allowed the next call, which a limit has no room for
	busySince time.Time         // since when the running call waits for others to end, because a limit has no room; zero: it does not wait
	agreed    bool              // a person allowed what the turn's prompt may cost; Turn.Agreed says so too, if that was in this turn
	compacts  *session.Spending // a person chose to summarise earlier turns first, as the answer to this; nil: nobody did
	near      [2]bool           // people know that the turn's budget is nearly used up: of tokens, of money
	thought   bool              // thinking was seen or counted in a call that is over
	noticed   []string          // kinds of notice that checkControl has sent

	bytes    int    // of thinking and text so far
	lastTool string // the last tool call, by name and arguments
	same     int    // how often it came in a row

	toolBefore string // lastTool and same before the running call: calls that are void do not count
	sameBefore int

	round      *round // nil: no tools run
	overflowed bool   // earlier turns were summarised since a call was too long
	unsummed   bool   // earlier turns were not summarised, though that was due

	stuck     *session.TurnParked // how it was parked after the last failure, if no call was accepted since; nil: none failed
	restarted bool                // it resumed automatically after a restart

	waits bool // clients know that it waits for them
	bad   int  // replies in a row without a call that could run
}

// call is one exchange with a model: a goroutine that sends what arrives.
type call struct {
	steps *relay.Steps // closed by the goroutine, after a Stop or an error or when it was stopped
	stop  context.CancelCauseFunc

	begun   time.Time
	heard   time.Time // the first event that is more than a sign of life
	byteAt  time.Time // the last sign of life, zero before the first
	content time.Time // the last content
	noticed bool      // a notice says that it is quiet
	ignored int       // events that belong to no block

	sent atomic.Pointer[provider.Outline] // nil: the adapter does not say, or there is no Stop yet
}

// outline is what was sent, empty if that is not known.
func (c *call) outline() (o provider.Outline) {
	if sent := c.sent.Load(); sent != nil {
		return *sent
	}
	return o
}

// prepared is a call that is about to be made. Its reservation is in the same commit as the entries before it.
type prepared struct {
	turn     session.TurnID
	request  *provider.Request // nil: the model has changed since
	estimate budget.Estimate
	pass     *gate.Pass // nil: the call has one already, or a limit has no room
	kept     int        // how many entries were kept before: if there are more, the request is another one

	question *session.Spending // what a person decides on before the call; nil: nothing
}

// callEnd is how an exchange with a model ended.
type callEnd struct {
	stop  provider.Stop
	usage provider.Usage
	fault string // empty: stop says it
}

// compacting is a summary on its way.
type compacting struct {
	summary.Call
	id    session.SummaryID // of the summary that it will write
	turn  session.TurnID    // that waits for it; empty: none
	pass  *gate.Pass
	hold  string // its reservation in the ledger; empty: the log has it
	begun time.Time
	said  chan *summary.Result // buffer 1: the goroutine never waits. A pointer keeps the frame of Agent.loop small
	stop  context.CancelCauseFunc
	over  func(error) // on the agent's goroutine: it is kept, or came to nothing
}

// errNoSummary is why a compaction that was stopped came to nothing.
var errNoSummary = errors.New("the compaction was cancelled")

// fact is something that happened: an entry of the log, an event for clients, or both.
type fact struct {
	turn  session.TurnID
	body  session.Body
	event feed.Event
}

// startFact is the fact that a turn begins with a choice.
func startFact(id session.TurnID, c choice) fact {
	start := feed.TurnStart{Model: c.shown(), Reasoning: c.decision, Options: c.optionsShown(), Cache: c.cache}
	if c.payer != nil {
		start.Payer = &c.payer.Payer
	}
	if c.instead != nil {
		start.Instead = c.instead.Of.Model.String()
	}
	return fact{id, c.start(), start}
}

func endFact(id session.TurnID, end session.TurnEnd) fact {
	return fact{id, end, feed.TurnEnd{TurnEnd: end}}
}

func parkedFact(id session.TurnID, p session.TurnParked) fact {
	return fact{id, p, feed.NewTurnParked(p)}
}

// ran is how long the turn ran so far, without the time that it was parked.
func (r *turn) ran(now time.Time) time.Duration {
	if r.Parked != nil {
		return time.Duration(r.Parked.RanMS) * time.Millisecond
	}
	return now.Sub(r.begun)
}

// mayRetry reports whether the budget of retries has one left for the running call.
func (r *turn) mayRetry() bool { return r.tries < maxTries && r.again < maxRetries }

// Bounds of retries.
const (
	maxTries    = 5                // of one model call, the first included
	maxRetries  = 100              // of all model calls of a turn
	maxWait     = 60 * time.Second // a vendor that asks for more ends the turn
	backoff     = time.Second      // before the first retry, doubled with each further one
	backoffBusy = 2 * time.Second  // the same for a vendor that is overloaded, or limits the rate and names no time
	jitterShare = 0.2              // a wait of ours is up to this share shorter or longer
)

// wait returns whether the call is made again, and after which pause. The vendor's own time comes first. Otherwise the pause doubles
// with each try, from one second, or from two seconds for a vendor that is overloaded.
func (r *turn) wait(pe *provider.Error) (time.Duration, bool) {
	base := backoff
	switch {
	case pe.Hint == provider.HintFinal, !r.mayRetry(), pe.RetryAfter > maxWait:
		return 0, false
	case pe.Hint == provider.HintRetry:
	case !pe.Passing():
		return 0, false
	case pe.Kind != provider.KindOverloaded && pe.Kind != provider.KindRateLimit && pe.Kind != provider.KindTransport:
		return 0, false
	}
	if pe.RetryAfter > 0 {
		return pe.RetryAfter, true
	}
	if pe.Kind == provider.KindOverloaded || pe.Kind == provider.KindRateLimit {
		base = backoffBusy
	}
	return jitter(base << (r.tries - 1)), true
}

// jitter varies a pause, so that many clients do not return at the same moment.
func jitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (1 - jitterShare + 2*jitterShare*mathrand.Float64()))
}

func (r *turn) retryFact(wait time.Duration, pe *provider.Error, void []int) fact {
	return fact{r.ID, nil, feed.Retry{Attempt: r.again + 2, AfterMS: wait.Milliseconds(),
		Kind: pe.Kind, Message: pe.Error(), Discarded: void}}
}

// metered takes in what a call has used: the vendor's counts, or an estimate where it gave none. The cost is that of
// the row as it is now, unless the vendor reports its own. A later price list does not change what was paid.
func (r *turn) metered(u provider.Usage, now time.Time) provider.Usage {
	if u.Input == 0 && u.Output == 0 {
		u = r.estimate.Usage()
	}
	if u.Cost == nil {
		u.Cost = r.priced().Price.Cost(u, now)
	}
	if factor := r.priced().Premium; factor != nil && r.prompted {
		u.Premium = provider.MoneyOf(*factor)
	}
	u.Context = &provider.Context{Used: u.Size(), Window: r.model.Window}
	r.usage = r.usage.Add(u)
	r.pass.Settle(u)
	r.pass = nil
	r.estimate, r.answered = budget.Estimate{}, false
	return u
}

// check holds a reply of the turn against its decision. Each kind of notice is sent once a turn: a loop of tools has many
// calls, and they are all alike.
func (r *turn) check(m reply, usage provider.Usage) []fact {
	kind, severity, text := checkControl(r.choice, m, r.thought, usage)
	r.thought = r.thought || m.thinking || counted(usage)
	if kind == "" || slices.Contains(r.noticed, kind) {
		return nil
	}
	r.noticed = append(r.noticed, kind)
	return []fact{{r.ID, nil, feed.Notice{Severity: severity, Kind: kind, Message: text}}}
}

// maxSame is how often a turn may make the same tool call in a row: a model that gets the same answer once more goes
// on asking.
const maxSame = 3

// limitRepetition is how turn_end names it.
const limitRepetition = "repetition"

// repeated takes note of a tool call.
func (r *turn) repeated(call provider.ToolCall) {
	as := call.Name + "\x00" + string(call.Input) + call.Invalid
	if as != r.lastTool {
		r.lastTool, r.same = as, 0
	}
	r.same++
}

// substituted is the sentence that names the model that answers and the requested one.
func substituted(asked string, by provider.Served) string {
	text := fmt.Sprintf("%s was asked for, and %s answers", asked, by.Model)
	if by.Host != "" {
		text += " at " + by.Host
	}
	return text
}

// priceNow says what that does to the price.
func priceNow(asked, answers provider.Model) string {
	switch {
	case asked.Price == nil && answers.Price == nil:
		return ""
	case answers.Price == nil:
		return "; its price is unknown"
	}
	return "; its price counts"
}

// otherModel is the error of a call in a session that takes no other model.
func otherModel(asked provider.Model, by provider.Served) *provider.Error {
	return &provider.Error{API: asked.API, Provider: asked.Provider, Kind: provider.KindOther,
		Message: substituted(asked.ID, by) + "; nothing of the answer was taken, because on_other_model is stop"}
}

// priced is the row whose price counts for the running call: that of the model that answers, as far as it is known.
func (r *turn) priced() provider.Model {
	if r.answering.by == nil {
		return r.model
	}
	return r.answering.row
}
