package scrape

import (
	"context"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Process is a producer of metrics for a reader of the SDK: what the Go runtime and the system know of this process. What the
// system does not say is left out. Reading it stops the process for some µs (package runtime: ReadMemStats).
func Process(started time.Time) metric.Producer { return producer{started} }

type producer struct{ started time.Time }

// Produce implements metric.Producer.
func (p producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	list := append(process(), value{"process_start_time_seconds", "Start of the process, since 1970.", float64(p.started.UnixMilli()) / 1000})
	return []metricdata.ScopeMetrics{{Metrics: append(goRuntime(), encode(list)...)}}, nil
}

// goRuntime has the names of Prometheus' client.
func goRuntime() []metricdata.Metrics {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := runtime.ThreadCreateProfile(nil)
	metrics := []metricdata.Metrics{
		{Name: "go_info", Description: "The version of Go.", Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{
			{Attributes: attribute.NewSet(attribute.String("version", runtime.Version())), Value: 1}}}},
		{Name: "go_gc_duration_seconds", Description: "Pauses of garbage collections.", Data: metricdata.Summary{DataPoints: []metricdata.SummaryDataPoint{
			{Sum: time.Duration(m.PauseTotalNs).Seconds(), Count: uint64(m.NumGC)}}}},
	}
	return append(metrics, encode([]value{
		{"go_goroutines", "Goroutines.", float64(runtime.NumGoroutine())},
		{"go_threads", "Threads that were made.", float64(threads)},
		{"go_sched_gomaxprocs_threads", "Threads that may run Go code in parallel.", float64(runtime.GOMAXPROCS(0))},
		{"go_memstats_alloc_bytes", "Objects on the heap.", float64(m.Alloc)},
		{"go_memstats_alloc_bytes_total", "Objects ever made on the heap.", float64(m.TotalAlloc)},
		{"go_memstats_mallocs_total", "Number of objects ever made on the heap.", float64(m.Mallocs)},
		{"go_memstats_frees_total", "Number of objects ever freed.", float64(m.Frees)},
		{"go_memstats_heap_alloc_bytes", "Objects on the heap.", float64(m.HeapAlloc)},
		{"go_memstats_heap_inuse_bytes", "Spans with objects.", float64(m.HeapInuse)},
		{"go_memstats_heap_idle_bytes", "Spans without objects.", float64(m.HeapIdle)},
		{"go_memstats_heap_released_bytes", "Of idle spans, what the system has back.", float64(m.HeapReleased)},
		{"go_memstats_heap_sys_bytes", "Address space of the heap.", float64(m.HeapSys)},
		{"go_memstats_heap_objects", "Number of objects on the heap.", float64(m.HeapObjects)},
		{"go_memstats_stack_inuse_bytes", "Stacks in use.", float64(m.StackInuse)},
		{"go_memstats_stack_sys_bytes", "Stacks.", float64(m.StackSys)},
		{"go_memstats_mspan_inuse_bytes", "The heap's records of its spans in use.", float64(m.MSpanInuse)},
		{"go_memstats_mspan_sys_bytes", "The heap's records of its spans.", float64(m.MSpanSys)},
		{"go_memstats_mcache_inuse_bytes", "Caches of processors in use.", float64(m.MCacheInuse)},
		{"go_memstats_mcache_sys_bytes", "Caches of processors.", float64(m.MCacheSys)},
		{"go_memstats_buck_hash_sys_bytes", "Tables of profiles.", float64(m.BuckHashSys)},
		{"go_memstats_gc_sys_bytes", "The garbage collector's own.", float64(m.GCSys)},
		{"go_memstats_other_sys_bytes", "All else.", float64(m.OtherSys)},
		{"go_memstats_sys_bytes", "Address space from the system.", float64(m.Sys)},
		{"go_memstats_next_gc_bytes", "Size of the heap at which it is collected.", float64(m.NextGC)},
		{"go_memstats_last_gc_time_seconds", "End of the last garbage collection, since 1970.", float64(m.LastGC) / 1e9},
	})...)
}
