package bolt

import (
	"bytes"
	"slices"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Checkpoints keep the growth of open blocks, so that a crash loses little of what a model has written. Growth is not acknowledged to
// anybody, so it never waits for the disk and never makes anybody wait:
//
//	Checkpoint --> growing.text --(timer, or 16 KiB)--> pieces of one commit --> growing.stored
//	                    ^                                        |
//	                    '------ stays here until the commit is on disk
//
// A block's text is the stored bytes and then the waiting ones, without a gap. When an entry ends the block, the commit of that entry
// removes the pieces, and forgetGrowth the waiting text. A commit that fails changes nothing here: the next one takes the same text
// again.
const (
	checkpointDelay = 500 * time.Millisecond // from the first growth that waits
	checkpointSize  = 16 << 10               // of one block: not later than that

	// growthBound is how much growth of one block waits if it cannot be written. If a block grows past it, no more of it is
	// stored: there would be a gap.
	growthBound = 1 << 20
)

// Checkpoint takes in the growth of an open block.
func (b journal) Checkpoint(ref session.Ref, block session.BlockRef, from int, text string) {
	id := keyOf(ref)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return
	}
	key := blockKey{block.Message, block.Number}
	g := b.growth[id][key]
	if g == nil {
		if from != 0 {
			return // its beginning is not stored
		}
		g = &growing{ref: block}
		if b.growth[id] == nil {
			b.growth[id] = make(map[blockKey]*growing)
		}
		b.growth[id][key] = g
	}
	known := g.stored + len(g.text) - from
	if known < 0 || known >= len(text) || len(g.text)+len(text) > growthBound {
		return
	}
	g.text = append(g.text, text[known:]...)
	if !b.armed {
		b.armed = true
		b.due.Reset(checkpointDelay)
	}
	if len(g.text) >= checkpointSize {
		b.due.Reset(0)
	}
}

// takeGrowth copies all text that waits, except that of blocks that the requests end. The text stays in memory until it is stored.
func (b *Store) takeGrowth(requests []*request) []piece {
	b.mu.Lock()
	defer b.mu.Unlock()
	var pieces []piece
	for id, blocks := range b.growth {
		for _, g := range blocks {
			if len(g.text) > 0 && !slices.ContainsFunc(requests, func(r *request) bool { return r.ends(id, g.ref) }) {
				pieces = append(pieces, piece{id, g.ref, g.stored, string(g.text)})
			}
		}
	}
	return pieces
}

// storedGrowth records a commit. Text that came during the commit still waits.
func (b *Store) storedGrowth(pieces []piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pieces {
		g := b.growth[p.key][blockKey{p.ref.Message, p.ref.Number}]
		if g != nil && g.stored == p.from && len(g.text) >= len(p.text) {
			g.stored += len(p.text)
			g.text = bytes.Clone(g.text[len(p.text):])
		}
	}
}

// forgetGrowth drops the blocks that the requests have ended.
func (b *Store) forgetGrowth(requests []*request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range requests {
		if r.err != nil {
			continue
		}
		id := r.session()
		for key, g := range b.growth[id] {
			if r.ends(id, g.ref) {
				delete(b.growth[id], key)
			}
		}
		if len(b.growth[id]) == 0 {
			delete(b.growth, id)
		}
	}
}

// dropGrowth drops the growth of a session that is deleted or damaged.
func (b *Store) dropGrowth(id rowKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.growth, id)
}

// rearm starts the timer if growth waits.
func (b *Store) rearm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = false
	for _, blocks := range b.growth {
		for _, g := range blocks {
			if len(g.text) > 0 && !b.armed {
				b.armed = true
				b.due.Reset(checkpointDelay)
			}
		}
	}
}
