package trail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// node has an audit, as a daemon in a cluster has.
type node struct {
	t    *testing.T
	log  *audit.Log
	said *bytes.Buffer // what the shipper has logged; read it when the shipper is closed
	Reader
	*Shipper
}

// open opens the audit of a node, without a shipper.
func open(t *testing.T, link jet.Link, dir, name string) *node {
	t.Helper()
	stream, err := jet.OpenAudit(t.Context(), link, jet.AuditOptions{Prefix: "thinkd", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return &node{t: t, log: log, said: new(bytes.Buffer), Reader: Reader{stream, dir, name}}
}

// start is open with a shipper.
func (n *node) start() *node {
	n.t.Helper()
	s, err := Start(Config{Stream: n.Reader.Stream, Dir: n.Reader.Dir, Node: n.Reader.Node, Log: slog.New(slog.NewTextHandler(n.said, nil))})
	if err != nil {
		n.t.Fatal(err)
	}
	n.Shipper = s
	n.log.Notify(s.Wake)
	n.t.Cleanup(func() { s.stop(); <-s.done })
	return n
}

// kill ends the shipper at once.
func (n *node) kill() { n.stop(); <-n.done }

func (n *node) sync() {
	n.t.Helper()
	if err := n.Flush(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

// write records requests with the numbers from one to before another.
func (n *node) write(from, to int) {
	for i := from; i < to; i++ {
		n.log.Append(audit.Record{Method: "ping", User: "ann", Session: strconv.Itoa(i)})
	}
}

// numbers are those of all records, read in pages, with the name of their node.
func (n *node) numbers(limit int) (list []string) {
	n.t.Helper()
	for at := new(audit.Place); at != nil; {
		page, err := n.Read(n.t.Context(), audit.Query{}, *at, limit)
		if err != nil || len(page.Records) > limit || page.Damaged > 0 {
			n.t.Fatalf("%d records, %d damaged: %v", len(page.Records), page.Damaged, err)
		}
		for _, r := range page.Records {
			list = append(list, r.Node+r.Session)
		}
		if at = page.Next; at != nil {
			again, err := audit.ParsePlace(at.String())
			if err != nil || again != *at {
				n.t.Fatalf("the place %v is read as %v: %v", at, again, err)
			}
		}
	}
	return list
}

// expect fails the test unless a node reads the numbers of a node from 0 to before n, each once, in order.
func (n *node) expect(name string, count int) {
	n.t.Helper()
	var got []string
	for _, one := range n.numbers(1000) {
		if strings.HasPrefix(one, name) {
			got = append(got, one)
		}
	}
	for i := range min(count, len(got)) {
		if got[i] != name+strconv.Itoa(i) {
			n.t.Fatalf("record %d is %s", i, got[i])
		}
	}
	if len(got) != count {
		n.t.Fatalf("%d records of %s, want %d", len(got), name, count)
	}
}

// What one node has recorded is read at another, with the name of the node, and what a node has not sent yet is read at that node.
func TestTwoNodes(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a, b := open(t, link, t.TempDir(), "a").start(), open(t, link, t.TempDir(), "b").start()
	a.write(0, 3)
	b.write(0, 2)
	a.sync()
	b.sync()
	b.kill()
	b.write(2, 4)
	for _, limit := range []int{1, 2, 3, 100} {
		for _, n := range []*node{a, b} {
			want := []string{"a0", "a1", "a2", "b0", "b1"}
			if n == b {
				want = append(want, "b2", "b3")
			}
			if got := slices.Sorted(slices.Values(n.numbers(limit))); !slices.Equal(got, want) {
				t.Errorf("pages of %d: %v, want %v", limit, got, want)
			}
		}
	}
	within := "acme"
	if page, err := a.Read(t.Context(), audit.Query{Within: &within}, audit.Place{}, 100); err != nil || len(page.Records) > 0 {
		t.Errorf("the auditor of another tenant reads %v, %v", page, err)
	}
	var out bytes.Buffer
	if damaged, err := a.Export(t.Context(), &out, audit.Query{User: "ann"}); err != nil || damaged > 0 || strings.Count(out.String(), "\n") != 5 || strings.Count(out.String(), `"node":"a"`) != 3 {
		t.Errorf("%d damaged, %v\n%s", damaged, err, &out)
	}
}

// Records that are sent while somebody reads pages are on one page each.
func TestSentWhileRead(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a := open(t, link, t.TempDir(), "a").start()
	a.write(0, 10)
	a.sync()
	a.kill()
	a.write(10, 20)
	var got []string
	for at, pages := new(audit.Place), 0; at != nil; pages++ {
		page, err := a.Read(t.Context(), audit.Query{}, *at, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			got = append(got, r.Session)
		}
		if at = page.Next; pages == 4 { // in the middle of those that were not sent
			a.start().sync()
			a.write(20, 22)
		}
	}
	for i, one := range got {
		if one != strconv.Itoa(i) {
			t.Fatalf("record %d is %s: %v", i, one, got)
		}
	}
	if len(got) != 22 {
		t.Errorf("%d records", len(got))
	}
}

// A node that is killed after it has written sends the rest when it starts again, and nothing twice.
func TestKilledBeforeSent(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	dir := t.TempDir()
	a := open(t, link, dir, "a").start()
	a.write(0, 5)
	a.sync()
	a.kill()
	a.write(5, 10)
	again := open(t, link, dir, "a").start()
	again.write(10, 12)
	again.sync()
	open(t, link, t.TempDir(), "b").expect("a", 12)
}

// A message that is stored and not acknowledged is not stored again, by the same run or the next one.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	proxy := jettest.NewProxy(t, servers.Address(0))
	dir, link := t.TempDir(), servers.Dial()
	a := open(t, jettest.Dial(t, proxy.URL()), dir, "a").start()
	a.write(0, 5)
	a.sync()
	b := open(t, link, t.TempDir(), "b")
	stored := make(chan *nats.Msg, 100)
	if _, err := link[0].ChanSubscribe("thinkd.audit.>", stored); err != nil {
		t.Fatal(err)
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	until := func(number string) {
		t.Helper()
		for {
			select {
			case m := <-stored:
				if strings.Contains(string(m.Data), `"session_id":"`+number+`"`) {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("record %s is not sent", number)
			}
		}
	}
	proxy.LoseAnswers()
	a.write(5, 7)
	until("6")
	proxy.Cut()
	a.sync()
	b.expect("a", 7)

	proxy.LoseAnswers()
	a.write(7, 9)
	until("8")
	a.kill()
	again := open(t, link, dir, "a").start()
	again.write(9, 11)
	again.sync()
	b.expect("a", 11)
}

// Records are written and wait while no server answers. Reading says that it cannot, and a backlog of 10,000 records is sent when they are back.
func TestServersAway(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	proxy := jettest.NewProxy(t, servers.Address(0))
	a := open(t, jettest.Dial(t, proxy.URL()), t.TempDir(), "a").start()
	proxy.Refuse()
	const many = 10_000
	a.write(0, many)
	ctx, cancel := context.WithCancel(t.Context())
	read := testgo.Go(t, func() {
		if page, err := a.Read(ctx, audit.Query{}, audit.Place{}, 10); err == nil {
			t.Errorf("without servers, %d records are read", len(page.Records))
		}
	})
	cancel()
	<-read
	if err := a.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without servers, records are sent: %v", err)
	}
	proxy.Accept()
	a.sync()
	b := open(t, servers.Dial(), t.TempDir(), "b")
	b.expect("a", many)
	a.expect("a", many)
}

// Elections lose no record, and store none twice.
func TestElections(t *testing.T) {
	t.Parallel()
	testgo.Cost(t)
	servers := jettest.Start(t, 3)
	link := servers.Dial()
	stream, err := jet.OpenAudit(t.Context(), link, jet.AuditOptions{Prefix: "thinkd", Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, link, t.TempDir(), "a").start()
	const rounds, each = 5, 20
	for i := range rounds {
		a.write(i*each, (i+1)*each)
		if err := servers.StepDown("thinkd_AUDIT"); err != nil {
			t.Log(err) // there is none while one is elected
		}
		a.sync()
	}
	b := open(t, link, t.TempDir(), "b")
	b.Reader.Stream = stream
	b.expect("a", rounds*each)
}

// A directory that is an older copy of itself sends what it has as another one, and loses nothing. A new directory begins at 0.
func TestOtherDirectory(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	dir, old := t.TempDir(), t.TempDir()
	a := open(t, link, dir, "a").start()
	a.write(0, 3)
	a.sync()
	if err := os.CopyFS(filepath.Join(old, "audit"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	a.write(3, 6)
	a.sync()
	a.kill()

	back := open(t, link, filepath.Join(old, "audit"), "a").start()
	back.write(6, 20) // longer than the file that was sent
	back.sync()
	back.kill()
	if !strings.Contains(back.said.String(), "sent again") {
		t.Errorf("the log of a directory that was copied: %s", back.said)
	}
	fresh := open(t, link, t.TempDir(), "a").start()
	fresh.write(20, 21)
	fresh.sync()
	seen := make(map[string]int)
	for _, one := range open(t, link, t.TempDir(), "b").numbers(7) {
		seen[one]++
	}
	for i := range 21 {
		want := 1
		if i < 3 {
			want = 2 // before the copy
		}
		if n := seen["a"+strconv.Itoa(i)]; n != want {
			t.Errorf("record %d is read %d times, want %d", i, n, want)
		}
	}
}

// A stream that was lost gets all that the nodes still have, also of earlier days, and without a restart.
func TestLostStream(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "2026-11-01.jsonl"), []byte(`{"time":"2026-11-01T00:00:00.000Z","method":"ping","session_id":"0"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := open(t, link, dir, "a").start()
	a.write(1, 3)
	a.sync()
	if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_AUDIT", nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	b := open(t, link, t.TempDir(), "b")
	a.write(3, 4)
	if err := a.Flush(t.Context()); !errors.Is(err, errRestored) {
		t.Errorf("the loss is reported as %v", err)
	}
	a.sync()
	b.expect("a", 4)
}

// Nobody can remove a record by the ordinary requests, and no subject has a name.
func TestAppendOnly(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	subjects := make(chan *nats.Msg, 100)
	if _, err := link[0].ChanSubscribe("thinkd.>", subjects); err != nil {
		t.Fatal(err)
	}
	a := open(t, link, t.TempDir(), "canary-node").start()
	a.log.Append(audit.Record{Method: "ping", User: "canary-user", Tenant: "canary-tenant"})
	a.sync()
	if m := <-subjects; strings.Contains(m.Subject, "canary") {
		t.Errorf("a subject is %s", m.Subject)
	}
	for _, what := range []string{"STREAM.PURGE.thinkd_AUDIT", "STREAM.MSG.DELETE.thinkd_AUDIT"} {
		m, err := link[0].Request("$JS.API."+what, []byte(`{"seq":1}`), time.Minute)
		var answer struct{ Success bool }
		if err != nil || json.Unmarshal(m.Data, &answer) != nil || answer.Success {
			t.Errorf("%s: %v, %v", what, m, err)
		}
	}
	if got := a.numbers(10); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
}

// What is sent twice, or late, is stored once: a message has to come behind the last one of its file.
func TestAppendBehindTheLast(t *testing.T) {
	stream, err := jet.OpenAudit(t.Context(), jettest.Start(t, 1).Dial(), jet.AuditOptions{Prefix: "thinkd", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := jet.AuditMessage{Day: "2026-11-29", Dir: jet.NewAuditDir(), To: 2, Lines: []byte("1\n")}
	first, err := stream.Append(t.Context(), 0, m, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := m
	next.From, next.To = 2, 4
	last, err := stream.Append(t.Context(), 0, next, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []struct {
		m     jet.AuditMessage
		after uint64
	}{{m, 0}, {next, first}, {next, last + 1}} {
		if seq, err := stream.Append(t.Context(), 0, late.m, late.after); err == nil {
			t.Errorf("bytes from %d are stored behind message %d as %d", late.m.From, late.after, seq)
		}
	}
	if got, ok, err := stream.Last(t.Context(), m.Day, m.Dir); got.Seq != last || !ok || err != nil {
		t.Errorf("the last message is %d, %v, want %d", got.Seq, err, last)
	}
}

// Bytes that are no records are counted, in files and in the stream, and what is around them is read.
func TestForeignBytes(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	dir := t.TempDir()
	day := session.Day("2026-11-23")
	line := func(n int) string { return fmt.Sprintf(`{"method":"ping","session_id":"%d"}`, n) + "\n" }
	text := line(0) + "\xff\x00 \n\n" + line(1) + strings.Repeat("x", 300<<10) + "\n" + line(2) + `{"method":"cut`
	if err := os.WriteFile(filepath.Join(dir, string(day)+".jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := open(t, link, dir, "a")
	check := func(by *node, limit, records, damaged int) {
		t.Helper()
		var all audit.Page
		for at := new(audit.Place); at != nil; {
			page, err := by.Read(t.Context(), audit.Query{From: day, To: day}, *at, limit)
			if err != nil {
				t.Fatal(err)
			}
			all.Records, all.Damaged, at = append(all.Records, page.Records...), all.Damaged+page.Damaged, page.Next
		}
		if len(all.Records) != records || all.Damaged != damaged {
			t.Errorf("pages of %d: %d records, %d damaged; want %d and %d", limit, len(all.Records), all.Damaged, records, damaged)
		}
	}
	check(a, 1, 3, 2)
	a.start().sync()
	check(a, 1, 3, 2)
	b := open(t, link, t.TempDir(), "b")
	check(b, 1, 3, 2)
	for _, m := range []*nats.Msg{
		{Subject: "thinkd.audit.2026-11-23.aaaaaaaaaaaaa", Data: []byte(line(3))},
		{Subject: "thinkd.audit.2026-11-23.x", Header: nats.Header{"Thinkd": {`{"from":-1}`}}},
		{Subject: "thinkd.audit.2026-11-23.aaaaaaaaaaaab", Header: nats.Header{"Thinkd": {`{"from":9223372036854775807,"to":1}`}}, Data: []byte("x")},
		{Subject: "thinkd.audit.2026-11-23.aaaaaaaaaaaac", Header: nats.Header{"Thinkd": {`{"node":"x","to":9223372036854775807}`}}, Data: []byte(line(4) + "[]\nnull")},
		{Subject: "thinkd.audit.x", Data: []byte("x")},
	} {
		if _, err := link[0].RequestMsg(m, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 100} {
		check(a, limit, 5, 6)
		check(b, limit, 5, 6)
	}
	foreign, _, err := readMark(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, head := range []string{"x", `{"to":5}`} { // as the last message of our own file
		m := &nats.Msg{Subject: "thinkd.audit.2026-11-23." + foreign.ID, Header: nats.Header{"Thinkd": {head}}, Data: []byte("xxxxx")}
		if _, err := link[0].RequestMsg(m, time.Minute); err != nil {
			t.Fatal(err)
		}
		a.kill()
		a.start().sync()
		a.kill()
		if !strings.Contains(a.said.String(), "sent again") {
			t.Errorf("%d: %s", i, a.said)
		}
	}
}

// A file that says under which id records are sent, and is none, is named.
func TestBadMark(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{", `{"id":"a.b"}`, `{"id":"*"}`} {
		if err := os.WriteFile(filepath.Join(dir, markName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Start(Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), markName) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Records that went from the stream for their age are not sent again.
func TestAge(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	if _, err := jet.OpenAudit(t.Context(), link, jet.AuditOptions{Prefix: "thinkd", Replicas: 1, MaxAge: time.Hour}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "2026-11-01.jsonl")
	if err := os.WriteFile(path, []byte(`{"method":"ping"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	a := open(t, link, dir, "a").start()
	a.write(0, 1)
	a.sync()
	open(t, link, t.TempDir(), "b").expect("a", 1)
	if days, err := a.Reader.Stream.Days(t.Context()); err != nil || len(days) != 1 {
		t.Errorf("days %v, %v", days, err)
	}
}
