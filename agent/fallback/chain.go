package fallback

import (
	"fmt"
	"slices"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Chain is the first choice and its fallbacks, in order, each model and key once. Links with the same model have the level of the
// first of them, so that another key of a provider changes nothing else.
func Chain(first session.Link, fallbacks []session.Link) []session.Link {
	chain := append(make([]session.Link, 0, len(fallbacks)+1), first)
	for _, l := range fallbacks {
		if slices.ContainsFunc(chain, func(have session.Link) bool { return have.At() == l.At() }) {
			continue
		}
		if same := slices.IndexFunc(chain, func(have session.Link) bool { return have.Model == l.Model }); same >= 0 {
			l.Level = chain[same].Level
		}
		chain = append(chain, l)
	}
	return chain
}

// Next is the first link of a chain that may be called and was not tried. ok is false if there is none.
func Next(chain []session.Link, tried, may func(session.Link) bool) (next session.Link, ok bool) {
	for _, l := range chain {
		if !tried(l) && may(l) {
			return l, true
		}
	}
	return next, false
}

// Failure is why a link could not be called, and when that was.
type Failure struct {
	Link session.Link
	Err  *provider.Error
	At   time.Time
}

// unnamed is when a link is likely to answer again whose error passes, and whose vendor names no time.
const unnamed = time.Minute

// again is when a link can be called again; ok is false if only a person can change that.
func (f Failure) again() (at time.Time, ok bool) {
	switch {
	case f.Err.Hint == provider.HintFinal || RuleOf(f.Err.Kind) == Never:
		return at, false
	case f.Err.RetryAfter > 0:
		return f.At.Add(f.Err.RetryAfter), true
	case f.Err.Kind == provider.KindRateLimit, f.Err.Kind == provider.KindOverloaded, f.Err.Kind == provider.KindTransport, f.Err.Kind == provider.KindStalled:
		return f.At.Add(unnamed), true
	}
	return at, false
}

// Soonest is the error of a chain whose links have all failed: that of the link that can be called again first, with the time that is
// left until then. The text names the other links. If no link can be called again without a person, it is the last error.
func Soonest(failures []Failure, now time.Time) *provider.Error {
	best := len(failures) - 1
	first, ok := failures[best].again()
	for i, f := range failures {
		if at, passes := f.again(); passes && (!ok || at.Before(first)) {
			best, first, ok = i, at, true
		}
	}
	err := *failures[best].Err
	if err.RetryAfter > 0 {
		err.RetryAfter = max(failures[best].At.Add(err.RetryAfter).Sub(now), time.Millisecond)
	}
	for i, f := range failures {
		if i != best {
			err.Message += fmt.Sprintf("; %s failed too: %s", f.Link.Model, f.Err.Kind)
		}
	}
	return &err
}

// Pauses until the first choice is called again, if its vendor names no time.
const (
	firstPause = time.Minute // doubled with each failure in a row
	mostPause  = 15 * time.Minute
)

// Failed is what a session keeps of its first choice after a failure of it. before is what it kept so far, nil if it had not failed.
// after is the vendor's time, 0 if it names none.
func Failed(first session.Link, before *session.Instead, after time.Duration, now time.Time) *session.Instead {
	failures := 1
	if before != nil && before.Of.At() == first.At() {
		failures = before.Failures + 1
	}
	pause := max(after, min(firstPause<<min(failures-1, 10), mostPause))
	return &session.Instead{Of: first, Failures: failures, Until: now.Add(pause).UnixMilli()}
}

// Stays is the link with which the next turn of a session starts. last is what its last turn ran with, nil if there was none. ok is
// false if that is the first choice: the last turn did not run on a fallback of it, or its link is in the chain no more.
func Stays(last *session.TurnStart, chain []session.Link) (link session.Link, ok bool) {
	if last == nil || last.Instead == nil || last.Instead.Of.At() != chain[0].At() {
		return link, false
	}
	at := session.Link{Model: last.Model, Key: last.Key}
	i := slices.IndexFunc(chain, func(l session.Link) bool { return l.At() == at })
	if i <= 0 {
		return link, false
	}
	return chain[i], true
}

// Returns reports whether a session goes back to its first choice with its next turn: the pause of the first choice is over, and the
// next prompt costs less there than on the link that it stays with. quote compares the two; if a price is not known, it does not count.
func Returns(i session.Instead, now time.Time, quote func() (cheaper, known bool)) bool {
	if now.UnixMilli() < i.Until {
		return false
	}
	cheaper, known := quote()
	return cheaper || !known
}
