package provider

import (
	"net/http"
	"testing"
	"time"
)

// What Google says about waiting stands in the error's details (docs: troubleshooting).
func TestGoogleDetails(t *testing.T) {
	tests := []struct {
		name, body string
		wait       time.Duration
		kind       Kind
		hint       Hint
	}{
		{"minute", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
			{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}]}}`, 34400 * time.Millisecond, KindRateLimit, HintNone},
		{"day, in a list", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
			{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}]`, 0, KindQuota, HintFinal},
		{"nonsense", `{"error":{"code":429,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"-soon"},7,"x"]}}`, 0, KindRateLimit, HintNone},
		{"no list", `{"error":{"code":429,"message":"m","details":"none"}}`, 0, KindRateLimit, HintNone},
	}
	c := &Caller{API: "gemini", Provider: "google"}
	for _, test := range tests {
		e := c.Refusal(429, http.Header{}, []byte(test.body))
		if e.RetryAfter != test.wait || e.Kind != test.kind || e.Hint != test.hint {
			t.Errorf("%s: wait %v, kind %s, hint %q; want %v, %s, %q", test.name, e.RetryAfter, e.Kind, e.Hint, test.wait, test.kind, test.hint)
		}
	}
}
