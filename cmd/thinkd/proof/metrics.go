package proof

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Scrape is a route's answer to a bearer of the token.
func (s *Served) Scrape(path string) (int, string) {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), "GET", s.Base+path, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Metrics are those without labels, by name.
func (s *Served) Metrics() map[string]float64 {
	s.T.Helper()
	_, body := s.Scrape("metrics")
	found := make(map[string]float64)
	for line := range strings.Lines(body) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "#" || strings.Contains(name, "{") {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			s.T.Fatalf("%s: %v", name, err)
		}
		found[name] = value
	}
	return found
}
