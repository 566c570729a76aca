package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// The bucket ledger has keys that begin with one of these. It is missing in files of builds without a ledger; then the records of the
// sessions take its place. The first commit that needs it makes it, and adds what the records have, on the day of their last change.
const (
	ledgerLine    = 'd' // day, length of the session's key, the session's key, account as JSON: what was used
	ledgerTotal   = 's' // the session's key: what the session used
	ledgerHold    = 'h' // length of the session's key, the session's key, id: a reservation
	ledgerImport  = 'i' // the name of lines that were imported
	ledgerBudgets = 'b'
)

// recordImport is the import of what the records of an older build have.
const recordImport = "records"

var budgetsKey = []byte{ledgerBudgets}

func totalKey(key rowKey) []byte { return append([]byte{ledgerTotal}, key...) }

func importKey(name string) []byte { return append([]byte{ledgerImport}, name...) }

func holdKey(key rowKey, id string) []byte {
	out := binary.AppendUvarint([]byte{ledgerHold}, uint64(len(key)))
	return append(append(out, key...), id...)
}

func lineKey(l session.Line) ([]byte, error) {
	account, err := json.Marshal(l.Account)
	if err != nil {
		return nil, err
	}
	key := keyOf(l.Ref)
	out := binary.AppendUvarint(append([]byte{ledgerLine}, l.Day...), uint64(len(key)))
	return append(append(out, key...), account...), nil
}

// cutKey takes a session's key with its length off the front.
func cutKey(from []byte) (key rowKey, rest []byte, err error) {
	n, used := binary.Uvarint(from)
	if used <= 0 || n > uint64(len(from)-used) {
		return "", nil, fmt.Errorf("%w: bucket %s has a key without a session", session.ErrDamaged, ledgerBucket)
	}
	return rowKey(from[used : used+int(n)]), from[used+int(n):], nil
}

// dayLength is that of a Day.
const dayLength = len(time.DateOnly)

func readLine(key, sealed []byte) (l session.Line, err error) {
	if len(key) < 1+dayLength {
		return l, fmt.Errorf("%w: bucket %s has a key without a day", session.ErrDamaged, ledgerBucket)
	}
	of, account, err := cutKey(key[1+dayLength:])
	if err == nil {
		err = getSealed(key, sealed, &l)
	}
	if err == nil {
		err = json.Unmarshal(account, &l.Account)
	}
	l.Day, l.Ref = session.Day(key[1:1+dayLength]), of.ref()
	return l, err
}

// getSealed reads a value as JSON; nothing changes if it is missing.
func getSealed(key, sealed []byte, into any) error {
	if sealed == nil {
		return nil
	}
	value, err := unseal(key, sealed)
	if err == nil {
		err = json.Unmarshal(value, into)
	}
	if err != nil {
		return fmt.Errorf("%w: bucket %s: %w", session.ErrDamaged, ledgerBucket, err)
	}
	return nil
}

func putSealed(bucket *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return bucket.Put(key, seal(key, data))
}

// kept is what a line's value has: the rest is in its key.
type kept struct {
	Calls  int            `json:"calls"`
	Usage  provider.Usage `json:"usage"`
	Missed session.Missed `json:"missed,omitempty"`
}

// addLine adds what was used to its line, and to the total of its session if that is there.
func addLine(tx *bbolt.Tx, bucket *bbolt.Bucket, l session.Line) error {
	key, err := lineKey(l)
	if err != nil {
		return err
	}
	var sum kept
	if err := getSealed(key, bucket.Get(key), &sum); err != nil {
		return err
	}
	sum.Calls, sum.Usage, sum.Missed = sum.Calls+l.Calls, sum.Usage.Add(l.Usage), sum.Missed.Add(l.Missed)
	if err := putSealed(bucket, key, sum); err != nil {
		return err
	}
	of := keyOf(l.Ref)
	if tx.Bucket(sessionBucket).Get([]byte(of)) == nil {
		return nil // it was deleted
	}
	var total provider.Usage
	if err := getSealed(totalKey(of), bucket.Get(totalKey(of)), &total); err != nil {
		return err
	}
	return putSealed(bucket, totalKey(of), total.Add(l.Usage))
}

