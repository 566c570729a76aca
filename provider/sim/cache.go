package sim

import (
	"maps"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// Cache imitates the vendors' prompt caches. It stores digests of prefixes of prompts, for as long as the vendors keep
// prefixes. The zero value is an empty cache. Its methods may be called from any goroutine.
type Cache struct {
	mu    sync.Mutex
	until map[strict.Digest]time.Time
}

// prefixesMost limits the number of stored prefixes. When it is reached, expired prefixes are deleted, and if there are none,
// all.
const prefixesMost = 100_000

// prefix is the beginning of a prompt up to the end of one of its parts.
type prefix struct {
	digest strict.Digest
	tokens int  // of the whole prefix
	marked bool // the part has a cache mark
}

// Prefixes are the prefixes of one prompt, the shortest first.
type Prefixes []prefix

func (p Prefixes) end() (e prefix) {
	if len(p) > 0 {
		e = p[len(p)-1]
	}
	return e
}

// Add appends the prefix that ends with the part v. The digest covers the meaning too, such as the role of a message.
func (p *Prefixes) Add(means string, v any, marked bool) {
	last := p.end()
	text := strict.AppendCanonical(nil, v)
	*p = append(*p, prefix{last.digest.With([]byte(means), text), last.tokens + Tokens(string(text)), marked})
}

// NewPrefixes begins with words that are no part of the prompt, such as the model: prompts share a prefix only if these are
// equal.
func NewPrefixes(words ...string) Prefixes {
	var p Prefixes
	for _, w := range words {
		p = append(p, prefix{digest: p.end().digest.With([]byte(w))})
	}
	return p
}

// CacheCount is the number of tokens that a request read from the cache, and the number that it wrote.
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

// Anthropic's cache keeps a prefix for markedTTL after its last use. It looks for a known prefix in lookBehind blocks before
// each mark. [docs: prompt-caching]
const (
	markedTTL  = 5 * time.Minute
	lookBehind = 20
)

// CountMarked counts a request by Anthropic's rules and updates the cache: prefixes are written at marks, and read at marks
// or up to 20 blocks before them. Prefixes shorter than least, in tokens, are not cached.
func (c *Cache) CountMarked(p Prefixes, least int) CacheCount {
	return c.countMarked(p, least, lookBehind)
}

// CountAtMarks counts a request by Amazon's rules for Nova and updates the cache: prefixes are written and read at marks, and nowhere
// else. [docs: prompt-caching of Bedrock]
func (c *Cache) CountAtMarks(p Prefixes, least int) CacheCount { return c.countMarked(p, least, 0) }

func (c *Cache) countMarked(p Prefixes, least, behind int) (n CacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	written := 0
	for i := len(p) - 1; i >= 0; i-- {
		if !p[i].marked || p[i].tokens < least {
			continue
		}
		written = max(written, p[i].tokens)
		for j := i; j >= max(0, i-behind) && n.Read == 0; j-- {
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

// automaticTTL is how long OpenAI keeps a prefix. [docs: prompt-caching] Of other hosts without marks it is not known.
const automaticTTL = 30 * time.Minute

// CountAutomatic counts a request by OpenAI's rules and updates the cache: the longest known prefix is read, without marks.
// Prefixes shorter than least, in tokens, are not cached.
func (c *Cache) CountAutomatic(p Prefixes, least int) (n CacheCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i := len(p) - 1; i >= 0 && p[i].tokens >= least; i-- {
		if c.has(p[i], now) {
			n.Read = p[i].tokens
			break
		}
	}
	for _, at := range p {
		if at.tokens >= least {
			c.keep(at, now.Add(automaticTTL))
			n.Written = at.tokens - n.Read
		}
	}
	return n
}

// Within limits the counts to the total of the request. Without that, their sum can exceed it, because the parts are
// counted with their JSON syntax.
func (n CacheCount) Within(total int) CacheCount {
	n.Read = min(n.Read, total)
	n.Written = min(n.Written, total-n.Read)
	return n
}
