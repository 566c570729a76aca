package stored

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Cluster is the other nodes that store sessions of the same users. Its methods may be called from any goroutine.
type Cluster interface {
	// Nodes counts the nodes that are present, with this one.
	Nodes() int

	// Changes has a number for each session of an owner, which is another one after each change of the session's log. A session that was deleted may have
	// one too. What this node has appended before is among the changes that other nodes see from now on.
	Changes(ctx context.Context, owner session.Owner) (map[session.ID]uint64, error)

	// ChangeStored replaces the block that this node has of an owner's quota of stored bytes, by compare and set. change gets the blocks of the other nodes.
	// It may run several times, and an answer that is lost counts once, because a block is an absolute value. at is for Unbroken.
	ChangeStored(ctx context.Context, owner session.Owner, change func(others []session.Block) (session.Block, error)) (at time.Duration, err error)

	// Unbroken reports whether this node has been in contact since a block was changed. Otherwise another node may have removed its block.
	Unbroken(at time.Duration) bool
}

// share is the block of this node of the bytes that a user may store. A request that fits into the block reads and writes nothing:
//
//	quota:  [ in the logs | blocks of other nodes | block of this node              | nobody's ]
//	block:                                          [ reserved | appended | spare ]
//
// appended is what this node has stored since it counted the logs. When a request does not fit into the block, change counts the logs again, reads
// the blocks of all nodes, and changes the block. The truth is the logs alone: a block only covers what other nodes may not have counted yet.
type share struct {
	cluster Cluster
	owner   session.Owner
	of      session.Sessions
	turn    chan struct{} // has an element while nobody counts

	sessions map[session.ID]counted // of the holder of the turn

	mu                        sync.Mutex // held for moments only
	block, reserved, appended int64
	at                        time.Duration // of the last change of the block
	valid                     bool          // block is what the store has
	unknown                   bool          // the last change failed, and the store may have a block
	looks                     int           // since something was reserved or appended
}

func newShare(c Cluster, owner session.Owner, of session.Sessions) *share {
	s := &share{cluster: c, owner: owner, of: of, turn: make(chan struct{}, 1), sessions: make(map[session.ID]counted)}
	s.turn <- struct{}{}
	return s
}

// reserve holds bytes until release. The error is *Full, or that of the store.
func (s *share) reserve(ctx context.Context, bytes, most int64) (release func(), err error) {
	if !s.hold(bytes) {
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
		defer s.end()
		if !s.hold(bytes) { // else another request has enlarged the block
			if err := s.change(ctx, bytes, s.slack(most), most); err != nil {
				return nil, err
			}
		}
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reserved -= bytes
	}), nil
}

// hold reserves bytes, if they fit into the block.
func (s *share) hold(bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks = 0
	if !s.valid || !s.cluster.Unbroken(s.at) || s.reserved+s.appended+bytes > s.block {
		return false
	}
	s.reserved += bytes
	return true
}

// add takes note of what was stored.
func (s *share) add(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appended, s.looks = s.appended+bytes, 0
}

// slack is what this node may have to spare: 1 % of the quota, and all nodes together at most 10 %.
func (s *share) slack(most int64) int64 { return most / int64(max(100, 10*s.cluster.Nodes())) }

// begin waits until nobody else counts.
func (s *share) begin(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *share) end() { s.turn <- struct{}{} }

// change counts the logs and changes the block, so that it has more, which it reserves, and something to spare. If the quota has no room for more, the
// block only keeps what it must, and the error is *Full. Other requests wait meanwhile. The caller has the turn.
func (s *share) change(ctx context.Context, more, spare, most int64) error {
	s.mu.Lock()
	s.valid = false
	drop := s.appended // the logs have it when they are counted below
	s.mu.Unlock()
	var full *Full
	var block int64
	at, err := s.cluster.ChangeStored(ctx, s.owner, func(others []session.Block) (none session.Block, err error) {
		sum, err := s.count(ctx)
		if err != nil {
			return none, fmt.Errorf("what the user has stored: %w", err)
		}
		for _, b := range others {
			sum += b.Bytes
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		block, full = s.reserved+s.appended-drop, nil
		if room := most - sum - block; more > room {
			full = &Full{sum + block, most}
		} else {
			block += more + min(spare, room-more)
		}
		return session.Block{Bytes: block}, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknown = err != nil; err != nil {
		return err
	}
	s.block, s.appended, s.at, s.valid = block, s.appended-drop, at, true
	if full != nil {
		return full
	}
	s.reserved += more
	return nil
}

// restLooks is after how many looks without a request a share gives back its whole block.
const restLooks = 10

// look gives back what the block has beyond what is needed, and has it cover what was stored without a reservation.
func (s *share) look(ctx context.Context, most int64) error {
	spare, due := s.due(s.slack(most))
	if !due {
		return nil
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	err := s.change(ctx, 0, spare, most)
	if _, full := errors.AsType[*Full](err); full { // which is for the next request
		return nil
	}
	return err
}

// due is for one look. It reports how much the block may have to spare.
func (s *share) due(slack int64) (spare int64, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.looks < restLooks {
		spare = slack
	}
	used := s.reserved + s.appended
	return spare, s.unknown || used > s.block || s.appended > slack || s.block > used+slack || s.looks == restLooks && s.block > 0
}

// total counts the logs.
func (s *share) total(ctx context.Context) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.end()
	return s.count(ctx)
}

// count reads what has changed in the sessions of the user since the last count. The caller has the turn.
func (s *share) count(ctx context.Context) (sum int64, err error) {
	changes, err := s.cluster.Changes(ctx, s.owner)
	if err != nil {
		return 0, err
	}
	for id := range s.sessions {
		if _, there := changes[id]; !there {
			delete(s.sessions, id)
		}
	}
	for id, change := range changes {
		c := s.sessions[id]
		if c.change != change {
			if err := c.read(ctx, s.of, id); err != nil {
				return 0, err
			}
			c.change = change
			s.sessions[id] = c
		}
		sum += c.record + c.bytes
	}
	return sum, nil
}
