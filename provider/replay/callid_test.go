package replay

import (
	"strings"
	"testing"
)

func TestCallIDs(t *testing.T) {
	name := func() (list []string) {
		c := CallIDs{Fits: func(id string) bool { return !strings.Contains(id, ":") }}
		c.Own("a", "vendor")
		list = append(list, c.Of("a"), c.New("a"), c.Of("a"), c.New("a"), c.Of("a"), c.New("read:0"), c.Of("read:0"), c.New("vendor"), c.New(""), c.Of("nobody's"))
		return list
	}
	got := name()
	for i, want := range []string{"vendor", "a", "a", "*", got[3], "*", got[5], "*", "*", "nobody's"} {
		if want == "*" {
			want = got[i]
			if !strings.HasPrefix(want, "call_") || len(want) != len("call_")+24 {
				t.Errorf("name %d is %q", i, got[i])
			}
		}
		if got[i] != want {
			t.Errorf("name %d is %q, want %q", i, got[i], want)
		}
	}
	seen := map[string]bool{}
	for _, i := range []int{0, 1, 3, 5, 7, 8, 9} {
		if seen[got[i]] {
			t.Errorf("%q names two calls", got[i])
		}
		seen[got[i]] = true
	}
	if again := name(); strings.Join(again, " ") != strings.Join(got, " ") {
		t.Errorf("%v and then %v", got, again)
	}
}

// Calls of one answer with one id are answered in their order, also where an earlier call had no result.
func TestCallIDsTwice(t *testing.T) {
	c := CallIDs{Fits: func(string) bool { return true }}
	c.New("a")
	c.Answered()
	first, second := c.New("a"), c.New("a")
	if got := []string{c.Of("a"), c.Of("a"), c.Of("a")}; first == second || got[0] != first || got[1] != second || got[2] != second {
		t.Errorf("calls %q and %q are answered as %q", first, second, got)
	}
}
