package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The variables of OpenTelemetry say whether, where and how. The log names one that is wrong, without its value.
func TestEnvironment(t *testing.T) {
	type wanted struct{ traces, metrics, headers, form, timeout, queue, warned string }
	const base = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"
	for _, c := range []struct {
		configured, env string
		want            wanted
	}{
		{"http://file:1/x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/t OTEL_EXPORTER_OTLP_ENDPOINT=http://d OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=k1",
			wanted{traces: "http://file:1/x/v1/traces", headers: "a:k1"}},
		{"http://file:1", "", wanted{traces: "http://file:1/v1/traces", metrics: "http://file:1/v1/metrics"}},
		{"http://file:1", "OTEL_SDK_DISABLED=true", wanted{}},
		{"", "", wanted{}},
		{"", "OTEL_SERVICE_NAME=x", wanted{}},
		{"", base, wanted{traces: "http://c:4318/v1/traces", metrics: "http://c:4318/v1/metrics"}},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=https://c/base/", wanted{traces: "https://c/base/v1/traces", metrics: "https://c/base/v1/metrics"}},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/as/it?is", wanted{traces: "https://c/as/it?is"}},
		{"", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://d", wanted{metrics: "https://d"}},
		{"", base + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/t", wanted{traces: "https://c/t", metrics: "http://c:4318/v1/metrics"}},
		{"", base + " OTEL_SDK_DISABLED=TRUE", wanted{}},
		{"", base + " OTEL_TRACES_EXPORTER=none", wanted{metrics: "http://c:4318/v1/metrics"}},
		{"", base + " OTEL_METRICS_EXPORTER=prometheus", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_METRICS_EXPORTER"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20k1,x-a=%C3%A9", wanted{traces: "http://c:4318/v1/traces", headers: "Authorization:Bearer k1 x-a:é"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=k1 OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=k2", wanted{traces: "http://c:4318/v1/traces", headers: "b:k2"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=sesame", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=sesame%0a", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_HEADERS=a=sesame%zz", wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_HEADERS"}},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:sesame@c", wanted{warned: "OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_ENDPOINT"}},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=c:4317", wanted{warned: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}},
		{"", base + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc", wanted{warned: "OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_PROTOCOL"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", wanted{traces: "http://c:4318/v1/traces"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=http/json", wanted{traces: "http://c:4318/v1/traces", form: "json"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", wanted{traces: "http://c:4318/v1/traces", form: "json"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_EXPORTER_OTLP_TIMEOUT=1500 OTEL_BSP_MAX_QUEUE_SIZE=9",
			wanted{traces: "http://c:4318/v1/traces", form: "gzip", timeout: "1.5s", queue: "9"}},
		{"", base + " OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_COMPRESSION=zstd OTEL_EXPORTER_OTLP_TIMEOUT=-1 OTEL_BSP_MAX_QUEUE_SIZE=many",
			wanted{traces: "http://c:4318/v1/traces", warned: "OTEL_EXPORTER_OTLP_COMPRESSION OTEL_EXPORTER_OTLP_TIMEOUT OTEL_BSP_MAX_QUEUE_SIZE"}},
	} {
		t.Run(c.configured+" "+c.env, func(t *testing.T) {
			var log bytes.Buffer
			getenv := func(name string) string {
				for pair := range strings.FieldsSeq(c.env) {
					if value, ok := strings.CutPrefix(pair, name+"="); ok {
						return value
					}
				}
				return ""
			}
			config, ok := environment{c.configured, getenv, slog.New(slog.NewJSONHandler(&log, nil))}.settings()
			got := wanted{traces: config.Traces.URL, metrics: config.Metrics.URL}
			if ok != (got.traces+got.metrics != "") {
				t.Errorf("on: %v", ok)
			}
			var headers, warned []string
			for _, name := range slices.Sorted(maps.Keys(config.Traces.Headers)) {
				headers = append(headers, name+":"+config.Traces.Headers[name].Reveal())
			}
			got.headers = strings.Join(headers, " ")
			switch {
			case config.Traces.Gzip:
				got.form = "gzip"
			case config.Traces.JSON:
				got.form = "json"
			}
			if config.Traces.Timeout > 0 {
				got.timeout = config.Traces.Timeout.String()
			}
			if ok && config.Queue != sdktrace.DefaultMaxQueueSize {
				got.queue = fmt.Sprint(config.Queue)
			}
			for line := range strings.Lines(log.String()) {
				var entry struct{ Name string }
				if err := json.Unmarshal([]byte(line), &entry); err != nil {
					t.Error(err)
				}
				warned = append(warned, entry.Name)
			}
			got.warned = strings.Join(warned, " ")
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(wanted{})); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(log.String(), "sesame") {
				t.Errorf("the log has what may be a key: %s", log.String())
			}
			if shown := fmt.Sprintf("%v %+v %#v", config.Traces.Headers, config, config); strings.Contains(shown, "k1") || strings.Contains(shown, "k2") {
				t.Errorf("a key is shown: %s", shown)
			}
		})
	}
}
