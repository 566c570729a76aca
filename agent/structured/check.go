package structured

import (
	"encoding/json"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/provider"
)

// Wanted reports whether options ask for an answer in JSON.
func Wanted(o provider.Options) bool { return o.Schema != nil || o.Output == provider.OutputJSON }

// Check returns the answer as JSON, or what is wrong with it, in words for people: up to 10 faults, each with the member that it is
// about. The options are those that were asked for: what a model does not take is checked all the same.
func Check(o provider.Options, text string) (value json.RawMessage, faults []string) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, []string{"the answer has no text"}
	case !json.Valid([]byte(text)):
		return nil, []string{"the answer is not JSON"}
	}
	value = json.RawMessage(text)
	if o.Schema == nil {
		if text[0] != '{' {
			return nil, []string{"the answer is not a JSON object"}
		}
		return value, nil
	}
	if faults = arguments.Faults(o.Schema.Schema, value); len(faults) > 0 {
		return nil, faults
	}
	return value, nil
}
