package scrape

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func set(pairs ...string) attribute.Set {
	var list []attribute.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, attribute.String(pairs[i], pairs[i+1]))
	}
	return attribute.NewSet(list...)
}

func TestText(t *testing.T) {
	type floats = []metricdata.DataPoint[float64]
	type ints = []metricdata.DataPoint[int64]
	got := Text([]metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
		{Name: "turns_total", Description: "Turns\nthat are over, by \\ way.", Data: metricdata.Sum[float64]{IsMonotonic: true, DataPoints: floats{
			{Attributes: set("end", "b\"\\\n", "who", "é"), Value: 2}, {Attributes: set("who", "\xff", "end", "a"), Value: 1000001.5}}}},
		{Name: "calls_total", Data: metricdata.Sum[int64]{IsMonotonic: true, DataPoints: ints{{Value: 1 << 20}}}},
		{Name: "open", Data: metricdata.Sum[int64]{DataPoints: ints{{Value: -1}}}},
		{Name: "took_seconds", Description: "How long.", Unit: "s", Data: metricdata.Histogram[float64]{DataPoints: []metricdata.HistogramDataPoint[float64]{
			{Attributes: set("who", "me"), Bounds: []float64{0.1, 1, 2500}, BucketCounts: []uint64{1, 2, 0, 1}, Count: 4, Sum: 2000000001.21}}}},
	}}, {Metrics: []metricdata.Metrics{
		{Name: "now", Data: metricdata.Gauge[float64]{DataPoints: floats{{Value: math.Inf(-1)}}}},
		{Name: "clients", Data: metricdata.Gauge[int64]{DataPoints: ints{{Value: 3}}}},
		{Name: "unused_total", Data: metricdata.Sum[int64]{IsMonotonic: true}},
		{Name: "pauses", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{{Sum: 1e-9, Count: 7}}}},
	}}})
	want := `# HELP turns_total Turns\nthat are over, by \\ way.
# TYPE turns_total counter
turns_total{end="a",who="�"} 1.0000015e+06
turns_total{end="b\"\\\n",who="é"} 2
# HELP calls_total 
# TYPE calls_total counter
calls_total 1.048576e+06
# HELP open 
# TYPE open gauge
open -1
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{who="me",le="0.1"} 1
took_seconds_bucket{who="me",le="1"} 3
took_seconds_bucket{who="me",le="2500"} 3
took_seconds_bucket{who="me",le="+Inf"} 4
took_seconds_sum{who="me"} 2.00000000121e+09
took_seconds_count{who="me"} 4
# HELP now 
# TYPE now gauge
now -Inf
# HELP clients 
# TYPE clients gauge
clients 3
# HELP pauses 
# TYPE pauses summary
pauses_sum 1e-09
pauses_count 7
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every line has the form of the format: a name, labels if any, a number, and its kind before it.
func TestProcess(t *testing.T) {
	scopes, err := Process(time.Unix(1_800_000_000, 5e8)).Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := Text(scopes)
	kinds, values := map[string]string{}, map[string]float64{}
	for line := range strings.Lines(text) {
		var name, kind string
		var n float64
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		if _, err := fmt.Sscanf(line, "# TYPE %s %s\n", &name, &kind); err == nil {
			kinds[name] = kind
			continue
		}
		if _, err := fmt.Sscanf(line, "%s %g\n", &name, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		family, _, _ := strings.Cut(name, "{")
		family = strings.TrimSuffix(strings.TrimSuffix(family, "_sum"), "_count")
		if kinds[family] == "" {
			t.Errorf("%s has no kind before it", name)
		}
		values[name] = n
	}
	above := []string{"go_goroutines", "go_threads", "go_memstats_heap_inuse_bytes", `go_info{version="` + runtime.Version() + `"}`}
	if runtime.GOOS == "linux" {
		above = append(above, "process_cpu_seconds_total", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_virtual_memory_bytes")
	}
	for _, name := range above {
		if values[name] <= 0 {
			t.Errorf("%s is %v", name, values[name])
		}
	}
	if kinds["go_memstats_mallocs_total"] != "counter" || kinds["go_goroutines"] != "gauge" || values["process_start_time_seconds"] != 1_800_000_000.5 {
		t.Error(text)
	}
}
