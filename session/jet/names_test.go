package jet_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestOwners: the store lists its owners, by what it has under hashes of their names.
func TestOwners(t *testing.T) {
	storetest.TestOwners(t, openOne(t, jettest.Start(t, 1).Dial()))
}

// TestSubjects: whatever the names of tenants and users are, they are in no subject, and nobody sees what is another owner's.
func TestSubjects(t *testing.T) {
	t.Parallel()
	link := jettest.Start(t, 1).Dial()
	s := openOne(t, link)
	subjects := make(chan *nats.Msg, 10_000)
	if _, err := link[0].ChanSubscribe("thinkd.>", subjects); err != nil {
		t.Fatal(err)
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ü", 127)
	names := []string{"", "a", "a.b", "b", "b.c", "*", ">", " ", "a b", "\x00", "\r\n", "é", "e\u0301", "а", "A", long, long + "x", "$SYS", "thinkd"} // the fourth last is Cyrillic
	var owners []session.Owner
	for _, tenant := range names {
		for _, user := range names {
			owners = append(owners, session.Owner{Tenant: tenant, User: user})
		}
	}
	for i, owner := range owners {
		storetest.Create(t, s.For(owner), session.Session{ID: storetest.ID(i)})
	}
	fresh := openOne(t, link)
	for i, owner := range owners {
		page, _, err := fresh.For(owner).List(t.Context(), session.Query{Limit: 10})
		if err != nil || len(page) != 1 || page[0].ID != storetest.ID(i) {
			t.Errorf("%q sees %v, %v", owner, page, err)
		}
		other := (i + 1) % len(owners)
		_, err = fresh.For(owner).Get(t.Context(), storetest.ID(other))
		storetest.WantErr(t, "get of another owner's", err, session.ErrNotFound)
	}
	if err := s.For(session.Owner{Tenant: long + "xy"}).Create(t.Context(), session.Session{ID: storetest.ID(5000)}); err == nil {
		t.Error("a name of 256 bytes is accepted")
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^thinkd\.(log\.0\.[a-z2-7]{13}\.[a-z2-7]{13}\.01K\d{23}|state(\.[A-Za-z0-9]+)+|people\.[tu]\.[a-z2-7]{32})$`)
	if len(subjects) < 3*len(owners) {
		t.Errorf("%d messages", len(subjects))
	}
	for range len(subjects) {
		if m := <-subjects; !form.MatchString(m.Subject) {
			t.Errorf("subject %q", m.Subject)
		}
	}
}

// TestStampOfDeleted: the request that made a session is sent again after the session was deleted, at another node. Nothing comes back.
func TestStampOfDeleted(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	of, id := openOne(t, link).For(session.Operator), storetest.ID(1)
	made, err := of.CreateOnce(t.Context(), session.Session{ID: id}, storetest.CreationBy("stamp", 1))
	if err != nil || made.Session != id {
		t.Fatalf("%v, %v", made, err)
	}
	deleted(t, of, id)
	again := openOne(t, link).For(session.Operator)
	second, err := again.CreateOnce(t.Context(), session.Session{ID: storetest.ID(2)}, storetest.CreationBy("stamp", 1))
	if err != nil || second.Session != id {
		t.Errorf("the second request: %v, %v", second, err)
	}
	for _, id := range []session.ID{id, storetest.ID(2)} {
		_, err = again.Get(t.Context(), id)
		storetest.WantErr(t, "get", err, session.ErrNotFound)
	}
}

// forgetful loses publications of growth, before or after they are stored.
type forgetful struct {
	jet.Link
	mu   sync.Mutex
	r    *rand.Rand
	lost int
}

func (f *forgetful) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	f.mu.Lock()
	n := 2
	if strings.Contains(m.Subject, ".ckpt.") {
		if n = f.r.IntN(8); f.lost < 2 { // at least these, however few publications there are
			n = f.lost
		}
		if n < 2 {
			f.lost++
		}
	}
	f.mu.Unlock()
	if n == 0 {
		return nil, nats.ErrTimeout
	}
	answer, err := f.Link.Request(ctx, try, m)
	if n == 1 {
		return nil, nats.ErrTimeout
	}
	return answer, err
}

var growthSeed = flag.Uint64("growthseed", 0, "TestLostGrowth: repeats a run; 0: a random one")

// TestLostGrowth loses a quarter of the publications of growth. All of an open block is found by the next holder, as soon as it was stored.
func TestLostGrowth(t *testing.T) {
	t.Parallel()
	link := jettest.Start(t, 1).Dial()
	seed := *growthSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -growthseed %d", seed)
	bad := &forgetful{Link: link, r: rand.New(rand.NewPCG(seed, 1))}
	s, err := jet.Open(t.Context(), bad, jet.Options{Shards: 1, Replicas: 1, MaxGrowth: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	of, id := s.For(session.Operator), storetest.ID(1)
	storetest.Create(t, of, session.Session{ID: id})
	log := storetest.Claim(t, of, id)
	storetest.AddTo(t, log, storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA))
	block := session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA}
	text := ""
	for i := range 64 {
		piece := strings.Repeat(string(rune('a'+i%26)), 1<<10)
		log.Checkpoint(block, len(text), piece)
		text += piece
		stored, err := log.Checkpoints(t.Context())
		if err != nil || len(stored) > 0 && !strings.HasPrefix(text, stored[0].Text) {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	}
	for {
		if stored, err := log.Checkpoints(t.Context()); err != nil || len(stored) == 1 && stored[0].Text == text {
			break
		}
		if err := link[0].Flush(); err != nil { // growth is stored meanwhile
			t.Fatal(err)
		}
	}
	next := storetest.Claim(t, openOne(t, link).For(session.Operator), id)
	if stored, err := next.Checkpoints(t.Context()); err != nil || len(stored) != 1 || stored[0].BlockRef != block || stored[0].Text != text {
		t.Errorf("the next holder has %d blocks, %v", len(stored), err)
	}
	bad.mu.Lock()
	if bad.lost < 2 {
		t.Errorf("%d publications were lost", bad.lost)
	}
	bad.mu.Unlock()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
