package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// at is noon and so much later, in Unix milliseconds.
func at(d time.Duration) string { return fmt.Sprint(noon.Add(d).UnixMilli()) }

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		h    http.Header
		want string
	}{
		"nothing": {headers("Content-Type", "text/event-stream", "Retry-After", "3"), `null`},
		"Messages": {headers("anthropic-ratelimit-requests-limit", "1000", "anthropic-ratelimit-requests-remaining", "997", "anthropic-ratelimit-requests-reset", "2026-11-23T12:00:01Z",
			"anthropic-ratelimit-input-tokens-limit", "400000", "anthropic-ratelimit-input-tokens-remaining", "20000", "anthropic-ratelimit-input-tokens-reset", "2026-11-23T12:01:00Z"),
			`[{"name":"input_tokens","limit":400000,"remaining":20000,"used_percent":95,"resets":` + at(time.Minute) + `},{"name":"requests","limit":1000,"remaining":997,"used_percent":0.3,"resets":` + at(time.Second) + `}]`},
		"a plan of Anthropic": {headers("anthropic-ratelimit-unified-status", "allowed", "anthropic-ratelimit-unified-5h-utilization", "0.25", "anthropic-ratelimit-unified-5h-reset", fmt.Sprint(noon.Add(time.Hour).Unix()),
			"anthropic-ratelimit-unified-7d-utilization", "1.02", "anthropic-ratelimit-unified-representative-claim", "five_hour"),
			`[{"name":"5h","plan":true,"used_percent":25,"resets":` + at(time.Hour) + `},{"name":"7d","plan":true,"used_percent":102}]`},
		"Responses": {headers("x-ratelimit-limit-tokens", "30000", "x-ratelimit-remaining-tokens", "15000", "x-ratelimit-reset-tokens", "6m0s",
			"x-ratelimit-limit-requests", "500", "x-ratelimit-remaining-requests", "499", "x-ratelimit-reset-requests", "120ms"),
			`[{"name":"requests","limit":500,"remaining":499,"used_percent":0.2,"resets":` + at(120*time.Millisecond) + `},{"name":"tokens","limit":30000,"remaining":15000,"used_percent":50,"resets":` + at(6*time.Minute) + `}]`},
		"a host of Chat Completions": {headers("x-ratelimit-limit-requests-day", "100", "x-ratelimit-remaining-requests-day", "1", "x-ratelimit-reset-requests-day", "3600.5"),
			`[{"name":"requests_day","limit":100,"remaining":1,"used_percent":99,"resets":` + at(time.Hour+500*time.Millisecond) + `}]`},
		"a plan of ChatGPT": {headers("x-codex-primary-used-percent", "37.5", "x-codex-primary-window-minutes", "300", "x-codex-primary-reset-at", fmt.Sprint(noon.Add(time.Hour).Unix()),
			"x-codex-secondary-used-percent", "12", "x-codex-secondary-window-minutes", "10080", "x-codex-secondary-reset-after-seconds", "60", "x-codex-plan-type", "pro"),
			`[{"name":"primary","plan":true,"used_percent":37.5,"resets":` + at(time.Hour) + `,"window_ms":18000000},{"name":"secondary","plan":true,"used_percent":12,"resets":` + at(time.Minute) + `,"window_ms":604800000}]`},
		"a plan of Copilot": {headers("x-quota-snapshot-premium_interactions", "ent=300&ov=0.0&ovPerm=false&rem=88.5&rst=2026-12-01T00%3A00%3A00Z", "x-quota-snapshot-chat", "ent=-1&rem=100.0",
			"x-usage-ratelimit-weekly", "ent=200&rem=89.0&rst=2026-11-29T00:00:00Z"),
			`[{"name":"premium_interactions","plan":true,"limit":300,"remaining":265.5,"used_percent":11.5,"resets":1796083200000},{"name":"weekly","plan":true,"limit":200,"remaining":178,"used_percent":11,"resets":1795910400000}]`},
		"more than a plan has": {headers("x-quota-snapshot-premium_models", "ent=100&ov=20&ovPerm=true&rem=0"),
			`[{"name":"premium_models","plan":true,"limit":100,"remaining":0,"used_percent":120}]`},
		"nonsense": {headers("x-ratelimit-limit-tokens", "many", "x-ratelimit-remaining-tokens", "-1", "x-ratelimit-remaining-", "5", "x-ratelimit-limit", "5", "x-codex-primary-used-percent", "NaN",
			"x-quota-snapshot-chat", "%zz", "anthropic-ratelimit-unified-5h-utilization", "Inf", "anthropic-ratelimit-a b-limit", "7", "x-ratelimit-reset-requests", "soon"), `null`},
	} {
		list := Read(tc.h, noon)
		for i := range list {
			if u := list[i].Used; u != nil {
				*u = math.Round(*u*1000) / 1000
			}
		}
		got, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	h := http.Header{}
	for i := range 1000 {
		h.Set(fmt.Sprintf("x-ratelimit-remaining-%d", i), "1")
	}
	h.Set("x-ratelimit-remaining-"+strings.Repeat("a", 1000), "1")
	h.Set("x-ratelimit-remaining-long", strings.Repeat("1", 1000))
	if got := Read(h, noon); len(got) != maxLimits {
		t.Errorf("%d limits", len(got))
	}
}

func TestMeter(t *testing.T) {
	now := noon
	m := NewMeter(func() time.Time { return now })
	names := func(list []Limit) (words []string) {
		for _, l := range list {
			words = append(words, l.Name)
		}
		return words
	}
	check := func(what string, got []Limit, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, names(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	near := headers("x-codex-primary-used-percent", "95", "x-codex-primary-reset-after-seconds", "3600",
		"x-ratelimit-limit-tokens", "100", "x-ratelimit-remaining-tokens", "1", "x-ratelimit-reset-tokens", "30s")
	check("at the start", m.Limits())
	m.Note("a", near)
	check("limits", m.Limits(), "primary", "tokens")
	check("one that resets soon is no news", m.News(), "primary")
	m.Note("a", near)
	m.Note("a", http.Header{})
	check("again", m.News())
	check("an answer without headers", m.Limits(), "primary", "tokens")
	now = now.Add(time.Minute)
	check("after one has reset", m.Limits(), "primary")
	now = now.Add(2 * time.Hour)
	check("after both have", m.Limits())
	m.Note("a", near)
	check("near again", m.News(), "primary")
	m.Note("b", headers("x-codex-secondary-used-percent", "1"))
	check("another account", m.Limits(), "secondary")
	check("its news", m.News())
	var none *Meter
	none.Note("a", near)
	check("no meter", append(none.Limits(), none.News()...))
}

func FuzzRead(f *testing.F) {
	f.Add("x-quota-snapshot-chat", "ent=1&rem=2&rst=2026-12-01T00:00:00Z&ov=1e300")
	f.Add("anthropic-ratelimit-unified-5h-reset", "99999999999999999")
	f.Add("x-codex-primary-reset-after-seconds", "1e308")
	f.Add("x-ratelimit-reset-tokens", "9223372036854775807ns")
	f.Fuzz(func(t *testing.T, name, value string) {
		m := NewMeter(nil)
		m.Note("", http.Header{http.CanonicalHeaderKey(name): {value}, "X-Ratelimit-Limit-Tokens": {value}, "X-Ratelimit-Remaining-Tokens": {"1"}})
		if _, err := json.Marshal(m.Limits()); err != nil {
			t.Error(err)
		}
		for _, l := range append(m.News(), m.Limits()...) {
			if len(l.Name) > maxName || l.Words() == "" {
				t.Errorf("%+v", l)
			}
		}
	})
}
