package retention

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

func TestExpired(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	rules := Rules{{CWD: "/work/secret", OlderThan: day}, {Agent: "review"}, {OlderThan: 90 * day, KeepPinned: true}}
	for _, tt := range []struct {
		name string
		s    session.Session
		want bool
	}{
		{"young", session.Session{Updated: ago(89 * day)}, false},
		{"to the millisecond", session.Session{Updated: ago(90 * day)}, false},
		{"old", session.Session{Updated: ago(90*day + time.Millisecond)}, true},
		{"made long ago, and used", session.Session{Created: ago(200 * day), Updated: ago(day)}, false},
		{"pinned to the top", session.Session{Updated: ago(200 * day), OnTop: true}, false},
		{"with a pinned message", session.Session{Updated: ago(200 * day), Pinned: []session.MessageID{"m"}}, false},
		{"of an agent without a limit", session.Session{Updated: ago(200 * day), Settings: session.Settings{Agent: session.AgentChoice{Name: "review"}}}, false},
		{"in the directory", session.Session{Updated: ago(2 * day), CWD: "/work/secret"}, true},
		{"below the directory, pinned", session.Session{Updated: ago(2 * day), CWD: "/work/secret/a", Pinned: []session.MessageID{"m"}}, true},
		{"beside the directory", session.Session{Updated: ago(2 * day), CWD: "/work/secrets"}, false},
		{"runs", session.Session{Updated: ago(200 * day), Status: session.Running}, false},
		{"parked", session.Session{Updated: ago(200 * day), Status: session.Parked}, false},
		{"damaged", session.Session{Status: session.Damaged}, false},
	} {
		if got := rules.Expired(tt.s, now); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if (Rules{}).Expired(session.Session{}, now) {
		t.Error("without a rule a session is deleted")
	}
}

// A Keeper looks at its start and each hour, deletes what is expired by then, and rewrites when no turn runs.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		sessions := []session.Session{{ID: "old", Updated: begun.Add(-3 * day).UnixMilli()}, {ID: "followed", Updated: begun.Add(-3 * day).UnixMilli()},
			{ID: "soon", Updated: begun.Add(-2*day + 90*time.Minute).UnixMilli()}, {ID: "young", Updated: begun.UnixMilli()}}
		var mu sync.Mutex // of all that follows
		lock := func() func() {
			mu.Lock()
			return mu.Unlock
		}
		var rounds []Round
		due, idle := false, false
		rewrites := 0
		k := &Keeper{Rules: Rules{{OlderThan: 2 * day}},
			Owners: func(context.Context) ([]session.Owner, error) { return []session.Owner{session.Operator}, nil },
			List: func(_ context.Context, _ session.Owner, q session.Query) ([]session.Session, string, error) {
				defer lock()()
				if q.Cursor == "" {
					return sessions[:1], "rest", nil
				}
				return sessions[min(1, len(sessions)):], "", nil
			},
			Delete: func(_ context.Context, ref session.Ref, expired func(session.Session) bool) (bool, error) {
				defer lock()()
				at := slices.IndexFunc(sessions, func(s session.Session) bool { return s.ID == ref.ID })
				if !expired(sessions[at]) {
					t.Errorf("%s is not expired", ref)
				}
				if ref.ID == "followed" {
					return false, nil
				}
				sessions = slices.Delete(sessions, at, at+1)
				due = true
				return true, nil
			},
			Due: func() (bool, error) {
				defer lock()()
				return due, nil
			},
			Idle: func() bool {
				defer lock()()
				return idle
			},
			Rewrite: func(context.Context) error {
				defer lock()()
				rewrites++
				if rewrites == 1 {
					return errors.New("the disk is full")
				}
				due = false
				return nil
			},
			Told: func(r Round) {
				defer lock()()
				rounds = append(rounds, r)
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		over := testgo.Go(t, func() { k.Run(ctx) })
		step := func(d time.Duration, told, deleted, left int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			defer lock()()
			all := 0
			for _, r := range rounds {
				all += r.Deleted
			}
			if len(rounds) != told || all != deleted || len(sessions) != left {
				t.Errorf("after %v: %+v, %d sessions", time.Since(begun), rounds, len(sessions))
			}
		}
		step(0, 1, 1, 3)           // old
		step(time.Hour+1, 1, 1, 3) // nothing
		step(time.Hour, 2, 2, 2)   // soon
		mu.Lock()
		idle = true
		mu.Unlock()
		step(time.Hour, 3, 2, 2)   // the rewrite fails
		step(time.Hour, 4, 2, 2)   // and is done
		step(5*time.Hour, 4, 2, 2) // nothing to do
		stop()
		<-over
		if r := rounds[2]; r.Err == nil || r.Rewritten {
			t.Errorf("a failed rewrite: %+v", r)
		}
		if r := rounds[3]; r.Err != nil || !r.Rewritten || rewrites != 2 {
			t.Errorf("a rewrite: %+v, %d in all", r, rewrites)
		}
	})
}
