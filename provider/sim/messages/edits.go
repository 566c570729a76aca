package messages

import (
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// edits are the changes that a request wants the server to make to the context before the model sees it.
type edits struct {
	asked   bool // the request has context_management
	clears  bool
	keep    int  // the number of turns with thinking that keep it; negative: all
	trigger int  // the number of input tokens at which a compaction takes place; 0: never
	pauses  bool // the answer ends with the block of compaction, and the next request continues

	spent   map[int]int // tokens of thinking by turn, since the last compaction
	news    bool        // a block follows the last compaction
	applied []any       // the edits that the answer reports
	due     bool        // this answer begins with a compaction
	summed  int         // tokens of that compaction
}

// compactTrigger applies if the request names no trigger. [docs: compaction]
const compactTrigger = 150_000

func (e *edits) readKeep(f *strict.Object) {
	e.keep = 1
	switch keep := f.Take("keep").(type) {
	case nil:
	case string:
		e.keep = -1
		if keep != "all" {
			f.Fail("keep", "Input should be 'all' or an object")
		}
	default:
		k := strict.NewObject(f.At("keep"), keep)
		k.Word("type", true, "thinking_turns")
		if e.keep, _ = k.Integer("value", true); e.keep < 1 {
			k.Fail("value", "Input should be greater than or equal to 1")
		}
		if err := k.Done(); f.Err == nil {
			f.Err = err
		}
	}
}

func (e *edits) readTrigger(f *strict.Object) {
	e.trigger = compactTrigger
	f.Text("instructions", false)
	if v := f.Take("trigger"); v != nil {
		t := strict.NewObject(f.At("trigger"), v)
		t.Word("type", true, "input_tokens")
		if e.trigger, _ = t.Integer("value", true); e.trigger < 1 {
			t.Fail("value", "Input should be greater than or equal to 1")
		}
		if err := t.Done(); f.Err == nil {
			f.Err = err
		}
	}
}

// thought adds to the tokens of a turn's thinking.
func (e *edits) thought(turn, tokens int) {
	if e.spent == nil {
		e.spent = map[int]int{}
	}
	e.spent[turn] += tokens
}
