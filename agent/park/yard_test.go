package park

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

var start = time.UnixMilli(1_000_000_000)

func at(d time.Duration) time.Time { return start.Add(d) }

func none(time.Duration) time.Duration { return 0 }

// waiting is a turn of a credential that waits for so long.
func waiting(n int, credential string, d time.Duration) Place {
	return Place{Ref: session.Ref{ID: session.ID(fmt.Sprint(n))}, Turn: session.TurnID(fmt.Sprint(n)), Credential: credential, Until: at(d).UnixMilli(), Alone: true}
}

// goes lists the sessions that go on.
func goes(y *Yard, d time.Duration) (ids []string) {
	due, _ := y.Due(at(d))
	for _, p := range due {
		ids = append(ids, string(p.Ref.ID))
	}
	return ids
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestProbe has one turn of a credential ask first. The others follow its result, each in their own time.
func TestProbe(t *testing.T) {
	y := NewYard(none)
	for n := range 9 {
		y.Put(waiting(n, "a", time.Duration(n)*time.Second))
	}
	y.Put(waiting(9, "b", time.Second))
	y.Put(waiting(10, "", time.Second))
	check(t, "too early", goes(y, -time.Second))
	check(t, "the first of each", goes(y, 10*time.Second), "10", "9", "0")
	check(t, "while they ask", goes(y, 11*time.Second))

	y.Put(waiting(0, "a", time.Hour)) // refused
	if _, postponed := y.Due(at(12 * time.Second)); len(postponed) != 8 {
		t.Errorf("%d turns are postponed", len(postponed))
	}
	check(t, "after the refusal", goes(y, 59*time.Minute))
	first := goes(y, time.Hour)
	if len(first) != 1 {
		t.Fatalf("%v ask at once", first)
	}
	y.Answered(session.Ref{ID: session.ID(first[0])})
	var all []string
	for i, want := range []int{1, 2, 4, 1} {
		next := goes(y, time.Hour+time.Duration(i)*time.Second)
		if len(next) != want {
			t.Errorf("%d go on in look %d, want %d", len(next), i, want)
		}
		for _, id := range next {
			y.Answered(session.Ref{ID: session.ID(id)})
		}
		all = append(all, next...)
	}
	y.Leave(session.Ref{ID: "10"})
	if y.Timed() != 1 || slices.Contains(all, first[0]) { // that of b asks still
		t.Errorf("%d wait after %v", y.Timed(), all)
	}
}

// TestProbeFails has the next turn ask when the first one ended without a result, and when an acceptance was long ago.
func TestProbeFails(t *testing.T) {
	y := NewYard(none)
	for n := range 4 {
		y.Put(waiting(n, "a", 0))
	}
	check(t, "the first", goes(y, 0), "0")
	y.Leave(session.Ref{ID: "0"})
	check(t, "the second", goes(y, time.Second), "1")
	y.Abandon(session.Ref{ID: "1"})
	check(t, "the third", goes(y, 2*time.Second), "2")
	y.Delay(session.Ref{ID: "2"}, at(time.Minute))
	check(t, "the fourth", goes(y, 3*time.Second), "3")
	y.Put(waiting(4, "a", time.Hour))
	y.Put(waiting(5, "a", time.Hour))
	y.Answered(session.Ref{ID: "3"})
	check(t, "soon after an accepted call", goes(y, time.Minute), "2")
	y.Answered(session.Ref{ID: "2"})
	check(t, "long after it", goes(y, time.Hour), "4")
	check(t, "until that has an answer", goes(y, time.Hour+time.Second))
}

// TestPostponedOnce moves turns back to their own time when a call was accepted.
func TestPostponedOnce(t *testing.T) {
	y := NewYard(none)
	y.Put(waiting(0, "a", time.Minute))
	y.Put(waiting(1, "a", time.Hour)) // refused for longer
	if p, _ := y.At(session.Ref{ID: "0"}); p.Until != at(time.Hour).UnixMilli() {
		t.Errorf("it waits until %d", p.Until)
	}
	y.Resume(session.Ref{ID: "1"})
	check(t, "while a client's turn asks", goes(y, 2*time.Hour))
	y.Answered(session.Ref{ID: "1"})
	if p, _ := y.At(session.Ref{ID: "0"}); p.Until != at(time.Minute).UnixMilli() {
		t.Errorf("it waits until %d", p.Until)
	}
	check(t, "afterwards", goes(y, 2*time.Minute), "0")
}

// TestFailed says which errors park a turn, and for how long.
func TestFailed(t *testing.T) {
	refused := func(kind provider.Kind, status int, after time.Duration, hint provider.Hint) *provider.Error {
		return &provider.Error{Kind: kind, Status: status, RetryAfter: after, Hint: hint}
	}
	for _, c := range []struct {
		name    string
		err     *provider.Error
		why     session.ParkReason
		pauses  []time.Duration // of failures in a row
		resumes session.Resumption
	}{
		{"a time", refused(provider.KindRateLimit, 429, time.Hour, ""), session.ParkedQuota, []time.Duration{time.Hour, time.Hour}, session.ResumesAlone},
		{"a short time", refused(provider.KindRateLimit, 429, 90*time.Second, ""), session.ParkedQuota, []time.Duration{90 * time.Second, 90 * time.Second, 2, 4, 8, 15, 15}, session.ResumesAlone},
		{"no time", refused(provider.KindRateLimit, 429, 0, ""), session.ParkedQuota, []time.Duration{1, 2, 4, 8, 15, 15}, session.ResumesAlone},
		{"no credit", refused(provider.KindQuota, 402, 0, provider.HintFinal), session.ParkedQuota, []time.Duration{0}, session.ResumesOnRequest},
		{"a plan's reset", refused(provider.KindQuota, 429, 3*time.Hour, ""), session.ParkedQuota, []time.Duration{3 * time.Hour}, session.ResumesAlone},
		{"overloaded", refused(provider.KindOverloaded, 529, 0, ""), session.ParkedOutage, []time.Duration{1, 2}, session.ResumesAlone},
		{"no connection", refused(provider.KindTransport, 0, 0, ""), session.ParkedOutage, []time.Duration{1}, session.ResumesAlone},
		{"final", refused(provider.KindTransport, 500, 0, provider.HintFinal), "", nil, ""},
		{"a wrong request", refused(provider.KindBadRequest, 400, 0, ""), "", nil, ""},
		{"no key", refused(provider.KindAuth, 401, 0, ""), "", nil, ""},
		{"too far", refused(provider.KindRateLimit, 429, 13*time.Hour, ""), "", nil, ""},
	} {
		y := NewYard(none)
		var before *session.TurnParked
		if c.pauses == nil {
			if p, ok := y.Failed(c.err, nil, 12*time.Hour, start); ok {
				t.Errorf("%s: %+v", c.name, p)
			}
		}
		for i, pause := range c.pauses {
			if pause < time.Second {
				pause *= time.Minute
			}
			p, ok := y.Failed(c.err, before, 12*time.Hour, start)
			want := session.TurnParked{Why: c.why, Since: start.UnixMilli(), Resumes: c.resumes, Failures: i + 1}
			if pause > 0 {
				want.Until = at(pause).UnixMilli()
			}
			if !ok || p.Why != want.Why || p.Since != want.Since || p.Until != want.Until || p.Resumes != want.Resumes || p.Failures != want.Failures {
				t.Errorf("%s, failure %d: %+v, %v; want %+v", c.name, i+1, p, ok, want)
			}
			before = &p
		}
	}
	if p, _ := NewYard(func(most time.Duration) time.Duration { return most }).Failed(refused(provider.KindRateLimit, 429, 10*time.Hour, ""), nil, 12*time.Hour, start); p.Until != at(10*time.Hour+time.Minute).UnixMilli() {
		t.Errorf("the largest jitter: %s", time.UnixMilli(p.Until).Sub(start))
	}
}

// TestRestored says which turns of an earlier process go on by themselves.
func TestRestored(t *testing.T) {
	turn := func(p session.TurnParked) *session.Turn {
		return &session.Turn{ID: "t", Start: &session.TurnStart{Model: session.ModelRef{Provider: "p", ID: "m"}}, Parked: &p}
	}
	alone := session.TurnParked{Why: session.ParkedQuota, Since: 1, Until: 2, Resumes: session.ResumesAlone}
	again, client := alone, alone
	again.Restarted, client.Why = true, session.ParkedClient
	for _, c := range []struct {
		name  string
		p     session.TurnParked
		limit time.Duration
		alone bool
	}{
		{"once", alone, time.Hour, true}, {"once more", again, time.Hour, false}, {"no limit any more", alone, 0, false}, {"of a client", client, time.Hour, false},
	} {
		if got := Restored(session.Ref{ID: "s"}, turn(c.p), c.limit); got.Alone != c.alone || !got.Restored {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got := New(session.Ref{ID: "s"}, turn(c.p), c.limit); !got.Alone || got.Restored {
			t.Errorf("%s, in the same process: %+v", c.name, got)
		}
	}
}
