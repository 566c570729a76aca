package stores

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

var (
	storedSessions = flag.Int("stored", 500, "how many sessions TestLargeStore stores")
	storedMiB      = flag.Int("storedmib", 16, "how much of conversation, in MiB, TestLargeStore stores beside them")
)

// TestLargeStore starts a daemon on a store with many sessions, and on one with much in it, and goes through the list. It
// prints what a user waits for; the clock judges nothing here, since other work may run on the machine.
func TestLargeStore(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sessions, mib int
	}{
		{"nothing", 0, 0},
		{fmt.Sprintf("%d sessions", *storedSessions), *storedSessions, 0},
		{fmt.Sprintf("%d MiB", *storedMiB), 16, *storedMiB},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := t.TempDir()
			proof.Fill(t, data, tt.sessions, tt.mib)
			info, err := os.Stat(data + "/thinkd.db")
			if err != nil {
				t.Fatal(err)
			}
			var starts []time.Duration
			for range 3 {
				began := time.Now()
				h := proof.Open(t, data, nil)
				h.Ready()
				starts = append(starts, time.Since(began))
				h.End()
			}
			h := proof.Open(t, data, nil)
			h.Ready()
			p := h.Client(nil)
			found, pages := 0, []time.Duration(nil)
			for cursor := ""; ; {
				var page struct {
					Sessions []struct{} `json:"sessions"`
					Next     string     `json:"next_cursor"`
				}
				params := map[string]any{"limit": 100}
				if cursor != "" {
					params["cursor"] = cursor
				}
				began := time.Now()
				p.Must("session/list", params, &page)
				pages = append(pages, time.Since(began))
				found += len(page.Sessions)
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if found != tt.sessions {
				t.Errorf("%d sessions are listed, of %d", found, tt.sessions)
			}
			slices.Sort(starts)
			slices.Sort(pages)
			t.Logf("%d MiB: ready in %v at most; %d pages of 100, p50 %v, p99 %v; the daemon has %d KiB of its own", info.Size()>>20, starts[len(starts)-1].Round(time.Millisecond),
				len(pages), pages[len(pages)/2].Round(10*time.Microsecond), pages[len(pages)*99/100].Round(10*time.Microsecond), proof.MemoryOf(t, h.Cmd.Process.Pid).Own>>10)
			p.End()
		})
	}
}
