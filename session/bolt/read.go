package bolt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
)

// What one read transaction copies out at most, so that it is over in a few milliseconds: while one is open no page is
// used again, and a writer that must map again waits.
const (
	readKeys  = 256
	readBytes = 1 << 20
)

// vet walks the log of a session before bbolt reads it for the first time.
func (b *Store) vet(id rowKey) error {
	b.mu.Lock()
	err, ok := b.damaged[id], b.vetted == nil || b.vetted[id]
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", session.ErrDamaged, err)
	}
	if ok {
		return nil
	}
	var log *bbolt.Bucket
	var damage error
	err = b.view(func(tx *bbolt.Tx) error {
		last, err := getLogged(tx, id)
		if err != nil {
			return err
		}
		log = tx.Bucket(logBucket).Bucket([]byte(id))
		if log != nil && log.Root() != 0 { // else it was walked with its neighbours at start, or is ours
			size := b.db.Info().PageSize
			p := page.Assume(b.file, size, uint64(tx.Size())/uint64(size))
			damage = ownTree{id, page.BucketAt(uint64(log.Root())), last, checkEntry}.walk(p, p.NewUse())
		}
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err != nil:
		return err
	case damage != nil:
		b.damaged[id] = damage
		return fmt.Errorf("%w: %w", session.ErrDamaged, damage)
	case log != nil:
		b.vetted[id] = true
	}
	return nil
}

// Get is the session's record.
func (b sessions) Get(ctx context.Context, id session.ID) (session.Session, error) {
	return b.get(ctx, b.key(id))
}

func (b *Store) get(ctx context.Context, id rowKey) (session.Session, error) {
	if err := context.Cause(ctx); err != nil {
		return session.Session{}, err
	}
	var r record
	err := b.view(func(tx *bbolt.Tx) (err error) {
		r, err = getWhole(tx, id)
		return err
	})
	if err == nil || errors.Is(err, session.ErrNotFound) {
		if damage := b.known(id); damage != nil { // its log, or the record is lost
			err = damage
		}
	}
	if err != nil {
		return session.Session{}, fmt.Errorf("session %s: %w", id, err)
	}
	return r.Session, nil
}

// known is the damage of a session that is known so far.
func (b *Store) known(id rowKey) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.damaged[id]; err != nil {
		return fmt.Errorf("%w: %w", session.ErrDamaged, err)
	}
	return nil
}

// List is a page of records, the last changed first. One read transaction answers a call: a session that changes moves to the
// head of the index, and a second transaction would find it neither where it was nor where the first one has been.
func (b sessions) List(ctx context.Context, q session.Query) (page []session.Session, next string, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		records := tx.Bucket(sessionBucket)
		page, next, err = q.Page(order{tx.Bucket(indexBucket), ownerKey(b.owner)}, func(n uint64, id session.ID) (session.Session, bool, error) {
			if err := context.Cause(ctx); err != nil {
				return session.Session{}, false, err
			}
			key := b.key(id)
			value := records.Get([]byte(key))
			if q.Selects() && !matchesJSON(q.Filter, key, value) {
				return session.Session{}, false, nil
			}
			r, err := readRecord(key, value, true)
			if err != nil || r.change != n || b.known(key) != nil {
				r.Session = session.Session{ID: id, Updated: r.Updated, Status: session.Damaged}
			}
			return r.Session, true, nil
		})
		return err
	})
	return page, next, err
}

// order is the index in a transaction, as far as it is of one owner.
type order struct {
	*bbolt.Bucket
	owner []byte // what its keys begin with
}

func (o order) Below(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		c := o.Cursor()
		for key := before(c, numberKey(o.owner, n)); o.yield(key, yield); key, _ = c.Prev() {
		}
	}
}

func (o order) Above(n uint64) iter.Seq2[uint64, session.ID] {
	return func(yield func(uint64, session.ID) bool) {
		c := o.Cursor()
		for key, _ := c.Seek(numberKey(o.owner, n+1)); o.yield(key, yield); key, _ = c.Next() {
		}
	}
}

// yield is false at the end.
func (o order) yield(key []byte, yield func(uint64, session.ID) bool) bool {
	n, id, ok := readNumber(o.owner, key)
	return ok && yield(n, session.ID(id))
}

// matchesJSON looks at a few members only: a search that finds little reads all records. A damaged one does not match.
func matchesJSON(f session.Filter, id rowKey, value []byte) bool {
	_, data, err := openRecord([]byte(id), value)
	if err != nil || len(data) < 8 {
		return false
	}
	data = data[8:] // behind the number of its last change
	m := gjson.GetManyBytes(data, "title", "cwd", "model.provider", "model.id", "updated", "archived", "on_top")
	s := session.Session{Title: m[0].String(), CWD: m[1].String(), Updated: m[4].Int(), Archived: m[5].Bool(), OnTop: m[6].Bool()}
	s.Model = session.ModelRef{Provider: m[2].String(), ID: m[3].String()}
	return f.Matches(s)
}

// OpenTurns lists the sessions with a turn that has started and not ended.
func (b *Store) OpenTurns(ctx context.Context) (open []session.Ref, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	err = b.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(openBucket).ForEach(func(key, _ []byte) error {
			open = append(open, rowKey(key).ref())
			return nil
		})
	})
	return open, err
}

