package testgo

import "runtime"

// OneProcessor is for TestMain of a package whose bubbles of testing/synctest receive from timers that have elapsed. With the race
// detector of Go 1.26, all timers of a bubble share one state of the detector, and two goroutines that receive from two such timers
// use it at the same time. The process then ends with "ThreadSanitizer: CHECK failed" or SIGSEGV (golang/go#78156). On one
// processor this cannot happen, since nothing interrupts the runtime while it uses the state. With Go 1.27, or without the race
// detector, OneProcessor does nothing.
func OneProcessor() {
	if timersShareState {
		runtime.GOMAXPROCS(1)
	}
}
