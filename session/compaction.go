package session

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// Compaction says that models are sent a summary in place of all that stands before and in a message. The originals stay
// in the log for people. Some vendors bind thinking to everything before it, so no thinking that was said before the
// compaction goes to a model again.
//
// One without Upto came to nothing: only what it used counts. Its usage is part of its turn's if InTurn is set, as in all
// compactions of a turn since that member exists, and is otherwise the session's alone.
type Compaction struct {
	Upto    MessageID      `json:"upto,omitempty"`
	Summary string         `json:"summary,omitempty"`
	Model   ModelRef       `json:"model"` // that wrote it
	Usage   provider.Usage `json:"usage"`
	InTurn  bool           `json:"in_turn,omitempty"` // the usage in the turn's end has this usage
}

func (Compaction) kind() string { return "compaction" }

// compacted is a Compaction that is in force, or was before a newer one.
type compacted struct {
	Compaction
	place place
}

func (v *View) compact(c Compaction) error {
	if c.Upto == "" {
		return nil
	}
	if _, _, ok := v.find(c.Upto); !ok {
		return fmt.Errorf("there is no message %s", c.Upto)
	}
	if own := v.span == len(v.Session.Shared); own { // what is shared may be cut before it
		v.compactions = append(v.compactions[:0], compacted{c, v.now()})
		v.release()
		return nil
	}
	v.compactions = append(v.compactions, compacted{c, v.now()})
	return nil
}

// Compaction is the newest, nil if there is none.
func (v *View) Compaction() *Compaction {
	if len(v.compactions) == 0 {
		return nil
	}
	return &v.compactions[len(v.compactions)-1].Compaction
}

// Precompacted reports whether a message was said before the newest compaction.
func (v *View) Precompacted(m *Message) bool {
	n := len(v.compactions)
	return n > 0 && m.place.compare(v.compactions[n-1].place) < 0
}

// Rest is where that begins which no summary stands for: a turn, and a message in it, by index.
func (v *View) Rest() (turn, message int) {
	c := v.Compaction()
	if c == nil {
		return 0, 0
	}
	turn, message, _ = v.find(c.Upto)
	return turn, message + 1
}

// find looks for a message, the newest first.
func (v *View) find(id MessageID) (turn, message int, ok bool) {
	for i, t := range slices.Backward(v.Turns) {
		for j, m := range slices.Backward(t.Messages) {
			if m.ID == id {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}
