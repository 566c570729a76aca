package exchange

import (
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// CompareCache reports whether a vendor's prompt cache still has what it had after the previous call, for an API whose cache
// depends on the decision on thinking. before is the decision as that call sent it, in the adapter's form W. then puts it into
// words, and now is the present decision in words. err is the error of the present decision. why is the clause of a sentence
// that explains a loss.
func CompareCache[W any](before json.RawMessage, now string, err error, why string, then func(W) string) (provider.CacheState, string) {
	if err != nil {
		return provider.CacheUnknown, err.Error()
	}
	var sent W
	if err := json.Unmarshal(before, &sent); err != nil {
		return provider.CacheUnknown, "what was sent before is not known"
	}
	was := then(sent)
	if was == now {
		return provider.CacheKept, ""
	}
	return provider.CacheLost, fmt.Sprintf("%s, and it changed from %s to %s", why, was, now)
}
