package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// serverTools decides which tools the vendor may run, and why the others are left out. a is how the model takes them, nil if its API has
// none. A tool is never sent without the limits that are asked for: what leaves would then be more than the client agreed to.
func serverTools(a *accept, readOnly bool, tools []string, asked provider.Options) (taken []provider.ServerToolName, why string) {
	switch {
	case readOnly:
		return nil, "the session's tool mode is read: tools of the vendor send data out without a question"
	case a == nil:
		return nil, "the models of this API have no tools of the vendor's. Those of Messages, Responses and Gemini have some of " + strings.Join(provider.WebSearch.Words(), ", ")
	case a.Refuse != "":
		return nil, a.Refuse
	}
	for _, limit := range asked.ServerLimits.Stated() {
		if !slices.Contains(a.Limits, limit) {
			return nil, fmt.Sprintf("the API cannot keep server_tool_limits.%s; %s", limit, kept(a.Limits))
		}
	}
	var lacks []string
	for _, name := range asked.ServerTools {
		reason := a.Lacks[string(name)]
		switch {
		case reason != "":
		case slices.Contains(tools, string(name)):
			reason = "another tool of the session has this name"
		case name == provider.CodeExecution && asked.ServerLimits != nil && asked.ServerLimits.MaxUses > 0:
			reason = "no API can limit its uses"
		}
		if reason != "" {
			lacks = append(lacks, string(name)+": "+reason)
			continue
		}
		taken = append(taken, name)
	}
	return taken, strings.Join(lacks, "; ")
}

func kept(limits []string) string {
	if len(limits) == 0 {
		return "it has no limits"
	}
	return "it keeps: " + strings.Join(limits, ", ")
}
