package park

import (
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Pauses of turns for which no vendor names a time, and the jitter of all pauses.
const (
	firstPause = time.Minute // doubled with each failure
	mostPause  = 15 * time.Minute

	jitterShare = 0.05 // a pause is up to this share longer, and at least leastJitter
	leastJitter = 2 * time.Second
	mostJitter  = time.Minute
)

// failed is [Yard.Failed].
func failed(e *provider.Error, before *session.TurnParked, limit time.Duration, now time.Time, jitter func(time.Duration) time.Duration) (p session.TurnParked, ok bool) {
	p = session.TurnParked{Since: now.UnixMilli(), Failures: 1, Resumes: session.ResumesAlone}
	if before != nil {
		p.Since, p.Failures = before.Since, before.Failures+1
	}
	switch {
	case e.Kind == provider.KindRateLimit || e.Kind == provider.KindQuota:
		p.Why = session.ParkedQuota
	case e.Hint == provider.HintFinal || !e.Passing():
		return p, false
	case e.Kind == provider.KindOverloaded || e.Kind == provider.KindTransport:
		p.Why = session.ParkedOutage
	default:
		return p, false
	}
	if e.Kind == provider.KindQuota && e.RetryAfter <= 0 { // somebody has to pay first
		p.Resumes = session.ResumesOnRequest
	} else {
		pause := pauseAfter(e.RetryAfter, p.Failures)
		p.Until = now.Add(pause + jitter(spread(pause))).UnixMilli()
	}
	end := p.Since + limit.Milliseconds()
	return p, max(p.Until, now.UnixMilli()) < end
}

// pauseAfter is how long a turn waits after so many failures. A vendor's time counts. But a vendor that names a second and refuses again
// after it would be asked all day, so from the second failure a growing pause is the least.
func pauseAfter(vendors time.Duration, failures int) time.Duration {
	if vendors > 0 {
		failures--
	}
	if failures == 0 {
		return vendors
	}
	return max(vendors, min(firstPause<<min(failures-1, 10), mostPause))
}

// spread is by how much a pause may be longer than it has to be, so that many clients do not return at the same moment. It is never
// shorter: a vendor's time is when its quota is filled again.
func spread(pause time.Duration) time.Duration {
	return min(max(time.Duration(float64(pause)*jitterShare), leastJitter), mostJitter)
}
