package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// cases is for long forms of the tests: see docs/CONTRIBUTING.md.
var cases = flag.Int("storecases", 1, "how many times as many random lists, changes and writes the tests of stores make")

// Run tests what every store must do. open makes an empty store; Run closes it. The tests run in parallel, each with a store of
// its own.
func Run(t *testing.T, open func(*testing.T) session.Store) {
	for _, owner := range []session.Owner{session.Operator, {Tenant: "acme", User: "ann"}} {
		for _, test := range []struct {
			name string
			run  func(*testing.T, session.Sessions)
		}{
			{"create", testCreate},
			{"create once", testCreateOnce},
			{"create once, at the same time", testCreateOnceTogether},
			{"list", testList},
			{"list while sessions change", testListWhole},
			{"list in pages while sessions change", testListPages},
			{"list without what never changes", testListFixed},
			{"append", testAppend},
			{"claim", testClaim},
			{"record follows the log", testProjection},
			{"read marks", testMarkRead},
			{"checkpoints", testCheckpoints},
			{"checkpoint rules", testCheckpointRules},
			{"delete", testDelete},
			{"fork", testFork},
			{"concurrent", testConcurrent},
			{"recover", testRecover},
			{"load", testLoad},
			{"context", testContext},
		} {
			run(t, test.name+", "+owner.String(), open, func(t *testing.T, s session.Store) { test.run(t, s.For(owner)) })
		}
	}
	// For one owner, since it takes long: testStampsOfOwners has a user push out as many.
	run(t, "create once, many", open, func(t *testing.T, s session.Store) { testCreateOnceMany(t, s.For(session.Operator)) })
	run(t, "close", open, testClose)
	for _, test := range isolationTests {
		run(t, test.name, open, test.run)
	}
	for _, test := range ledgerTests {
		run(t, test.name, open, test.run)
	}
}

// RunLocal is Run for a local store.
func RunLocal(t *testing.T, open func(*testing.T) session.Local) {
	Run(t, func(t *testing.T) session.Store { return open(t) })
	run(t, "open turns", open, testOpenTurns)
	run(t, "owners", open, testOwners)
}

// run is one test, with a store of its own.
func run[S session.Store](t *testing.T, name string, open func(*testing.T) S, test func(*testing.T, S)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		// In a bubble a store's timers follow the test. A store that reads or writes files holds the clock.
		synctest.Test(t, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil && !errors.Is(err, session.ErrClosed) {
					t.Error(err)
				}
			})
			test(t, s)
		})
	})
}

func testCreate(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	want := session.Session{
		ID: ID(1), Title: "a <title>", System: "be brief", CWD: "/tmp", Created: 5, Updated: 6, Status: session.Idle,
		Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}, Level: provider.High, Fallback: provider.Refuse, Display: provider.Omitted},
		Metadata: map[string]json.RawMessage{"a": json.RawMessage(`{"b":[1,2.50]}`)},
	}
	Create(t, s, want)
	got, err := s.Get(ctx, want.ID)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "record", got, want)
	WantErr(t, "the same id again", s.Create(ctx, want), session.ErrExists)
	_, err = s.Get(ctx, ID(2))
	WantErr(t, "get of none", err, session.ErrNotFound)
	_, err = s.Claim(ctx, ID(2))
	WantErr(t, "claim of none", err, session.ErrNotFound)
	_, err = s.Entries(ctx, ID(2), 0, 10)
	WantErr(t, "entries of none", err, session.ErrNotFound)
	if err := s.Create(ctx, session.Session{}); err == nil {
		t.Error("a session without an id was taken")
	}
	busy := session.Session{ID: ID(3), Status: session.Running, Usage: provider.Usage{Output: 1}}
	Create(t, s, busy)
	if got, _ := s.Get(ctx, busy.ID); got.Status != session.Idle || got.Usage.Output != 0 {
		t.Errorf("a new session is %s and has used %v", got.Status, got.Usage)
	}
}

