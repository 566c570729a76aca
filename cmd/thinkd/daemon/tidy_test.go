package daemon

import (
	"runtime"
	"testing"
)

func TestTidy(t *testing.T) {
	var tidy tidy
	tidy.collect()
	before := held()
	garbage := make([]byte, 4*tidiedAbove)
	for i := range garbage {
		garbage[i] = 1
	}
	if grown := held(); grown < before+3*tidiedAbove {
		t.Fatalf("%d bytes, after %d", grown, before)
	}
	garbage = nil
	if !tidy.due() {
		t.Error("nothing is due")
	}
	tidy.collect()
	if after := held(); after > before+2*tidiedAbove {
		t.Errorf("%d bytes are held, after %d", after, before)
	}
	if tidy.due() {
		t.Error("it is due again")
	}
}

// TestSpare fills the heap and empties it: the share of garbage follows what is in use. Each collection brings the share up to date a little later,
// and what other tests have left behind may take several collections.
func TestSpare(t *testing.T) {
	c := keepSpare()
	follow := func(what string, right func(percent int64) bool) {
		t.Helper()
		for range 1000 {
			runtime.GC()
			runtime.Gosched()
			if right(c.percent.Load()) {
				return
			}
		}
		t.Errorf("%s, the share is %d %%", what, c.percent.Load())
	}
	follow("with a small heap", func(p int64) bool { return p > 100 })
	held := make([]byte, 4*spare)
	follow("with a large heap", func(p int64) bool { return p == 100 })
	runtime.KeepAlive(held)
	held = nil
	follow("with a small heap again", func(p int64) bool { return p > 100 })
}

func TestPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 400, 4 << 20: 400, 8 << 20: 200, 32 << 20: 100, 1 << 30: 100} {
		if got := percent(inUse); got != want {
			t.Errorf("%d bytes: %d %%, want %d %%", inUse, got, want)
		}
	}
}
