package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
)

type createChange struct {
	session.Session
	key    rowKey
	fixed  []byte
	record []byte // once applied
}

func newCreateChange(key rowKey, s session.Session) (createChange, error) {
	f, changing := fixedOf(s), s.Changing()
	value, err := f.encode(key)
	if err == nil {
		_, err = json.Marshal(changing) // what cannot be written is refused before the writer has it
	}
	return createChange{Session: s, key: key, fixed: value}, err
}

// Create keeps a new session. It is idle and has used nothing, whatever s says.
func (b sessions) Create(ctx context.Context, s session.Session) error {
	s, err := s.Fresh()
	if err != nil {
		return err
	}
	key := b.key(s.ID)
	c, err := newCreateChange(key, s)
	if err == nil {
		err = b.submit(ctx, &c)
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", key, err)
	}
	b.vouch(key)
	b.claims.Begin(b.ref(s.ID))
	return nil
}

// vouch marks the log of a new session as walked.
func (b *Store) vouch(key rowKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vetted != nil {
		b.vetted[key] = true
	}
}

func (c *createChange) session() rowKey { return c.key }

func (c *createChange) ends(rowKey, session.BlockRef) bool { return false }

func (c *createChange) apply(tx *bbolt.Tx) error {
	sessions, id := tx.Bucket(sessionBucket), []byte(c.key)
	if sessions.Get(id) != nil {
		return session.ErrExists
	}
	if err := putShares(tx, c.key, c.Session); err != nil {
		return err
	}
	if _, err := tx.Bucket(logBucket).CreateBucket(id); err != nil {
		return err
	}
	r := record{key: c.key, Session: c.Session}
	var err error
	if r.change, err = renumber(tx, c.key, 0); err != nil {
		return err
	}
	if c.record, err = r.encode(); err != nil {
		return err
	}
	return errors.Join(sessions.Put(id, c.record), tx.Bucket(fixedBucket).Put(id, c.fixed))
}

func (c *createChange) landed(tx *bbolt.Tx) (bool, error) {
	return bytes.Equal(tx.Bucket(sessionBucket).Get([]byte(c.key)), c.record), nil
}

// onceChange is a createChange that is made once for the id of a stamp.
type onceChange struct {
	createChange
	owner session.Owner
	made  session.Creation
	first session.Creation // what stands under the id, once applied
}

// CreateOnce is Create for a stamped request. That a request was not the first is as durable as the first is: it is in
// the same commit, or in a later one.
func (b sessions) CreateOnce(ctx context.Context, s session.Session, m session.Creation) (first session.Creation, err error) {
	s, err = s.Fresh()
	if err != nil {
		return session.Creation{}, err
	}
	m.Session = s.ID
	key := b.key(s.ID)
	create, err := newCreateChange(key, s)
	c := &onceChange{createChange: create, owner: b.owner, made: m}
	if err == nil {
		err = b.submit(ctx, c)
	}
	if err != nil {
		return session.Creation{}, fmt.Errorf("session %s: %w", key, err)
	}
	if c.first.Session == s.ID {
		b.vouch(key)
		b.claims.Begin(b.ref(s.ID))
	}
	return c.first, nil
}

func (c *onceChange) apply(tx *bbolt.Tx) error {
	first, ok, err := findCreation(tx, c.owner, c.made.ID)
	if c.first = first; ok || err != nil {
		return err
	}
	if err := c.createChange.apply(tx); err != nil {
		return err
	}
	c.first = c.made
	return putCreation(tx, c.owner, c.made)
}

func (c *onceChange) landed(tx *bbolt.Tx) (bool, error) {
	first, ok, err := findCreation(tx, c.owner, c.made.ID)
	return ok && first.Session == c.first.Session, err
}

type appendChange struct {
	id      rowKey
	entries []session.Entry
	values  [][]byte // of entries
	reserve uint64   // epochs before that are reserved with it; 0: none
	last    uint64   // position of the last, once applied
}

// Append adds entries to the log.
func (b journal) Append(ctx context.Context, ref session.Ref, entries ...session.Entry) (last uint64, err error) {
	id := keyOf(ref)
	c := &appendChange{id: id, entries: entries}
	if c.values, err = session.EncodeEntries(entries); err == nil {
		err = b.vet(id)
	}
	if err == nil {
		c.reserve = b.toReserve()
		err = b.submit(ctx, c)
	}
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", id, err)
	}
	b.reservedUpTo(c.reserve)
	return c.last, nil
}

func (c *appendChange) session() rowKey { return c.id }

func (c *appendChange) ends(id rowKey, ref session.BlockRef) bool {
	if id != c.id {
		return false
	}
	for _, e := range c.entries {
		if e.Ends(ref) {
			return true
		}
	}
	return false
}

