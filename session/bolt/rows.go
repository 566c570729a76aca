package bolt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
)

// getRecord reads the changing part of a record in a transaction.
func getRecord(tx *bbolt.Tx, id rowKey) (record, error) {
	value := tx.Bucket(sessionBucket).Get([]byte(id))
	if value == nil {
		return record{}, session.ErrNotFound
	}
	return readRecord(id, value, tx.Bucket(fixedBucket) != nil)
}

// getWhole reads all of a record.
func getWhole(tx *bbolt.Tx, id rowKey) (record, error) {
	r, err := getRecord(tx, id)
	bucket := tx.Bucket(fixedBucket)
	if err != nil || bucket == nil { // a file of an older format has all in one
		return r, err
	}
	value, err := unseal([]byte(id), bucket.Get([]byte(id)))
	if err != nil {
		return record{}, fmt.Errorf("%w: fixed part of the record: %w", session.ErrDamaged, err)
	}
	var f fixed
	if err := json.Unmarshal(value, &f); err != nil {
		return record{}, fmt.Errorf("%w: fixed part of the record: %w", session.ErrDamaged, err)
	}
	r.Session = f.join(r.Session)
	return r, nil
}

// getLast is the position of the last entry of a session that is there. Of its record only the checksum is
// looked at.
func getLast(tx *bbolt.Tx, id rowKey) (last uint64, err error) {
	value := tx.Bucket(sessionBucket).Get([]byte(id))
	if value == nil {
		return 0, session.ErrNotFound
	}
	last, _, err = openRecord([]byte(id), value)
	return last, err
}

// getLogged is the position of the last entry of a log, whether its session is there or is deleted and shared.
func getLogged(tx *bbolt.Tx, id rowKey) (last uint64, err error) {
	last, err = getLast(tx, id)
	if !errors.Is(err, session.ErrNotFound) {
		return last, err
	}
	forks, key := tx.Bucket(forkBucket), goneKey(id)
	if forks == nil || forks.Get(key) == nil {
		return 0, err
	}
	value, unsealed := unseal(key, forks.Get(key))
	if unsealed != nil || len(value) != 8 {
		return 0, fmt.Errorf("%w: the length of its log is damaged", session.ErrDamaged)
	}
	return binary.BigEndian.Uint64(value), nil
}

// renumber gives a session the number of its newest change, in place of the one before; 0: it has none yet.
func renumber(tx *bbolt.Tx, id rowKey, before uint64) (change uint64, err error) {
	index := tx.Bucket(indexBucket)
	if change, err = index.NextSequence(); err != nil {
		return 0, err
	}
	if before > 0 {
		if err := index.Delete(indexKey(before, id)); err != nil {
			return 0, err
		}
	}
	key := indexKey(change, id)
	return change, index.Put(key, seal(key, nil))
}

func getRunning(tx *bbolt.Tx, id rowKey) (session.TurnID, error) {
	value := tx.Bucket(openBucket).Get([]byte(id))
	if value == nil {
		return "", nil
	}
	turn, err := unseal([]byte(id), value)
	if err != nil {
		return "", fmt.Errorf("%w: running turn: %w", session.ErrDamaged, err)
	}
	return session.TurnID(turn), nil
}

func putRunning(tx *bbolt.Tx, id rowKey, turn session.TurnID) error {
	open, key := tx.Bucket(openBucket), []byte(id)
	if turn == "" {
		return open.Delete(key)
	}
	return open.Put(key, seal(key, []byte(turn)))
}

// putShares keeps the logs that a new session shares from being removed. ErrNotFound if one is not there any more.
func putShares(tx *bbolt.Tx, key rowKey, s session.Session) error {
	if len(s.Shared) == 0 {
		return nil
	}
	forks := tx.Bucket(forkBucket)
	for _, span := range s.Shared {
		of := key.of(span.Session)
		last, err := getLogged(tx, of)
		if err == nil && last < span.Upto {
			err = fmt.Errorf("%w: its log ends at %d, before %d", session.ErrDamaged, last, span.Upto)
		}
		if err != nil {
			return fmt.Errorf("shared session %s: %w", span.Session, err)
		}
		share := shareKey(of, key)
		if err := forks.Put(share, seal(share, nil)); err != nil {
			return err
		}
	}
	return nil
}

// shared reports whether forks need the log of a session.
func shared(forks *bbolt.Bucket, id rowKey) bool {
	if forks == nil {
		return false
	}
	key, _ := forks.Cursor().Seek(sharesOf(id))
	return bytes.HasPrefix(key, sharesOf(id))
}

// leaveLog removes the log of a session that goes, or leaves it to its forks.
func leaveLog(tx *bbolt.Tx, r record) error {
	if forks := tx.Bucket(forkBucket); shared(forks, r.key) {
		key := goneKey(r.key)
		return forks.Put(key, seal(key, position(r.last)))
	}
	if logs := tx.Bucket(logBucket); logs.Bucket([]byte(r.key)) != nil {
		return logs.DeleteBucket([]byte(r.key))
	}
	return nil
}

