package refusal

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Filters names the content filters that blocked something, such as "jailbreak" or "violence (high)", in order; empty: none did. v is any
// part of a body of Azure's: an object of results by category, one that has such an object in a member, or a list of these. Filters that
// only annotate are left out (Azure docs: content-filter-annotations).
func Filters(v gjson.Result) string {
	var names []string
	filters(v, 0, &names)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// filterMembers have results in errors, in events of a stream and in whole answers.
var filterMembers = []string{"content_filter_result", "content_filter_results", "prompt_filter_results", "content_filters", "innererror", "inner_error", "error"}

// mostFilters bounds the names that are kept of a body, which could have any number of them.
const mostFilters = 20

func filters(v gjson.Result, depth int, names *[]string) {
	if depth > nested || len(*names) >= mostFilters {
		return
	}
	v.ForEach(func(key, inner gjson.Result) bool {
		switch {
		case v.IsArray(), slices.Contains(filterMembers, key.Str):
			filters(inner, depth+1, names)
		case inner.IsObject() && inner.Get("filtered").Bool():
			name := Clean(key.Str, maxWord)
			if severity := inner.Get("severity").Str; severity != "" {
				name += " (" + Clean(severity, maxWord) + ")"
			}
			*names = append(*names, name)
		}
		return true
	})
}
