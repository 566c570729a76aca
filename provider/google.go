package provider

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// googleDetails reads what Google says about trying again, which stands in the details of its error and not in a
// header: how long to wait (google.rpc.RetryInfo), and whether a quota of the day is used up (google.rpc.QuotaFailure),
// which no waiting within a turn brings back.
func googleDetails(details gjson.Result) (wait time.Duration, daily bool) {
	for _, d := range details.Array() {
		switch kind := d.Get(`\@type`).Str; {
		case strings.HasSuffix(kind, "google.rpc.RetryInfo"):
			if text := d.Get("retryDelay").Str; text != "" {
				if n, err := time.ParseDuration(text); err == nil {
					wait = max(n, 0)
				}
			}
		case strings.HasSuffix(kind, "google.rpc.QuotaFailure"):
			for _, v := range d.Get("violations").Array() {
				daily = daily || strings.Contains(v.Get("quotaId").Str, "PerDay")
			}
		}
	}
	return wait, daily
}