// dropShares removes the shares of a session, and the logs that nothing needs then, except those in keep.
func dropShares(tx *bbolt.Tx, key rowKey, s session.Session, keep []rowKey) error {
	forks := tx.Bucket(forkBucket)
	for _, span := range s.Shared {
		if forks == nil {
			return fmt.Errorf("%w: bucket %s is missing", session.ErrDamaged, forkBucket)
		}
		of := key.of(span.Session)
		if err := forks.Delete(shareKey(of, key)); err != nil {
			return err
		}
		gone := goneKey(of)
		if forks.Get(gone) == nil || shared(forks, of) || slices.Contains(keep, of) {
			continue
		}
		if err := errors.Join(forks.Delete(gone), tx.Bucket(logBucket).DeleteBucket([]byte(of))); err != nil {
			return err
		}
	}
	return nil
}

func findCreation(tx *bbolt.Tx, o session.Owner, stamp string) (m session.Creation, ok bool, err error) {
	bucket := tx.Bucket(creationBucket)
	if bucket == nil {
		return session.Creation{}, false, nil
	}
	key := stampKey(o, stamp)
	sealed := bucket.Get(key)
	if sealed == nil {
		return session.Creation{}, false, nil
	}
	value, err := unseal(key, sealed)
	if err == nil {
		err = json.Unmarshal(value, &m)
	}
	if err != nil {
		return session.Creation{}, false, fmt.Errorf("%w: what was made by a stamp: %w", session.ErrDamaged, err)
	}
	return m, true, nil
}

// putCreation keeps m as the newest of its owner, and removes the oldest if there are too many.
func putCreation(tx *bbolt.Tx, o session.Owner, m session.Creation) error {
	bucket := tx.Bucket(creationBucket)
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	places := placesOf(o)
	place := uint64(1)
	c := bucket.Cursor()
	if last, _, ok := readNumber(places, before(c, numberKey(places, maxNumber))); ok {
		place = last + 1
		oldest, stamp := c.Seek(numberKey(places, 0))
		first, _, ok := readNumber(places, oldest)
		if !ok {
			return fmt.Errorf("%w: bucket %s has no order", session.ErrDamaged, creationBucket)
		}
		if place-first >= session.MaxStamps {
			id, err := unseal(oldest, stamp)
			if err != nil {
				return fmt.Errorf("%w: bucket %s: %w", session.ErrDamaged, creationBucket, err)
			}
			oldest = bytes.Clone(oldest) // it points into what is about to change
			if err := errors.Join(bucket.Delete(stampKey(o, string(id))), bucket.Delete(oldest)); err != nil {
				return err
			}
		}
	}
	byStamp, byPlace := stampKey(o, m.ID), numberKey(places, place)
	return errors.Join(
		bucket.Put(byStamp, seal(byStamp, value)),
		bucket.Put(byPlace, seal(byPlace, []byte(m.ID))))
}

// before is the last key before another one, nil if there is none.
func before(c *bbolt.Cursor, key []byte) []byte {
	if at, _ := c.Seek(key); at == nil {
		last, _ := c.Last()
		return last
	}
	last, _ := c.Prev()
	return last
}

// store puts a piece behind what is stored of its block. A key sorts by message, block and offset; ids hold no zero byte.
func (p piece) store(tx *bbolt.Tx) error {
	if _, err := getLast(tx, p.key); err != nil {
		return err
	}
	pieces, err := tx.Bucket(growthBucket).CreateBucketIfNotExists([]byte(p.key))
	if err != nil {
		return err
	}
	head, err := json.Marshal(p.ref)
	if err != nil {
		return err
	}
	key := append([]byte(p.ref.Message), 0)
	key = binary.BigEndian.AppendUint32(key, uint32(p.ref.Number))
	key = binary.BigEndian.AppendUint64(key, uint64(p.from)) // of offsetSize
	return pieces.Put(key, seal(pieceKey(p.key, key), slices.Concat(head, []byte("\n"), []byte(p.text))))
}

// deleteGrowth removes the pieces of blocks that entries have ended. A block may have thousands of pieces, and every append comes here, so
// only the first piece of a block is read. The others have keys with the same beginning.
func deleteGrowth(tx *bbolt.Tx, id rowKey, entries []session.Entry) error {
	all := tx.Bucket(growthBucket)
	pieces := all.Bucket([]byte(id))
	if pieces == nil {
		return nil
	}
	var ended [][]byte
	left := false
	c := pieces.Cursor()
	for key, sealed := c.First(); key != nil; {
		ref, _, _, err := readPiece(id, key, sealed)
		if err != nil {
			return err
		}
		ends := slices.ContainsFunc(entries, func(e session.Entry) bool { return e.Ends(ref) })
		left = left || !ends
		for block := blockOf(key); key != nil && bytes.Equal(blockOf(key), block); key, sealed = c.Next() {
			if ends {
				ended = append(ended, bytes.Clone(key))
			}
		}
	}
	if !left {
		return all.DeleteBucket([]byte(id))
	}
	for _, key := range ended {
		if err := pieces.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// blockOf is the part of a piece's key that all pieces of the block share.
func blockOf(key []byte) []byte { return key[:max(len(key)-offsetSize, 0)] }

// readEpoch is the first epoch that is not reserved.
func readEpoch(tx *bbolt.Tx) uint64 {
	value := tx.Bucket(metaBucket).Get(epochKey)
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}
