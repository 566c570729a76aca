package meter

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
)

func TestText(t *testing.T) {
	turns := NewCounter("turns_total", "Turns\nthat are over, by \\ way.", "end", "who")
	turns.Add(2, "b\"\\\n", "é")
	turns.Add(1.5, "a", "\xff")
	turns.Add(1e6, "a", "\xff")
	took := NewHistogram("took_seconds", "s", "How long.", []float64{0.1, 1, 2500}, "who")
	for _, v := range []float64{0.1, 0.11, 1, 2e9} {
		took.Observe(v, "me")
	}
	silent := NewHistogram("silent", "", "", nil)
	silent.Observe(-1)
	got := Text(turns, took, Gauge{Name: "now", Read: func() float64 { return math.Inf(-1) }}, Gauge{Name: "all_total", Total: true, Read: func() float64 { return 1 << 60 }}, silent)
	want := `# HELP turns_total Turns\nthat are over, by \\ way.
# TYPE turns_total counter
turns_total{end="a",who="�"} 1.0000015e+06
turns_total{end="b\"\\\n",who="é"} 2
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
# HELP all_total 
# TYPE all_total counter
all_total 1.152921504606847e+18
# HELP silent 
# TYPE silent histogram
silent_bucket{le="+Inf"} 1
silent_sum -1
silent_count 1
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is told of a histogram stays as it was, and is whole while others count.
func TestDistribution(t *testing.T) {
	begun := time.Now()
	h := NewHistogram("tokens", "{token}", "Some.", Exponential(1, 4, 3), "kind")
	h.Observe(5, "in")
	before := h.Now()
	var counting sync.WaitGroup
	for range 8 {
		counting.Go(testgo.Guard(t, func() {
			for range 1000 {
				h.Observe(3, "in")
			}
		}))
	}
	for range 100 {
		s := h.Now().Series[0]
		if sum := float64(5 + 3*(s.Count-1)); s.Sum != sum {
			t.Fatalf("%d observed, their sum is %v, not %v", s.Count, s.Sum, sum)
		}
	}
	counting.Wait()
	if before.Begun.Before(begun) {
		t.Errorf("begun %s before it was made", begun.Sub(before.Begun))
	}
	before.Begun = time.Time{}
	want := Distribution{Name: "tokens", Unit: "{token}", Help: "Some.", Labels: []string{"kind"}, Bounds: []float64{1, 4, 16},
		Series: []DistributionSeries{{Values: []string{"in"}, Counts: []uint64{0, 0, 1, 0}, Count: 1, Sum: 5}}}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint64{0, 8000, 1, 0}, h.Now().Series[0].Counts); diff != "" {
		t.Error(diff)
	}
}

// All that is told has the form of the format: a name, labels if any, a number, and its kind before it.
func TestRuntimeAndProcess(t *testing.T) {
	begun := time.Unix(1_800_000_000, 5e8)
	text := Runtime() + Process(begun)
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
			t.Errorf("%s is told before its kind", name)
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
