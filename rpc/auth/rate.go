package auth

import (
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Rates bounds how many requests each user makes in a minute, over all their connections. Requests are spread: after a pause, a user has a
// whole minute's requests at once, and then one each time that its share of the minute has passed.
type Rates struct {
	of  func(session.Owner) int // requests in a minute; 0: any number
	now func() time.Time

	mu   sync.Mutex
	full map[session.Owner]time.Time // when all requests of a minute are there again
}

// maxRates is how many users are remembered. Beyond, those who have made no request for a minute are forgotten.
const maxRates = 1024

// NewRates asks of for each request how many an owner has in a minute.
func NewRates(of func(session.Owner) int) *Rates {
	return &Rates{of: of, now: time.Now, full: make(map[session.Owner]time.Time)}
}

// Take counts one request. ok is false if there is none left; then resets is when there is one.
func (r *Rates) Take(o session.Owner) (resets time.Time, ok bool) {
	n := r.of(o)
	if n <= 0 || o == session.Operator {
		return time.Time{}, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if len(r.full) >= maxRates {
		for other, full := range r.full {
			if !full.After(now) {
				delete(r.full, other)
			}
		}
	}
	share := time.Minute / time.Duration(n)
	full := r.full[o]
	if full.Before(now) {
		full = now
	}
	if full = full.Add(share); full.Sub(now) > time.Minute {
		return full.Add(-time.Minute), false
	}
	r.full[o] = full
	return time.Time{}, true
}
