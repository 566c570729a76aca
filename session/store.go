package session

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"github.com/thinkd/thinkd/provider"
)

// Store keeps the sessions of all owners. It is safe for concurrent use. Package storetest tests what is promised here.
type Store interface {
	// For returns the sessions of one owner. It reads nothing, never fails, and costs nothing: callers need not keep its result.
	For(owner Owner) Sessions

	// Ledger returns what model calls used. It reads nothing, and never fails.
	Ledger() Ledger

	// Forget removes all data of an owner except sessions: the stamps of requests, and the owner's part of the ledger. It is
	// durable on return. The caller must have deleted the owner's sessions, and must not act for the owner until Forget returns. The
	// error is ErrOwner for the Operator, and while the owner has sessions.
	Forget(ctx context.Context, owner Owner) error

	// Close writes what waits and closes the store. Every later call returns ErrClosed.
	Close() error
}

// Sessions are the sessions of one owner in a [Store]. Every method sees, changes and lists these alone. The id of another owner's
// session is that of no session: ErrNotFound, and Delete does nothing. The same holds for the logs that a fork shares, and for the
// ids of stamps.
//
// It is safe for concurrent use. Every method that waits returns when ctx ends. That does not undo a write that has begun, so the
// outcome of the write is unknown then.
//
// Everybody who acts for the owner may call these methods. Only the holder of a log writes to it: see Claim.
type Sessions interface {
	// Create keeps a new session; it is durable on return. The error is ErrExists if this owner has a session with the id, or had one
	// and the store remembers that, and ErrNotFound if the session shares a log that is not there. Ids of different owners are independent of each other.
	Create(ctx context.Context, s Session) error

	// CreateOnce is Create for a stamped request. The first request with the stamp's id creates the session and keeps c, whose
	// Session is the id of s, in one commit. A later one, even in parallel, creates nothing and returns what the first kept. The
	// store remembers the newest MaxStamps of each owner, also those of deleted sessions.
	CreateOnce(ctx context.Context, s Session, c Creation) (first Creation, err error)

	// Creation returns the record that CreateOnce kept for the id of a stamp; ok is false if the store remembers none.
	Creation(ctx context.Context, stamp string) (c Creation, ok bool, err error)

	// Get returns the session's record. The error is ErrNotFound if there is none, and ErrDamaged if it cannot be read.
	Get(ctx context.Context, id ID) (Session, error)

	// List returns a page of records, the last changed first, and the cursor of the next page, empty at the end. Records come
	// without System, Tools, Rules, Shared and Instructions ([Session.Changing]). A page shows one moment. A session that changes between two
	// pages is on at least one of them, and may be on both. A session that cannot be read is listed with its id and the status
	// Damaged.
	List(ctx context.Context, q Query) (page []Session, next string, err error)

	// MarkRead notes in the record that a principal has read the session up to the end of so many turns ([Session.MarkRead]). It is
	// durable on return. It changes neither the log nor the place of the session in List. The error is ErrNotFound if there is no such
	// session.
	MarkRead(ctx context.Context, id ID, principal string, ended int) error

	// Delete removes a session and its log. Deleting a session that is not there is a success. If forks share the log, Entries
	// still reads it, until the last of them is deleted.
	Delete(ctx context.Context, id ID) error

	// Entries reads the log after a position: at most limit entries, in order. At the end of the log there are none.
	Entries(ctx context.Context, id ID, after uint64, limit int) ([]Entry, error)

	// Claim makes the caller the holder of a log, and returns the log as only its holder has it. In one process it always
	// succeeds, and fences the holder before. The error is ErrNotFound if there is no such session, and ErrDamaged if it is known
	// that it cannot be read.
	Claim(ctx context.Context, id ID) (Log, error)
}

// Local is a Store that only one process uses, so that it knows all sessions. It finds the turns that a crash of the previous process
// left open.
type Local interface {
	Store

	// OpenTurns lists the sessions of all owners with a turn that has started and not ended. After a crash these must be closed.
	// Its cost depends on their number, not on the number of sessions.
	OpenTurns(ctx context.Context) ([]Ref, error)

	// Owners lists the owners that have sessions, each once.
	Owners(ctx context.Context) ([]Owner, error)
}