func (c *appendChange) apply(tx *bbolt.Tx) error {
	r, err := getRecord(tx, c.id)
	if err != nil {
		return err
	}
	id := []byte(c.id)
	log := tx.Bucket(logBucket).Bucket(id)
	if log == nil {
		return fmt.Errorf("%w: its log is missing", session.ErrDamaged)
	}
	if key, _ := log.Cursor().Last(); r.last == 0 && key != nil || r.last != 0 && !bytes.Equal(key, position(r.last)) {
		return fmt.Errorf("%w: its log does not end at entry %d", session.ErrDamaged, r.last)
	}
	running, err := getRunning(tx, c.id)
	if err != nil {
		return err
	}
	log.FillPercent = 0.9 // keys only grow, so what a split leaves half empty stays so
	for i, e := range c.entries {
		if charge, ok := r.Charge(c.id.ref().Owner, e); ok {
			if err := addCharge(tx, charge); err != nil {
				return err
			}
		}
		r.last++
		if err := log.Put(position(r.last), seal(entryKey(c.id, r.last), c.values[i])); err != nil {
			return err
		}
		running = r.Project(e, running)
	}
	c.last = r.last
	if len(c.entries) > 0 {
		if r.change, err = renumber(tx, c.id, r.change); err != nil {
			return err
		}
	}
	value, err := r.encode()
	if err != nil {
		return err
	}
	if c.reserve > readEpoch(tx) {
		if err := tx.Bucket(metaBucket).Put(epochKey, position(c.reserve)); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.Bucket(sessionBucket).Put(id, value),
		putRunning(tx, c.id, running),
		deleteGrowth(tx, c.id, c.entries))
}

func (c *appendChange) landed(tx *bbolt.Tx) (bool, error) {
	last, err := getLast(tx, c.id)
	if err != nil || c.last == 0 || last < c.last {
		return false, err
	}
	log := tx.Bucket(logBucket).Bucket([]byte(c.id))
	first := c.last - uint64(len(c.values)) + 1
	for i, value := range c.values {
		at := first + uint64(i)
		stored, err := unseal(entryKey(c.id, at), log.Get(position(at)))
		if err != nil || !bytes.Equal(stored, value) {
			return false, err
		}
	}
	return true, nil
}

type markChange struct {
	id        rowKey
	principal string
	ended     int
}

// MarkRead notes in the record what a principal has read. The number of the session's last change stays.
func (b sessions) MarkRead(ctx context.Context, id session.ID, principal string, ended int) error {
	key := b.key(id)
	if err := b.submit(ctx, &markChange{key, principal, ended}); err != nil {
		return fmt.Errorf("session %s: %w", key, err)
	}
	return nil
}

func (c *markChange) session() rowKey { return c.id }

func (c *markChange) ends(rowKey, session.BlockRef) bool { return false }

func (c *markChange) apply(tx *bbolt.Tx) error {
	r, err := getRecord(tx, c.id)
	if err != nil || !r.MarkRead(c.principal, c.ended) {
		return err
	}
	value, err := r.encode()
	if err != nil {
		return err
	}
	return tx.Bucket(sessionBucket).Put([]byte(c.id), value)
}

func (c *markChange) landed(tx *bbolt.Tx) (bool, error) {
	r, err := getRecord(tx, c.id)
	return err == nil && !r.MarkRead(c.principal, c.ended), err
}

type deleteChange struct {
	id     rowKey
	keep   []rowKey       // damaged logs, which stay
	shared []session.Span // what the session shared, once applied
}

// Delete removes a session. One whose log or pages are damaged stays, since its pages cannot be given back. A log that a
// fork shares stays until the last of these is deleted.
func (b sessions) Delete(ctx context.Context, id session.ID) error {
	key := b.key(id)
	err := b.vet(key)
	if err == nil {
		c := &deleteChange{id: key}
		if c.keep, err = b.damagedShares(ctx, key); err == nil {
			err = b.submit(ctx, c)
		}
		if err == nil {
			b.unvouch(key, c.shared)
			b.claims.Forget(b.ref(id))
		}
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", key, err)
	}
	return nil
}

// unvouch forgets which logs were walked, of those that may be gone with a session. One that is still there is walked once more.
func (b *Store) unvouch(key rowKey, shared []session.Span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.vetted, key)
	for _, span := range shared {
		delete(b.vetted, key.of(span.Session))
	}
}

func (c *deleteChange) session() rowKey { return c.id }

func (c *deleteChange) ends(id rowKey, _ session.BlockRef) bool { return id == c.id }

func (c *deleteChange) apply(tx *bbolt.Tx) error {
	r, err := getWhole(tx, c.id)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.shared = r.Shared
	id := []byte(c.id)
	if in := tx.Bucket(growthBucket); in.Bucket(id) != nil {
		if err := in.DeleteBucket(id); err != nil {
			return err
		}
	}
	if in := tx.Bucket(ledgerBucket); in != nil {
		if err := in.Delete(totalKey(c.id)); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.Bucket(metaBucket).Put(deletedKey, []byte("yes")),
		leaveLog(tx, r),
		dropShares(tx, c.id, r.Session, c.keep),
		tx.Bucket(sessionBucket).Delete(id),
		tx.Bucket(fixedBucket).Delete(id),
		tx.Bucket(indexBucket).Delete(indexKey(r.change, c.id)),
		tx.Bucket(openBucket).Delete(id))
}

