package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
)

// usualKeep is how long a model stays loaded if the request does not say it, and forever is far away. [docs: faq]
const (
	usualKeep = 5 * time.Minute
	forever   = 100 * 365 * 24 * time.Hour
)

// keepAlive is the member of that name: seconds as a number, or a duration as a string. Negative: forever. [source: api/types.go]
type keepAlive struct {
	set  bool
	time time.Duration
}

func (k *keepAlive) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	k.set = true
	var seconds float64
	var text string
	switch {
	case json.Unmarshal(data, &seconds) == nil:
		k.time = time.Duration(seconds * float64(time.Second))
	case json.Unmarshal(data, &text) == nil:
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		k.time = d
	default:
		return fmt.Errorf("Unsupported type: %q", data) //nolint:staticcheck // the vendor's words
	}
	if k.time < 0 {
		k.time = forever
	}
	return nil
}

// loaded are the models in the memory of one server.
type loaded struct {
	mu     sync.Mutex
	models map[string]*resident
}

// resident is a model in memory: while calls run, and up to a time after the last one.
type resident struct {
	calls int
	until time.Time
}

func loadedOf(ex *sim.Exchange) *loaded {
	return ex.State("ollama", &loaded{models: map[string]*resident{}}).(*loaded)
}

// begin loads a model for a call, and end begins the time that the call keeps it.
func (l *loaded) begin(model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.models[model] == nil {
		l.models[model] = &resident{}
	}
	l.models[model].calls++
}

func (l *loaded) end(model string, now time.Time, keep keepAlive) {
	if !keep.set {
		keep.time = usualKeep
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.models[model]
	m.calls--
	m.until = now.Add(keep.time)
}

// unload lets the time of a model end. Calls that run keep it.
func (l *loaded) unload(model string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.models[model]; m != nil {
		m.until = now
	}
}

// servePS answers GET /api/ps.
func servePS(ex *sim.Exchange) {
	l, now := loadedOf(ex), ex.Now()
	l.mu.Lock()
	list := []map[string]any{}
	for id, m := range l.models {
		if m.calls == 0 && !m.until.After(now) {
			delete(l.models, id)
			continue
		}
		list = append(list, map[string]any{"name": id, "model": id, "size": 1, "size_vram": 1, "context_length": usualWindow, "expires_at": m.until.UTC().Format(time.RFC3339)})
	}
	l.mu.Unlock()
	slices.SortFunc(list, func(a, b map[string]any) int {
		return bytes.Compare([]byte(a["name"].(string)), []byte(b["name"].(string)))
	})
	ex.SendJSON(http.StatusOK, map[string]any{"models": list})
}
