package provider

import (
	"fmt"
	"strings"
)

// CacheTime is how long a vendor keeps what a request marks for its prompt cache, where marks are wanted.
type CacheTime string

const (
	CacheShort CacheTime = "5m" // the default
	CacheLong  CacheTime = "1h" // costs more to write
	CacheOff   CacheTime = "off"
)

// Words lists all times.
func (CacheTime) Words() []string { return Words(CacheShort, CacheLong, CacheOff) }

// ParseCacheTime reads a word of a client or a configuration; the empty word stays empty, which means nobody asked.
func ParseCacheTime(word string) (CacheTime, error) {
	if t := CacheTime(word); word == "" || IsWord(t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown cache %q; known: %s", word, strings.Join(CacheTime("").Words(), ", "))
}

// CacheState says whether what a vendor has cached of a conversation is of use to its next call, as far as that depends
// on what is sent. How long a vendor keeps it is not part of this: what came of it is in [Usage].
type CacheState string

const (
	CacheKept    CacheState = "kept"
	CacheLost    CacheState = "lost"
	CacheUnknown CacheState = "unknown" // the vendor does not say
)

// Words lists all states.
func (CacheState) Words() []string { return Words(CacheKept, CacheLost, CacheUnknown) }

// CacheUndocumented is the text of [CacheUnknown] for a vendor that does not document its prompt cache.
const CacheUndocumented = "the vendor does not say what its prompt cache depends on"
