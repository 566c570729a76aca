package refusal

import (
	"net/http"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// What Google says about waiting stands in the error's details (docs: troubleshooting).
func TestGoogleDetails(t *testing.T) {
	tests := []struct {
		name, body string
		wait       time.Duration
		kind       provider.Kind
		hint       provider.Hint
	}{
		{"minute", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`, 34400 * time.Millisecond, provider.KindRateLimit, provider.HintNone},
		{"day, in a list", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]`, 0, provider.KindQuota, provider.HintFinal},
		{"nonsense", `{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"-soon"},7,"x"]}}`, 0, provider.KindRateLimit, provider.HintNone},
		{"no list", `{"error":{"code":429,"message":"m","details":"none"}}`, 0, provider.KindRateLimit, provider.HintNone},
	}
	for _, test := range tests {
		e := Read(429, http.Header{}, []byte(test.body), func(text string) string { return text })
		if e.RetryAfter != test.wait || e.Kind != test.kind || e.Hint != test.hint {
			t.Errorf("%s: wait %v, kind %s, hint %q; want %v, %s, %q", test.name, e.RetryAfter, e.Kind, e.Hint, test.wait, test.kind, test.hint)
		}
	}
}