// addCharge adds a charge.
func addCharge(tx *bbolt.Tx, c session.Charge) error {
	bucket, err := openLedger(tx)
	if err != nil {
		return err
	}
	var budgets session.Budgets
	if err := getSealed(budgetsKey, bucket.Get(budgetsKey), &budgets); err != nil {
		return err
	}
	if after := budgets.Apply(c); after != budgets {
		if err := putSealed(bucket, budgetsKey, after); err != nil {
			return err
		}
	}
	if c.Calls == 0 {
		return nil
	}
	return addLine(tx, bucket, c.Line)
}

// openLedger is the bucket, for writing.
func openLedger(tx *bbolt.Tx) (*bbolt.Bucket, error) {
	bucket, err := tx.CreateBucketIfNotExists(ledgerBucket)
	if err != nil || bucket.Get(importKey(recordImport)) != nil {
		return bucket, err
	}
	lines, err := recordLines(tx)
	for _, l := range lines {
		err = errors.Join(err, addLine(tx, bucket, l))
	}
	return bucket, errors.Join(err, putSealed(bucket, importKey(recordImport), true))
}

// ledgerIn is the bucket for reading, nil if the records take its place.
func ledgerIn(tx *bbolt.Tx) *bbolt.Bucket {
	if bucket := tx.Bucket(ledgerBucket); bucket != nil && bucket.Get(importKey(recordImport)) != nil {
		return bucket
	}
	return nil
}

// recordLines is what the records of sessions have used, on the day of their last change. A record that cannot be read is left out.
func recordLines(tx *bbolt.Tx) (lines []session.Line, err error) {
	err = tx.Bucket(sessionBucket).ForEach(func(key, _ []byte) error {
		r, err := getRecord(tx, rowKey(key))
		if err == nil && !r.Usage.Unused() {
			lines = append(lines, recordLine(rowKey(key).ref(), r.Session))
		}
		return nil
	})
	return lines, err
}

func recordLine(ref session.Ref, s session.Session) session.Line {
	used := s.Usage
	used.Context = nil
	return session.Line{Day: session.DayOf(time.UnixMilli(s.Updated)), Ref: ref, Account: session.Account{Model: s.Model}, Usage: used}
}

// ledger is the [session.Ledger] of a store.
type ledger struct{ *Store }

// Ledger is what model calls used.
func (b *Store) Ledger() session.Ledger { return ledger{b} }

// ledgerChange is a change of the ledger alone.
type ledgerChange struct {
	change func(tx *bbolt.Tx, bucket *bbolt.Bucket) error
	done   func(bucket *bbolt.Bucket) bool // nil bucket: there is none
}

func (c *ledgerChange) session() rowKey                    { return "" }
func (c *ledgerChange) ends(rowKey, session.BlockRef) bool { return false }

func (c *ledgerChange) apply(tx *bbolt.Tx) error {
	bucket, err := openLedger(tx)
	if err != nil {
		return err
	}
	return c.change(tx, bucket)
}

func (c *ledgerChange) landed(tx *bbolt.Tx) (bool, error) {
	bucket := ledgerIn(tx)
	return bucket != nil && c.done(bucket), nil
}

// Hold keeps a reservation.
func (b ledger) Hold(ctx context.Context, ref session.Ref, id string, r session.Reserved) error {
	key := holdKey(keyOf(ref), id)
	return b.submit(ctx, &ledgerChange{
		change: func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
			if r.Budgets != nil {
				if err := addCharge(tx, session.Charge{Line: session.Line{Day: r.Day}, Budgets: r.Budgets}); err != nil {
					return err
				}
			}
			return putSealed(bucket, key, r)
		},
		done: func(bucket *bbolt.Bucket) bool { return bucket.Get(key) != nil },
	})
}

// Settle ends a reservation.
func (b ledger) Settle(ctx context.Context, ref session.Ref, id string, used provider.Usage, missed session.Missed) error {
	key := holdKey(keyOf(ref), id)
	return b.submit(ctx, &ledgerChange{
		change: func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
			held := bucket.Get(key)
			if held == nil {
				return nil
			}
			var r session.Reserved
			if err := getSealed(key, held, &r); err != nil {
				return err
			}
			if err := bucket.Delete(key); err != nil || used.Unused() {
				return err
			}
			line := r.Line(ref, used)
			line.Missed = missed
			return addCharge(tx, session.Charge{Line: line})
		},
		done: func(bucket *bbolt.Bucket) bool { return bucket.Get(key) == nil },
	})
}