// Owners lists the owners that have sessions. It looks for one key of each.
func (b *Store) Owners(ctx context.Context) (owners []session.Owner, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	err = b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(indexBucket).Cursor()
		for key, _ := c.First(); key != nil; {
			o, _, err := splitOwner(string(key))
			if err != nil {
				return err
			}
			owners = append(owners, o)
			key, _ = c.Seek(numberKey(ownerKey(o), maxNumber))
		}
		return nil
	})
	return owners, err
}

// Entries reads the log after a position.
func (b sessions) Entries(ctx context.Context, id session.ID, after uint64, limit int) ([]session.Entry, error) {
	return b.entries(ctx, b.key(id), after, limit)
}

func (b *Store) entries(ctx context.Context, id rowKey, after uint64, limit int) ([]session.Entry, error) {
	if err := b.vet(id); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	copied, _ := copies.Get().(*[]byte)
	if copied == nil {
		copied = new([]byte)
	}
	defer func() {
		if cap(*copied) <= 2*readBytes { // an entry may have many megabytes
			copies.Put(copied)
		}
	}()
	var entries []session.Entry
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		values, last, err := b.readSome(id, after, min(limit-len(entries), readKeys), copied)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		some, err := session.DecodeEntries(values)
		after += uint64(len(some))
		if err != nil {
			return nil, fmt.Errorf("session %s: %w: entry %d: %w", id, session.ErrDamaged, after+1, err)
		}
		if entries == nil {
			entries = some // most pages are read at once
		} else {
			entries = append(entries, some...)
		}
		if after >= last || len(entries) >= limit {
			return entries, nil
		}
	}
}

// copies are buffers for the entries of a page, which nothing refers to once they are decoded. A long log has more bytes than its view.
var copies sync.Pool

// readSome copies entries out of one transaction into a buffer, and returns the position of the log's last.
func (b *Store) readSome(id rowKey, after uint64, limit int, copied *[]byte) (values [][]byte, last uint64, err error) {
	err = b.view(func(tx *bbolt.Tx) (err error) {
		if last, err = getLogged(tx, id); err != nil {
			return err
		}
		log := tx.Bucket(logBucket).Bucket([]byte(id))
		if log == nil {
			return fmt.Errorf("%w: its log is missing", session.ErrDamaged)
		}
		if after >= last {
			return nil
		}
		c := log.Cursor()
		key, sealed := c.Seek(position(after + 1))
		full := entryKey(id, after+1)
		want := full[len(id):]
		*copied = (*copied)[:0]
		for at := after + 1; at <= last && len(values) < limit && len(*copied) < readBytes; at++ {
			binary.BigEndian.PutUint64(want, at)
			if !bytes.Equal(key, want) {
				return fmt.Errorf("%w: entry %d of %d is missing", session.ErrDamaged, at, last)
			}
			value, err := unseal(full, sealed)
			if err != nil {
				return fmt.Errorf("%w: entry %d: %w", session.ErrDamaged, at, err)
			}
			from := len(*copied)
			*copied = append(*copied, value...)
			values = append(values, (*copied)[from:])
			key, sealed = c.Next()
		}
		return nil
	})
	return values, last, err
}

// Checkpoints is what is stored of open blocks.
func (b journal) Checkpoints(ctx context.Context, ref session.Ref) (stored []session.Growth, err error) {
	id := keyOf(ref)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := b.vet(id); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	err = b.view(func(tx *bbolt.Tx) error {
		if _, err := getLast(tx, id); err != nil {
			return err
		}
		pieces := tx.Bucket(growthBucket).Bucket([]byte(id))
		if pieces == nil {
			return nil
		}
		return pieces.ForEach(func(key, sealed []byte) error {
			ref, from, text, err := readPiece(id, key, sealed)
			n := len(stored)
			switch {
			case err != nil:
				return err
			case from == 0:
				stored = append(stored, session.Growth{BlockRef: ref, Text: text})
			case n > 0 && stored[n-1].BlockRef == ref && from == len(stored[n-1].Text):
				stored[n-1].Text += text
			default:
				return fmt.Errorf("%w: checkpoint: a piece is missing", session.ErrDamaged)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	slices.SortStableFunc(stored, func(a, b session.Growth) int { return cmp.Compare(a.Number, b.Number) })
	return stored, nil
}

// Creation is what CreateOnce kept.
func (b sessions) Creation(ctx context.Context, stamp string) (m session.Creation, ok bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return session.Creation{}, false, err
	}
	err = b.view(func(tx *bbolt.Tx) (err error) {
		m, ok, err = findCreation(tx, b.owner, stamp)
		return err
	})
	return m, ok, err
}

// damagedShares lists the logs that a session shares and that cannot be read: their pages cannot be given back.
func (b *Store) damagedShares(ctx context.Context, id rowKey) (damaged []rowKey, err error) {
	s, err := b.get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	for _, span := range s.Shared {
		if of := id.of(span.Session); b.vet(of) != nil {
			damaged = append(damaged, of)
		}
	}
	return damaged, err
}
