package fallback

import (
	"time"

	"github.com/thinkd/thinkd/provider"
)

// Rule says what a failed call means for the chain.
type Rule string

const (
	AtOnce       Rule = "falls back at once"
	AfterRetries Rule = "is retried first, then falls back"
	Never        Rule = "never falls back"
)

// rules has each kind of error. docs/reliability.md has the same table, and a test compares them.
var rules = []struct {
	kind provider.Kind
	rule Rule
	why  string
}{
	{provider.KindAuth, AtOnce, "the key is not taken, and a retry changes nothing"},
	{provider.KindRateLimit, AfterRetries, "a short wait may be enough"},
	{provider.KindQuota, AtOnce, "somebody has to pay, or hours have to pass"},
	{provider.KindOverloaded, AfterRetries, "a short wait may be enough"},
	{provider.KindTooLong, Never, "the conversation is summarised instead"},
	{provider.KindRefused, Never, "another vendor is not a way around a refusal"},
	{provider.KindBadRequest, Never, "the request is wrong, wherever it goes"},
	{provider.KindTransport, AfterRetries, "a new connection may be enough"},
	{provider.KindStalled, AtOnce, "the call has waited long enough"},
	{provider.KindEmpty, Never, "the model answered, and was asked twice"},
	{provider.KindOther, Never, "the session takes no other model"},
	{provider.KindEgress, Never, "the call was not made: the session may not reach the provider"},
}

// RuleOf is the rule for a kind of error. An unknown kind never falls back.
func RuleOf(kind provider.Kind) Rule {
	for _, r := range rules {
		if r.kind == kind {
			return r.rule
		}
	}
	return Never
}

// Bounds of retries on the same host, if there is another link.
const (
	mostTries   = 3                // of one call, the first included
	longestWait = 10 * time.Second // for the next try
)

// Leaves reports whether a call that failed goes to the next link, although the same host could be called again after a wait. tries
// are those of the call so far.
func Leaves(kind provider.Kind, tries int, wait time.Duration) bool {
	switch RuleOf(kind) {
	case AtOnce:
		return true
	case AfterRetries:
		return tries >= mostTries || wait > longestWait
	}
	return false
}
