package agent

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/report"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// off is a store whose writer had another clock.
type off struct {
	session.Sessions
	by time.Duration
}

func (o off) Claim(ctx context.Context, id session.ID) (session.Log, error) {
	return appending(ctx, o.Sessions, id, o.add)
}

func (o off) add(ctx context.Context, log session.Log, entries ...session.Entry) (uint64, error) {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Time += o.by.Milliseconds()
	}
	return log.Append(ctx, entries...)
}

// TestClockJumps has the wall clock go a day on or back between one process and the next, and beneath an open turn.
// What was said keeps its order, no number is used twice, no turn lasts less than no time, and nothing times out early.
func TestClockJumps(t *testing.T) {
	for _, by := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := events(append(append(think("a"), 80*time.Second), append(say("late"), ended)...)...)
				hangs := events(append(think("cut off"), append(say("half")[:2], time.Hour)...)...)
				b := newBench(t, answer("a", "one"), slow, hangs, slow)
				defer b.close()
				id := b.session("sim/claude", "")
				b.turn(id, "first")

				b.over(off{b.store, by})
				check(t, "a slow turn", string(b.turn(id, "second").End.StopReason), "end_turn")
				store := &wounded{Sessions: off{b.store, by}}
				b.over(store)
				if _, err := b.agent(id).Prompt(t.Context(), text("third")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				store.kill()

				b.over(b.store)
				check(t, "a slow turn", string(b.turn(id, "fourth").End.StopReason), "end_turn")
				view, err := session.Load(t.Context(), b.store, id)
				if err != nil {
					t.Fatal(err)
				}
				var said, ends []string
				for _, turn := range view.Turns {
					prompt := turn.Prompt.Content[0].(provider.Text).Text
					said, ends = append(said, prompt), append(ends, string(turn.End.StopReason))
					if turn.End.DurationMS < 0 || turn.End.DurationMS > 100_000 {
						t.Errorf("%s took %d ms", prompt, turn.End.DurationMS)
					}
				}
				check(t, "order", said, []string{"first", "second", "third", "fourth"})
				check(t, "ends", ends, []string{"end_turn", "end_turn", "interrupted", "end_turn"})

				entries, err := b.store.Entries(t.Context(), id, 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				jumps, last := 0, session.Entry{}
				for _, e := range entries {
					if e.Time < last.Time-time.Hour.Milliseconds() || e.Time > last.Time+time.Hour.Milliseconds() && last.Time != 0 {
						jumps++
					}
					if e.Seq != 0 && e.Seq <= last.Seq {
						t.Errorf("%d after %d", e.Seq, last.Seq)
					}
					last.Time, last.Seq = e.Time, max(e.Seq, last.Seq)
				}
				check(t, "jumps in the log", jumps, 2)
			})
		})
	}
}

// TestClockIsInjected has a clock of its own, which goes on by an hour while the timers of Go see two seconds. All times that are
// stored or reported are those of that clock, and deadlines follow it.
func TestClockIsInjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, events(append(think("hm"), 1000*time.Hour)...))
		defer b.close()
		b.group.Close()
		begin := time.Date(2041, 5, 6, 7, 8, 9, 0, time.UTC)
		var ahead atomic.Int64
		var got report.Turn
		b.cfg.Now = func() time.Time { return begin.Add(time.Duration(ahead.Load())) }
		b.cfg.Ended = func(r report.Turn) { got = r }
		b.cfg.Limits.QuietBytes, b.cfg.Limits.QuietContent, b.cfg.Limits.QuietNotice = 1000*time.Hour, 1000*time.Hour, 1000*time.Hour
		b.start()
		id := b.session("sim/claude", "")
		receipt, err := b.agent(id).Prompt(t.Context(), text("go"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ahead.Store(int64(time.Hour))
		ended, err := b.agent(id).Wait(t.Context(), receipt.Turn)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "limit", ended.End.Limit, "time")
		check(t, "duration", ended.End.DurationMS, time.Hour.Milliseconds())
		check(t, "begun", got.Begun, begin)
		check(t, "ended", got.Ended, begin.Add(time.Hour))
		record, err := b.store.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "created", record.Created, begin.UnixMilli())
		entries, err := b.store.Entries(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Time != begin.UnixMilli() && e.Time != begin.Add(time.Hour).UnixMilli() {
				t.Errorf("%T is of %v", e.Body, time.UnixMilli(e.Time).UTC())
			}
		}
	})
}

// TestOneClock: what reads the time of the machine cannot be tested on another.
func TestOneClock(t *testing.T) {
	for _, dir := range []string{".", "summary", "budget", "queue", "room", "suspect", "relay", "transcript", "feed"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			reads := regexp.MustCompile(`time\.(Now|Since|Until)\(`)
			if found := reads.Find(source); found != nil && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s has %s...): use Config.Now", name, found)
			}
		}
	}
}
