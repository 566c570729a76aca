package main

import (
	"strconv"
	"strings"
)

// older reports whether version a comes before b, as Semantic Versioning orders numbers and pre-releases. Words that
// are no such versions have no order.
func older(a, b string) bool {
	partsA, preA, okA := splitVersion(a)
	partsB, preB, okB := splitVersion(b)
	if !okA || !okB {
		return false
	}
	for i := range partsA {
		if partsA[i] != partsB[i] {
			return partsA[i] < partsB[i]
		}
	}
	if preA == "" || preB == "" {
		return preA != "" && preB == "" // a pre-release comes before its release
	}
	return preA < preB
}

// splitVersion takes 1.2.3-pre+build apart; a v in front is fine.
func splitVersion(v string) (parts [3]int, pre string, ok bool) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
	numbers, pre, _ := strings.Cut(v, "-")
	list := strings.Split(numbers, ".")
	if len(list) != len(parts) {
		return parts, "", false
	}
	for i, word := range list {
		n, err := strconv.ParseUint(word, 10, 31)
		if err != nil {
			return parts, "", false
		}
		parts[i] = int(n)
	}
	return parts, pre, true
}
