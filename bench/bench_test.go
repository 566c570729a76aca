package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestMain lets the test program be the model provider too, as the program is: a child process, so that its work is not measured.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "upstream" {
		if err := runUpstream(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestSmall has every figure measured once, of hardly anything. It judges no time.
func TestSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs: Linux, for what a process uses")
	}
	var out bytes.Buffer
	if err := run([]string{"-small", "-n", "1", "-program", proof.PlainProgram(t)}, &out); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"start to first answer, daemon running", "start to first delta, daemon to be started", "latency at 100 deltas/s, p99",
		"deltas/s, one session", "deltas/s, 64 sessions", "memory, 64 sessions", "memory, 300 stored sessions", "memory, 100 stored sessions", "memory, 100 attached sessions",
		"20 sessions at 50 deltas/s", "40 messages: attach, not loaded", "a thought of 17,000 bytes: memory", "3 viewers: writes of a delta", "memory, one session, after a turn", "thinking lost by kill -9", "CPU per delta,", "| messages | responses | chat | gemini | ollama |"} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("the tables have nothing of %q", row)
		}
	}
	t.Log("\n" + out.String())
}

// TestSmallPlots draws what grows, hardly.
func TestSmallPlots(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs: Linux, for what a process uses")
	}
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("Before.\n<!-- growth -->\nlast time\n<!-- end of growth -->\nAfter.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"plots", "-small", "-program", proof.PlainProgram(t), "-pictures", dir, "-page", page}, &out); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Before.\n<!-- growth -->\n" + out.String() + "<!-- end of growth -->\nAfter.\n"; string(written) != want {
		t.Errorf("the page is\n%s\nand has to be\n%s", written, want)
	}
	for _, g := range growths() {
		picture, err := os.ReadFile(filepath.Join(dir, "growth-"+g.name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(picture, new(any)); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		if !strings.Contains(out.String(), "| "+g.size+" |") {
			t.Errorf("the table has nothing of %s", g.size)
		}
	}
	t.Log("\n" + out.String())
}

func TestExponent(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 2} {
		c := &curve{}
		for _, x := range steps(1, 10_000, 2) {
			for _, noise := range []float64{0.5, 1, 3} { // the median has none
				c.x, c.y = append(c.x, x), append(c.y, 1e-9+math.Pow(x, want)*noise)
			}
		}
		if got := c.exponent(); math.Abs(got-want) > 0.01 {
			t.Errorf("the exponent is %g, want %g", got, want)
		}
	}
}

// TestStream takes the simulator's answers apart and puts them together with more deltas.
func TestStream(t *testing.T) {
	const first, second = "thought 000000001thought 000000002thought 000000003", "thought 000000004thought 000000005"
	for _, test := range []struct {
		path, body string
		delta      string   // what each has
		texts      []string // how the stream tells thoughts as a whole
	}{
		{"/v1/messages", `{"model":"claude-opus-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"}]}`,
			`"thinking":"thought `, nil},
		{"/v1/responses", `{"model":"gpt-5.6","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"input":"hi"}`,
			`"delta":"thought `, []string{`"text":"` + first + `"`, `"text":"` + second + `"`}},
		{"/deepseek/chat/completions", `{"model":"deepseek-v4-pro","stream":true,"thinking":{"type":"enabled"},"messages":[{"role":"user","content":"hi"}]}`,
			`"reasoning_content":"thought `, nil},
		{"/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`,
			`"text":"thought `, nil},
		{"/api/chat", `{"model":"qwen3.5:9b","think":true,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, `"thinking":"thought `, nil},
	} {
		r := httptest.NewRequest(http.MethodPost, test.path, nil)
		r.Header = http.Header{"Content-Type": {"application/json"}}
		switch test.path {
		case "/v1/messages":
			r.Header.Set("Anthropic-Version", "2023-06-01")
			r.Header.Set("X-Api-Key", benchKey)
		default:
			r.Header.Set("Authorization", "Bearer "+benchKey)
			r.Header.Set("X-Goog-Api-Key", benchKey)
		}
		s, err := call{r, []byte(test.body)}.record(2)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		few, whole := string(s.whole(2)), string(s.whole(5))
		if got := strings.Count(whole, test.delta); got != 5 {
			t.Errorf("%s: %d deltas, want 5", test.path, got)
		}
		for _, text := range test.texts {
			if !strings.Contains(whole, text) {
				t.Errorf("%s: nothing has %s", test.path, text)
			}
		}
		for n := range strings.Count(whole, "sequence_number") {
			if !strings.Contains(whole, fmt.Sprintf(`"sequence_number":%d`, n)) {
				t.Errorf("%s: no event has the number %d", test.path, n)
			}
		}
		if text := "Done."; strings.Count(whole, text) != strings.Count(few, text) {
			t.Errorf("%s: more than deltas is there more often", test.path)
		}
		if thoughtPattern.MatchString(whole) {
			t.Errorf("%s: a mark is left", test.path)
		}
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
	b.add("tail", "ms", goal{ratio: 1, of: "other"}, "one", 3)
	b.add("tail", "ms", goal{ratio: 1, of: "other"}, "other", 2)
	b.add("alone", "ms", goal{ratio: 1, of: "missing"}, "one", 3)
	b.add("memory", "MiB", goal{most: 25}, "one", 25)
	b.add("speed", "1/s", goal{ofBest: 1.5, higher: true}, "one", 200_000)
	b.add("speed", "1/s", goal{ofBest: 1.5, higher: true}, "other", 100_000)
	want := `| | floor | one | other | goal | |
|---|---:|---:|---:|---|---|
| time, ms | 10 | 30 | 31 | ≤ 3x floor | 3.00x met, 3.10x **missed** |
| tail, ms | | 3 | 2 | ≤ 1x other | 1.50x **missed**, 1.00x met |
| alone, ms | | 3 | | ≤ 1x missing |  |
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
