package main

import (
	"strings"

	"golang.org/x/mod/semver"
)

// older reports whether version a comes before b, as Semantic Versioning orders them. Words that are no such versions have
// no order. A v in front is fine.
func older(a, b string) bool {
	a, b = canonical(a), canonical(b)
	return a != "" && b != "" && semver.Compare(a, b) < 0
}

// canonical is a version as package semver wants it, empty if it is none. That package takes v1.2 for v1.2.0.
func canonical(v string) string {
	v = "v" + strings.TrimPrefix(v, "v")
	core, _, _ := strings.Cut(v, "+")
	if core, _, _ = strings.Cut(core, "-"); strings.Count(core, ".") != 2 {
		return ""
	}
	return semver.Canonical(v)
}