// Import adds lines of an older build, once for each name.
func (b ledger) Import(ctx context.Context, name string, lines ...session.Line) error {
	key := importKey(name)
	return b.submit(ctx, &ledgerChange{
		change: func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
			if bucket.Get(key) != nil {
				return nil
			}
			for _, l := range lines {
				if err := addLine(tx, bucket, l); err != nil {
					return err
				}
			}
			return putSealed(bucket, key, true)
		},
		done: func(bucket *bbolt.Bucket) bool { return bucket.Get(key) != nil },
	})
}

// read runs f in a read transaction, with the bucket, or nil if the records take its place.
func (b ledger) read(ctx context.Context, f func(tx *bbolt.Tx, bucket *bbolt.Bucket) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return b.view(func(tx *bbolt.Tx) error { return f(tx, ledgerIn(tx)) })
}

// Holds lists the reservations.
func (b ledger) Holds(ctx context.Context) (list []session.Hold, err error) {
	err = b.read(ctx, func(_ *bbolt.Tx, bucket *bbolt.Bucket) error {
		return eachKey(bucket, []byte{ledgerHold}, nil, func(key, sealed []byte) error {
			var h session.Hold
			of, id, err := cutKey(key[1:])
			if err == nil {
				err = getSealed(key, sealed, &h.Reserved)
			}
			h.Ref, h.ID = of.ref(), string(id)
			list = append(list, h)
			return err
		})
	})
	return list, err
}

// eachKey calls f with the keys that begin with prefix, or are behind it, and are not behind upto; nil: that begin with prefix.
func eachKey(bucket *bbolt.Bucket, prefix, upto []byte, f func(key, sealed []byte) error) error {
	if bucket == nil {
		return nil
	}
	c := bucket.Cursor()
	for key, value := c.Seek(prefix); key != nil; key, value = c.Next() {
		if upto == nil && !bytes.HasPrefix(key, prefix) || upto != nil && bytes.Compare(key[:min(len(key), len(upto))], upto) > 0 {
			return nil
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// Lines lists what was used.
func (b ledger) Lines(ctx context.Context, owner *session.Owner, from, to session.Day) (list []session.Line, err error) {
	take := func(l session.Line) {
		if from <= l.Day && l.Day <= to && (owner == nil || l.Ref.Owner == *owner) {
			list = append(list, l)
		}
	}
	err = b.read(ctx, func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
		if bucket == nil {
			lines, err := recordLines(tx)
			for _, l := range lines {
				take(l)
			}
			return err
		}
		return eachKey(bucket, append([]byte{ledgerLine}, from...), append([]byte{ledgerLine}, to...), func(key, sealed []byte) error {
			l, err := readLine(key, sealed)
			take(l)
			return err
		})
	})
	slices.SortStableFunc(list, session.Line.Compare)
	return list, err
}

// Total is what a session has used.
func (b ledger) Total(ctx context.Context, ref session.Ref) (u provider.Usage, err error) {
	err = b.read(ctx, func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
		key := keyOf(ref)
		if bucket != nil {
			return getSealed(totalKey(key), bucket.Get(totalKey(key)), &u)
		}
		r, err := getRecord(tx, key)
		if err == nil {
			u = recordLine(ref, r.Session).Usage
		}
		if errors.Is(err, session.ErrNotFound) {
			err = nil
		}
		return err
	})
	return u, err
}

// Budgets is what counts for the limits of all sessions. A daemon with a limit for a day waits for it when it starts, so it looks in each
// line of today for the cost alone.
func (b ledger) Budgets(ctx context.Context, today session.Day) (found session.Budgets, err error) {
	err = b.read(ctx, func(tx *bbolt.Tx, bucket *bbolt.Bucket) error {
		if bucket != nil {
			if err := getSealed(budgetsKey, bucket.Get(budgetsKey), &found); err != nil {
				return err
			}
		}
		if today == "" {
			return nil
		}
		if bucket == nil {
			lines, err := recordLines(tx)
			for _, l := range lines {
				if l.Day == today && l.Usage.Cost != nil {
					found.Day += l.Usage.Cost.Amount
				}
			}
			return err
		}
		return eachKey(bucket, append([]byte{ledgerLine}, today...), nil, func(key, sealed []byte) error {
			line, err := unseal(key, sealed)
			if err != nil {
				return fmt.Errorf("%w: bucket %s: %w", session.ErrDamaged, ledgerBucket, err)
			}
			found.Day += provider.MoneyOf(gjson.GetBytes(line, "usage.cost.amount").Float())
			return nil
		})
	})
	return found, err
}
