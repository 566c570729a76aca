package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talk is a turn: a prompt, a thought, a call with its result, and an answer.
func talk(prompt, thought, call, result, answer string) []session.Entry {
	said, reply, results, last := session.MessageID("P-"+prompt), session.MessageID("R-"+prompt), session.MessageID("E-"+prompt), session.MessageID("A-"+prompt)
	turn := session.TurnID("T-" + prompt)
	list := []session.Body{
		session.Prompt{Message: said, Content: provider.Blocks{provider.Text{Text: prompt}}},
		session.TurnStart{},
		session.Sealed{Message: reply, Number: 0, Block: provider.Thinking{Text: thought}},
		session.Sealed{Message: reply, Number: 1, Block: provider.ToolCall{ID: "c", Name: "bash", Input: json.RawMessage(call)}},
		session.MessageEnd{Message: reply},
		session.ToolEnd{Message: results, Reply: reply, CallID: "c", Content: provider.Blocks{provider.Text{Text: result}}},
		session.Sealed{Message: last, Number: 0, Block: provider.Text{Text: answer}},
		session.MessageEnd{Message: last},
		session.TurnEnd{StopReason: session.StopEndTurn},
	}
	var entries []session.Entry
	for _, b := range list {
		entries = append(entries, session.Entry{Turn: turn, Body: b})
	}
	return entries
}

// words is what a page found, a line for each excerpt.
func words(p Page) (list []string) {
	for _, f := range p.Found {
		list = append(list, fmt.Sprintf("%s: %d", f.Session.Title, f.Hits))
		for _, x := range f.Excerpts {
			places := make([]span, len(x.Matches))
			for i, m := range x.Matches {
				places[i] = span{m.Start, m.End}
			}
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %d: %s", x.In, x.Message, x.Block, bracketed(x.Text, places))))
		}
	}
	return list
}

var generous = Bounds{Time: time.Hour, Bytes: 1 << 30, Result: 1 << 20}

// store has sessions that mention a bucket, one of them as a fork.
func store(t *testing.T) session.Sessions {
	s := mem.New().For(session.Operator)
	for i, title := range []string{"one", "two", "The bucket"} {
		storetest.Create(t, s, session.Session{ID: storetest.ID(i), Title: title, CWD: "/" + title})
	}
	storetest.Add(t, s, storetest.ID(0), talk("a bucket", "think of the bucket", `{"command":"ls \"bucket\"\n","n":7}`, "no bucket here", "the Bucket is full")...)
	storetest.Add(t, s, storetest.ID(1), talk("nothing", "only a thought of a bucket", `{}`, "", "")...)
	storetest.Create(t, s, session.Session{ID: storetest.ID(3), Title: "fork", Shared: []session.Span{{Session: storetest.ID(0), Upto: 1, Message: "P-a bucket"}}})
	storetest.Add(t, s, storetest.ID(3), talk("own bucket", "", `{}`, "", "")...)
	return s
}