func (c *deleteChange) landed(tx *bbolt.Tx) (bool, error) {
	return tx.Bucket(sessionBucket).Get([]byte(c.id)) == nil, nil
}

// forgetChange removes all data of an owner except sessions.
type forgetChange struct{ owner session.Owner }

// Forget removes all data of an owner except sessions. Its bytes are in the file until [Store.Compact].
func (b *Store) Forget(ctx context.Context, owner session.Owner) error {
	if owner == session.Operator { // its keys have no name of an owner, so they would be all
		return session.ErrOwner
	}
	return b.submit(ctx, &forgetChange{owner})
}

func (c *forgetChange) session() rowKey { return "" }

func (c *forgetChange) ends(rowKey, session.BlockRef) bool { return false }

func (c *forgetChange) apply(tx *bbolt.Tx) error {
	of := ownerKey(c.owner)
	if key, _ := tx.Bucket(indexBucket).Cursor().Seek(of); bytes.HasPrefix(key, of) {
		return session.ErrOwner
	}
	if err := tx.Bucket(metaBucket).Put(deletedKey, []byte("yes")); err != nil {
		return err
	}
	return c.each(tx, (*bbolt.Bucket).Delete)
}

func (c *forgetChange) landed(tx *bbolt.Tx) (bool, error) {
	landed := true
	err := c.each(tx, func(*bbolt.Bucket, []byte) error {
		landed = false
		return nil
	})
	return landed, err
}

// each calls f for each key with something of the owner's. f may delete the key.
func (c *forgetChange) each(tx *bbolt.Tx, f func(*bbolt.Bucket, []byte) error) error {
	of := ownerKey(c.owner)
	for _, in := range []struct {
		bucket []byte
		begin  []byte                // what the keys begin with
		owned  func(key []byte) bool // nil: all of these are the owner's
	}{
		{creationBucket, append([]byte{creationByStamp}, of...), nil},
		{creationBucket, placesOf(c.owner), nil},
		{ledgerBucket, append([]byte{ledgerTotal}, of...), nil},
		{ledgerBucket, []byte{ledgerLine}, func(key []byte) bool { return len(key) > 1+dayLength && c.owns(key[1+dayLength:]) }},
		{ledgerBucket, []byte{ledgerHold}, func(key []byte) bool { return c.owns(key[1:]) }},
	} {
		bucket := tx.Bucket(in.bucket)
		var keys [][]byte // a cursor does not go on after a deletion
		err := eachKey(bucket, in.begin, nil, func(key, _ []byte) error {
			if in.owned == nil || in.owned(key) {
				keys = append(keys, bytes.Clone(key))
			}
			return nil
		})
		for _, key := range keys {
			err = errors.Join(err, f(bucket, key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether a session's key with its length is the owner's.
func (c *forgetChange) owns(from []byte) bool {
	key, _, err := cutKey(from)
	return err == nil && key.ref().Owner == c.owner
}

// epochBlock is how many epochs a commit reserves. Update numbers are multiples of 2^24 of an epoch, and clients read them as
// numbers of 53 bits, so this allows for eight million starts of the daemon.
const epochBlock = 64

// Claim makes the caller the holder of a log.
func (b sessions) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	key := b.key(id)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var stored uint64
	err := b.view(func(tx *bbolt.Tx) error {
		if tx.Bucket(sessionBucket).Get([]byte(key)) == nil {
			return session.ErrNotFound
		}
		stored = readEpoch(tx)
		return nil
	})
	if damage := b.known(key); damage != nil && (err == nil || errors.Is(err, session.ErrNotFound)) {
		err = damage
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", key, err)
	}
	b.epochsMu.Lock()
	if !b.epochs.known {
		b.epochs = epochs{known: true, least: stored, reserved: stored}
	}
	least := b.epochs.least
	b.epochsMu.Unlock()
	log := b.claims.Claim(journal{b.Store}, b.ref(id), least) // without the lock: it waits for an Append, which takes the lock
	b.epochsMu.Lock()
	defer b.epochsMu.Unlock()
	b.epochs.next = max(b.epochs.next, log.Epoch()+1)
	return log, nil
}

// toReserve is the first epoch that an append leaves to other processes, 0 if the file has reserved enough.
func (b *Store) toReserve() uint64 {
	b.epochsMu.Lock()
	defer b.epochsMu.Unlock()
	if b.epochs.next <= b.epochs.reserved {
		return 0
	}
	return b.epochs.next + epochBlock
}

// reservedUpTo takes note that the file has reserved the epochs before next.
func (b *Store) reservedUpTo(next uint64) {
	b.epochsMu.Lock()
	defer b.epochsMu.Unlock()
	b.epochs.reserved = max(b.epochs.reserved, next)
}
