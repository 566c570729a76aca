package testgo

import (
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) {
	OneProcessor()
	os.Exit(m.Run())
}

// Without OneProcessor, the race detector of Go 1.26 ends nearly every run of this test on two processors or more.
func TestElapsedTimers(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(Guard(t, func() {
					for range 200 {
						timer := time.NewTimer(time.Second)
						time.Sleep(2 * time.Second)
						<-timer.C
					}
				}))
			}
			wg.Wait()
		})
	}
}
