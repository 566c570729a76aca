package testgo

import (
	"runtime"
	"testing"
	"time"
)

// Cost logs what a test took when it ends: time, processor time of this process and of children that have ended, and the bytes
// that this process allocated. Tests that run in parallel are counted as well. Nothing is judged. Call it first in a test.
func Cost(t testing.TB) {
	before := usage()
	t.Cleanup(func() {
		after := usage()
		t.Logf("cost: %v, processors %v, %d KiB allocated", after.at.Sub(before.at).Round(time.Millisecond),
			(after.processors - before.processors).Round(time.Millisecond), (after.allocated-before.allocated)>>10)
	})
}

type used struct {
	at         time.Time
	processors time.Duration
	allocated  uint64
}

func usage() used {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{time.Now(), processorTime(), m.TotalAlloc}
}
