package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// baseStep is by how much the sequence numbers of a session increase with each new holder of the log.
const baseStep = 1 << 24

// MaxUnstored is how many numbers a holder may use above the last one in the log. Then it stores one, so that the next holder, which
// only knows the log, uses no number twice.
const MaxUnstored = baseStep / 4

// NextBase returns the first sequence number for a new holder of a log that goes up to last: the next multiple of
// 2^24 that is more than MaxUnstored above it.
func NextBase(last uint64) uint64 { return ((last+2*MaxUnstored)/baseStep + 1) * baseStep }

// FirstSeq returns the number above which a holder with this epoch numbers its updates, if the log goes up to last. A session without
// updates begins at its epoch alone, so the first update of a session in a new store is 1.
func FirstSeq(last, epoch uint64) uint64 {
	base := epoch * baseStep
	if last > 0 {
		base = max(base, NextBase(last))
	}
	return base
}

// Recover closes what a crash left open in a session: it appends the entries of LeftOpen. If no turn runs, it does nothing. now is the
// time of the new entries. It returns the turn that is parked, nil if none is.
//
// log is that of the session; the holder calls Recover before its own first Append.
func Recover(ctx context.Context, store Sessions, log Log, id ID, now time.Time) (parked *Turn, err error) {
	turn, ends, err := leftOpen(ctx, store, log, id, now)
	if err != nil || len(ends) == 0 {
		return turn, err
	}
	if _, err := log.Append(ctx, ends...); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	return nil, nil
}

// LeftOpen makes the entries that close what a crash left open, for one Append. They seal the checkpointed part of each open block,
// give a result to each call without one, and end the open message and the running turn as interrupted. A model call that was running
// counts with its reservation, as an estimate. Thinking that was cut off is
// unsigned and has no State, so people see it and models never get it. A partial tool call is discarded. Queued turns stay queued, and
// a parked turn stays parked. If no turn runs, there are no entries.
//
// The results are in a message with a new id. So if clients have seen the entries, these must be appended, and not others that are made later.
func LeftOpen(ctx context.Context, store Sessions, log Log, id ID, now time.Time) ([]Entry, error) {
	_, ends, err := leftOpen(ctx, store, log, id, now)
	return ends, err
}

// leftOpen returns the parked turn, or the entries that close the running one.
func leftOpen(ctx context.Context, store Sessions, log Log, id ID, now time.Time) (*Turn, []Entry, error) {
	record, err := store.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	var began, seen, ran int64 // Unix milliseconds: when the running turn started or resumed, and its last entry; how long it ran before
	view, err := Fold(ctx, store, record, func(view *View, e Entry) {
		switch b := e.Body.(type) {
		case TurnStart:
			began, seen, ran = e.Time, e.Time, 0
		case TurnParked:
			ran = b.RanMS
		case TurnResumed:
			began, seen = e.Time, e.Time
		}
		if e.Turn == view.running {
			seen = max(seen, e.Time)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	turn := view.Running()
	if turn == nil || turn.Parked != nil {
		return turn, nil, nil
	}
	grown, err := log.Checkpoints(ctx)
	if err != nil {
		return nil, nil, err
	}
	ends := interrupted(turn, view.Session.Reserved, grown, ran+max(seen-began, 0))
	for i := range ends {
		ends[i].Seq = FirstSeq(view.LastSeq, log.Epoch()) + uint64(i)
		ends[i].Time = now.UnixMilli()
		ends[i].Turn = turn.ID
	}
	return turn, ends, nil
}

// interrupted makes the entries that close a turn, without number and time. What its call reserved counts as used, because nobody knows
// how much its provider has charged.
func interrupted(turn *Turn, reserved *Reserved, grown []Growth, duration int64) []Entry {
	var ends []Entry
	used := turn.Usage
	var call provider.Usage
	if reserved != nil {
		call = reserved.Usage
		call.Estimated = true
		used = used.Add(call)
	}
	if reserved != nil && reserved.Purpose == ForSummary {
		ends = append(ends, Entry{Body: Compaction{Model: reserved.Model, Usage: call, InTurn: true}})
		call = provider.Usage{}
	}
	var open []MessageID
	for _, m := range turn.Messages {
		if m.Role == provider.Assistant && m.End == nil {
			open = append(open, m.ID)
		}
	}
	for _, g := range grown {
		m := turn.Message(g.Message)
		if g.Turn != turn.ID || m != nil && (m.End != nil || m.has(g.Number)) {
			continue // it was over
		}
		if m == nil && !slices.Contains(open, g.Message) {
			open = append(open, g.Message)
		}
		if block := cutOff(g); block != nil {
			ends = append(ends, Entry{Body: Sealed{g.Message, g.Number, block}})
		}
	}
	for i, id := range open {
		end := MessageEnd{Message: id, StopReason: StopInterrupted, Incomplete: Interrupted}
		if i == len(open)-1 {
			end.Usage, call = call, provider.Usage{}
		}
		ends = append(ends, Entry{Body: end})
	}
	if !call.Unused() {
		ends = append(ends, Entry{Body: Settled{Usage: call}})
	}
	for _, end := range turn.Unanswered() {
		ends = append(ends, Entry{Body: end})
	}
	return append(ends, Entry{Body: TurnEnd{StopReason: StopInterrupted, Usage: used, DurationMS: duration}})
}

// cutOff returns the part of a block that is kept if it was never sealed, nil for nothing.
func cutOff(g Growth) provider.Block {
	switch {
	case g.Text == "":
		return nil
	case g.Kind == provider.KindThinking:
		return provider.Thinking{Text: g.Text, Kind: provider.ThinkingSummary}
	case g.Kind == provider.KindText:
		return provider.Text{Text: g.Text}
	}
	return nil
}
