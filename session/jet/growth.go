package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// Growth of open blocks is in a stream in memory, which nobody waits for. A block is a subject: its whole text, and pieces that follow. A piece
// that is lost would make all that follows useless. So after a publication without an acknowledgement, and every five minutes, the whole text
// takes the place of all before. An empty text ends a block.
const (
	growthTime  = 500 * time.Millisecond // how long growth waits
	growthSize  = 16 << 10               // how much of a block does not wait for that
	growthAge   = 10 * time.Minute       // how long the stream keeps it
	growthWhole = growthAge / 2
)

// piece is a message of the stream.
type piece struct {
	session.BlockRef
	Pos  uint64 `json:"pos"` // of the log, when the block was open
	From int    `json:"from"`
	Text []byte `json:"text,omitempty"` // a piece may end inside a character
	End  bool   `json:"end,omitempty"`
}

// block is an open one.
type block struct {
	session.BlockRef
	subject string
	pos     uint64
	text    string
	stored  int       // how much of the text is stored
	whole   time.Time // when the whole text was stored; zero: it is to be stored
	ended   bool
	kept    bool // the stream may have something of it
}

func (b *block) is(ref session.BlockRef) bool {
	return b.Message == ref.Message && b.Number == ref.Number
}

// growths are the blocks of one log. One goroutine writes them, which ends when there is nothing to write.
type growths struct {
	api
	stream  string
	prefix  string // of subjects, for one epoch
	ctx     context.Context
	running *sync.WaitGroup

	mu      sync.Mutex
	blocks  []*block
	closed  bool
	writing bool
	timer   *time.Timer
}

// grow takes in growth. It never waits.
func (g *growths) grow(ref session.BlockRef, pos uint64, from int, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	i := slices.IndexFunc(g.blocks, func(b *block) bool { return !b.ended && b.is(ref) })
	if i < 0 && from == 0 {
		subject := g.prefix + "." + hashed(string(ref.Message), fmt.Sprint(ref.Number))
		g.blocks = append(g.blocks, &block{BlockRef: ref, subject: subject, pos: pos})
		i = len(g.blocks) - 1
	}
	if i < 0 {
		return
	}
	b := g.blocks[i]
	if known := len(b.text) - from; known >= 0 && known < len(text) {
		b.text += text[known:]
	}
	switch unstored := len(b.text) - b.stored; {
	case unstored >= growthSize:
		g.startLocked()
	case unstored > 0 && g.timer == nil:
		g.timer = time.AfterFunc(growthTime, g.due)
	}
}

func (g *growths) due() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = nil
	g.startLocked()
}

// end forgets the blocks that entries end.
func (g *growths) end(entries []session.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	some := false
	for _, b := range g.blocks {
		if !b.ended && slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Ends(b.BlockRef) }) {
			b.ended, some = true, true
		}
	}
	if some {
		g.startLocked()
	}
}

// close ends all writing.
func (g *growths) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *growths) startLocked() {
	if g.writing || g.closed {
		return
	}
	g.writing = true
	g.running.Go(g.write)
}

// write writes what is there, until nothing is.
func (g *growths) write() {
	for {
		b, p, rollup, ok := g.next()
		if !ok {
			return
		}
		data, err := json.Marshal(p)
		if err != nil { // a text that JSON cannot have does not exist
			panic(err)
		}
		answer, _, _ := g.publish(g.ctx, 0, b.subject, write{rollup: rollup}, data)
		if !g.wrote(b, p, rollup, answer == lease.Stored) {
			return
		}
	}
}

// next is what to write. It ends the writer if there is nothing.
func (g *growths) next() (b *block, p piece, rollup, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.blocks = slices.DeleteFunc(g.blocks, func(b *block) bool { return b.ended && !b.kept })
	for _, b := range g.blocks {
		switch {
		case g.closed:
		case b.ended:
			return b, piece{BlockRef: b.BlockRef, Pos: b.pos, End: true}, true, true
		case b.stored < len(b.text):
			from := b.stored
			if rollup = time.Since(b.whole) > growthWhole; rollup {
				from = 0
			}
			b.kept = true
			upto := min(len(b.text), from+partSize/2) // JSON makes it longer
			return b, piece{b.BlockRef, b.pos, from, []byte(b.text[from:upto]), false}, rollup, true
		}
	}
	g.writing = false
	return nil, p, false, false
}

// wrote takes note of a publication. It ends the writer, for a while, if that had no acknowledgement.
func (g *growths) wrote(b *block, p piece, rollup, stored bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.End: // without an acknowledgement, it is forgotten by its age: the log says that it ended
		b.kept = false
	case stored:
		if b.stored = p.From + len(p.Text); rollup {
			b.whole = time.Now()
		}
	default:
		b.whole, b.stored, g.writing = time.Time{}, 0, false
		if g.timer == nil && !g.closed {
			g.timer = time.AfterFunc(growthTime, g.due)
		}
		return false
	}
	return true
}

// list is what is stored of open blocks.
func (g *growths) list() (list []session.Growth) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.blocks {
		if !b.ended && b.stored > 0 {
			list = append(list, session.Growth{BlockRef: b.BlockRef, Text: b.text[:b.stored]})
		}
	}
	slices.SortStableFunc(list, func(a, b session.Growth) int { return a.Number - b.Number })
	return list
}

// readGrowth is what earlier holders have stored of blocks, also of those that have ended since.
func (a api) readGrowth(ctx context.Context, stream, prefix string) (blocks []*block, err error) {
	last, ok, err := a.last(ctx, stream, prefix+".>")
	if err != nil || !ok {
		return nil, err
	}
	at := make(map[string]*block)
	err = a.forward(ctx, stream, prefix+".>", 1, last.seq, func(m message) error {
		var p piece
		if err := json.Unmarshal(m.data, &p); err != nil {
			return fmt.Errorf("%w: message %d of %s: %w", session.ErrDamaged, m.seq, stream, err)
		}
		b := at[m.subject]
		if b == nil {
			b = &block{BlockRef: p.BlockRef, subject: m.subject, pos: p.Pos}
			at[m.subject], blocks = b, append(blocks, b)
		}
		switch {
		case p.End:
			b.text = ""
		case p.From == 0 || p.From <= len(b.text):
			b.text = b.text[:p.From] + string(p.Text)
		}
		b.stored, b.kept, b.whole = len(b.text), true, time.Now()
		return nil
	})
	return slices.DeleteFunc(blocks, func(b *block) bool { return b.text == "" }), err
}
