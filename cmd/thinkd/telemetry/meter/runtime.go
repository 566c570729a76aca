package meter

import (
	"runtime"
	"strings"
	"time"
)

// Runtime is what the Go runtime knows of this process, under the names that Prometheus' client has for it. It stops the
// process for some µs (package runtime: ReadMemStats).
func Runtime() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	threads, _ := runtime.ThreadCreateProfile(nil)
	var b strings.Builder
	head(&b, "go_info", "The version of Go.", "gauge")
	sample(&b, "go_info", []string{"version"}, []string{runtime.Version()}, 1)
	head(&b, "go_gc_duration_seconds", "Pauses of garbage collections.", "summary")
	sample(&b, "go_gc_duration_seconds_sum", nil, nil, time.Duration(m.PauseTotalNs).Seconds())
	sample(&b, "go_gc_duration_seconds_count", nil, nil, float64(m.NumGC))
	for _, v := range []value{
		{"go_goroutines", "Goroutines.", float64(runtime.NumGoroutine())},
		{"go_threads", "Threads that were made.", float64(threads)},
		{"go_sched_gomaxprocs_threads", "Threads that may run Go code at a time.", float64(runtime.GOMAXPROCS(0))},
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
	} {
		v.write(&b)
	}
	return b.String()
}

// value is what has been read already. As the format advises, what only grows has a name that ends in _total.
type value struct {
	name, help string
	now        float64
}

func (v value) write(b *strings.Builder) {
	Gauge{v.name, v.help, strings.HasSuffix(v.name, "_total"), func() float64 { return v.now }}.write(b)
}

// Process is what the system tells of this process, which began then: what it does not tell is left out.
func Process(begun time.Time) string {
	var b strings.Builder
	for _, v := range append(process(), value{"process_start_time_seconds", "Start of the process, since 1970.", float64(begun.UnixMilli()) / 1000}) {
		v.write(&b)
	}
	return b.String()
}
