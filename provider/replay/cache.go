package replay

import (
	"cmp"

	"github.com/thinkd/thinkd/provider"
)

// Mark is what marks the end of a prefix to cache: the session's word counts before the provider's.
func Mark(configured, session provider.CacheTime) *CacheMark {
	switch cmp.Or(session, configured, provider.CacheShort) {
	case provider.CacheOff:
		return nil
	case provider.CacheLong:
		return &CacheMark{Type: "ephemeral", TTL: string(provider.CacheLong)}
	}
	return &CacheMark{Type: "ephemeral"}
}

// CacheMark is Anthropic's cache_control, which others took over.
type CacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"` // empty: 5m
}
