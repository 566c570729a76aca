package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/session/bolt/page"
	"go.etcd.io/bbolt"
)

// The bucket forks has a key for each log that a fork shares: the session that the log is of, and the fork. The log of a
// session that was deleted stays while there is one; its length is under a key of its own then.
const (
	forkShare = 'f'
	forkGone  = 'g'
)

func shareKey(of, fork ID) []byte { return append(sharesOf(of), fork...) }
func sharesOf(of ID) []byte       { return append([]byte{forkShare}, of...) }
func goneKey(id ID) []byte        { return append([]byte{forkGone}, id...) }

// readGone reads the key of a log without its session.
func readGone(it page.Item) (id ID, last uint64, ok bool) {
	if len(it.Key) == 0 || it.Key[0] != forkGone {
		return "", 0, false
	}
	value, err := unseal(it.Key, it.Value)
	if err != nil || len(value) != 8 {
		return "", 0, false
	}
	return ID(it.Key[1:]), binary.BigEndian.Uint64(value), true
}

// getLogged is the position of the last entry of a log, whether its session is there or is deleted and shared.
func getLogged(tx *bbolt.Tx, id ID) (last uint64, err error) {
	last, err = getLast(tx, id)
	if !errors.Is(err, ErrNotFound) {
		return last, err
	}
	forks, key := tx.Bucket(forkBucket), goneKey(id)
	if forks == nil || forks.Get(key) == nil {
		return 0, err
	}
	value, unsealed := unseal(key, forks.Get(key))
	if unsealed != nil || len(value) != 8 {
		return 0, fmt.Errorf("%w: the length of its log is damaged", ErrDamaged)
	}
	return binary.BigEndian.Uint64(value), nil
}

// putShares keeps the logs that a new session shares from being removed. ErrNotFound if one is not there any more.
func putShares(tx *bbolt.Tx, s Session) error {
	if len(s.Shared) == 0 {
		return nil
	}
	forks := tx.Bucket(forkBucket)
	for _, span := range s.Shared {
		last, err := getLogged(tx, span.Session)
		if err == nil && last < span.Upto {
			err = fmt.Errorf("%w: its log ends at %d, before %d", ErrDamaged, last, span.Upto)
		}
		if err != nil {
			return fmt.Errorf("shared session %s: %w", span.Session, err)
		}
		key := shareKey(span.Session, s.ID)
		if err := forks.Put(key, seal(key, nil)); err != nil {
			return err
		}
	}
	return nil
}

// shared reports whether forks need the log of a session.
func shared(forks *bbolt.Bucket, id ID) bool {
	if forks == nil {
		return false
	}
	key, _ := forks.Cursor().Seek(sharesOf(id))
	return bytes.HasPrefix(key, sharesOf(id))
}

// leaveLog removes the log of a session that goes, or leaves it to its forks.
func leaveLog(tx *bbolt.Tx, r record) error {
	if forks := tx.Bucket(forkBucket); shared(forks, r.ID) {
		key := goneKey(r.ID)
		return forks.Put(key, seal(key, position(r.last)))
	}
	if logs := tx.Bucket(logBucket); logs.Bucket([]byte(r.ID)) != nil {
		return logs.DeleteBucket([]byte(r.ID))
	}
	return nil
}

// dropShares lets go of what a session shares, and removes the logs that nobody needs then, but for some.
func dropShares(tx *bbolt.Tx, s Session, keep []ID) error {
	forks := tx.Bucket(forkBucket)
	for _, span := range s.Shared {
		if forks == nil {
			return fmt.Errorf("%w: bucket %s is missing", ErrDamaged, forkBucket)
		}
		if err := forks.Delete(shareKey(span.Session, s.ID)); err != nil {
			return err
		}
		gone := goneKey(span.Session)
		if forks.Get(gone) == nil || shared(forks, span.Session) || slices.Contains(keep, span.Session) {
			continue
		}
		if err := errors.Join(forks.Delete(gone), tx.Bucket(logBucket).DeleteBucket([]byte(span.Session))); err != nil {
			return err
		}
	}
	return nil
}

// damagedShares lists the logs that a session shares and that cannot be read: their pages cannot be given back.
func (b *Bolt) damagedShares(ctx context.Context, id ID) (damaged []ID, err error) {
	s, err := b.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	for _, span := range s.Shared {
		if b.vet(span.Session) != nil {
			damaged = append(damaged, span.Session)
		}
	}
	return damaged, err
}
