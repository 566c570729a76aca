package messages

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

func TestWholeAndStreamAgree(t *testing.T) {
	s := sim.New(sim.Config{})
	body := obj{"thinking": obj{"type": "adaptive", "display": "summarized"}}
	whole := simtest.Create(t, s, simtest.Header(), body).JSON()
	if diff := cmp.Diff(whole, simtest.Stream(t, s, simtest.Header(), body)); diff != "" {
		t.Errorf("stream differs from the whole answer (-whole +stream):\n%s", diff)
	}
	if again := simtest.Create(t, s, simtest.Header(), body).JSON(); !cmp.Equal(whole, again) {
		t.Error("the same request got another answer")
	}
	thought := simtest.Get[string](whole, "content", 0, "thinking")
	if n := len(strings.Fields(thought)); n < 90 || n > 160 {
		t.Errorf("%d words of thinking at medium effort", n)
	}
	for _, word := range []string{"later", "march"} {
		if !strings.Contains(strings.ToLower(thought), word) {
			t.Errorf("thinking does not mention %q: %s", word, thought)
		}
	}
	if answer := simtest.Get[string](whole, "content", 1, "text"); !strings.HasPrefix(answer, "## ") || !strings.Contains(answer, "\n- **") {
		t.Errorf("no Markdown: %s", answer)
	}
}

// BenchmarkStream is the cost of a streamed answer on the server's side; it is to be small beside that of its client.
func BenchmarkStream(b *testing.B) {
	s := sim.New(sim.Config{NoJournal: true})
	body, err := json.Marshal(simtest.Request(obj{"stream": true, "thinking": simtest.Thinking("adaptive", "display", "summarized"),
		"messages": arr{simtest.Say("user", "[[sim: thinking=5000 text=5000]] Which date is later?")}}))
	if err != nil {
		b.Fatal(err)
	}
	deltas := 0
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/messages", bytes.NewReader(body))
		r.Header = simtest.Header()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		deltas += bytes.Count(w.Body.Bytes(), []byte("event: content_block_delta"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(deltas), "ns/delta")
}
