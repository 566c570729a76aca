package main

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scrape is a route's answer to a bearer of the token.
func (s *served) scrape(path string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// metrics are those without labels, by name.
func (s *served) metrics() map[string]float64 {
	s.t.Helper()
	_, body := s.scrape("metrics")
	found := make(map[string]float64)
	for line := range strings.Lines(body) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "#" || strings.Contains(name, "{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		found[name] = value
	}
	return found
}

// A turn is counted, and nothing that was said is there to read, nor a word that a client made up.
func TestMetrics(t *testing.T) {
	s := startServe(t, command(t, nil, serveArgs(t.TempDir())...))
	if code, body := s.scrape("readyz"); code != 200 || body != "ready" {
		t.Errorf("%d %q", code, body)
	}
	c := dialWS(t, s.base, s.token, nil)
	const said = "canary-of-the-prompt"
	var made struct {
		ID string `json:"session_id"`
	}
	c.must("session/new", map[string]any{"model_id": "sim/claude", "thinking_level": "high"}, &made)
	c.must("session/attach", map[string]any{"session_id": made.ID}, nil)
	c.must("session/prompt", map[string]any{"session_id": made.ID, "text": said + " [[sim: pace=0]]"}, nil)
	c.turnEnd()
	want := []string{
		`thinkd_turns_total{effort="high",error="",provider="sim",stop_reason="end_turn"} 1`,
		`thinkd_model_calls_total{provider="sim"} 1`,
		`thinkd_model_calls_again_total{provider="sim"} 0`,
		`thinkd_turn_seconds_count{provider="sim"} 1`,
		`thinkd_clients 1`,
		`thinkd_turns_running 0`,
		`thinkd_store_read_only 0`,
		`thinkd_tokens_total{kind="output",provider="sim"} `,
		"go_goroutines ",
	}
	var body string
	missing := func() (list []string) {
		_, body = s.scrape("metrics")
		for _, line := range want {
			if !strings.Contains(body, "\n"+line) {
				list = append(list, line)
			}
		}
		return list
	}
	for begun := time.Now(); len(missing()) > 0 && time.Since(begun) < patience; { // the turn's end is told a moment before it is over
		time.Sleep(20 * time.Millisecond)
	}
	for _, line := range missing() {
		t.Errorf("there is no %s", line)
	}
	for _, secret := range []string{said, made.ID, s.token} {
		if strings.Contains(body, secret) {
			t.Errorf("%q is told", secret)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "thinkd_") {
				t.Log(line)
			}
		}
	}
	s.terminate()
}

// A daemon whose store takes nothing says so to whoever would send clients to it, until the store does again.
func TestReadyFollowsTheStore(t *testing.T) {
	d := &daemon{log: discard, lost: make(chan error, 1)}
	for _, readOnly := range []bool{false, true, false} {
		d.storeState(readOnly, nil)
		if err := d.ready(); (err != nil) != readOnly {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}
