package quota

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read.
const (
	maxLimits = 16
	maxName   = 32      // bytes
	maxValue  = 256     // bytes of a header
	maxNumber = 1 << 53 // of any count
	maxReset  = 400 * 24 * time.Hour
)

// Read returns the limits in the headers of an answer, by name. It knows these:
//
//	anthropic-ratelimit-input-tokens-remaining     Messages; -limit, and -reset as a time of day (RFC 3339)
//	anthropic-ratelimit-unified-5h-utilization     plans of Anthropic; a share of 1, and -reset in Unix seconds
//	x-ratelimit-remaining-tokens                   Responses and most hosts of Chat Completions; limit, and reset as 6m0s or in seconds
//	x-codex-primary-used-percent                   plans of ChatGPT; -window-minutes, -reset-at in Unix seconds, -reset-after-seconds
//	x-quota-snapshot-premium_interactions          plans of Copilot: ent=300&rem=88.5&rst=…, where rem is in percent
//	x-usage-ratelimit-weekly                       the same
func Read(h http.Header, now time.Time) []Limit {
	found := make(map[string]*Limit)
	for _, header := range slices.Sorted(maps.Keys(h)) {
		value := h.Get(header)
		if value = strings.TrimSpace(value); value == "" || len(value) > maxValue {
			continue
		}
		name := strings.ToLower(header)
		for _, family := range families {
			if rest, ok := strings.CutPrefix(name, family.prefix); ok {
				family.read(rest, value, now, func(limit string) *Limit { return entry(found, limit) })
				break
			}
		}
	}
	var list []Limit
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if l := found[name].whole(); !l.empty() {
			list = append(list, l)
		}
	}
	return list
}

// entry is the limit of a name; one that is not kept if the name is none, or if there are too many.
func entry(found map[string]*Limit, name string) *Limit {
	if l := found[name]; l != nil {
		return l
	}
	l := &Limit{Name: name}
	if len(found) < maxLimits && isName(name) {
		found[name] = l
	}
	return l
}

func isName(word string) bool {
	return word != "" && len(word) <= maxName && !strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
}

// families are the headers that begin alike; the first that fits counts. rest is what follows the prefix.
var families = []struct {
	prefix string
	read   func(rest, value string, now time.Time, of func(limit string) *Limit)
}{
	{"anthropic-ratelimit-unified-", unified},
	{"anthropic-ratelimit-", func(rest, value string, now time.Time, of func(string) *Limit) {
		name, what, ok := cutLast(rest)
		if ok {
			of(underscored(name)).set(what, value, now)
		}
	}},
	{"x-ratelimit-", func(rest, value string, now time.Time, of func(string) *Limit) {
		if what, name, ok := strings.Cut(rest, "-"); ok {
			of(underscored(name)).set(what, value, now)
		}
	}},
	{"x-codex-", codex},
	{"x-quota-snapshot-", snapshot},
	{"x-usage-ratelimit-", snapshot},
}

// set takes one header of a rate limit.
func (l *Limit) set(what, value string, now time.Time) {
	switch what {
	case "limit":
		l.Limit = number(value)
	case "remaining":
		l.Remaining = number(value)
	case "reset":
		l.Resets = resets(value, now)
	}
}

func unified(rest, value string, now time.Time, of func(string) *Limit) {
	name, what, ok := cutLast(rest)
	if !ok {
		return
	}
	switch what {
	case "utilization":
		l := of(underscored(name))
		l.Plan = true
		if share := number(value); share != nil {
			l.Used = new(100 * *share)
		}
	case "reset":
		of(underscored(name)).Resets = resets(value, now)
	}
}

func codex(rest, value string, now time.Time, of func(string) *Limit) {
	for _, what := range []string{"-used-percent", "-window-minutes", "-reset-at", "-reset-after-seconds"} {
		name, ok := strings.CutSuffix(rest, what)
		n := number(value)
		if !ok || n == nil {
			continue
		}
		l := of(underscored(name))
		switch what {
		case "-used-percent":
			l.Plan, l.Used = true, n
		case "-window-minutes":
			l.WindowMS = bounded(*n * float64(time.Minute.Milliseconds()))
		case "-reset-at":
			l.Resets = resets(value, now)
		case "-reset-after-seconds":
			l.Resets = cmp.Or(l.Resets, later(*n*float64(time.Second), now))
		}
		return
	}
}

// snapshot is a form with the quota of a plan. A quota of -1 has no bound.
func snapshot(name, value string, now time.Time, of func(string) *Limit) {
	form, err := url.ParseQuery(value)
	if err != nil {
		return
	}
	quota, left := number(form.Get("ent")), number(form.Get("rem"))
	if quota == nil || left == nil || *left > 100 {
		return
	}
	l := of(underscored(name))
	l.Plan, l.Limit, l.Used, l.Resets = true, quota, new(100-*left), resets(form.Get("rst"), now)
	l.Remaining = new(*quota * *left / 100)
	if over := number(form.Get("ov")); over != nil && *over > 0 && *quota > 0 {
		l.Used, l.Remaining = new(100*(*quota+*over) / *quota), new(float64)
	}
}

// cutLast cuts at the last hyphen.
func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }

// number is a count, nil if the text is none.
func number(text string) *float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > maxNumber {
		return nil
	}
	return &n
}

func bounded(ms float64) int64 { return int64(min(ms, float64(maxReset.Milliseconds()))) }

// resets is the time in a header, in Unix milliseconds: a time of day, Unix seconds, a duration, or seconds from now. 0: it cannot be
// read, or it is too far away to be a reset.
func resets(text string, now time.Time) int64 {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return near(at, now)
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return near(now.Add(d), now)
	}
	n := number(text)
	switch {
	case n == nil:
		return 0
	case *n > 1e9: // seconds since 1970: nothing resets in 30 years
		return near(time.Unix(int64(min(*n, 1e11)), 0), now)
	}
	return later(*n*float64(time.Second), now)
}

func later(nanoseconds float64, now time.Time) int64 {
	if nanoseconds > float64(maxReset) {
		return 0
	}
	return near(now.Add(time.Duration(nanoseconds)), now)
}

func near(at, now time.Time) int64 {
	if d := at.Sub(now); d > maxReset || d < -maxReset {
		return 0
	}
	return at.UnixMilli()
}
