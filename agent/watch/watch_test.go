package watch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func changed(id string, title string) Change {
	return Change{Kind: Changed, Session: session.Session{ID: session.ID(id), Title: title}}
}

// take is what waits, in words.
func take(t *testing.T, s *Subscription) (words []string) {
	t.Helper()
	changes, err := s.Take(1 << 30)
	if err != nil {
		words = append(words, "stale")
	}
	for _, c := range changes {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s", []string{"created", "changed", "removed"}[c.Kind], c.Session.ID, c.Session.Title)))
	}
	return words
}

func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []Change
		want    []string
	}{
		"two sessions":         {[]Change{changed("a", "1"), changed("b", "2")}, []string{"changed a 1", "changed b 2"}},
		"the last one counts":  {[]Change{changed("a", "1"), changed("b", "2"), changed("a", "3")}, []string{"changed b 2", "changed a 3"}},
		"created, changed":     {[]Change{{Session: session.Session{ID: "a"}}, changed("a", "1")}, []string{"created a 1"}},
		"changed, removed":     {[]Change{changed("a", "1"), {Kind: Removed, Session: session.Session{ID: "a"}}}, []string{"removed a"}},
		"created, removed":     {[]Change{{Session: session.Session{ID: "a"}}, {Kind: Removed, Session: session.Session{ID: "a"}}}, []string{"removed a"}},
		"shared again":         {[]Change{{Kind: Removed, Session: session.Session{ID: "a"}}, {Session: session.Session{ID: "a"}}, changed("a", "1")}, []string{"created a 1"}},
		"nothing after an end": {[]Change{{Kind: Removed, Session: session.Session{ID: "a"}}, changed("a", "1")}, []string{"removed a"}},
	} {
		h := NewHub(nil)
		s := h.Subscribe(session.Operator)
		for _, c := range tc.changes {
			h.Publish(session.Operator, c)
		}
		if got := take(t, s); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if got := take(t, s); got != nil {
			t.Errorf("%s: again: %q", name, got)
		}
		if s.bytes != 0 || len(s.places) != 0 {
			t.Errorf("%s: %d bytes, %d places are left", name, s.bytes, len(s.places))
		}
		s.Close()
	}
}

