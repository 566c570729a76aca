package quota

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Meter keeps the latest limits of one provider.
type Meter struct {
	now func() time.Time

	mu      sync.Mutex
	account string
	limits  map[string]Limit
	noted   map[string]int64 // by name: the reset before which people know that a limit is near
	news    []Limit          // limits that came near, and that News has not returned
}

// NewMeter returns a meter that knows nothing yet. now is the clock; nil: time.Now.
func NewMeter(now func() time.Time) *Meter {
	if now == nil {
		now = time.Now
	}
	m := &Meter{now: now}
	m.clear("")
	return m
}

// Forget drops everything: the credential has changed.
func (m *Meter) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear(m.account)
}

func (m *Meter) clear(account string) {
	m.account, m.limits, m.noted, m.news = account, make(map[string]Limit), make(map[string]int64), nil
}

// soon: a limit that resets within this time is not reported as near.
const soon = 5 * time.Minute

// Note takes in the headers of an answer to an account. Those of another account are forgotten. A nil meter does nothing.
func (m *Meter) Note(account string, h http.Header) {
	if m == nil {
		return
	}
	now := m.now()
	read := Read(h, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if account != m.account {
		m.clear(account)
	}
	for _, l := range read {
		if _, known := m.limits[l.Name]; !known && len(m.limits) >= maxLimits {
			continue
		}
		m.limits[l.Name] = l
		known, told := m.noted[l.Name]
		if l.Near() && (!told || known < now.UnixMilli()) && (l.Resets == 0 && l.Plan || l.Resets > now.Add(soon).UnixMilli()) {
			m.noted[l.Name] = l.Resets
			m.news = append(m.news, l)
		}
	}
}

// News returns the limits that came near since the last call, each once until it resets. A nil meter has none.
func (m *Meter) News() []Limit {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	news := m.news
	m.news = nil
	return news
}

// Limits returns the latest limits, by name, except those that have reset since.
func (m *Meter) Limits() []Limit {
	if m == nil {
		return nil
	}
	now := m.now().UnixMilli()
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Limit
	for _, l := range m.limits {
		if l.Resets == 0 || l.Resets > now {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Limit) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}
