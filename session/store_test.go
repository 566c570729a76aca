package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/tool"
)

func TestMain(m *testing.M) {
	if childMain() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestMem(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) Store { return NewMem() })
}

func TestBolt(t *testing.T) {
	t.Parallel()
	testStore(t, func(t *testing.T) Store { return openTest(t, t.TempDir()) })
}

// openTest opens a store that is closed and checked at the end of the test.
func openTest(t testing.TB, dir string) *Bolt {
	t.Helper()
	b, err := OpenBolt(dir, BoltOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("close: %v", err)
		}
		report, err := CheckFile(context.Background(), b.path)
		if err != nil || len(report.Damaged) != 0 {
			t.Errorf("check at the end: %v, damaged %v", err, report.Damaged)
		}
	})
	return b
}

// testStore is what every Store must do.
func testStore(t *testing.T, open func(*testing.T) Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"create", testCreate},
		{"create once", testCreateOnce},
		{"create once, at the same time", testCreateOnceTogether},
		{"create once, many", testCreateOnceMany},
		{"list", testList},
		{"list while sessions change", testListWhole},
		{"list in pages while sessions change", testListPages},
		{"list without what never changes", testListFixed},
		{"append", testAppend},
		{"record follows the log", testProjection},
		{"open turns", testOpenTurns},
		{"checkpoints", testCheckpoints},
		{"checkpoint rules", testCheckpointRules},
		{"delete", testDelete},
		{"fork", testFork},
		{"concurrent", testConcurrent},
		{"recover", testRecover},
		{"load", testLoad},
		{"context", testContext},
		{"close", testClose},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
			test.run(t, s)
		})
	}
}

// The words of the tests.

const (
	turnA = TurnID("01K0000000000000000000000A")
	turnB = TurnID("01K0000000000000000000000B")
	msgA  = MessageID("01K000000000000000000000MA")
	msgB  = MessageID("01K000000000000000000000MB")
)

func testID(n int) ID { return ID(fmt.Sprintf("01K%023d", n)) }

func said(turn TurnID, text string) Entry {
	return Entry{Time: 1000, Turn: turn, Body: Prompt{Message: MessageID("U" + turn), Content: provider.Blocks{provider.Text{Text: text}}}}
}

func started(turn TurnID) Entry {
	return Entry{Time: 2000, Turn: turn, Body: TurnStart{Model: ModelRef{"sim", "claude"}}}
}

func sealed(turn TurnID, message MessageID, number int, text string) Entry {
	return Entry{Time: 3000, Turn: turn, Body: Sealed{message, number, provider.Text{Text: text}}}
}

func messageEnded(turn TurnID, message MessageID, output int) Entry {
	return Entry{Time: 4000, Turn: turn, Body: MessageEnd{Message: message, StopReason: "end_turn", Usage: provider.Usage{Output: output}}}
}

func ended(turn TurnID) Entry {
	return Entry{Time: 5000, Turn: turn, Body: TurnEnd{StopReason: "end_turn", Usage: provider.Usage{Output: 7}, DurationMS: 3000}}
}

