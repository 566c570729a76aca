package session_test

import (
	"testing"

	"github.com/thinkd/thinkd/session"
)

func TestNextBase(t *testing.T) {
	for _, c := range []struct{ last, want uint64 }{
		{0, 1 << 24}, {1, 1 << 24}, {1<<23 - 1, 1 << 24}, {1 << 23, 2 << 24}, {1<<24 - 1, 2 << 24}, {1 << 24, 2 << 24},
		{1<<24 + 1, 2 << 24}, {5<<24 + 77, 6 << 24},
	} {
		if got := session.NextBase(c.last); got != c.want || got-c.last <= session.MaxUnstored {
			t.Errorf("after %d: %d, want %d, and more than %d above it", c.last, got, c.want, session.MaxUnstored)
		}
	}
}
