package bolt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// BenchmarkAppend is a durable append of about 1 KiB, with one writer and with 64 in sessions of their own, and beside it
// the floor: the same bytes written to a plain file and synced.
func BenchmarkAppend(b *testing.B) {
	e := session.Entry{Turn: storetest.TurnA, Body: session.Prompt{Message: storetest.MsgA, Content: provider.Blocks{provider.Text{Text: strings.Repeat("x", 900)}}}}
	values, err := session.EncodeEntries([]session.Entry{e})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		timed(b, 1, func(int) error {
			if _, err := f.Write(values[0]); err != nil {
				return err
			}
			return f.Sync()
		})
	})
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := openStore(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for w := range writers {
				storetest.Create(b, s, session.Session{ID: storetest.ID(w)})
			}
			timed(b, writers, func(w int) error {
				_, err := s.writes().Append(b.Context(), storetest.ID(w), e)
				return err
			})
		})
	}
}

// BenchmarkLedger is a durable append of a reservation and the use of a call, which changes the ledger in the same commit, with one writer
// and with 64 in sessions of their own. In the same run are two uses without a reservation, which change the log alone, and the floor: the
// bytes written to a plain file and synced.
func BenchmarkLedger(b *testing.B) {
	reserved := storetest.Reserved(storetest.TurnA, "2026-11-23", "high", 0.5)
	used := session.Entry{Turn: storetest.TurnA, Body: session.Settled{Usage: storetest.Used(100, 0.25)}}
	values, err := session.EncodeEntries([]session.Entry{reserved, used})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		timed(b, 1, func(int) error {
			if _, err := f.Write(slices.Concat(values...)); err != nil {
				return err
			}
			return f.Sync()
		})
	})
	for _, kind := range []struct {
		name    string
		entries []session.Entry
	}{{"log", []session.Entry{used, used}}, {"ledger", []session.Entry{reserved, used}}} {
		for _, writers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/writers=%d", kind.name, writers), func(b *testing.B) {
				s, err := openStore(b.TempDir(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				for w := range writers {
					storetest.Create(b, s, session.Session{ID: storetest.ID(w)})
				}
				timed(b, writers, func(w int) error {
					_, err := s.writes().Append(b.Context(), storetest.ID(w), kind.entries...)
					return err
				})
			})
		}
	}
}

// BenchmarkEncode is a long thought on its way into the log. The floor is its text alone.
func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("some twenty letters\n", 1<<20/20)
	b.Run("entry", func(b *testing.B) {
		e := session.Entry{Turn: storetest.TurnA, Body: session.Sealed{Message: storetest.MsgA, Number: 0, Block: provider.Thinking{Text: text, Kind: provider.ThinkingFull}}}
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := session.EncodeEntries([]session.Entry{e}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// timed runs f b.N times in all and reports the 99th percentile.
func timed(b *testing.B, writers int, f func(w int) error) {
	took := make([][]time.Duration, writers)
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(testgo.Guard(b, func() {
			for i := w; i < b.N; i += writers {
				begin := time.Now()
				if err := f(w); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(begin))
			}
		}))
	}
	wg.Wait()
	b.StopTimer()
	if all := slices.Sorted(slices.Values(slices.Concat(took...))); len(all) > 0 {
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	}
}