// Ledger has the usage of the model calls of all owners. Sessions that were deleted stay in it. It is safe for concurrent use, and Charge
// follows the rules of [Log.Append] about errors.
//
// A call of a turn is in the log of its session: a [Reserved] before the call, and then the entry with its usage. The store adds these
// to the ledger in the commit of their Append, as [Session.Charge] says. Calls that no log has, such as side questions, are for
// Charge and Hold.
type Ledger interface {
	// Hold keeps the reservation of a call that no log has, under an id of the caller's. It is durable on return.
	Hold(ctx context.Context, ref Ref, id string, r Reserved) error

	// Settle adds what a call used that Hold reserved, and what it missed, and removes the reservation, in one commit. Without the
	// reservation it does nothing.
	Settle(ctx context.Context, ref Ref, id string, used provider.Usage, missed Missed) error

	// Holds lists the reservations of calls that Hold made and Settle did not end.
	Holds(ctx context.Context) ([]Hold, error)

	// Import adds lines of an older build, once for each name. They do not count as unattended.
	Import(ctx context.Context, name string, lines ...Line) error

	// Lines lists what was used from one day to another, both included, of one owner or, with nil, of all. They are in the order
	// of their days.
	Lines(ctx context.Context, owner *Owner, from, to Day) ([]Line, error)

	// Total returns the usage of a session so far; zero if it was deleted.
	Total(ctx context.Context, ref Ref) (provider.Usage, error)

	// Budgets returns what was spent on a day, and what was spent since a person last wrote or approved something. The first may cost a
	// look at each line of that day; with an empty day it is 0, and costs nothing.
	Budgets(ctx context.Context, today Day) (Budgets, error)
}

// Account says whom a model call is charged to.
type Account struct {
	Model   ModelRef       `json:"model"`
	Level   provider.Level `json:"thinking_level,omitempty"` // in effect; empty: not known
	Payer   string         `json:"payer,omitempty"`          // the name of the key or the plan; empty: not known
	Purpose Purpose        `json:"purpose,omitempty"`        // empty: an older build wrote the log
}

// Compare orders by model, level, payer and purpose.
func (a Account) Compare(b Account) int {
	return cmp.Or(cmp.Compare(a.Model.Provider, b.Model.Provider), cmp.Compare(a.Model.ID, b.Model.ID), cmp.Compare(a.Level, b.Level),
		cmp.Compare(a.Payer, b.Payer), cmp.Compare(a.Purpose, b.Purpose))
}

// Line has the usage of a session's calls on one day with one account.
type Line struct {
	Day     Day `json:"-"`
	Ref     Ref `json:"-"`
	Account `json:"-"`
	Calls   int            `json:"calls"`
	Usage   provider.Usage `json:"usage"`
	Missed  Missed         `json:"missed,omitempty"`
}

// Missed counts the tokens that calls did not read from the caches of vendors, by cause. Calls of older builds are not counted.
type Missed map[provider.CacheCause]Misses

// Misses are calls that read less from a vendor's cache than was expected.
type Misses struct {
	Calls  int            `json:"calls"`
	Tokens int            `json:"tokens"`         // that were not read
	Cost   *provider.Cost `json:"cost,omitempty"` // what the calls cost more for that; nil: not known
}

// Add returns the sum. It changes neither map.
func (m Missed) Add(n Missed) Missed {
	if len(n) == 0 {
		return m
	}
	sum := maps.Clone(m)
	if sum == nil {
		sum = make(Missed)
	}
	for cause, more := range n {
		have := sum[cause]
		cost := provider.Usage{Input: have.Calls, Cost: have.Cost}.Add(provider.Usage{Input: more.Calls, Cost: more.Cost}).Cost
		sum[cause] = Misses{have.Calls + more.Calls, have.Tokens + more.Tokens, cost}
	}
	return sum
}

// Compare orders by day, session and account.
func (l Line) Compare(m Line) int {
	return cmp.Or(cmp.Compare(l.Day, m.Day), l.Ref.Compare(m.Ref), l.Account.Compare(m.Account))
}

