package daemon

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// tidiedAbove is how much memory has to have come to what was left last, in bytes, to be worth a collection. If a quarter of what was left is
// more, and memory still grows, it is that quarter.
const tidiedAbove = 8 << 20

// tidy gives back to the system what a large turn took and nobody needs any more. A program that does nothing collects
// nothing: Go would hold it for two minutes, and then let go of it slowly. It belongs to one goroutine.
type tidy struct {
	left uint64 // what was held after the last collection of ours, in bytes
	last uint64 // what was held when due looked last, in bytes
}

// due reports whether a collection is worth it. It stops the process for some µs, so it is for moments in which nothing runs.
func (t *tidy) due() bool {
	now := held()
	grows := now > t.last
	t.last = now
	return now > t.left+tidiedAbove && (!grows || now > t.left+t.left/4)
}

// collect is for moments in which nothing runs. It collects twice: buffers in a sync.Pool, such as that of encoding/json, survive one
// collection, and the stack of a goroutine is at most halved in each.
func (t *tidy) collect() {
	runtime.GC()
	debug.FreeOSMemory()
	t.left = held()
}

// held is the memory that Go has for the heap and for stacks, in use or not, in bytes. (Package runtime/metrics knows it too, and makes its
// tables at the start of every command.)
func held() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased + m.StackInuse
}

// spare is how much garbage the heap may have before Go collects it, in bytes, unless more is in use. Without a rule of ours, Go collects
// as soon as there is as much garbage as there is in use: a few MiB in a daemon that streams, which then spends a tenth of its time on
// collections.
const spare = 16 << 20

// collector adapts Go's share of garbage to what is in use, after each collection. A process has one, because the share is that of the process.
type collector struct {
	percent atomic.Int64 // in effect; see [debug.SetGCPercent]
}

// keepSpare has garbage collected by the rule of spare from now on.
var keepSpare = sync.OnceValue(func() *collector {
	c := new(collector)
	debug.SetGCPercent(100)
	c.percent.Store(100)
	c.adapt()
	return c
})

// adapt sets the share, and runs again after the next collection: it is the cleanup of an object to which nothing refers. No two run at once.
func (c *collector) adapt() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now := c.percent.Load()
	if next := percent(m.NextGC * 100 / uint64(100+now)); int64(next) != now {
		debug.SetGCPercent(next)
		c.percent.Store(int64(next))
	}
	runtime.AddCleanup(new([16]*byte), (*collector).adapt, c)
}

// least is the smallest heap for which Go computes a limit.
const least = 4 << 20

// percent is how much garbage may come to a heap, as a share of what is in use.
func percent(inUse uint64) int { return int(max(100, spare*100/max(inUse, least))) }
