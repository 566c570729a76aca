package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// open opens a log whose clock stands at now. It also returns what the log reports.
func open(t *testing.T, dir string, now *time.Time) (*Log, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	l, err := Open(dir, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return *now }
	return l, &said
}

// exported are the records that a query selects.
func exported(t *testing.T, dir string, q Query) (list []Record, damaged int) {
	t.Helper()
	var out bytes.Buffer
	damaged, err := Export(&out, dir, q)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list, damaged
}

// A record says who, what, where and with what result, and has nothing of what was said.
func TestNote(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "audit"), time.Date(2026, 11, 23, 23, 59, 59, 0, time.UTC)
	l, _ := open(t, dir, &now)
	ann := method.Principal{Owner: session.Owner{Tenant: "acme", User: "ann"}}
	l.Note(dispatch.Event{Principal: ann, Origin: dispatch.Origin{From: "192.0.2.1", Token: "abc"}, Method: "session/prompt", Session: "S1", Params: []byte(`{"text":"secret"}`)})
	l.Note(dispatch.Event{Principal: ann, Method: "session/new", Made: "S2", Params: []byte(`{"title":"secret"}`)})
	now = now.Add(time.Second)
	l.Note(dispatch.Event{Principal: method.Operator(), Params: []byte(`{"secret":1}`), Failure: &conn.Error{Code: conn.CodeForbidden, Message: "secret"}})
	l.Note(dispatch.Event{Principal: method.Operator(), Method: door.MethodDeleteUser, Params: []byte(`{"user":"ann","tenant":"acme","text":"secret"}`)})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	all, damaged := exported(t, dir, Query{})
	want := []Record{
		{Time: "2026-11-23T23:59:59.000Z", User: "ann", Tenant: "acme", From: "192.0.2.1", Token: "abc", Method: "session/prompt", Session: "S1"},
		{Time: "2026-11-23T23:59:59.000Z", User: "ann", Tenant: "acme", Method: "session/new", Made: "S2"},
		{Time: "2026-11-24T00:00:00.000Z", Code: 1012, Kind: "forbidden"},
		{Time: "2026-11-24T00:00:00.000Z", Method: door.MethodDeleteUser, About: &About{"acme", "ann"}},
	}
	text := func(list []Record) string {
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if text(all) != text(want) || damaged != 0 || strings.Contains(text(all), "secret") {
		t.Errorf("%s\nwant %s", text(all), text(want))
	}
	for _, tt := range []struct {
		q    Query
		want []Record
	}{
		{Query{From: "2026-11-24"}, want[2:]},
		{Query{To: "2026-11-23"}, want[:2]},
		{Query{User: "ann"}, want[:2]},
		{Query{Tenant: "other"}, nil},
		{Query{Session: "S2"}, want[1:2]},
	} {
		if got, _ := exported(t, dir, tt.q); text(got) != text(tt.want) {
			t.Errorf("%+v: %s", tt.q, text(got))
		}
	}
	if list, _ := exported(t, filepath.Join(dir, "none"), Query{}); list != nil {
		t.Error(list)
	}
}

