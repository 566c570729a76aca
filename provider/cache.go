package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// CacheTime is how long a vendor keeps what a request marks for its prompt cache, where marks are wanted.
type CacheTime string

const (
	CacheShort CacheTime = "5m" // the default
	CacheLong  CacheTime = "1h" // costs more to write
	CacheOff   CacheTime = "off"
)

// ParseCacheTime reads a word of a client or a configuration; the empty word stays empty, which means nobody asked.
func ParseCacheTime(word string) (CacheTime, error) {
	if t := CacheTime(word); word == "" || slices.Contains([]CacheTime{CacheShort, CacheLong, CacheOff}, t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown cache %q; known: 5m, 1h, off", word)
}

// Mark is what marks the end of a prefix to cache: the session's word counts before the provider's.
func (t CacheTime) Mark(session CacheTime) *CacheMark {
	switch cmp.Or(session, t, CacheShort) {
	case CacheOff:
		return nil
	case CacheLong:
		return &CacheMark{Type: "ephemeral", TTL: string(CacheLong)}
	}
	return &CacheMark{Type: "ephemeral"}
}

// CacheMark is Anthropic's cache_control, which others took over.
type CacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"` // empty: 5m
}

// CacheState says whether what a vendor has cached of a conversation is of use to its next call, as far as that depends
// on what is sent. How long a vendor keeps it is not part of this: what came of it is in [Usage].
type CacheState string

const (
	CacheKept    CacheState = "kept"
	CacheLost    CacheState = "lost"
	CacheUnknown CacheState = "unknown" // the vendor does not say
)

// CacheUntold is why nobody knows what becomes of a prompt cache.
const CacheUntold = "the vendor does not say what its prompt cache depends on"

// CacheOf asks p, if it is a Cacher.
func CacheOf(p Provider, before json.RawMessage, req *Request) (CacheState, string) {
	if c, ok := p.(Cacher); ok {
		return c.Cache(before, req)
	}
	return CacheUnknown, CacheUntold
}

// Cacher is a Provider that knows what its vendor's prompt cache is bound to.
type Cacher interface {
	// Cache compares a call with one before it, of the same model in the same conversation, whose Decision.Wire was
	// before. The text says why, for people; it is empty for CacheKept. It is pure; of req it needs what Wire needs.
	Cache(before json.RawMessage, req *Request) (CacheState, string)
}
