package provider

import (
	"time"
)

// CacheState says whether the next call can use a vendor's cache of the conversation, as far as that depends on the request. How long
// the vendor keeps its cache is not part of this. [Usage] has what the vendor read from it.
type CacheState string

const (
	CacheKept    CacheState = "kept"
	CacheLost    CacheState = "lost"
	CacheCold    CacheState = "cold"    // the same is sent, but the vendor keeps it no longer
	CacheUnknown CacheState = "unknown" // the vendor does not say
)

// Words lists all states.
func (CacheState) Words() []string { return Words(CacheKept, CacheLost, CacheCold, CacheUnknown) }

// CacheUndocumented is the text of [CacheUnknown] for a vendor that does not document its prompt cache.
const CacheUndocumented = "the vendor does not say what its prompt cache depends on"

// CacheTerms says how a vendor caches the prompt of a request. The zero value says that nothing is known.
type CacheTerms struct {
	Off    bool          // nothing of the prompt is kept
	Marked bool          // the request marks the part to cache, and a later request that begins with this part reads it; false: the vendor decides
	Long   bool          // what is written costs the price of the longer time
	Keeps  time.Duration // since the last use; 0: not known
	Least  int           // tokens of the shortest prompt that is kept; 0: not known
}

// CacheCause says why a vendor's cache was not read.
type CacheCause string

const (
	MissedModel   CacheCause = "model"
	MissedLevel   CacheCause = "level"
	MissedTools   CacheCause = "tools"
	MissedSystem  CacheCause = "system"
	MissedSummary CacheCause = "summary"
	MissedMessage CacheCause = "message" // an earlier message is sent in another form
	MissedExpired CacheCause = "expired" // the vendor's time was over
	MissedVendor  CacheCause = "vendor"  // the request began with all of the one before, within the vendor's time
)

// Words lists all causes.
func (CacheCause) Words() []string {
	return Words(MissedModel, MissedLevel, MissedTools, MissedSystem, MissedSummary, MissedMessage, MissedExpired, MissedVendor)
}

// Outline is the content of a request, in pieces, in the order in which prompt caches compare it: tools, system prompt, messages.
type Outline struct {
	Pieces  []Piece
	Cache   CacheTerms
	Forgets bool // the vendor leaves out the thinking of earlier turns, though it is sent
}

// Piece is the unit in which two prompts are compared: a later request has it unchanged, or not.
type Piece struct {
	Part   PromptPart // PartTools, PartSystem or PartTurns
	Role   Role       // of PartTurns
	Hash   uint64     // of what is sent, without the marks for the cache: equal pieces have equal hashes, after a restart as well
	Text   int        // characters that the model reads
	Sealed int        // characters of thinking that only the vendor can read: encrypted, signed, or a summary of it
	Media  int        // images and documents
}

// Fingerprint has hashes of a prompt. With it, a later prompt that begins with this one is recognized.
type Fingerprint struct {
	Tools    uint64 `json:"tools,omitempty"` // hashes of pieces
	System   uint64 `json:"system,omitempty"`
	Chain    uint64 `json:"chain,omitempty"` // of all messages
	Messages int    `json:"messages,omitempty"`
	Left     int    `json:"left,omitempty"` // tokens that the call left in the vendor's cache
}

// FingerprintOf returns the fingerprint of a prompt with at most so many of its messages. It does not set Left.
func FingerprintOf(pieces []Piece, messages int) (f Fingerprint) {
	chain := func(into *uint64, hash uint64) { *into = (*into ^ hash) * 1099511628211 } // as FNV-1a does
	for _, p := range pieces {
		switch {
		case p.Part == PartTools:
			chain(&f.Tools, p.Hash)
		case p.Part == PartSystem:
			chain(&f.System, p.Hash)
		case f.Messages < messages:
			f.Messages++
			chain(&f.Chain, p.Hash)
		}
	}
	return f
}

// PromptPart names a part of a prompt.
type PromptPart string

const (
	PartTools   PromptPart = "tools"   // the definitions
	PartSystem  PromptPart = "system"  // the system prompt
	PartSummary PromptPart = "summary" // of earlier turns
	PartTurns   PromptPart = "turns"   // text, thinking, and calls and results of tools
	PartMedia   PromptPart = "media"   // images and documents in the turns
)

// Words lists all parts.
func (PromptPart) Words() []string {
	return Words(PartTools, PartSystem, PartSummary, PartTurns, PartMedia)
}
