package session

import (
	"slices"

	"github.com/thinkd/thinkd/session/tool"
)

// View is a session as its log describes it. Apply is the only code that changes it, except that Unload and Reload move the
// content of a queued prompt out of memory and back. A View belongs to one goroutine.
type View struct {
	Session Session
	Turns   []*Turn // first those that have started or were appended, in that order; then the queued ones, in the order of their prompts
	Repairs []Repair
	LeftOut []LeftOut
	LastSeq uint64 // the highest Seq of any entry

	Grants []tool.Grant // in effect, the oldest first. A change makes a new list, so that this one can be shared

	// compactions are the summaries in effect, in order. Of those in the session's own log there is only the newest, and the one
	// before it as long as the newest can be undone. undone are the parts of the log that a summary was sent in, and not later.
	compactions []compacted
	undoable    bool // nobody has said anything since the newest summary
	undone      []stretch
	summaries   []Summary // all, without what the log has of them

	slimmed slimmed

	turns   map[TurnID]*Turn
	running TurnID // empty: none
	span    int    // index in Session.Shared of the log that is read; its length: the session's own log
	at      uint64 // position in it

	stamps  map[string]*Turn // by id, of the prompts in stamped
	stamped []*Turn          // in order of their prompts; at most MaxStamps
}

// NewView begins the fold with a session's record. Only what is fixed at the start counts; the rest follows from the entries.
func NewView(s Session) *View {
	return &View{Session: s.unused(), turns: make(map[TurnID]*Turn)}
}

// Turn finds a turn, nil if there is none.
func (v *View) Turn(id TurnID) *Turn { return v.turns[id] }

// Stamped is the turn whose prompt had a stamp with this id, nil if none of the newest MaxStamps had.
func (v *View) Stamped(id string) *Turn { return v.stamps[id] }

// Queue lists the queued turns. Prompts that were meant to steer a turn, and came too late for its last call, are first.
func (v *View) Queue() []*Turn {
	var queue []*Turn
	steering := 0
	for _, t := range v.Turns {
		switch {
		case !t.Queued():
		case t.Prompt.Steer:
			queue = slices.Insert(queue, steering, t)
			steering++
		default:
			queue = append(queue, t)
		}
	}
	return queue
}

// Running is the turn that runs, nil if none does.
func (v *View) Running() *Turn {
	if v.running == "" {
		return nil
	}
	return v.turns[v.running]
}

// EndedAfter counts the turns that ran and ended behind a turn. A turn that another one has taken in stands where that one does.
func (v *View) EndedAfter(t *Turn) (n int) {
	if t.Into != "" {
		t = v.turns[t.Into]
	}
	for _, other := range slices.Backward(v.Turns) {
		if other == t {
			break
		}
		if other.Start != nil && other.End != nil {
			n++
		}
	}
	return n
}

// unfinished is why a turn ended that can be continued.
var unfinished = []StopReason{StopInterrupted, StopError, StopMaxTokens, StopCancelled}

// Unfinished is the turn that can be continued: the last one that started, if it ended before its model had said all. nil: there
// is none.
func (v *View) Unfinished() *Turn {
	for _, t := range slices.Backward(v.Turns) {
		if t.Start == nil {
			if t.Prompt.Append && t.End != nil && t.End.StopReason == StopEndTurn {
				return nil // somebody said something since
			}
			continue
		}
		if t.End == nil || t.Released || !slices.Contains(unfinished, t.End.StopReason) {
			return nil
		}
		return t
	}
	return nil
}

// Asked is the turn whose prompt a turn works on: itself, or the first of those that it continues.
func (v *View) Asked(t *Turn) *Turn {
	for t.Prompt.Continues != nil {
		before := v.turns[t.Prompt.Continues.Turn]
		if before == nil {
			break
		}
		t = before
	}
	return t
}

// Continued lists the turns that a turn goes on with, the last one first: the one that it continues, the one that this continues, and
// so on.
func (v *View) Continued(t *Turn) (list []TurnID) {
	for t != nil && t.Prompt.Continues != nil {
		list = append(list, t.Prompt.Continues.Turn)
		t = v.turns[t.Prompt.Continues.Turn]
	}
	return list
}

// now is the place of the entry that is being applied.
func (v *View) now() place { return place{v.span, v.at + 1} }

// compacted is a Compaction that is in effect, or was before a newer one.
type compacted struct {
	Compaction
	place place
}

// Summary is a compaction as people see it. A view keeps none of its text: see [View.Compacted].
type Summary struct {
	ID       SummaryID
	Includes SummaryID // the summary that was in effect before, and that it takes in; empty: none
	From     MessageID // the first message that it replaces, except those of Includes
	Upto     MessageID // the last one
	Messages int       // how many these are
	After    MessageID // the last message that was said before it
	Turn     TurnID    // that waited for it; empty: none
	Time     int64     // Unix milliseconds
	Undone   bool

	place place
}

// stretch is what lies between two places.
type stretch struct{ from, to place }

// slimmed is what the turn that was released last has left.
type slimmed struct {
	start *TurnStart
	end   *TurnEnd
}

// IsPinned reports whether a message of a turn is kept in addition to later summaries: it is pinned, or it is a reply whose results are
// pinned, or it has the results of a pinned reply. In a released turn, only the message's own pin counts.
func (v *View) IsPinned(t *Turn, m *Message) bool {
	pinned := v.Session.Pinned
	if len(pinned) == 0 {
		return false
	}
	other := m.Answers
	if results := t.Results(m.ID); results != nil {
		other = results.ID
	}
	return slices.Contains(pinned, m.ID) || other != "" && slices.Contains(pinned, other)
}

// Share is how much of a message a model is sent, as the log has it.
func (v *View) Share(model ModelRef, id MessageID) (share Share) {
	for _, l := range v.LeftOut {
		share = max(share, l.Share(model, id))
	}
	return share
}

// Refused reports whether a message is not sent to some model since its provider refused it.
func (v *View) Refused(id MessageID) bool {
	return slices.ContainsFunc(v.LeftOut, func(l LeftOut) bool { return slices.Contains(l.Messages, id) })
}