func TestScan(t *testing.T) {
	s := store(t)
	for name, tc := range map[string]struct {
		q    Query
		want []string
	}{
		"everywhere except in thoughts": {Query{}, []string{
			"fork: 2", "prompt P-a bucket 0: a [bucket]", "prompt P-own bucket 0: own [bucket]",
			"one: 4", "prompt P-a bucket 0: a [bucket]", `tool R-a bucket 1: bash command ls "[bucket]" n 7`, "tool E-a bucket 0: no [bucket] here",
			"The bucket: 1", "title  0: The [bucket]",
		}},
		"in thoughts":  {Query{In: []Place{InThought}}, []string{"two: 1", "thought R-nothing 0: only a thought of a [bucket]", "one: 1", "thought R-a bucket 0: think of the [bucket]"}},
		"in titles":    {Query{In: []Place{InTitle}}, []string{"The bucket: 1", "title  0: The [bucket]"}},
		"in a folder":  {Query{Of: session.Filter{CWD: "/The bucket"}}, []string{"The bucket: 1", "title  0: The [bucket]"}},
		"in a session": {Query{Session: storetest.ID(1), In: []Place{InThought}}, []string{"two: 1", "thought R-nothing 0: only a thought of a [bucket]"}},
	} {
		tc.q.Text, tc.q.Limit = "bucket", 100
		page, err := Scan(t.Context(), s, tc.q, generous)
		if err != nil || page.Next != "" || page.Unreadable != 0 {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
		if diff := cmp.Diff(tc.want, words(page)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// However small the bounds and the pages are, the pages together have all that one large page has.
func TestPages(t *testing.T) {
	s := store(t)
	long := storetest.ID(9)
	storetest.Create(t, s, session.Session{ID: long, Title: "long"})
	for i := range 40 {
		storetest.Add(t, s, long, talk(fmt.Sprint("bucket ", i), "", `{}`, "", "")...)
	}
	hits := func(q Query, b Bounds) (hits map[session.ID]int, read, pages int) {
		hits = make(map[session.ID]int)
		q.Text = "bucket"
		for {
			page, err := Scan(t.Context(), s, q, b)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range page.Found {
				hits[f.Session.ID] += f.Hits
			}
			read, pages = read+page.Read, pages+1
			if page.Next == "" {
				return hits, read, pages
			}
			if pages > 100 {
				t.Fatal("there is no end")
			}
			q.Cursor = page.Next
		}
	}
	want, read, _ := hits(Query{Limit: 100}, generous)
	if want[long] != 40 || read != 5 {
		t.Fatalf("%v in %d sessions", want, read)
	}
	for name, b := range map[string]Bounds{"time": {1, 1 << 30, 1 << 20}, "bytes": {time.Hour, 1, 1 << 20}, "result": {time.Hour, 1 << 30, 1}, "limit": generous} {
		got, read, pages := hits(Query{Limit: 1}, b)
		if diff := cmp.Diff(want, got); diff != "" || read != 5 || pages < 4 {
			t.Errorf("%s: %d read on %d pages\n%s", name, read, pages, diff)
		}
	}
	one, _, pages := hits(Query{Session: long, Limit: 7}, generous)
	if diff := cmp.Diff(map[session.ID]int{long: 40}, one); diff != "" || pages < 6 {
		t.Errorf("in one session: %d pages\n%s", pages, diff)
	}
}

// A session that grows between two pages is read on, where the first page stopped.
func TestSessionChangesBetweenPages(t *testing.T) {
	s := mem.New().For(session.Operator)
	id := storetest.ID(1)
	storetest.Create(t, s, session.Session{ID: id, Title: "long"})
	for i := range 20 {
		storetest.Add(t, s, id, talk(fmt.Sprint("bucket ", i), "", `{}`, "", "")...)
	}
	first, err := Scan(t.Context(), s, Query{Text: "bucket", Limit: 100}, Bounds{time.Hour, 1, 1 << 20})
	if err != nil || first.Next == "" {
		t.Fatal(first, err)
	}
	storetest.Add(t, s, id, talk("bucket 20", "", `{}`, "", "")...)
	second, err := Scan(t.Context(), s, Query{Text: "bucket", Limit: 100, Cursor: first.Next}, generous)
	if err != nil || second.Next != "" || len(second.Found) != 1 || first.Found[0].Hits+second.Found[0].Hits != 21 {
		t.Errorf("%+v, %v", second, err)
	}
}

// The blocks of a call that failed are in the log, and are shown to nobody.
func TestDiscardedBlocks(t *testing.T) {
	s := mem.New().For(session.Operator)
	id := storetest.ID(1)
	storetest.Create(t, s, session.Session{ID: id, Title: "retried"})
	entries := talk("hello", "", `{}`, "", "a bucket")
	void := []session.Entry{
		{Turn: "T-hello", Body: session.Sealed{Message: "A-hello", Number: 4, Block: provider.Text{Text: "half a bucket, bucket"}}},
		{Turn: "T-hello", Body: session.Retry{Message: "A-hello", Discarded: []int{4}}},
	}
	storetest.Add(t, s, id, append(entries[:6:6], append(void, entries[6:]...)...)...)
	page, err := Scan(t.Context(), s, Query{Text: "bucket", Limit: 10}, generous)
	if diff := cmp.Diff([]string{"retried: 1", "answer A-hello 0: a [bucket]"}, words(page)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// damaged cannot read one session, and not find another.
type damaged struct{ session.Sessions }

func (d damaged) Get(ctx context.Context, id session.ID) (session.Session, error) {
	switch id {
	case storetest.ID(0):
		return session.Session{}, fmt.Errorf("%w: a bit", session.ErrDamaged)
	case storetest.ID(3):
		return session.Session{}, session.ErrNotFound
	}
	return d.Sessions.Get(ctx, id)
}

func TestScanErrors(t *testing.T) {
	s := store(t)
	page, err := Scan(t.Context(), damaged{s}, Query{Text: "bucket", Limit: 10}, generous)
	if diff := cmp.Diff([]string{"The bucket: 1", "title  0: The [bucket]"}, words(page)); diff != "" || err != nil || page.Unreadable != 1 || page.Read != 2 {
		t.Errorf("%+v, %v\n%s", page, err, diff)
	}
	over, end := context.WithCancelCause(t.Context())
	why := errors.New("gone")
	end(why)
	for name, tc := range map[string]struct {
		ctx  context.Context
		q    Query
		want error
	}{
		"no text":    {t.Context(), Query{}, ErrText},
		"a cursor":   {t.Context(), Query{Text: "x", Cursor: "!"}, session.ErrCursor},
		"a list's":   {t.Context(), Query{Text: "x", Cursor: cursor{list: "x"}.String()}, session.ErrCursor},
		"negative":   {t.Context(), Query{Text: "x", Cursor: "IA"}, session.ErrCursor},
		"no session": {t.Context(), Query{Text: "x", Session: storetest.ID(77)}, session.ErrNotFound},
		"damaged":    {t.Context(), Query{Text: "x", Session: storetest.ID(0)}, session.ErrDamaged},
		"cancelled":  {over, Query{Text: "x"}, why},
	} {
		tc.q.Limit = 1
		if _, err := Scan(tc.ctx, damaged{s}, tc.q, generous); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}