// Hold is the reservation of a call that is in no log, such as a side question.
type Hold struct {
	Ref Ref
	ID  string
	Reserved
}

// Block is what one node of a cluster may spend of a quota or a limit, and what it has spent that the ledger does not have yet. For the quota of stored
// bytes, the logs take the place of the ledger.
type Block struct {
	Day    Day            `json:"day,omitempty"` // on which it was taken; it counts for later days of others too. Stored bytes have no day
	Tokens int            `json:"tokens,omitempty"`
	Cost   provider.Money `json:"cost,omitempty"` // as in Usage
	Bytes  int64          `json:"bytes,omitempty"`
}

// Charge is a change of the ledger: what a call used, or how a reservation changes the budgets.
type Charge struct {
	Line
	Budgets *BudgetChange
}

// Budgets says how much of the limits for all sessions of a daemon is spent.
type Budgets struct {
	Day        provider.Money `json:"-"`
	Unattended provider.Money `json:"unattended,omitempty"` // since a person last wrote or approved something

	RaisedDay        provider.Money `json:"raised_day,omitempty"` // of the limit for RaisedOn
	RaisedOn         Day            `json:"raised_on,omitempty"`
	RaisedUnattended provider.Money `json:"raised_unattended,omitempty"`
}

// Apply takes in a charge.
func (b Budgets) Apply(c Charge) Budgets {
	if by := c.Budgets; by != nil {
		if by.Attended {
			b.Unattended, b.RaisedUnattended = 0, 0
		}
		if by.Day > 0 {
			if b.RaisedOn != c.Day {
				b.RaisedOn, b.RaisedDay = c.Day, 0
			}
			b.RaisedDay += by.Day
		}
		b.RaisedUnattended += by.Unattended
	}
	if cost := c.Usage.Cost; cost != nil {
		b.Unattended += cost.Amount
	}
	return b
}

// Query selects sessions for List. The zero Query is the first page of all.
type Query struct {
	Cursor string // of the page before; empty: the first page
	Limit  int    // 0: 100; at most 1,000
	Filter
}

// Filter selects sessions by their records. The zero Filter selects all.
type Filter struct {
	CWD      string   // exact; empty: any
	Text     string   // part of the title, case ignored
	Model    ModelRef // of the session now; zero: any
	Since    int64    // Unix milliseconds: Updated is this or later; 0: any
	Until    int64    // Unix milliseconds: Updated is before this; 0: any
	Archived *bool    // nil: any
	OnTop    *bool    // nil: any
}

var (
	ErrNotFound = errors.New("no such session")
	ErrExists   = errors.New("session exists already")
	ErrClosed   = errors.New("store is closed")
	ErrCursor   = errors.New("unknown cursor")
	ErrOwner    = errors.New("the owner has sessions, or is the operator")

	// ErrReadOnly says that nothing can be written for now: the disk is full or failed. Reading works.
	ErrReadOnly = errors.New("store is read-only: the disk is full or failing")

	// ErrNoAnswer is the reason of an ErrReadOnly: the store servers of a cluster do not answer. What was to be written may be stored.
	ErrNoAnswer = errors.New("the store servers do not answer")

	// ErrLost is the reason of an ErrReadOnly for one session: the store servers have lost messages of it that they had acknowledged. It stays so until
	// the store is restored.
	ErrLost = errors.New("the store has lost messages of this session that it had acknowledged")

	// ErrDamaged says that data is damaged. The file is left as it is.
	ErrDamaged = errors.New("store is damaged")

	// ErrNewer says that the file was written by a newer build.
	ErrNewer = errors.New("store has a newer format than this build knows")

	// ErrReplaced says that the file at the store's path is not the one that was opened.
	ErrReplaced = errors.New("store was removed or replaced while in use")
)

// Report is the result of a check of all data of a store.
type Report struct {
	Store    string // the store's id
	Sessions int
	Entries  int
	Size     int64    // of the file, in bytes
	Free     int64    // of Size: pages without use, which later writes take before the file grows
	Damaged  []Damage // in order of Session
}

// Damage says what is wrong with a session.
type Damage struct {
	Session Ref
	Err     error
}