func testList(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	if page, next, err := s.List(ctx, session.Query{}); len(page) != 0 || next != "" || err != nil {
		t.Fatalf("list of none: %v, %q, %v", page, next, err)
	}
	const n = 300
	var order []session.ID // newest first
	for i := range n {
		record := session.Session{ID: ID(i), Updated: int64(i / 3), CWD: []string{"/a", "/b"}[i%2], Title: fmt.Sprintf("Title %d", i)}
		if i == 0 {
			record.Updated = -1 // before 1970
		}
		Create(t, s, record)
		order = append([]session.ID{record.ID}, order...)
	}
	all := func(q session.Query) (ids []session.ID) {
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
	Equal(t, "all", all(session.Query{}), order)
	Equal(t, "in elevens", all(session.Query{Limit: 11}), order)
	Equal(t, "in one page", all(session.Query{Limit: n}), order)
	Equal(t, "too many", all(session.Query{Limit: 5000}), order)
	if got := all(session.Query{Filter: session.Filter{CWD: "/b"}, Limit: 13}); len(got) != n/2 || got[0] != ID(n-1) {
		t.Errorf("%d in /b, first %s", len(got), got[0])
	}
	Equal(t, "title", all(session.Query{Filter: session.Filter{Text: "tItLe 29"}}), []session.ID{ID(299), ID(298), ID(297), ID(296), ID(295),
		ID(294), ID(293), ID(292), ID(291), ID(290), ID(29)})
	Equal(t, "title and directory", all(session.Query{Filter: session.Filter{Text: "title 29", CWD: "/a"}, Limit: 2}),
		[]session.ID{ID(298), ID(296), ID(294), ID(292), ID(290)})
	testFilters(t, s)
	for _, cursor := range []string{"x", "!!!!", "AAAA", strings.Repeat("é", 20)} {
		_, _, err := s.List(ctx, session.Query{Cursor: cursor})
		WantErr(t, "cursor "+cursor, err, session.ErrCursor)
	}
	// A change brings a session to the top, once.
	Add(t, s, ID(5), Said(TurnA, "x"))
	order = append([]session.ID{ID(5)}, append(order[:n-6:n-6], order[n-5:]...)...)
	Equal(t, "after a change", all(session.Query{Limit: 100}), order)
}

// testFilters changes two sessions back and forth, so it leaves their order at the head of the list: ID(299), ID(298).
func testFilters(t *testing.T, s session.Sessions) {
	yes, no := true, false
	model := session.ModelRef{Provider: "p", ID: "a/b"}
	set := func(n int, change session.Setting) { Add(t, s, ID(n), session.Entry{Time: 1000, Body: change}) }
	set(298, session.Setting{Archived: &yes, Model: &model})
	set(299, session.Setting{OnTop: &yes, Model: &model})
	for name, f := range map[string]session.Filter{
		"299 298": {Model: model}, "298": {Archived: &yes}, "299": {OnTop: &yes}, "": {Archived: &yes, OnTop: &yes},
		" 299": {Archived: &no, Since: 1000}, "299 298 ": {Since: 1000}, "2 1": {Since: 0, Until: 1, CWD: "", Text: "", OnTop: &no, Archived: &no},
	} {
		var got []string
		page, _, err := s.List(t.Context(), session.Query{Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range page {
			if f.Until != 0 && record.Updated < 0 { // before 1970: it is also before Until
				continue
			}
			got = append(got, strings.TrimPrefix(record.Title, "Title "))
		}
		if strings.Join(got, " ") != strings.TrimSpace(name) {
			t.Errorf("%+v selects %q", f, got)
		}
	}
	set(298, session.Setting{Archived: &no})
	set(299, session.Setting{OnTop: &no})
	if got, err := s.Get(t.Context(), ID(298)); err != nil || got.Archived {
		t.Errorf("%v, %v", got, err)
	}
}

// testListWhole has sessions go to the head of the list, the last first, while others list them: each call has all of them.
func testListWhole(t *testing.T, s session.Sessions) {
	n := min(100**cases, 1000)
	for i := range n {
		Create(t, s, session.Session{ID: ID(i), Updated: int64(i)})
	}
	var changing sync.WaitGroup
	changing.Go(testgo.Guard(t, func() { // ends with the sessions
		for i := range n {
			e := session.Entry{Time: int64(n + i), Body: session.Setting{}}
			if _, err := Append(t.Context(), s, ID(i), e); err != nil {
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
		page, next, err := s.List(t.Context(), session.Query{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		there := make(map[session.ID]bool)
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
func testListPages(t *testing.T, s session.Sessions) {
	const n = 40
	for seed := range uint64(3 * *cases) {
		r := rand.New(rand.NewPCG(seed, 0))
		q := session.Query{Limit: 1 + r.IntN(9), Filter: session.Filter{CWD: fmt.Sprint(seed)}}
		want := make(map[session.ID]bool)
		for i := range n {
			id := ID(int(seed)*n + i)
			Create(t, s, session.Session{ID: id, CWD: q.CWD})
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
					Add(t, s, ID(int(seed)*n+r.IntN(n)), session.Entry{Time: r.Int64N(100), Body: session.Setting{}})
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("seed %d, pages of %d: %d sessions of %d were left out", seed, q.Limit, len(want), n)
		}
	}
}

// testListFixed: a list has megabytes of no session.
func testListFixed(t *testing.T, s session.Sessions) {
	whole := session.Session{ID: ID(1), Title: "t", CWD: "/tmp", System: strings.Repeat("s", 1<<18), Status: session.Idle,
		Tools:        []tool.Tool{{Tool: provider.Tool{Name: "look", Schema: json.RawMessage(`{}`)}, Effect: tool.Read}},
		Instructions: session.Instructions{Files: []session.InstructionFile{{Path: "/tmp/AGENTS.md", Bytes: 3, Cut: true}}, Text: "Be brief."}}
	Create(t, s, whole)
	Add(t, s, whole.ID, session.Entry{Time: 7, Body: session.Setting{}})
	whole.Updated = 7
	got, err := s.Get(t.Context(), whole.ID)
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, "record", got, whole)
	page, _, err := s.List(t.Context(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	whole.System, whole.Tools, whole.Instructions = "", nil, session.Instructions{}
	Equal(t, "list", page, []session.Session{whole})
}

func testAppend(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	id := ID(1)
	Create(t, s, session.Session{ID: id})
	Equal(t, "no entries", Entries(t, s, id), []session.Entry(nil))
	want := []session.Entry{Said(TurnA, "hello"), Started(TurnA)}
	want[1].Seq = 1 << 40
	if last := Add(t, s, id, want...); last != 2 {
		t.Errorf("last is %d, want 2", last)
	}
	if last := Add(t, s, id); last != 2 {
		t.Errorf("last after nothing is %d, want 2", last)
	}
	for i := range 300 {
		e := Sealed(TurnA, MsgA, i, strings.Repeat("word ", i%100))
		want = append(want, e)
		if last := Add(t, s, id, e); last != uint64(len(want)) {
			t.Fatalf("last is %d, want %d", last, len(want))
		}
	}
	Equal(t, "all", Entries(t, s, id), want)
	for _, c := range []struct {
		after uint64
		limit int
	}{{0, 1}, {0, 0}, {0, -1}, {1, 3}, {150, 152}, {20, 270}, {301, 5}, {302, 5}, {9999, 5}, {1<<64 - 1, 5}} {
		var some []session.Entry
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
	if _, err := Append(ctx, s, id, Said(TurnB, "x"), session.Entry{Turn: TurnB}); err == nil {
		t.Error("an entry without a body was taken")
	}
	if n := len(Entries(t, s, id)); n != len(want) {
		t.Errorf("a refused append left %d entries", n-len(want))
	}
	big := Sealed(TurnA, MsgA, 9999, strings.Repeat("0123456789abcdef", 1<<16))
	small := Sealed(TurnA, MsgA, 10000, "small")
	Add(t, s, id, big, small)
	if got, err := s.Entries(ctx, id, uint64(len(want)), 10); err != nil || !cmp.Equal(got, []session.Entry{big, small}) {
		t.Errorf("one of 1 MiB and a small one: %d entries, %v", len(got), err)
	}
}

func testProjection(t *testing.T, s session.Sessions) {
	id := ID(1)
	Create(t, s, session.Session{ID: id, Created: 1, Updated: 1, Metadata: map[string]json.RawMessage{"a": json.RawMessage("1")}})
	low, title, turnC := provider.Low, "by hand", session.TurnID("01K0000000000000000000000C")
	steps := []struct {
		entry session.Entry
		want  func(*session.Session)
	}{
		{Said(TurnA, "  first line \nsecond"), func(s *session.Session) {
			s.Title, s.Updated, s.Status, s.Queued = "first line", 1000, session.Held, 1
		}},
		{Started(TurnA), func(s *session.Session) { s.Status, s.Queued, s.Updated = session.Running, 0, 2000 }},
		{Said(TurnB, "other"), func(s *session.Session) { s.Queued = 1 }},
		{session.Entry{Time: 1, Turn: TurnB, Body: session.TurnEnd{StopReason: "cancelled"}}, func(s *session.Session) { s.Queued = 0 }}, // the other goes on
		{Said(turnC, "more"), func(s *session.Session) { s.Queued = 1 }},
		{session.Entry{Body: session.Setting{Level: &low, Title: &title}}, func(s *session.Session) { s.Level, s.Title = low, title }},
		{session.Entry{Body: session.Setting{Metadata: map[string]json.RawMessage{"a": json.RawMessage("null"), "b": json.RawMessage(`"x"`)}}},
			func(s *session.Session) { s.Metadata = map[string]json.RawMessage{"b": json.RawMessage(`"x"`)} }},
		{session.Entry{Body: session.Setting{Metadata: map[string]json.RawMessage{"b": json.RawMessage("null")}}}, func(s *session.Session) { s.Metadata = nil }},
		{session.Entry{Body: session.Setting{Model: &session.ModelRef{Provider: "a", ID: "b"}}}, func(s *session.Session) { s.Model = session.ModelRef{Provider: "a", ID: "b"} }},
		{Ended(TurnA), func(s *session.Session) {
			s.Status, s.Updated, s.Usage, s.Ended = session.Held, 5000, provider.Usage{Output: 7}, 1
		}},
		{session.Entry{Time: 1, Turn: turnC, Body: session.TurnEnd{StopReason: "cancelled"}}, func(s *session.Session) { s.Status, s.Queued = session.Idle, 0 }},
	}
	want, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		Add(t, s, id, step.entry)
		step.want(&want)
		got, err := s.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, fmt.Sprintf("record after step %d", i), got, want)
		page, _, err := s.List(t.Context(), session.Query{})
		if err != nil {
			t.Fatal(err)
		}
		Equal(t, fmt.Sprintf("list after step %d", i), page, []session.Session{want})
	}
}

func testOpenTurns(t *testing.T, all session.Local) {
	ctx := t.Context()
	open := func() []session.Ref {
		refs, err := all.OpenTurns(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return refs
	}
	ours, theirs := session.Operator, session.Owner{Tenant: "acme", User: "ann"}
	ref := func(o session.Owner, n int) session.Ref { return session.Ref{Owner: o, ID: ID(n)} }
	s := all.For(ours)
	for i := range 3 {
		Create(t, s, session.Session{ID: ID(i)})
		Add(t, s, ID(i), Said(TurnA, "x"), Said(TurnB, "y"))
	}
	other := all.For(theirs)
	Create(t, other, session.Session{ID: ID(5)})
	Add(t, other, ID(5), Said(TurnA, "x"))
	Equal(t, "queued turns are not open", open(), []session.Ref(nil))
	Add(t, s, ID(0), Started(TurnA))
	Add(t, s, ID(2), Started(TurnA))
	Equal(t, "two run", open(), []session.Ref{ref(ours, 0), ref(ours, 2)})
	Add(t, s, ID(0), session.Entry{Turn: TurnB, Body: session.TurnEnd{StopReason: "cancelled"}})
	Equal(t, "a queued one is removed", open(), []session.Ref{ref(ours, 0), ref(ours, 2)})
	Add(t, s, ID(0), Ended(TurnA))
	Equal(t, "one ends", open(), []session.Ref{ref(ours, 2)})
	Add(t, other, ID(5), Started(TurnA))
	Equal(t, "one of another owner starts", ids(open()), []session.Ref{ref(ours, 2), ref(theirs, 5)})
	if _, err := session.Recover(ctx, other, Claim(t, other, ID(5)), ID(5), time.UnixMilli(1)); err != nil {
		t.Fatal(err)
	}
	Equal(t, "it is recovered", open(), []session.Ref{ref(ours, 2)})
	if err := s.Delete(ctx, ID(2)); err != nil {
		t.Fatal(err)
	}
	Equal(t, "the other is deleted", open(), []session.Ref(nil))

	why := errors.New("enough")
	ended, cancel := context.WithCancelCause(ctx)
	cancel(why)
	_, err := all.OpenTurns(ended)
	WantErr(t, "with a context that has ended", err, why)
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = all.OpenTurns(ctx)
	WantErr(t, "after close", err, session.ErrClosed)
}

// ids sorts, since the order of owners is the store's.
func ids(refs []session.Ref) []session.Ref {
	slices.SortFunc(refs, session.Ref.Compare)
	return refs
}

func testCheckpoints(t *testing.T, s session.Sessions) {
	id := ID(1)
	Create(t, s, session.Session{ID: id})
	log := Claim(t, s, id)
	AddTo(t, log, Said(TurnA, "x"), Started(TurnA))
	ref := func(m session.MessageID, n int) session.BlockRef {
		return session.BlockRef{Turn: TurnA, Message: m, Number: n, Kind: provider.KindThinking}
	}
	log.Checkpoint(ref(MsgA, 1), 0, "be\nta")
	log.Checkpoint(ref(MsgA, 0), 0, "al")
	log.Checkpoint(ref(MsgA, 0), 2, "pha")
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgA, 0), Text: "alpha"}, {BlockRef: ref(MsgA, 1), Text: "be\nta"}})
	log.Checkpoint(ref(MsgA, 0), 5, "béta")
	long := strings.Repeat("x", 16<<10) // so much does not wait for the clock
	log.Checkpoint(ref(MsgA, 1), 5, long)
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgA, 0), Text: "alphabéta"}, {BlockRef: ref(MsgA, 1), Text: "be\nta" + long}})

	AddTo(t, log, Sealed(TurnA, MsgA, 0, "alphabéta"))
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgA, 1), Text: "be\nta" + long}})
	log.Checkpoint(ref(MsgB, 0), 0, "other message")
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgB, 0), Text: "other message"}, {BlockRef: ref(MsgA, 1), Text: "be\nta" + long}})
	AddTo(t, log, MessageEnded(TurnA, MsgA, 1))
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgB, 0), Text: "other message"}})
	AddTo(t, log, session.Entry{Turn: TurnA, Body: session.Retry{Message: MsgB, Discarded: []int{0}}})
	Stored(t, log, nil)
	log.Checkpoint(ref(MsgB, 1), 0, "again")
	Stored(t, log, []session.Growth{{BlockRef: ref(MsgB, 1), Text: "again"}})
	AddTo(t, log, Ended(TurnA))
	Stored(t, log, nil)
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	log.Checkpoint(ref(MsgB, 1), 0, "no such session") // is no error, and is not kept
}

