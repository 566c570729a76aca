package provider

import (
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
