package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
)

// The bucket made has two keys for each stamp: the stamp's id has the Made, and the place in the order of making has the
// id, so that the oldest is found. The second kind sorts behind the first.
const (
	madeByStamp = 's'
	madeByPlace = 't'
)

func stampKey(stamp string) []byte { return append([]byte{madeByStamp}, stamp...) }
func placeKey(place uint64) []byte { return append([]byte{madeByPlace}, position(place)...) }

// onceChange is a createChange that is made once for the id of a stamp.
type onceChange struct {
	createChange
	made  Made
	first Made // what stands under the id, once applied
}

// CreateOnce is Create for a stamped request. That a request was not the first is as durable as the first is: it is in
// the same commit, or in a later one.
func (b *Bolt) CreateOnce(ctx context.Context, s Session, m Made) (first Made, err error) {
	s, err = s.Fresh()
	if err != nil {
		return Made{}, err
	}
	m.Session = s.ID
	create, err := newCreateChange(s)
	c := &onceChange{createChange: create, made: m}
	if err == nil {
		err = b.submit(ctx, c)
	}
	if err != nil {
		return Made{}, fmt.Errorf("session %s: %w", s.ID, err)
	}
	if c.first.Session == s.ID {
		b.vouch(s.ID)
	}
	return c.first, nil
}

func (c *onceChange) apply(tx *bbolt.Tx) error {
	first, ok, err := findMade(tx, c.made.ID)
	if c.first = first; ok || err != nil {
		return err
	}
	if err := c.createChange.apply(tx); err != nil {
		return err
	}
	c.first = c.made
	return putMade(tx, c.made)
}

func (c *onceChange) landed(tx *bbolt.Tx) (bool, error) {
	first, ok, err := findMade(tx, c.made.ID)
	return ok && first.Session == c.first.Session, err
}

// Made is what CreateOnce kept.
func (b *Bolt) Made(ctx context.Context, stamp string) (m Made, ok bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return Made{}, false, err
	}
	err = b.view(func(tx *bbolt.Tx) (err error) {
		m, ok, err = findMade(tx, stamp)
		return err
	})
	return m, ok, err
}

func findMade(tx *bbolt.Tx, stamp string) (m Made, ok bool, err error) {
	bucket := tx.Bucket(madeBucket)
	if bucket == nil {
		return Made{}, false, nil
	}
	key := stampKey(stamp)
	sealed := bucket.Get(key)
	if sealed == nil {
		return Made{}, false, nil
	}
	value, err := unseal(key, sealed)
	if err == nil {
		err = json.Unmarshal(value, &m)
	}
	if err != nil {
		return Made{}, false, fmt.Errorf("%w: what was made by a stamp: %w", ErrDamaged, err)
	}
	return m, true, nil
}

// putMade keeps m as the newest and lets go of the oldest, if there are too many.
func putMade(tx *bbolt.Tx, m Made) error {
	bucket := tx.Bucket(madeBucket)
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	place := uint64(1)
	c := bucket.Cursor()
	if last, _ := c.Last(); last != nil {
		oldest, stamp := c.Seek([]byte{madeByPlace})
		if len(oldest) != 9 || len(last) != 9 {
			return fmt.Errorf("%w: bucket %s has no order", ErrDamaged, madeBucket)
		}
		place = binary.BigEndian.Uint64(last[1:]) + 1
		if place-binary.BigEndian.Uint64(oldest[1:]) >= MaxStamps {
			id, err := unseal(oldest, stamp)
			if err != nil {
				return fmt.Errorf("%w: bucket %s: %w", ErrDamaged, madeBucket, err)
			}
			oldest = bytes.Clone(oldest) // it points into what is about to change
			if err := errors.Join(bucket.Delete(stampKey(string(id))), bucket.Delete(oldest)); err != nil {
				return err
			}
		}
	}
	byStamp, byPlace := stampKey(m.ID), placeKey(place)
	return errors.Join(
		bucket.Put(byStamp, seal(byStamp, value)),
		bucket.Put(byPlace, seal(byPlace, []byte(m.ID))))
}
