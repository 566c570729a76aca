package sim

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWholeAndStreamAgree(t *testing.T) {
	s := New(Config{})
	body := obj{"thinking": obj{"type": "adaptive", "display": "summarized"}}
	whole := create(t, s, header(), body).json()
	if diff := cmp.Diff(whole, stream(t, s, header(), body)); diff != "" {
		t.Errorf("stream differs from the whole answer (-whole +stream):\n%s", diff)
	}
	if again := create(t, s, header(), body).json(); !cmp.Equal(whole, again) {
		t.Error("the same request got another answer")
	}
	thought := get[string](whole, "content", 0, "thinking")
	if n := len(strings.Fields(thought)); n < 90 || n > 160 {
		t.Errorf("%d words of thinking at medium effort", n)
	}
	for _, word := range []string{"later", "march"} {
		if !strings.Contains(strings.ToLower(thought), word) {
			t.Errorf("thinking does not mention %q: %s", word, thought)
		}
	}
	if answer := get[string](whole, "content", 1, "text"); !strings.HasPrefix(answer, "## ") || !strings.Contains(answer, "\n- **") {
		t.Errorf("no Markdown: %s", answer)
	}
}

// BenchmarkStream is the cost of a streamed answer on the server's side; it is to be small beside that of its client.
func BenchmarkStream(b *testing.B) {
	s := New(Config{NoJournal: true})
	body, err := json.Marshal(request(obj{"stream": true, "thinking": thinking("adaptive", "display", "summarized"),
		"messages": arr{say("user", "[[sim: thinking=5000 text=5000]] Which date is later?")}}))
	if err != nil {
		b.Fatal(err)
	}
	deltas := 0
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/messages", bytes.NewReader(body))
		r.Header = header()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		deltas += bytes.Count(w.Body.Bytes(), []byte("event: content_block_delta"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(deltas), "ns/delta")
}