func testCheckpointRules(t *testing.T, s session.Sessions) {
	id := ID(1)
	Create(t, s, session.Session{ID: id})
	log := Claim(t, s, id)
	AddTo(t, log, Said(TurnA, "x"), Started(TurnA))
	ref := session.BlockRef{Turn: TurnA, Message: MsgA, Number: 0, Kind: provider.KindText}
	log.Checkpoint(ref, 5, "no beginning")
	log.Checkpoint(ref, 0, "hello")
	log.Checkpoint(ref, 0, "hello")        // sent twice
	log.Checkpoint(ref, 3, "lo wor")       // overlaps
	log.Checkpoint(ref, 20, "with a hole") // is not joined
	log.Checkpoint(ref, 9, "ld")
	Stored(t, log, []session.Growth{{BlockRef: ref, Text: "hello world"}})

	// What is sealed before it was written is never written.
	log.Checkpoint(session.BlockRef{Turn: TurnA, Message: MsgA, Number: 1, Kind: provider.KindText}, 0, "soon sealed")
	AddTo(t, log, Sealed(TurnA, MsgA, 1, "soon sealed"))
	log.Checkpoint(ref, 11, "!")
	Stored(t, log, []session.Growth{{BlockRef: ref, Text: "hello world!"}})
}

func testDelete(t *testing.T, s session.Sessions) {
	ctx := t.Context()
	for i := range 2 {
		Create(t, s, session.Session{ID: ID(i)})
		for range 50 {
			Add(t, s, ID(i), session.Entry{Body: session.Setting{}}, session.Entry{Body: session.Repair{API: strings.Repeat("x", 1000)}})
		}
	}
	log := Claim(t, s, ID(0))
	log.Checkpoint(session.BlockRef{Turn: TurnA, Message: MsgA, Number: 0, Kind: provider.KindText}, 0, "x")
	for range 2 {
		if err := s.Delete(ctx, ID(0)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Get(ctx, ID(0))
	WantErr(t, "get", err, session.ErrNotFound)
	_, err = s.Entries(ctx, ID(0), 0, 5)
	WantErr(t, "entries", err, session.ErrNotFound)
	_, err = log.Append(ctx, Said(TurnA, "x"))
	WantErr(t, "append", err, session.ErrNotFound)
	page, _, err := s.List(ctx, session.Query{})
	if err != nil || len(page) != 1 || page[0].ID != ID(1) {
		t.Errorf("list: %v, %v", page, err)
	}
	if n := len(Entries(t, s, ID(1))); n != 100 {
		t.Errorf("the other session has %d entries, want 100", n)
	}
	if err := s.Create(ctx, session.Session{ID: ID(0)}); errors.Is(err, session.ErrExists) { // the store remembers what was deleted
		_, err = s.Get(ctx, ID(0))
		WantErr(t, "get of an id that is refused", err, session.ErrNotFound)
		return
	} else if err != nil {
		t.Fatal(err)
	}
	Equal(t, "the same id anew", Entries(t, s, ID(0)), []session.Entry(nil))
	Stored(t, Claim(t, s, ID(0)), nil)
}

func testConcurrent(t *testing.T, s session.Sessions) {
	const sessions, writers = 8, 4
	each := 6 * *cases
	logs := make([]session.Log, sessions)
	for i := range sessions {
		Create(t, s, session.Session{ID: ID(i)})
		logs[i] = Claim(t, s, ID(i))
	}
	var wg sync.WaitGroup
	for w := range sessions * writers {
		wg.Go(testgo.Guard(t, func() {
			id, log := ID(w%sessions), logs[w%sessions]
			for i := range each {
				e := session.Entry{Seq: uint64(w), Time: int64(i), Body: session.Setting{}}
				last, err := log.Append(t.Context(), e, e)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := s.Entries(t.Context(), id, last-2, 2)
				if err != nil || !cmp.Equal(got, []session.Entry{e, e}) {
					t.Errorf("acknowledged at %d and read %v, %v", last, got, err)
				}
				log.Checkpoint(session.BlockRef{Turn: TurnA, Message: MsgA, Number: w, Kind: provider.KindText}, i, "x")
				if _, _, err := s.List(t.Context(), session.Query{}); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	wg.Wait()
	for i := range sessions {
		entries := Entries(t, s, ID(i))
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

func testContext(t *testing.T, s session.Sessions) {
	Create(t, s, session.Session{ID: ID(1)})
	log := Claim(t, s, ID(1))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	refusesAll(t, ctx, s, log, why)
	Equal(t, "nothing was written", Entries(t, s, ID(1)), []session.Entry(nil))
}

// refusesAll checks that every call returns an error. The store has the session 1, whose log is claimed.
func refusesAll(t *testing.T, ctx context.Context, s session.Sessions, log session.Log, want error) {
	t.Helper()
	_, err := log.Append(ctx, Said(TurnA, "x"))
	WantErr(t, "append", err, want)
	_, err = log.Checkpoints(ctx)
	WantErr(t, "checkpoints", err, want)
	WantErr(t, "create", s.Create(ctx, session.Session{ID: ID(2)}), want)
	_, err = s.CreateOnce(ctx, session.Session{ID: ID(2)}, session.Creation{})
	WantErr(t, "create once", err, want)
	_, _, err = s.Creation(ctx, "")
	WantErr(t, "creation", err, want)
	WantErr(t, "delete", s.Delete(ctx, ID(1)), want)
	_, err = s.Get(ctx, ID(1))
	WantErr(t, "get", err, want)
	_, err = s.Entries(ctx, ID(1), 0, 1)
	WantErr(t, "entries", err, want)
	_, err = s.Claim(ctx, ID(1))
	WantErr(t, "claim", err, want)
	_, _, err = s.List(ctx, session.Query{})
	WantErr(t, "list", err, want)
}

func testClose(t *testing.T, all session.Store) {
	ctx, s := t.Context(), all.For(session.Operator)
	Create(t, s, session.Session{ID: ID(1)})
	log := Claim(t, s, ID(1))
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	WantErr(t, "close", all.Close(), session.ErrClosed)
	refusesAll(t, ctx, s, log, session.ErrClosed)
	log.Checkpoint(session.BlockRef{}, 0, "x")
	if err := log.Release(ctx); err != nil {
		t.Error(err)
	}
}
