package sim

import (
	"maps"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Cache remembers prefixes of prompts by their digests alone, for as long as the vendors do. Its zero value is
// empty and ready.
type Cache struct {
	mu    sync.Mutex
	until map[strict.Digest]time.Time
}

// prefixesMost is how many prefixes are remembered; what is out of date goes first, and then all.
const prefixesMost = 100_000

// prefix is a prompt up to the end of one of its parts.
type prefix struct {
	digest strict.Digest
	tokens int
	marked bool // a mark for the cache stands here
}

// Prefixes grows part by part.
type Prefixes []prefix

func (p Prefixes) end() (e prefix) {
	if len(p) > 0 {
		e = p[len(p)-1]
	}
	return e
}

// Add appends a part; what it means goes into the digest with it.
func (p *Prefixes) Add(means string, v any, marked bool) {
	last := p.end()
	text := strict.AppendCanonical(nil, v)
	*p = append(*p, prefix{last.digest.With([]byte(means), text), last.tokens + Tokens(string(text)), marked})
}

// NewPrefixes begins with what is no part of the prompt and has to be equal all the same.
func NewPrefixes(words ...string) Prefixes {
	var p Prefixes
	for _, w := range words {
		p = append(p, prefix{digest: p.end().digest.With([]byte(w))})
	}
	return p
}

// CacheCount is what a request found in the cache and what it left there, in tokens.
type CacheCount struct{ Read, Written int }

func (c *Cache) has(p prefix, now time.Time) bool { return now.Before(c.until[p.digest]) }

func (c *Cache) keep(p prefix, until time.Time) {
	if c.until == nil {
		c.until = map[strict.Digest]time.Time{}
	}
	if len(c.until) >= prefixesMost {
		now := time.Now()
		maps.DeleteFunc(c.until, func(_ strict.Digest, t time.Time) bool { return !now.Before(t) })
		if len(c.until) >= prefixesMost {
			clear(c.until)
		}
	}
	c.until[p.digest] = until
}

// Of Anthropic's cache: how long it keeps what nobody asks for, and how many blocks before a mark it looks for what it
// has. [docs: prompt-caching]
const (
	markedTTL  = 5 * time.Minute
	lookBehind = 20
)

// CountMarked is a request by Anthropic's rules: prefixes are written at marks, and read at marks or a little before them.
func (c *Cache) CountMarked(p Prefixes, least int) (n CacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	written := 0
	for i := len(p) - 1; i >= 0; i-- {
		if !p[i].marked || p[i].tokens < least {
			continue
		}
		written = max(written, p[i].tokens)
		for j := i; j >= max(0, i-lookBehind) && n.Read == 0; j-- {
			if c.has(p[j], now) {
				n.Read = p[j].tokens
				c.keep(p[j], now.Add(markedTTL))
			}
		}
	}
	for _, at := range p {
		if at.marked && at.tokens >= least {
			c.keep(at, now.Add(markedTTL))
		}
	}
	n.Written = max(written-n.Read, 0)
	return n
}

// Of OpenAI's cache: how long a prefix is kept, and how long it is at least. [docs: prompt-caching]
const (
	automaticTTL   = 30 * time.Minute
	automaticLeast = 1024
)

// CountAutomatic is a request by OpenAI's rules: the longest known prefix counts, without marks.
func (c *Cache) CountAutomatic(p Prefixes) (n CacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i := len(p) - 1; i >= 0 && p[i].tokens >= automaticLeast; i-- {
		if c.has(p[i], now) {
			n.Read = p[i].tokens
			break
		}
	}
	for _, at := range p {
		if at.tokens >= automaticLeast {
			c.keep(at, now.Add(automaticTTL))
			n.Written = at.tokens - n.Read
		}
	}
	return n
}

// Within holds the counts within what the request has in all: the parts are measured with their braces.
func (n CacheCount) Within(total int) CacheCount {
	n.Read = min(n.Read, total)
	n.Written = min(n.Written, total-n.Read)
	return n
}
