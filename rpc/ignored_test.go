package rpc

import (
	"slices"
	"strings"
	"testing"
)

// Nothing that protocol.md shows is ignored, and every method reports what it does not know.
func TestIgnoredByEachMethod(t *testing.T) {
	s := testServer(t, Config{})
	all := newServer(s.config, nativeMethods())
	for name, list := range examples() {
		known, ok := all.known[name]
		if !ok {
			t.Errorf("%s: nothing is known of its params", name)
			continue
		}
		for _, e := range list {
			if got := known().Ignored([]byte(e.Params)).Members; got != nil {
				t.Errorf("%s: %q of %s are unknown", name, got, e.Params)
			}
			with := strings.Replace(e.Params, "{", `{"no_such_member":1,`, 1)
			with = strings.Replace(with, ",}", "}", 1)
			if got := known().Ignored([]byte(with)).Members; !slices.Equal(got, []string{"no_such_member"}) {
				t.Errorf("%s: %q of %s are unknown", name, got, with)
			}
		}
	}
}
