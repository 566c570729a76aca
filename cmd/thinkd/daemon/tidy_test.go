package daemon

import (
	"runtime"
	"runtime/debug"
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

// TestSpare fills the heap and empties it: the share of garbage follows what is in use.
func TestSpare(t *testing.T) {
	defer debug.SetGCPercent(100) // the cleanups go on, and find the heap of this test's process
	done := make(chan struct{}, 1)
	keepSpare(done)
	<-done
	share := func() int {
		runtime.GC()
		<-done
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	small := share()
	held := make([]byte, 4*spare)
	large := share()
	runtime.KeepAlive(held)
	held = nil
	if again := share(); small <= 100 || large != 100 || again <= 100 {
		t.Errorf("%d %% with a small heap, %d %% with a large one, and then %d %%", small, large, again)
	}
}

func TestPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 400, 4 << 20: 400, 8 << 20: 200, 32 << 20: 100, 1 << 30: 100} {
		if got := percent(inUse); got != want {
			t.Errorf("%d bytes: %d %%, want %d %%", inUse, got, want)
		}
	}
}
