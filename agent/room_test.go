package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/room"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func wantRoom(t *testing.T, what string, err error, limit string) {
	t.Helper()
	if e, ok := errors.AsType[*room.Error](err); !ok || e.Limit != limit {
		t.Errorf("%s: %v, want a refusal by %s", what, err, limit)
	}
}

// Prompts that wait are bounded in bytes: in a session, and in all of them. What starts gives its room back.
func TestHostileQueues(t *testing.T) {
	testgo.Cost(t)
	b := newBench(t)
	defer b.close()
	b.group.Close()
	b.cfg.Limits.SessionQueue, b.cfg.Limits.Queues = 10_000, 25_000
	b.start()
	big := text(strings.Repeat("x", 3000))
	queue := func(id session.ID) (n int, err error) {
		_, err = ask(t.Context(), b.agent(id), func(s *state) (struct{}, error) {
			s.compacting = &compacting{stop: func(error) {}, over: func(error) {}} // so that all wait
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for ; n < 100; n++ {
			if _, err = b.agent(id).Prompt(t.Context(), big); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	var ids []session.ID
	for range 3 {
		ids = append(ids, b.session("sim/claude", ""))
	}
	n, err := queue(ids[0])
	wantRoom(t, "in a session", err, "max_session_queue_bytes")
	check(t, "prompts in the first", n, 3)
	n, _ = queue(ids[1])
	check(t, "prompts in the second", n, 3)
	n, err = queue(ids[2])
	wantRoom(t, "in all sessions", err, "max_queue_bytes")
	check(t, "prompts in the third", n, 2)
	if _, err := b.agent(ids[2]).Prompt(t.Context(), text("small")); err != nil {
		t.Errorf("a small one: %v", err)
	}
	q, err := b.agent(ids[0]).Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.agent(ids[0]).Dequeue(t.Context(), q.Queue[0].Turn); err != nil {
		t.Fatal(err)
	}
	if _, err := b.agent(ids[0]).Prompt(t.Context(), big); err != nil {
		t.Errorf("in the place of one that was taken out: %v", err)
	}
	b.group.Close()
	check(t, "bytes that wait at last", b.group.cfg.queued.Bytes(), int64(0))
}

// What prompts say that wait is on disk and not in memory, and comes whole to the model and to people, also after a restart.
func TestHostileQueuesAreOnDisk(t *testing.T) {
	testgo.Cost(t)
	const size = 100_000
	said := func(mark string) string { return mark + strings.Repeat(" x", size/2) }
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(ctx context.Context, yield func(provider.Event, error) bool) {
			<-ctx.Done() // until the daemon is started again
			yield(nil, context.Cause(ctx))
		})
		defer func() { b.close() }()
		id := b.session("sim/claude", "")
		var turns []session.TurnID
		for _, mark := range []string{"first", "second", "third", "fourth"} {
			r, err := b.agent(id).Prompt(t.Context(), text(said(mark)))
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, r.Turn)
		}
		held := func(when string, limit int64) {
			t.Helper()
			n, err := ask(t.Context(), b.agent(id), func(s *state) (int64, error) {
				n := room.OfView(s.view)
				for _, turn := range s.view.Turns {
					n += room.OfBlocks(turn.Prompt.Content)
				}
				return n, nil
			})
			if err != nil || n > limit {
				t.Errorf("%s: the session holds %d bytes, want at most %d; %v", when, n, limit, err)
			}
		}
		held("one runs and three wait", 2*size+20_000)
		waiting := func(when string, want ...string) {
			t.Helper()
			snap, sub, err := b.agent(id).Attach(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			sub.Close()
			var got []string
			for _, m := range snap.Waiting {
				if text := m.Parts[0].Block.(provider.Text).Text; len(text) > size {
					text, _, _ = strings.Cut(text, " ")
					got = append(got, text)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q wait, want %q", when, got, want)
			}
		}
		waiting("before a restart", "second", "third", "fourth")
		if err := b.agent(id).Dequeue(t.Context(), turns[2]); err != nil {
			t.Fatal(err)
		}
		waiting("one is taken out", "second", "fourth")

		b.group.Close()
		b.start()
		held("after a restart", 4*size+20_000)
		waiting("after a restart", "second", "fourth")
		if err := b.agent(id).Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		waiting("in the end")
		page, _, err := b.agent(id).History(t.Context(), Page{FromStart: true, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range page {
			if text, ok := m.Parts[0].Block.(provider.Text); ok && m.Role == provider.User && len(text.Text) > size {
				mark, _, _ := strings.Cut(text.Text, " ")
				got = append(got, mark)
			}
		}
		if !slices.Contains(got, "second") || !slices.Contains(got, "third") || !slices.Contains(got, "fourth") || len(got) != 4 {
			t.Errorf("the history has %q", got)
		}
		last := b.fake.requests[len(b.fake.requests)-1].Messages
		if text := last[len(last)-1].Blocks[0].(provider.Text).Text; text != said("fourth") {
			t.Errorf("the model gets %d bytes as the last prompt", len(text))
		}
		check(t, "bytes that wait", b.group.cfg.queued.Bytes(), int64(0))
	})
}

// Loaded sessions are bounded in bytes: those that rest go, the longest unused first, and those in use stay.
func TestHostileSessions(t *testing.T) {
	testgo.Cost(t)
	b := newBench(t)
	defer b.close()
	b.group.Close()
	b.cfg.Limits.Loaded = 10_000
	b.start()
	system := strings.Repeat("s", 3000)
	fresh := func() (session.ID, error) {
		s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{System: system,
			Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}})
		return s.ID, err
	}
	var ids []session.ID
	for range 12 {
		id, err := fresh()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		b.agent(id)
		if held := b.group.loadedSize(); held > b.cfg.Limits.Loaded {
			t.Fatalf("%d sessions hold %d bytes", len(ids), held)
		}
	}
	loaded := func(id session.ID) bool {
		for _, a := range b.group.running() {
			if a.id == id && a.size.Load() > 0 {
				return true
			}
		}
		return false
	}
	for i, id := range ids {
		if got, want := loaded(id), i >= len(ids)-3; got != want {
			t.Errorf("session %d is loaded: %v, want %v", i, got, want)
		}
	}
	var subs []*feed.Subscription
	for _, id := range ids[:3] { // those in use stay, and there is no room for more
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	_, err := fresh()
	wantRoom(t, "a new session", err, "max_loaded_bytes")
	wantRoom(t, "a session that is there", b.group.For(session.Operator).Do(t.Context(), ids[5], func(*Agent) error { return nil }), "max_loaded_bytes")
	subs[1].Close()
	if err := b.group.For(session.Operator).Do(t.Context(), ids[5], func(*Agent) error { return nil }); err != nil {
		t.Errorf("once there is room: %v", err)
	}
	if loaded(ids[1]) || !loaded(ids[0]) || !loaded(ids[2]) || !loaded(ids[5]) {
		t.Error("another one than that which nobody uses has gone")
	}
}

// One session that is larger than all may be is loaded alone.
func TestLargeSessionIsLoadedAlone(t *testing.T) {
	b := newBench(t)
	defer b.close()
	b.group.Close()
	b.cfg.Limits.Loaded = 1000
	b.start()
	s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{System: strings.Repeat("s", 3000),
		Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}})
	if err != nil {
		t.Fatal(err)
	}
	b.turn(s.ID, "Hello.")
	if n := b.agent(s.ID).size.Load(); n < 3000 {
		t.Errorf("it holds %d bytes", n)
	}
}
