package daemon

import (
	"runtime"
	"runtime/debug"
)

// tidiedAbove is how much memory has to have come to what was left last, in bytes, to be worth a collection; where more is in
// use, it is a quarter of that.
const tidiedAbove = 8 << 20

// tidy gives back to the system what a large turn took and nobody needs any more. A program that does nothing collects
// nothing: Go would hold it for two minutes, and then let go of it slowly. It belongs to one goroutine.
type tidy struct {
	left uint64 // what was held after the last collection of ours, in bytes
}

// due reports whether a collection is worth it. It stops the process for some µs, so it is for moments in which nothing runs.
func (t *tidy) due() bool { return held() > t.left+max(tidiedAbove, t.left/4) }

// collect is for moments in which nothing runs.
func (t *tidy) collect() {
	debug.FreeOSMemory()
	t.left = held()
}

// held is the memory that Go has for the heap, in use or not, in bytes. (Package runtime/metrics knows it too, and makes its
// tables at the start of every command.)
func held() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}
