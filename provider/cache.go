package provider

import "encoding/json"

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
