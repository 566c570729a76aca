package jet

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// Copied remembers the last message of logs that a second copy has, and answers nodes. It is safe for concurrent use.
type Copied struct {
	Most int // logs that are remembered, at least the half of it; 0: 100,000

	mu           sync.Mutex
	store        string                  // its id
	newer, older map[[16]byte]copyAnswer // by the hash of the subject; when newer has half of Most, it becomes older
}

const mostCopied = 100_000

// Add takes a message of a log whose chain is whole. Messages of one log come in order.
func (c *Copied) Add(m Message) error {
	var h head
	if err := json.Unmarshal([]byte(m.Head), &h); err != nil {
		return err
	}
	key := keyOf(m.Subject)
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.Most
	if most == 0 {
		most = mostCopied
	}
	if c.newer == nil || len(c.newer) >= most/2 {
		c.newer, c.older = make(map[[16]byte]copyAnswer), c.newer
	}
	delete(c.older, key)
	if h.Deleted { // nothing follows, and the tombstone goes in time
		delete(c.newer, key)
		return nil
	}
	c.newer[key] = copyAnswer{Seq: m.Seq, ID: h.ID}
	return nil
}

// Name sets the id of the store that is copied, unless it has one.
func (c *Copied) Name(store string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == "" {
		c.store = store
	}
}

// last is the last message of a log; its Seq is 0 if it is not known.
func (c *Copied) last(subject string) copyAnswer {
	key := keyOf(subject)
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.newer[key]
	if !ok {
		a = c.older[key]
	}
	a.Store = c.store
	return a
}

// Serve answers nodes until stop is called.
func (c *Copied) Serve(conns Conns, prefix string) (stop func() error, err error) {
	var subs []*nats.Subscription
	stop = func() error {
		var errs []error
		for _, s := range subs {
			if err := s.Unsubscribe(); !errors.Is(err, nats.ErrConnectionClosed) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	for _, conn := range conns {
		sub, err := conn.QueueSubscribe(copySubject(prefix), copyGroup, c.answer)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		subs = append(subs, sub)
	}
	return stop, nil
}

func (c *Copied) answer(m *nats.Msg) {
	var q copyQuestion
	if json.Unmarshal(m.Data, &q) != nil {
		return
	}
	if data, err := json.Marshal(c.last(q.Subject)); err == nil {
		_ = m.Respond(data) // if the connection has ended, the node stops waiting soon
	}
}

func keyOf(subject string) [16]byte {
	sum := sha256.Sum256([]byte(subject))
	return [16]byte(sum[:16])
}