func create(t testing.TB, s Store, record Session) {
	t.Helper()
	if err := s.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, s Store, id ID, entries ...Entry) uint64 {
	t.Helper()
	last, err := s.Append(t.Context(), id, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return last
}

func entriesOf(t testing.TB, s Store, id ID) []Entry {
	t.Helper()
	entries, err := s.Entries(t.Context(), id, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func testCreate(t *testing.T, s Store) {
	ctx := t.Context()
	want := Session{
		ID: testID(1), Title: "a <title>", System: "be brief", CWD: "/tmp", Created: 5, Updated: 6, Status: Idle,
		Settings: Settings{Model: ModelRef{"sim", "claude"}, Level: provider.High, Fallback: provider.Refuse, Display: provider.Omitted},
		Metadata: map[string]json.RawMessage{"a": json.RawMessage(`{"b":[1,2.50]}`)},
	}
	create(t, s, want)
	got, err := s.Get(ctx, want.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "record", got, want)
	wantErr(t, "the same id again", s.Create(ctx, want), ErrExists)
	_, err = s.Get(ctx, testID(2))
	wantErr(t, "get of none", err, ErrNotFound)
	_, err = s.Append(ctx, testID(2), said(turnA, "x"))
	wantErr(t, "append to none", err, ErrNotFound)
	_, err = s.Entries(ctx, testID(2), 0, 10)
	wantErr(t, "entries of none", err, ErrNotFound)
	_, err = s.Checkpoints(ctx, testID(2))
	wantErr(t, "checkpoints of none", err, ErrNotFound)
	if err := s.Create(ctx, Session{}); err == nil {
		t.Error("a session without an id was taken")
	}
	busy := Session{ID: testID(3), Status: Running, Usage: provider.Usage{Output: 1}}
	create(t, s, busy)
	if got, _ := s.Get(ctx, busy.ID); got.Status != Idle || got.Usage.Output != 0 {
		t.Errorf("a new session is %s and has used %v", got.Status, got.Usage)
	}
}

func testList(t *testing.T, s Store) {
	ctx := t.Context()
	if page, next, err := s.List(ctx, Query{}); len(page) != 0 || next != "" || err != nil {
		t.Fatalf("list of none: %v, %q, %v", page, next, err)
	}
	const n = 300
	var order []ID // newest first
	for i := range n {
		record := Session{ID: testID(i), Updated: int64(i / 3), CWD: []string{"/a", "/b"}[i%2], Title: fmt.Sprintf("Title %d", i)}
		if i == 0 {
			record.Updated = -1 // before 1970
		}
		create(t, s, record)
		order = append([]ID{record.ID}, order...)
	}
	all := func(q Query) (ids []ID) {
		for {
			page, next, err := s.List(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range page {
				ids = append(ids, record.ID)
			}
			if next == "" {
				return ids
			}
			if len(page) != q.PageSize() {
				t.Fatalf("a page of %d that is not the last", len(page))
			}
			q.Cursor = next
		}
	}
	equal(t, "all", all(Query{}), order)
	equal(t, "in elevens", all(Query{Limit: 11}), order)
	equal(t, "in one page", all(Query{Limit: n}), order)
	equal(t, "too many", all(Query{Limit: 5000}), order)
	if got := all(Query{CWD: "/b", Limit: 13}); len(got) != n/2 || got[0] != testID(n-1) {
		t.Errorf("%d in /b, first %s", len(got), got[0])
	}
	equal(t, "title", all(Query{Text: "tItLe 29"}), []ID{testID(299), testID(298), testID(297), testID(296), testID(295),
		testID(294), testID(293), testID(292), testID(291), testID(290), testID(29)})
	equal(t, "title and directory", all(Query{Text: "title 29", CWD: "/a", Limit: 2}),
		[]ID{testID(298), testID(296), testID(294), testID(292), testID(290)})
	for _, cursor := range []string{"x", "!!!!", "AAAA", strings.Repeat("é", 20)} {
		_, _, err := s.List(ctx, Query{Cursor: cursor})
		wantErr(t, "cursor "+cursor, err, ErrCursor)
	}
	// A change brings a session to the top, once.
	add(t, s, testID(5), said(turnA, "x"))
	order = append([]ID{testID(5)}, append(order[:n-6:n-6], order[n-5:]...)...)
	equal(t, "after a change", all(Query{Limit: 100}), order)
}

// testListWhole has sessions go to the head of the list, the last first, while others list them: each call has all of them.
func testListWhole(t *testing.T, s Store) {
	const n = 600
	for i := range n {
		create(t, s, Session{ID: testID(i), Updated: int64(i)})
	}
	var changing sync.WaitGroup
	changing.Go(testgo.Guard(t, func() { // ends with the sessions
		for i := range n {
			e := Entry{Time: int64(n + i), Body: Setting{}}
			if _, err := s.Append(t.Context(), testID(i), e); err != nil {
				t.Error(err)
				return
			}
		}
	}))
	over := make(chan struct{})
	testgo.Go(t, func() { // ends with the changes
		changing.Wait()
		close(over)
	})
	for done := false; !done; {
		select {
		case <-over:
			done = true // once more
		default:
		}
		page, next, err := s.List(t.Context(), Query{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		there := make(map[ID]bool)
		for _, record := range page {
			there[record.ID] = true
		}
		if len(there) != n || len(page) != n || next != "" {
			t.Fatalf("a list of %d has %d, once each %d, and a cursor %q", n, len(page), len(there), next)
		}
	}
}

// testListPages changes sessions between pages, those that were listed and those that were not: none is left out, whatever the
// times of the changes are.
func testListPages(t *testing.T, s Store) {
	const n = 40
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		q := Query{Limit: 1 + r.IntN(9), CWD: fmt.Sprint(seed)}
		want := make(map[ID]bool)
		for i := range n {
			id := testID(int(seed)*n + i)
			create(t, s, Session{ID: id, CWD: q.CWD})
			want[id] = true
		}
		for pages := 0; ; pages++ {
			page, next, err := s.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range page {
				delete(want, record.ID)
			}
			if next == "" {
				break
			}
			if pages > 20*n {
				t.Fatal("the listing has no end")
			}
			q.Cursor = next
			if pages < n { // each page may see as many changes as it is long
				for range r.IntN(q.Limit + 1) {
					add(t, s, testID(int(seed)*n+r.IntN(n)), Entry{Time: r.Int64N(100), Body: Setting{}})
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("seed %d, pages of %d: %d sessions of %d were left out", seed, q.Limit, len(want), n)
		}
	}
}

// testListFixed: a list has megabytes of no session.
func testListFixed(t *testing.T, s Store) {
	whole := Session{ID: testID(1), Title: "t", CWD: "/tmp", System: strings.Repeat("s", 1<<20), Status: Idle,
		Tools: []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{}`)}, Effect: tool.Read}}}
	create(t, s, whole)
	add(t, s, whole.ID, Entry{Time: 7, Body: Setting{}})
	whole.Updated = 7
	got, err := s.Get(t.Context(), whole.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "record", got, whole)
	page, _, err := s.List(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	whole.System, whole.Tools = "", nil
	equal(t, "list", page, []Session{whole})
}

func testAppend(t *testing.T, s Store) {
	ctx := t.Context()
	id := testID(1)
	create(t, s, Session{ID: id})
	equal(t, "no entries", entriesOf(t, s, id), []Entry(nil))
	want := []Entry{said(turnA, "hello"), started(turnA)}
	want[1].Seq = 1 << 40
	if last := add(t, s, id, want...); last != 2 {
		t.Errorf("last is %d, want 2", last)
	}
	if last := add(t, s, id); last != 2 {
		t.Errorf("last after nothing is %d, want 2", last)
	}
	for i := range 300 {
		e := sealed(turnA, msgA, i, strings.Repeat("word ", i))
		want = append(want, e)
		if last := add(t, s, id, e); last != uint64(len(want)) {
			t.Fatalf("last is %d, want %d", last, len(want))
		}
	}
	equal(t, "all", entriesOf(t, s, id), want)
	for _, c := range []struct {
		after uint64
		limit int
	}{{0, 1}, {0, 0}, {0, -1}, {1, 3}, {150, 152}, {20, 270}, {301, 5}, {302, 5}, {9999, 5}, {1<<64 - 1, 5}} {
		var some []Entry
		if c.after < uint64(len(want)) && c.limit > 0 {
			some = want[c.after:min(int(c.after)+c.limit, len(want))]
		}
		got, err := s.Entries(ctx, id, c.after, c.limit)
		if err != nil {
			t.Errorf("%d entries after %d: %v", c.limit, c.after, err)
		}
		if len(got) != len(some) || len(got) > 0 && !cmp.Equal(got, some) {
			t.Errorf("%d entries after %d: got %d, want %d", c.limit, c.after, len(got), len(some))
		}
	}
	if _, err := s.Append(ctx, id, said(turnB, "x"), Entry{Turn: turnB}); err == nil {
		t.Error("an entry without a body was taken")
	}
	if n := len(entriesOf(t, s, id)); n != len(want) {
		t.Errorf("a refused append left %d entries", n-len(want))
	}
	big := sealed(turnA, msgA, 9999, strings.Repeat("0123456789abcdef", 1<<16))
	small := sealed(turnA, msgA, 10000, "small")
	add(t, s, id, big, small)
	if got, err := s.Entries(ctx, id, uint64(len(want)), 10); err != nil || !cmp.Equal(got, []Entry{big, small}) {
		t.Errorf("one of 1 MiB and a small one: %d entries, %v", len(got), err)
	}
}

func testProjection(t *testing.T, s Store) {
	id := testID(1)
	create(t, s, Session{ID: id, Created: 1, Updated: 1, Metadata: map[string]json.RawMessage{"a": json.RawMessage("1")}})
	low, title, turnC := provider.Low, "by hand", TurnID("01K0000000000000000000000C")
	steps := []struct {
		entry Entry
		want  func(*Session)
	}{
		{said(turnA, "  first line \nsecond"), func(s *Session) {
			s.Title, s.Updated, s.Status, s.Queued = "first line", 1000, Held, 1
		}},
		{started(turnA), func(s *Session) { s.Status, s.Queued, s.Updated = Running, 0, 2000 }},
		{said(turnB, "other"), func(s *Session) { s.Queued = 1 }},
		{Entry{Time: 1, Turn: turnB, Body: TurnEnd{StopReason: "cancelled"}}, func(s *Session) { s.Queued = 0 }}, // the other goes on
		{said(turnC, "more"), func(s *Session) { s.Queued = 1 }},
		{Entry{Body: Setting{Level: &low, Title: &title}}, func(s *Session) { s.Level, s.Title = low, title }},
		{Entry{Body: Setting{Metadata: map[string]json.RawMessage{"a": json.RawMessage("null"), "b": json.RawMessage(`"x"`)}}},
			func(s *Session) { s.Metadata = map[string]json.RawMessage{"b": json.RawMessage(`"x"`)} }},
		{Entry{Body: Setting{Metadata: map[string]json.RawMessage{"b": json.RawMessage("null")}}}, func(s *Session) { s.Metadata = nil }},
		{Entry{Body: Setting{Model: &ModelRef{"a", "b"}}}, func(s *Session) { s.Model = ModelRef{"a", "b"} }},
		{ended(turnA), func(s *Session) { s.Status, s.Updated, s.Usage = Held, 5000, provider.Usage{Output: 7} }},
		{Entry{Time: 1, Turn: turnC, Body: TurnEnd{StopReason: "cancelled"}}, func(s *Session) { s.Status, s.Queued = Idle, 0 }},
	}
	want, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		add(t, s, id, step.entry)
		step.want(&want)
		got, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("record after step %d", i), got, want)
		page, _, err := s.List(t.Context(), Query{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, fmt.Sprintf("list after step %d", i), page, []Session{want})
	}
}

func testOpenTurns(t *testing.T, s Store) {
	open := func() []ID {
		ids, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for i := range 3 {
		create(t, s, Session{ID: testID(i)})
		add(t, s, testID(i), said(turnA, "x"), said(turnB, "y"))
	}
	equal(t, "queued turns are not open", open(), []ID(nil))
	add(t, s, testID(0), started(turnA))
	add(t, s, testID(2), started(turnA))
	equal(t, "two run", open(), []ID{testID(0), testID(2)})
	add(t, s, testID(0), Entry{Turn: turnB, Body: TurnEnd{StopReason: "cancelled"}})
	equal(t, "a queued one is taken out", open(), []ID{testID(0), testID(2)})
	add(t, s, testID(0), ended(turnA))
	equal(t, "one ends", open(), []ID{testID(2)})
	if err := s.Delete(t.Context(), testID(2)); err != nil {
		t.Fatal(err)
	}
	equal(t, "the other is deleted", open(), []ID(nil))
}

// stored waits for checkpoints to be written.
func stored(t testing.TB, s Store, id ID, want []Growth) {
	t.Helper()
	var got []Growth
	for range 6000 { // a bound for failures: a busy disk takes its time
		var err error
		if got, err = s.Checkpoints(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if cmp.Equal(got, want) || len(got) == 0 && len(want) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // the disk is not of this bubble
	}
	t.Fatalf("checkpoints (-want +got):\n%s", cmp.Diff(want, got))
}

func testCheckpoints(t *testing.T, s Store) {
	id := testID(1)
	create(t, s, Session{ID: id})
	add(t, s, id, said(turnA, "x"), started(turnA))
	ref := func(m MessageID, n int) BlockRef { return BlockRef{turnA, m, n, provider.KindThinking} }
	s.Checkpoint(id, ref(msgA, 1), 0, "be\nta")
	s.Checkpoint(id, ref(msgA, 0), 0, "al")
	s.Checkpoint(id, ref(msgA, 0), 2, "pha")
	stored(t, s, id, []Growth{{ref(msgA, 0), "alpha"}, {ref(msgA, 1), "be\nta"}})
	s.Checkpoint(id, ref(msgA, 0), 5, "béta")
	long := strings.Repeat("x", checkpointSize)
	s.Checkpoint(id, ref(msgA, 1), 5, long)
	stored(t, s, id, []Growth{{ref(msgA, 0), "alphabéta"}, {ref(msgA, 1), "be\nta" + long}})

	add(t, s, id, sealed(turnA, msgA, 0, "alphabéta"))
	stored(t, s, id, []Growth{{ref(msgA, 1), "be\nta" + long}})
	s.Checkpoint(id, ref(msgB, 0), 0, "other message")
	stored(t, s, id, []Growth{{ref(msgB, 0), "other message"}, {ref(msgA, 1), "be\nta" + long}})
	add(t, s, id, messageEnded(turnA, msgA, 1))
	stored(t, s, id, []Growth{{ref(msgB, 0), "other message"}})
	add(t, s, id, Entry{Turn: turnA, Body: Retry{Message: msgB, Discarded: []int{0}}})
	stored(t, s, id, nil)
	s.Checkpoint(id, ref(msgB, 1), 0, "again")
	stored(t, s, id, []Growth{{ref(msgB, 1), "again"}})
	add(t, s, id, ended(turnA))
	stored(t, s, id, nil)
	s.Checkpoint(testID(9), ref(msgB, 1), 0, "no such session") // is no error, nor kept
}

func testCheckpointRules(t *testing.T, s Store) {
	id := testID(1)
	create(t, s, Session{ID: id})
	add(t, s, id, said(turnA, "x"), started(turnA))
	ref := BlockRef{turnA, msgA, 0, provider.KindText}
	s.Checkpoint(id, ref, 5, "no beginning")
	s.Checkpoint(id, ref, 0, "hello")
	s.Checkpoint(id, ref, 0, "hello")        // told twice
	s.Checkpoint(id, ref, 3, "lo wor")       // overlaps
	s.Checkpoint(id, ref, 20, "with a hole") // is not joined
	s.Checkpoint(id, ref, 9, "ld")
	stored(t, s, id, []Growth{{ref, "hello world"}})

	// What is sealed before it was written is never written.
	s.Checkpoint(id, BlockRef{turnA, msgA, 1, provider.KindText}, 0, "soon sealed")
	add(t, s, id, sealed(turnA, msgA, 1, "soon sealed"))
	s.Checkpoint(id, ref, 11, "!")
	stored(t, s, id, []Growth{{ref, "hello world!"}})
}

func testDelete(t *testing.T, s Store) {
	ctx := t.Context()
	for i := range 2 {
		create(t, s, Session{ID: testID(i)})
		for range 50 {
			add(t, s, testID(i), Entry{Body: Setting{}}, Entry{Body: Repair{API: strings.Repeat("x", 1000)}})
		}
	}
	s.Checkpoint(testID(0), BlockRef{turnA, msgA, 0, provider.KindText}, 0, "x")
	for range 2 {
		if err := s.Delete(ctx, testID(0)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Get(ctx, testID(0))
	wantErr(t, "get", err, ErrNotFound)
	_, err = s.Entries(ctx, testID(0), 0, 5)
	wantErr(t, "entries", err, ErrNotFound)
	_, err = s.Append(ctx, testID(0), said(turnA, "x"))
	wantErr(t, "append", err, ErrNotFound)
	page, _, err := s.List(ctx, Query{})
	if err != nil || len(page) != 1 || page[0].ID != testID(1) {
		t.Errorf("list: %v, %v", page, err)
	}
	if n := len(entriesOf(t, s, testID(1))); n != 100 {
		t.Errorf("the other session has %d entries, want 100", n)
	}
	create(t, s, Session{ID: testID(0)})
	equal(t, "the same id anew", entriesOf(t, s, testID(0)), []Entry(nil))
	stored(t, s, testID(0), nil)
}

func testConcurrent(t *testing.T, s Store) {
	const sessions, writers, each = 8, 4, 20
	for i := range sessions {
		create(t, s, Session{ID: testID(i)})
	}
	var wg sync.WaitGroup
	for w := range sessions * writers {
		wg.Go(testgo.Guard(t, func() {
			id := testID(w % sessions)
			for i := range each {
				e := Entry{Seq: uint64(w), Time: int64(i), Body: Setting{}}
				last, err := s.Append(t.Context(), id, e, e)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := s.Entries(t.Context(), id, last-2, 2)
				if err != nil || !cmp.Equal(got, []Entry{e, e}) {
					t.Errorf("acknowledged at %d and read %v, %v", last, got, err)
				}
				s.Checkpoint(id, BlockRef{turnA, msgA, w, provider.KindText}, i, "x")
				if _, _, err := s.List(t.Context(), Query{}); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	wg.Wait()
	for i := range sessions {
		entries := entriesOf(t, s, testID(i))
		if len(entries) != writers*each*2 {
			t.Errorf("session %d has %d entries, want %d", i, len(entries), writers*each*2)
		}
		next := make(map[uint64]int64)
		for j := 0; j < len(entries); j += 2 {
			if w := entries[j].Seq; entries[j].Time != next[w] || !cmp.Equal(entries[j], entries[j+1]) {
				t.Fatalf("session %d, entry %d is out of order or torn", i, j)
			} else {
				next[w]++
			}
		}
	}
}

func testContext(t *testing.T, s Store) {
	create(t, s, Session{ID: testID(1)})
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := s.Append(ctx, testID(1), said(turnA, "x"))
	wantErr(t, "append", err, why)
	wantErr(t, "create", s.Create(ctx, Session{ID: testID(2)}), why)
	_, err = s.CreateOnce(ctx, Session{ID: testID(2)}, Made{})
	wantErr(t, "create once", err, why)
	_, _, err = s.Made(ctx, "")
	wantErr(t, "made", err, why)
	wantErr(t, "delete", s.Delete(ctx, testID(1)), why)
	_, err = s.Get(ctx, testID(1))
	wantErr(t, "get", err, why)
	_, err = s.Entries(ctx, testID(1), 0, 1)
	wantErr(t, "entries", err, why)
	_, err = s.Checkpoints(ctx, testID(1))
	wantErr(t, "checkpoints", err, why)
	_, err = s.Open(ctx)
	wantErr(t, "open", err, why)
	_, _, err = s.List(ctx, Query{})
	wantErr(t, "list", err, why)
	equal(t, "nothing was written", entriesOf(t, s, testID(1)), []Entry(nil))
}

func testClose(t *testing.T, s Store) {
	ctx := t.Context()
	create(t, s, Session{ID: testID(1)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "close", s.Close(), ErrClosed)
	wantErr(t, "create", s.Create(ctx, Session{ID: testID(2)}), ErrClosed)
	_, err := s.CreateOnce(ctx, Session{ID: testID(2)}, Made{})
	wantErr(t, "create once", err, ErrClosed)
	_, _, err = s.Made(ctx, "")
	wantErr(t, "made", err, ErrClosed)
	wantErr(t, "delete", s.Delete(ctx, testID(1)), ErrClosed)
	_, err = s.Append(ctx, testID(1), said(turnA, "x"))
	wantErr(t, "append", err, ErrClosed)
	_, err = s.Get(ctx, testID(1))
	wantErr(t, "get", err, ErrClosed)
	_, err = s.Entries(ctx, testID(1), 0, 1)
	wantErr(t, "entries", err, ErrClosed)
	_, err = s.Checkpoints(ctx, testID(1))
	wantErr(t, "checkpoints", err, ErrClosed)
	_, err = s.Open(ctx)
	wantErr(t, "open", err, ErrClosed)
	_, _, err = s.List(ctx, Query{})
	wantErr(t, "list", err, ErrClosed)
	s.Checkpoint(testID(1), BlockRef{}, 0, "x")
}
