package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// TestPace compares how often calls read.
func TestPace(t *testing.T) {
	for _, tt := range []struct {
		viewers, calls int32
		want           time.Duration
	}{
		{0, 1, 0}, {1, 64, 0}, {manyViewers - 1, manyCalls - 1, 0}, {100, 1, 5 * time.Millisecond}, {1000, 1, 50 * time.Millisecond},
		{1, 2000, 40 * time.Millisecond}, {100, 2000, 40 * time.Millisecond}, {100_000, 1, slowest},
	} {
		if got := pace(tt.viewers, tt.calls); got != tt.want {
			t.Errorf("%d viewers, %d calls: %v, want %v", tt.viewers, tt.calls, got, tt.want)
		}
	}
}

// TestPaceOfViewers runs a turn that few follow, and one that many follow.
func TestPaceOfViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.close()
		var paces []time.Duration
		b.fake.judge = func(req *provider.Request, play script) script {
			return func(ctx context.Context, yield func(provider.Event, error) bool) {
				paces = append(paces, req.Pace())
				play(ctx, yield)
			}
		}
		id := b.session("sim/m", provider.High)
		b.turn(id, "Hello.")
		for range 1000 {
			if _, _, err := b.agent(id).Attach(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		b.turn(id, "Hello, all of you.")
		if len(paces) != 2 || paces[0] != 0 || paces[1] != slowest {
			t.Errorf("paces %v", paces)
		}
	})
}
