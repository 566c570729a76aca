package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/session"
)

// epochBlock is how many epochs a commit reserves. Update numbers are multiples of 2^24 of an epoch, and clients read them as
// numbers of 53 bits, so this allows for eight million starts of the daemon.
const epochBlock = 64

// Claim makes the caller the owner of a session.
func (b *Store) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var stored uint64
	err := b.view(func(tx *bbolt.Tx) error {
		if tx.Bucket(sessionBucket).Get([]byte(id)) == nil {
			return session.ErrNotFound
		}
		stored = readEpoch(tx)
		return nil
	})
	if damage := b.known(id); damage != nil && (err == nil || errors.Is(err, session.ErrNotFound)) {
		err = damage
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	b.epochsMu.Lock()
	if !b.epochs.known {
		b.epochs = epochs{known: true, least: stored, reserved: stored}
	}
	least := b.epochs.least
	b.epochsMu.Unlock()
	log := b.claims.Claim(journal{b}, id, least) // without the lock: it waits for an Append, which takes the lock
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
