package heartbeat

import (
	"time"

	"golang.org/x/sys/unix"
)

// clock is a time that only grows, also while the machine sleeps: a node that slept is out of contact when it goes on.
func clock() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil { // each Linux since 2.6.39 has it
		panic(err)
	}
	return time.Duration(t.Nano())
}
