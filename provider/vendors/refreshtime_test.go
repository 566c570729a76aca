package vendors

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// slow is a host that lists its models after a while.
type slow struct {
	provider.Provider
	after time.Duration
}

func (s slow) Models(ctx context.Context) ([]provider.Model, error) {
	select {
	case <-time.After(s.after):
		return []provider.Model{{ID: "claude-next", Tools: true, Source: provider.FromRefreshed}}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Hosts are asked side by side, and each has the same time.
func TestRefreshTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(id string) Config {
			return Config{ID: id, Vendor: "anthropic", BaseURL: "https://llm.example.com"}
		}
		list := []Config{at("a"), at("b"), at("c")}
		after := func(d time.Duration) func() provider.Provider {
			return func() provider.Provider { return slow{after: d} }
		}
		p := &Providers{list: list, adapters: map[string]func() provider.Provider{"a": after(refreshTime - time.Second),
			"b": after(refreshTime - time.Second), "c": after(time.Hour)}}
		l, err := OpenListings(list, "", Kept{}, p, new(durable.Memory), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r, err := l.Refresh(t.Context(), "")
		done := r.Lists
		if err != nil || len(done) != 3 || done[0].Models != 1 || done[1].Models != 1 || done[2].Error != "c: no list within 20s" {
			t.Errorf("%+v, %v", done, err)
		}
		if took := time.Since(began); took != refreshTime {
			t.Errorf("took %v", took)
		}
	})
}
