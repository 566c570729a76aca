package jet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// stampTime is how long a stamp is remembered.
const stampTime = 7 * 24 * time.Hour

// stamps remembers the requests that made sessions. The stamps of an owner are the messages of one subject, and the stream keeps the newest
// MaxStamps of each subject. A new one is stored only if it follows the newest that this process knows, so no other can have been first.
type stamps struct {
	api
	names
	mu     sync.Mutex
	owners map[person]*stamped
}

// stamped is what is known of one owner's stamps. The holder of its gate may use the rest.
type stamped struct {
	gate
	known uint64            // the newest
	by    map[string]uint64 // sequences by the hash of the stamp
	order []string          // the oldest first
}

func (s *stamps) of(p person) *stamped {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[p]
	if o == nil {
		for other := range s.owners { // any one goes
			if len(s.owners) < maxFamilies {
				break
			}
			delete(s.owners, other)
		}
		o = &stamped{gate: newGate()}
		s.owners[p] = o
	}
	return o
}

func (o *stamped) take(hash string, seq uint64) {
	if o.by == nil {
		o.by = make(map[string]uint64)
	}
	if len(o.order) == session.MaxStamps {
		delete(o.by, o.order[0])
		o.order = o.order[1:]
	}
	o.by[hash], o.order, o.known = seq, append(o.order, hash), seq
}

// refresh reads what other nodes have stored.
func (s *stamps) refresh(ctx context.Context, p person, o *stamped) error {
	last, ok, err := s.last(ctx, s.made(), s.names.stamps(p))
	if err != nil || ok && last.seq == o.known {
		return err
	}
	if !ok {
		o.known, o.by, o.order = 0, nil, nil
		return nil
	}
	return s.forward(ctx, s.made(), s.names.stamps(p), o.known+1, last.seq, func(m message) error {
		var c session.Creation
		if err := json.Unmarshal(m.data, &c); err != nil {
			return fmt.Errorf("%w: stamp %d: %w", session.ErrDamaged, m.seq, err)
		}
		o.take(hashed(c.ID), m.seq)
		return nil
	})
}

// known is what is kept of a stamp. The caller has the gate.
func (s *stamps) read(ctx context.Context, o *stamped, stamp string) (c session.Creation, ok bool, err error) {
	seq, ok := o.by[hashed(stamp)]
	if !ok {
		return c, false, nil
	}
	m, ok, err := s.exact(ctx, s.made(), seq)
	if err != nil || !ok { // too old
		return c, false, err
	}
	if err := json.Unmarshal(m.data, &c); err != nil {
		return c, false, fmt.Errorf("%w: stamp %d: %w", session.ErrDamaged, seq, err)
	}
	return c, true, nil
}

// creation is what is kept of a stamp.
func (s *stamps) creation(ctx context.Context, p person, stamp string) (c session.Creation, ok bool, err error) {
	o := s.of(p)
	if err := o.lock(ctx); err != nil {
		return c, false, err
	}
	defer o.unlock()
	if err := s.refresh(ctx, p, o); err != nil {
		return c, false, err
	}
	return s.read(ctx, o, stamp)
}

// once keeps a creation, unless its stamp is there. It returns what is kept.
func (s *stamps) once(ctx context.Context, p person, made session.Creation, value []byte) (kept session.Creation, first bool, err error) {
	o := s.of(p)
	if err := o.lock(ctx); err != nil {
		return kept, false, err
	}
	defer o.unlock()
	err = retry(ctx, func(try int) error {
		for fresh := false; ; fresh = true {
			if fresh {
				if err := s.refresh(ctx, p, o); err != nil {
					return err
				}
			}
			var ok bool
			if kept, ok, err = s.read(ctx, o, made.ID); err != nil || ok {
				// A try of this call without an acknowledgement is the first, too.
				first = ok && kept.Session == made.Session
				return err
			}
			answer, seq, _ := s.publish(ctx, try, s.names.stamps(p), write{after: &o.known}, value)
			switch answer {
			case lease.Stored:
				o.take(hashed(made.ID), seq)
				kept, first = made, true
				return nil
			case lease.Conflict:
				continue
			}
			if err := s.refresh(ctx, p, o); err != nil {
				return err
			}
			return fmt.Errorf("no acknowledgement")
		}
	})
	return kept, first, err
}
