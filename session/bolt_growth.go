package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

const (
	checkpointDelay = 500 * time.Millisecond // from the first growth that waits
	checkpointSize  = 16 << 10               // of one block: not later than that

	// growthBound is how much growth of one block waits when it cannot be written. Of a block that grows past it no
	// more is stored: what follows would not be joined to what is there.
	growthBound = 1 << 20
)

// blockKey names an open block of a session.
type blockKey struct {
	message MessageID
	number  int
}

// growing is an open block: how much of it is stored, and the text that waits behind that.
type growing struct {
	ref    BlockRef
	stored int
	text   []byte
}

// Checkpoint tells that an open block grew.
func (b *Bolt) Checkpoint(id ID, block BlockRef, from int, text string) {
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

// piece is growth on its way to the file.
type piece struct {
	id   ID
	ref  BlockRef
	from int
	text string
}

// takeGrowth copies all that waits, but for blocks that the requests seal. It stays in memory until it is stored.
func (b *Bolt) takeGrowth(requests []*request) []piece {
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

// storedGrowth takes note of a commit. What grew meanwhile waits on.
func (b *Bolt) storedGrowth(pieces []piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pieces {
		g := b.growth[p.id][blockKey{p.ref.Message, p.ref.Number}]
		if g != nil && g.stored == p.from && len(g.text) >= len(p.text) {
			g.stored += len(p.text)
			g.text = bytes.Clone(g.text[len(p.text):])
		}
	}
}

// forgetGrowth lets go of blocks that the requests have ended.
func (b *Bolt) forgetGrowth(requests []*request) {
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

// dropGrowth forgets what cannot be stored since its session is gone or damaged.
func (b *Bolt) dropGrowth(id ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.growth, id)
}

// rearm runs the timer if growth waits.
func (b *Bolt) rearm() {
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

// store puts a piece behind what is stored of its block. A key sorts by message, block and offset; ids hold no zero byte.
func (p piece) store(tx *bbolt.Tx) error {
	if _, err := getLast(tx, p.id); err != nil {
		return err
	}
	pieces, err := tx.Bucket(growthBucket).CreateBucketIfNotExists([]byte(p.id))
	if err != nil {
		return err
	}
	head, err := json.Marshal(p.ref)
	if err != nil {
		return err
	}
	key := append([]byte(p.ref.Message), 0)
	key = binary.BigEndian.AppendUint32(key, uint32(p.ref.Number))
	key = binary.BigEndian.AppendUint64(key, uint64(p.from))
	return pieces.Put(key, seal(pieceKey(p.id, key), slices.Concat(head, []byte("\n"), []byte(p.text))))
}

func pieceKey(id ID, key []byte) []byte { return slices.Concat([]byte(id), key) }

func readPiece(id ID, key, sealed []byte) (ref BlockRef, from int, text string, err error) {
	value, err := unseal(pieceKey(id, key), sealed)
	if err != nil {
		return ref, 0, "", fmt.Errorf("%w: checkpoint: %w", ErrDamaged, err)
	}
	head, text, _ := strings.Cut(string(value), "\n")
	if err := json.Unmarshal([]byte(head), &ref); err != nil {
		return ref, 0, "", fmt.Errorf("%w: checkpoint: %w", ErrDamaged, err)
	}
	return ref, int(binary.BigEndian.Uint64(key[len(key)-8:])), text, nil
}

// deleteGrowth removes the pieces of blocks that entries have ended.
func deleteGrowth(tx *bbolt.Tx, id ID, entries []Entry) error {
	all := tx.Bucket(growthBucket)
	pieces := all.Bucket([]byte(id))
	if pieces == nil {
		return nil
	}
	var ended [][]byte
	left := 0
	err := pieces.ForEach(func(key, sealed []byte) error {
		ref, _, _, err := readPiece(id, key, sealed)
		if slices.ContainsFunc(entries, func(e Entry) bool { return e.Ends(ref) }) {
			ended = append(ended, bytes.Clone(key))
		} else {
			left++
		}
		return err
	})
	if err != nil {
		return err
	}
	if left == 0 {
		return all.DeleteBucket([]byte(id))
	}
	for _, key := range ended {
		err = errors.Join(err, pieces.Delete(key))
	}
	return err
}