// A subscriber gets the changes of its owner's sessions, from its subscription on until it closes it.
func TestSubscribers(t *testing.T) {
	h, ann := NewHub(nil), session.Owner{Tenant: "acme", User: "ann"}
	h.Publish(session.Operator, changed("a", "before"))
	ours, again, hers := h.Subscribe(session.Operator), h.Subscribe(session.Operator), h.Subscribe(ann)
	h.Publish(session.Operator, changed("a", "1"))
	h.Publish(ann, changed("b", "2"))
	again.Close()
	again.Close()
	h.Publish(session.Operator, changed("c", "3"))
	for name, tc := range map[string]struct {
		sub  *Subscription
		want []string
	}{"ours": {ours, []string{"changed a 1", "changed c 3"}}, "hers": {hers, []string{"changed b 2"}}, "closed": {again, []string{"stale"}}} {
		if got := take(t, tc.sub); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if !h.Watched(session.Ref{Owner: ann}) || !h.Watched(session.Ref{}) {
		t.Error("nobody watches")
	}
	hers.Close()
	if h.Watched(session.Ref{Owner: ann}) || len(h.subs) != 1 {
		t.Error("she still watches")
	}
	h.Close()
	h.Publish(session.Operator, changed("d", "4"))
	for name, s := range map[string]*Subscription{"before": ours, "after": h.Subscribe(session.Operator)} {
		if got := take(t, s); !slices.Equal(got, []string{"stale"}) {
			t.Errorf("%s the end: %q", name, got)
		}
		s.Close()
	}
}

// Guests get the changes of a session that is shared with them, with its owner's name, and nothing else of that owner.
func TestGuests(t *testing.T) {
	ann, bob, eve := session.Owner{User: "ann"}, session.Owner{User: "bob"}, session.Owner{User: "eve"}
	shared := session.Ref{Owner: ann, ID: "a"}
	h := NewHub(func(ref session.Ref) []session.Owner {
		if ref == shared {
			return []session.Owner{bob}
		}
		return nil
	})
	if h.Watched(shared) {
		t.Error("somebody watches")
	}
	hers, his := h.Subscribe(bob), h.Subscribe(eve)
	if !h.Watched(shared) || h.Watched(session.Ref{Owner: ann, ID: "b"}) || h.Watched(session.Ref{Owner: bob, ID: "a"}) == false {
		t.Error("who watches what")
	}
	h.Publish(ann, changed("a", "1"))
	h.Publish(ann, changed("b", "2"))
	h.PublishTo(bob, ann, Change{Kind: Removed, Session: session.Session{ID: "c"}})
	changes, err := hers.Take(1 << 20)
	if err != nil || len(changes) != 2 || changes[0].Session.ID != "a" || changes[0].Of != ann || changes[1].Kind != Removed {
		t.Errorf("%+v, %v", changes, err)
	}
	if got := take(t, his); got != nil {
		t.Errorf("eve gets %q", got)
	}
	hers.Close()
	his.Close()
}

// SubscribeAll gets what this daemon publishes, of all owners, and not what comes from others. It outlives the hub.
func TestTap(t *testing.T) {
	ann := session.Owner{User: "ann"}
	h := NewHub(nil)
	var began []session.Owner
	first := h.SubscribeAll(func(o session.Owner) { began = append(began, o) })
	all := h.SubscribeAll(func(o session.Owner) { began = append(began, o) })
	first.Close()
	if !h.Watched(session.Ref{Owner: ann}) || h.WatchedHere(session.Ref{Owner: ann}) {
		t.Error("who watches")
	}
	sub := h.Subscribe(ann)
	h.Publish(ann, changed("a", "1"))
	h.Publish(session.Operator, changed("b", "2"))
	h.Publish(ann, Change{Session: session.Session{ID: "d", Ephemeral: true}})
	h.Repeat(ann, changed("e", "4"))
	other := changed("c", "3")
	other.Of = ann
	h.Receive(other)
	if got := take(t, sub); !slices.Equal(got, []string{"changed a 1", "created d", "changed c 3"}) {
		t.Errorf("a client gets %q", got)
	}
	if got := h.Owners(); !slices.Equal(got, []session.Owner{ann}) || !slices.Equal(began, got) {
		t.Errorf("the lists of %v are watched, and of %v were begun", got, began)
	}
	h.Stale()
	again := h.Subscribe(ann)
	h.Close()
	h.Publish(ann, changed("f", "5"))
	for name, s := range map[string]*Subscription{"before": sub, "after": again} {
		if got := take(t, s); !slices.Equal(got, []string{"stale"}) {
			t.Errorf("%s: %q", name, got)
		}
		s.Close()
	}
	if got := take(t, all); !slices.Equal(got, []string{"changed a 1", "changed b 2", "changed e 4", "changed f 5"}) {
		t.Errorf("the subscription gets %q", got)
	}
	all.Close()
	if h.Publish(ann, changed("g", "6")); h.Watched(session.Ref{Owner: ann}) {
		t.Error("the subscription is closed")
	}
}

// What waits for a subscriber that does not read is bounded, in sessions and in bytes. Changes of one session take the room of one.
func TestSlowSubscriber(t *testing.T) {
	h := NewHub(nil)
	one := h.Subscribe(session.Operator)
	for i := range 100_000 {
		h.Publish(session.Operator, changed("a", fmt.Sprint(i)))
	}
	if got := take(t, one); !slices.Equal(got, []string{"changed a 99999"}) {
		t.Errorf("one session: %q", got)
	}
	one.Close()
	for name, tc := range map[string]struct {
		title string
		fit   int
	}{"many": {"", maxWaiting}, "large": {strings.Repeat("x", 1<<20), 3}} {
		s := h.Subscribe(session.Operator)
		notified := 0
		s.Notify(func() { notified++ })
		for i := range tc.fit {
			h.Publish(session.Operator, changed(fmt.Sprint(i), tc.title))
		}
		if got := s.waiting.Len(); got != tc.fit || notified != 2 {
			t.Errorf("%s: %d wait, %d notifications; want %d and 2", name, got, notified, tc.fit)
		}
		for i := range 10 {
			h.Publish(session.Operator, changed(fmt.Sprint("more", i), tc.title))
		}
		if got := take(t, s); !slices.Equal(got, []string{"stale"}) || s.bytes != 0 || len(s.places) != 0 || notified != 3 {
			t.Errorf("%s: %q, %d bytes, %d notifications", name, got, s.bytes, notified)
		}
		s.Close()
	}
}

// Take stops at its bound, and returns one change that is larger.
func TestTake(t *testing.T) {
	h := NewHub(nil)
	s := h.Subscribe(session.Operator)
	defer s.Close()
	for _, id := range []string{"a", "b", "c"} {
		h.Publish(session.Operator, changed(id, strings.Repeat("x", 1<<10)))
	}
	for _, want := range []int{2, 1, 0} {
		got, err := s.Take(5 << 10)
		if len(got) != want || err != nil {
			t.Errorf("took %d, %v; want %d", len(got), err, want)
		}
	}
	h.Publish(session.Operator, changed("d", strings.Repeat("x", 1<<20)))
	if got, _ := s.Take(1); len(got) != 1 {
		t.Errorf("took %d", len(got))
	}
}

// Sessions publish while subscribers come, read, and go. Each that stays has the last change of each session in the end.
func TestTogether(t *testing.T) {
	const sessions, changes = 8, 500
	h := NewHub(nil)
	stays := h.Subscribe(session.Operator)
	defer stays.Close()
	var running sync.WaitGroup
	for i := range sessions {
		running.Go(testgo.Guard(t, func() { // ends with its changes
			for n := range changes {
				h.Publish(session.Operator, changed(fmt.Sprint(i), fmt.Sprint(n)))
			}
		}))
		running.Go(testgo.Guard(t, func() { // ends with its subscriptions
			for range changes {
				s := h.Subscribe(session.Operator)
				s.Notify(func() {})
				if _, err := s.Take(1 << 20); err != nil {
					t.Error(err)
				}
				s.Close()
			}
		}))
	}
	last := make(map[session.ID]string)
	read := func() {
		list, err := stays.Take(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			last[c.Session.ID] = c.Session.Title
		}
	}
	for range changes {
		read()
	}
	running.Wait()
	read()
	for i := range sessions {
		if got := last[session.ID(fmt.Sprint(i))]; got != fmt.Sprint(changes-1) {
			t.Errorf("session %d: %q", i, got)
		}
	}
}

func TestNeedsOf(t *testing.T) {
	s := session.Session{Ended: 3, Read: map[string]int{"ann": 3, "bob": 2}}
	for _, tc := range []struct {
		needs     Need
		principal string
		want      Need
	}{{"", "ann", ""}, {"", "bob", Read}, {"", "eve", Read}, {Approval, "bob", Approval}, {Parked, "ann", Parked}} {
		if got := (Change{Session: s, Needs: tc.needs}).NeedsOf(tc.principal); got != tc.want {
			t.Errorf("%q for %s: %q, want %q", tc.needs, tc.principal, got, tc.want)
		}
	}
}
