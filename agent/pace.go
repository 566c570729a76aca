package agent

import "time"

// A delta costs as much for each viewer as a whole line of deltas does, and in a crowd of calls it costs twenty times what it costs in
// one fast stream: each wakes goroutines whose data has left the processor's caches. So a call reads less often when there are many
// viewers of its session, or many calls in the daemon. What arrives meanwhile is one update. Few of either make no difference.
const (
	manyViewers = 100
	perViewer   = 50 * time.Microsecond
	manyCalls   = 1000
	perCall     = 20 * time.Microsecond
	slowest     = 50 * time.Millisecond // a person sees no difference
)

// pace returns how long a call lets deltas collect before it reads on.
func pace(viewers, calls int32) (wait time.Duration) {
	if viewers >= manyViewers {
		wait = time.Duration(viewers) * perViewer
	}
	if calls >= manyCalls {
		wait = max(wait, time.Duration(calls)*perCall)
	}
	return min(wait, slowest)
}
