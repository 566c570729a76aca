package jet

import (
	"context"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// gate is a lock that one waits for no longer than a context lives.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

func (g gate) lock(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g gate) unlock() { <-g }

// The limits of what is kept of logs in memory.
const (
	maxDirectories = 2048
	maxCached      = 32 << 20 // bytes of bodies
)

// cache keeps what does not change: bodies of messages. And it has the directories of logs that were read. It is safe for concurrent use.
type cache struct {
	mu          sync.Mutex
	bodies      map[bodyKey]body
	order       []bodyKey // the oldest first
	size        int
	directories map[session.Ref]*directory
}

type bodyKey struct {
	stream string
	seq    uint64
}

// directory says where the messages of a log are that commit. The holder of its gate may use the rest. Its items are only ever added to.
type directory struct {
	gate
	items []item
	tail  uint64 // the newest message that was read, which may be one that does not commit
	chain digest // of that message
}

func newCache() *cache {
	return &cache{bodies: make(map[bodyKey]body), directories: make(map[session.Ref]*directory)}
}

func (b body) size() int {
	n := len(b.record) + 64
	for _, e := range b.entries {
		n += len(e) + 24
	}
	for _, s := range b.shared {
		for _, e := range s.entries {
			n += len(e) + 24
		}
	}
	return n + 64*len(b.items)
}

func (c *cache) keep(p place, seq uint64, b body) {
	size := b.size()
	if size > maxCached/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := bodyKey{p.stream, seq}
	if _, ok := c.bodies[key]; ok {
		return
	}
	c.bodies[key], c.order, c.size = b, append(c.order, key), c.size+size
	for c.size > maxCached {
		c.size -= c.bodies[c.order[0]].size()
		delete(c.bodies, c.order[0])
		c.order = c.order[1:]
	}
}

func (c *cache) body(p place, seq uint64) (b body, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok = c.bodies[bodyKey{p.stream, seq}]
	return b, ok
}

// directory is that of a log. It is empty if the log was not read lately.
func (c *cache) directory(p place) *directory {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.directories[p.ref]
	if d == nil {
		for ref := range c.directories { // any one goes
			if len(c.directories) < maxDirectories {
				break
			}
			delete(c.directories, ref)
		}
		d = &directory{gate: newGate()}
		c.directories[p.ref] = d
	}
	return d
}

func (c *cache) forget(ref session.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.directories, ref)
}
