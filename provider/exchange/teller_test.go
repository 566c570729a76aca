package exchange

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// A run is told as it goes; its error is the last word, but where nobody listens any more.
func TestExchange(t *testing.T) {
	failure := errors.New("broken")
	for _, tt := range []struct {
		name         string
		leave        int // after so many events; 0: never
		events, errs int
	}{
		{"to its end", 0, 2, 1},
		{"left", 1, 1, 0},
	} {
		var events, errs int
		for _, err := range Exchange(t.Context(), &provider.Request{}, func(_ context.Context, t *Teller) error {
			for range 2 {
				if err := t.Emit(provider.Notice{}); err != nil {
					return err
				}
			}
			return failure
		}) {
			if err == nil {
				events++
			} else {
				errs++
			}
			if events == tt.leave {
				break
			}
		}
		if events != tt.events || errs != tt.errs {
			t.Errorf("%s: %d events, %d errors", tt.name, events, errs)
		}
	}
}

// slow is an answer of which something comes ten times a second.
type slow struct{}

func (slow) Read(p []byte) (int, error) {
	time.Sleep(100 * time.Millisecond)
	return len(p), nil
}

func TestAliveOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		for range Exchange(t.Context(), &provider.Request{}, func(_ context.Context, teller *Teller) error {
			answer := teller.timed(io.NopCloser(slow{}))
			for range 30 {
				if err := teller.Alive(); err != nil {
					return err
				}
				if _, err := answer.Read(nil); err != nil {
					return err
				}
			}
			return nil
		}) {
			told++
		}
		if told != 3 {
			t.Errorf("told %d times in three seconds", told)
		}
	})
}
