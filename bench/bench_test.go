package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/sim"
)

// TestSmall has every figure measured once, of hardly anything. It judges no time.
func TestSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is only known on Linux")
	}
	var out bytes.Buffer
	if err := run([]string{"-small", "-n", "1"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"start to first answer, daemon running", "start to first delta, daemon to be started", "latency at 100 deltas/s, p99",
		"deltas/s, one session", "deltas/s, 64 sessions", "memory, 64 sessions", "memory, 100 stored sessions", "memory, 100 attached sessions",
		"20 sessions at 50 deltas/s", "thinking lost by kill -9", "CPU per delta,", "| messages | responses | chat | gemini | ollama |"} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("the tables have nothing of %q", row)
		}
	}
	t.Log("\n" + out.String())
}

// TestStream takes the simulator's answer apart and puts it together with more deltas.
func TestStream(t *testing.T) {
	body := `{"model":"gpt-5.6","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"input":"hi"}`
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", nil)
	r.Header.Set("Authorization", "Bearer "+benchKey)
	s, err := call{r, []byte(body)}.record(2)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(s.whole(5))
	deltas := strings.Count(whole, `"type":"response.reasoning_summary_text.delta"`)
	if deltas != 5 {
		t.Errorf("%d deltas, want 5", deltas)
	}
	for _, text := range []string{"thought 000000001thought 000000002thought 000000003", "thought 000000004thought 000000005"} {
		if !strings.Contains(whole, `"text":"`+text+`"`) {
			t.Errorf("no thought is %q as a whole", text)
		}
	}
	for n := range strings.Count(whole, "sequence_number") {
		if !strings.Contains(whole, fmt.Sprintf(`"sequence_number":%d`, n)) {
			t.Errorf("no event has the number %d", n)
		}
	}
	if thoughtPattern.MatchString(whole) {
		t.Error("a mark is left")
	}
}

// TestPaced sends a stream at a pace and reads the times of its deltas.
func TestPaced(t *testing.T) {
	u := &upstream{models: sim.New(sim.Config{}), calls: make(map[string]call), streams: make(map[streamKey]*stream), wholes: make(map[wholeKey][]byte)}
	server := httptest.NewServer(u)
	defer server.Close()
	o := order{deltas: 4, thoughts: 1, pace: 1000}
	body := fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":%q}]}`, o)
	r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {benchKey}}
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	last := began
	parts := bytes.Split(got, []byte(`"thinking":"`))
	n := 0
	for _, p := range parts[1:] {
		text, _, _ := bytes.Cut(p, []byte(`"`))
		if len(text) == 0 { // of the block's start
			continue
		}
		at, err := readStamp(text)
		if err != nil {
			t.Fatal(err)
		}
		if at.Before(last.Add(-time.Millisecond)) || at.After(time.Now()) {
			t.Errorf("delta %d was sent at %v, after %v", n, at, last)
		}
		last = at
		n++
	}
	if n != o.deltas {
		t.Errorf("%d deltas in\n%s", n, got)
	}
}

func TestTable(t *testing.T) {
	b := &table{columns: []column{{"floor", false}, {"one", true}, {"other", true}}}
	for _, v := range []float64{9, 10, 50} {
		b.add("time", "ms", goal{ratio: 3}, "floor", v)
		b.add("time", "ms", goal{ratio: 3}, "one", v*3)
		b.add("time", "ms", goal{ratio: 3}, "other", v*3.1)
	}
	b.add("memory", "MiB", goal{most: 25}, "one", 25)
	b.add("speed", "1/s", goal{ofBest: 1.5, higher: true}, "one", 200_000)
	b.add("speed", "1/s", goal{ofBest: 1.5, higher: true}, "other", 100_000)
	want := `| | floor | one | other | goal | |
|---|---:|---:|---:|---|---|
| time, ms | 10 | 30 | 31 | ≤ 3x floor | 3.00x met, 3.10x **missed** |
| memory, MiB | | 25 | | ≤ 25 | met |
| speed, 1/s | | 200,000 | 100,000 | ≤ 1.5x the best | 1.00x met, 2.00x **missed** |
`
	if diff := cmp.Diff(want, b.markdown()); diff != "" {
		t.Error(diff)
	}
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{3}, 0.5, 3},
		{[]float64{3, 1}, 0.5, 2},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{3, 1, 2}, 0.99, 3},
		{[]float64{5, 4, 3, 2, 1, 6, 7, 8, 9, 10}, 0.9, 9},
	} {
		if got := quantile(test.values, test.q); got != test.want {
			t.Errorf("quantile(%v, %g) = %g, want %g", test.values, test.q, got, test.want)
		}
	}
}
