package sim

import (
	"maps"
	"sync"
	"time"
)

// promptCache remembers prefixes of prompts by their digests alone, for as long as the vendors do. Its zero value is
// empty and ready.
type promptCache struct {
	mu    sync.Mutex
	until map[digest]time.Time
}

// prefixesMost is how many prefixes are remembered; what is out of date goes first, and then all.
const prefixesMost = 100_000

// prefix is a prompt up to the end of one of its parts.
type prefix struct {
	digest digest
	tokens int
	marked bool // a mark for the cache stands here
}

// prefixes grows part by part.
type prefixes []prefix

func (p prefixes) end() (e prefix) {
	if len(p) > 0 {
		e = p[len(p)-1]
	}
	return e
}

// add appends a part; what it means goes into the digest with it.
func (p *prefixes) add(means string, v any, marked bool) {
	last := p.end()
	text := canonical(nil, v)
	*p = append(*p, prefix{last.digest.with([]byte(means), text), last.tokens + tokens(string(text)), marked})
}

// keyed begins with what is no part of the prompt and has to be equal all the same.
func keyed(words ...string) prefixes {
	var p prefixes
	for _, w := range words {
		p = append(p, prefix{digest: p.end().digest.with([]byte(w))})
	}
	return p
}

// cacheCount is what a request found in the cache and what it left there, in tokens.
type cacheCount struct{ read, written int }

func (c *promptCache) has(p prefix, now time.Time) bool { return now.Before(c.until[p.digest]) }

func (c *promptCache) keep(p prefix, until time.Time) {
	if c.until == nil {
		c.until = map[digest]time.Time{}
	}
	if len(c.until) >= prefixesMost {
		now := time.Now()
		maps.DeleteFunc(c.until, func(_ digest, t time.Time) bool { return !now.Before(t) })
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

// marked is a request by Anthropic's rules: prefixes are written at marks, and read at marks or a little before them.
func (c *promptCache) marked(p prefixes, least int) (n cacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	written := 0
	for i := len(p) - 1; i >= 0; i-- {
		if !p[i].marked || p[i].tokens < least {
			continue
		}
		written = max(written, p[i].tokens)
		for j := i; j >= max(0, i-lookBehind) && n.read == 0; j-- {
			if c.has(p[j], now) {
				n.read = p[j].tokens
				c.keep(p[j], now.Add(markedTTL))
			}
		}
	}
	for _, at := range p {
		if at.marked && at.tokens >= least {
			c.keep(at, now.Add(markedTTL))
		}
	}
	n.written = max(written-n.read, 0)
	return n
}

// Of OpenAI's cache: how long a prefix is kept, and how long it is at least. [docs: prompt-caching]
const (
	automaticTTL   = 30 * time.Minute
	automaticLeast = 1024
)

// automatic is a request by OpenAI's rules: the longest known prefix counts, without marks.
func (c *promptCache) automatic(p prefixes) (n cacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i := len(p) - 1; i >= 0 && p[i].tokens >= automaticLeast; i-- {
		if c.has(p[i], now) {
			n.read = p[i].tokens
			break
		}
	}
	for _, at := range p {
		if at.tokens >= automaticLeast {
			c.keep(at, now.Add(automaticTTL))
			n.written = at.tokens - n.read
		}
	}
	return n
}

// of holds the counts within what the request has in all: the parts are measured with their braces.
func (n cacheCount) of(total int) cacheCount {
	n.read = min(n.read, total)
	n.written = min(n.written, total-n.read)
	return n
}
