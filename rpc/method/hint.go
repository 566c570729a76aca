package method

import (
	"slices"
	"strings"
)

// alike are words that other programs and vendors have for members of ours, without underscores. The first that the params have counts.
var alike = map[string][]string{
	"answer":            {"action", "text"},
	"approved":          {"action"},
	"callid":            {"call_id", "confirm_id"},
	"chatid":            {"session_id"},
	"content":           {"text"},
	"conversation":      {"session_id"},
	"conversationid":    {"session_id"},
	"decision":          {"action"},
	"dir":               {"cwd"},
	"directory":         {"cwd"},
	"effort":            {"thinking_level", "level"},
	"error":             {"is_error"},
	"folder":            {"cwd"},
	"id":                {"session_id"},
	"idempotencykey":    {"client_id"},
	"images":            {"content"},
	"input":             {"text", "content"},
	"instructions":      {"system_prompt"},
	"interrupt":         {"when_busy"},
	"key":               {"client_id"},
	"lastseq":           {"after_seq"},
	"maxtokens":         {"max_output_tokens"},
	"message":           {"text", "content"},
	"messages":          {"content"},
	"mode":              {"tool_mode", "when_busy"},
	"name":              {"title"},
	"parts":             {"content"},
	"path":              {"cwd"},
	"permission":        {"action"},
	"prompt":            {"text", "content"},
	"question":          {"text"},
	"reasoning":         {"thinking_level", "level"},
	"reasoningeffort":   {"thinking_level", "level"},
	"requestid":         {"client_id"},
	"result":            {"content"},
	"search":            {"query"},
	"system":            {"system_prompt"},
	"systemmessage":     {"system_prompt"},
	"thinking":          {"thinking_level", "level"},
	"thinkingbudget":    {"thinking_level", "level"},
	"thinkingeffort":    {"thinking_level", "level"},
	"thread":            {"session_id"},
	"threadid":          {"session_id"},
	"workdir":           {"cwd"},
	"workingdirectory":  {"cwd"},
	"schema":            {"input_schema", "output_schema"},
	"parameters":        {"input_schema"},
	"inputschema":       {"input_schema"},
	"responseformat":    {"output_schema", "output"},
	"maxcompletion":     {"max_output_tokens"},
	"stopsequences":     {"stop"},
	"paralleltoolcalls": {"parallel_tools"},
}

// maxCompared is how much of a name is compared with others, in bytes.
const maxCompared = 128

// similar is the one of some names that was probably meant by another: written in another way, called so elsewhere, a part of it, or
// with a slip of the keyboard.
func similar(name string, known []string) string {
	name = name[:min(len(name), maxCompared)]
	folded := fold(name)
	for _, k := range known {
		if fold(k) == folded {
			return k
		}
	}
	for _, other := range alike[folded] {
		if slices.Contains(known, other) {
			return other
		}
	}
	var parts []string
	for _, k := range known {
		if shareWords(name, k) {
			parts = append(parts, k)
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	best, least := "", max(1, len(folded)/4)+1
	for _, k := range known {
		if d := distance(folded, fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// fold takes away how a name is written: in snake_case, kebab-case or camelCase.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// shareWords reports whether all words of one name are words of the other.
func shareWords(a, b string) bool {
	first, second := strings.Split(a, "_"), strings.Split(b, "_")
	if len(first) > len(second) {
		first, second = second, first
	}
	return !slices.ContainsFunc(first, func(w string) bool { return !slices.Contains(second, w) })
}

// distance is how many letters have to be added, removed, replaced or swapped with their neighbours to make b of a.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
