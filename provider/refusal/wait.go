package refusal

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// saidWait finds the time that a vendor names in the text of an error: "try again in 1.2s", "retry in 1m12.5s",
// "Please retry after 26 seconds".
var (
	saidWait = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:try again|retry|wait)(?: in| after| for)? ((?:\d+(?:\.\d+)? ?[a-z]+ ?)+)`)
	})
	waitPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+(?:\.\d+)?) ?([a-z]+)`) })
)

// waitUnits are the units of time that vendors use, in the singular.
var waitUnits = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

// waitIn is the time that a text asks for; 0: it names none. No wait is longer than a day.
func waitIn(text string) (sum time.Duration) {
	found := saidWait().FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	for _, part := range waitPart().FindAllStringSubmatch(strings.ToLower(found[1]), -1) {
		unit, ok := waitUnits[part[2]]
		if !ok {
			unit, ok = waitUnits[strings.TrimSuffix(part[2], "s")]
		}
		if !ok {
			break
		}
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			break
		}
		sum += span(n, unit)
	}
	return min(sum, 24*time.Hour)
}

// retryAfter reads retry-after-ms, which the official clients prefer, and Retry-After in seconds or as a date
// (RFC 9110, section 10.2.3).
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("retry-after-ms"), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return span(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// span keeps what a float can say within a day: above lies what no duration holds.
func span(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n > float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}

// VendorTime is the time of an answer by the clock of who gave it, where it says so (RFC 9110, section 6.6.1): what it says
// of other times is said by that clock, and the one here may be a day off.
func VendorTime(header http.Header) time.Time {
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}