// Logs that append to one file in parallel cut no record of each other, and a line that a crash cut off costs no other.
func TestAppend(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "audit"), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(dir, "2026-11-23.jsonl")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"time":"2026-1`), 0o600); err != nil {
		t.Fatal(err)
	}
	first, _ := open(t, dir, &now)
	first.Append(Record{Method: "first"})
	var working sync.WaitGroup
	for range 4 {
		l, _ := open(t, dir, &now)
		working.Add(1)
		testgo.Go(t, func() { // awaited below
			defer working.Done()
			for range 100 {
				l.Append(Record{Method: strings.Repeat("m", 200)})
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if list, damaged := exported(t, dir, Query{}); len(list) != 401 || damaged != 1 {
		t.Errorf("%d records, %d damaged lines", len(list), damaged)
	}
}

// Records that cannot be written are counted, and the error is logged once.
func TestLost(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "audit"), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	l, said := open(t, dir, &now)
	path := filepath.Join(dir, "2026-11-23.jsonl")
	if err := os.Mkdir(path, 0o700); err != nil { // where the file is to be
		t.Fatal(err)
	}
	for range 3 {
		l.Append(Record{Method: "ping"})
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	l.Append(Record{Method: "ping"})
	l.Append(Record{Method: "ping"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	list, _ := exported(t, dir, Query{})
	if len(list) != 2 || list[0].Lost != 3 || list[1].Lost != 0 || strings.Count(said.String(), "not recorded") != 1 {
		t.Errorf("%+v\n%s", list, said)
	}
}

// Pages have each record once, whatever their limit, also those that come while somebody reads, and a tenant's auditor sees no others.
func TestRead(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "audit"), time.Date(2026, 11, 23, 23, 0, 0, 0, time.UTC)
	l, _ := open(t, dir, &now)
	note := func(i int) {
		r := Record{Method: "ping", Session: strconv.Itoa(i)}
		if i%3 > 0 {
			r.User, r.Tenant = "ann", strings.Repeat("a", i%3)
		}
		l.Append(r)
	}
	const before, all = 40, 50
	for i := range before {
		if i == before/2 {
			now = now.Add(24 * time.Hour)
		}
		note(i)
	}
	tenant := "aa"
	for limit := 1; limit < 60; limit += 7 {
		for within, want := range map[*string]int{nil: before, &tenant: 13} {
			var got []string
			var at Place
			for {
				p, err := Read(dir, Query{Within: within}, at, limit)
				if err != nil || len(p.Records) > limit || p.Damaged > 0 {
					t.Fatalf("%d records, %d damaged: %v", len(p.Records), p.Damaged, err)
				}
				for _, r := range p.Records {
					if within != nil && (r.Tenant != tenant || r.User == "") {
						t.Fatalf("%+v is of another tenant", r)
					}
					got = append(got, r.Session)
				}
				if p.Next == nil {
					break
				}
				if at, err = ParsePlace(p.Next.String()); err != nil {
					t.Fatal(err)
				}
			}
			sorted := slices.IsSortedFunc(got, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
			if len(got) != want || !sorted || len(slices.Compact(got)) != want {
				t.Fatalf("limit %d: %v", limit, got)
			}
		}
	}
	first, err := Read(dir, Query{}, Place{}, before-1)
	if err != nil || first.Next == nil {
		t.Fatal(first, err)
	}
	for i := before; i < all; i++ {
		note(i)
	}
	if rest, err := Read(dir, Query{}, *first.Next, all); err != nil || len(rest.Records) != all-before+1 || rest.Records[0].Session != strconv.Itoa(before-1) {
		t.Fatal(rest, err)
	}
	for _, wrong := range []string{"", "x", "2026-11-23", "2026-11-23.-1", "2026-11-23.x", "../2026.1", "2026-11-23.1.2", "2026-11-23.1.2.-3", "2026-11-23.1.2.3.4"} {
		if _, err := ParsePlace(wrong); err == nil {
			t.Errorf("%q is a place", wrong)
		}
	}
}

// A flood of refused logins costs a bounded number of records a minute, and is counted.
func TestRefused(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "audit"), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	l, _ := open(t, dir, &now)
	for range 5 * maxRefused {
		l.Refused("192.0.2.1")
	}
	now = now.Add(time.Minute)
	l.Refused("192.0.2.2")
	l.Refused("192.0.2.2")
	list, _ := exported(t, dir, Query{})
	if len(list) != maxRefused+2 || list[maxRefused].Others != 4*maxRefused || list[maxRefused+1].Others != 0 {
		t.Fatalf("%+v", list)
	}
	if r := list[0]; r.Method != MethodLogin || r.From != "192.0.2.1" || r.Code != 1008 || r.Kind != "unauthorized" || r.User != "" {
		t.Errorf("%+v", r)
	}
}
