package messages

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// FuzzBody: no body is answered with a panic, with silence or with something that is no JSON.
func FuzzBody(f *testing.F) {
	for _, r := range rules {
		for _, body := range []obj{r.keeps, r.breaks} {
			b, err := json.Marshal(simtest.Request(body))
			if err != nil {
				f.Fatal(err)
			}
			if len(b) < 4096 {
				f.Add(b)
			}
		}
	}
	f.Add([]byte(`{"model":"claude","max_tokens":1e400,"messages":[{"role":"user","content":[null]}]}`))
	f.Add([]byte(`{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":"[[sim: "}]}`))
	s := sim.New(sim.Config{})
	f.Fuzz(func(t *testing.T, body []byte) {
		if strings.Contains(string(body), "sim:") { // a stall would be right, and long
			return
		}
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
			r := httptest.NewRequest("POST", path, strings.NewReader(string(body)))
			r.Header = simtest.Header("anthropic-beta", betaBinding+","+betaTurnEffort+","+betaUpdates)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != 200 && w.Code != 400 && w.Code != 404 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if !strings.HasPrefix(w.Body.String(), "event: message_start\n") && !json.Valid(w.Body.Bytes()) {
				t.Errorf("neither a stream nor JSON: %s", w.Body)
			}
		}
	})
}
