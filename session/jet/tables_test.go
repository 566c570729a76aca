package jet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

func openTables(t *testing.T, link jet.Link) *jet.Tables {
	t.Helper()
	all, err := jet.OpenTables(t.Context(), link, jet.TableOptions{Prefix: "thinkd", Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Close)
	return all
}

// set puts a text in a row; "" removes it.
func set(t *testing.T, in durable.Table, key, text string) {
	t.Helper()
	err := in.Change(t.Context(), key, func([]byte) ([]byte, error) {
		if text == "" {
			return nil, nil
		}
		return []byte(text), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wait returns when a row has a text; "": when it is not there.
func wait(t *testing.T, in durable.Table, key, text string) {
	t.Helper()
	for {
		changed := in.Changed()
		if rows, _ := in.Rows(); string(rows[key]) == text {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("row %s is not %q", key, text)
		}
	}
}

// Each node sees what another one changes, and a node that starts later sees all of it.
func TestTables(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a, b := openTables(t, link).Table("one"), openTables(t, link).Table("one")
	set(t, a, "x.*>\x00", "1")
	set(t, a, "gone", "1")
	wait(t, b, "x.*>\x00", "1")
	before := b.Version()
	set(t, b, "x.*>\x00", "2")
	if b.Version() == before {
		t.Error("a change has the version before it")
	}
	wait(t, a, "x.*>\x00", "2")
	set(t, b, "gone", "")
	wait(t, a, "gone", "")
	set(t, a, "gone", "") // nobody has it
	same := a.Version()
	set(t, a, "x.*>\x00", "2")
	if a.Version() != same {
		t.Error("a change that changes nothing has another version")
	}
	late := openTables(t, link)
	if rows, _ := late.Table("one").Rows(); len(rows) != 1 || string(rows["x.*>\x00"]) != "2" {
		t.Errorf("a later node has %q", rows)
	}
	if rows, _ := late.Table("two").Rows(); len(rows) != 0 {
		t.Errorf("another table has %q", rows)
	}
	set(t, late.Table("one"), "gone", "3")
	wait(t, a, "gone", "3")
	if !a.Fresh() || !late.Fresh() {
		t.Error("rows are not fresh")
	}
}

// Nodes that change one row at once lose nothing, and an error changes nothing.
func TestWritersOfOneRow(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	nodes := []durable.Table{openTables(t, link).Table("n"), openTables(t, link).Table("n"), openTables(t, link).Table("n")}
	const each = 20
	var ends []<-chan struct{}
	errs := make([]error, len(nodes))
	for i, node := range nodes {
		ends = append(ends, testgo.Go(t, func() {
			for range each {
				errs[i] = errors.Join(errs[i], node.Change(t.Context(), "sum", func(old []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(old)) // 0 at first
					return strconv.AppendInt(nil, int64(n+1), 10), nil
				}))
			}
		}))
	}
	for _, end := range ends {
		<-end
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		wait(t, node, "sum", fmt.Sprint(each*len(nodes)))
	}
	refused := errors.New("refused")
	if err := nodes[0].Change(t.Context(), "sum", func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("the error of a change is %v", err)
	}
	wait(t, nodes[0], "sum", fmt.Sprint(each*len(nodes)))
}

// A row, a key and the names of tables have limits.
func TestLimitsOfRows(t *testing.T) {
	table := openTables(t, jettest.Start(t, 1).Dial()).Table("n")
	big := []byte(strings.Repeat("x", 600<<10))
	err := table.Change(t.Context(), "big", func([]byte) ([]byte, error) { return big, nil })
	if err == nil || !strings.Contains(err.Error(), "at most 512") {
		t.Errorf("a text of 600 KiB: %v", err)
	}
	fits := string(big[:370<<10])
	set(t, table, "big", fits)
	wait(t, table, "big", fits)
	for _, key := range []string{"", strings.Repeat("k", 1025)} {
		if err := table.Change(t.Context(), key, func([]byte) ([]byte, error) { return []byte("x"), nil }); err == nil {
			t.Errorf("a key of %d bytes is accepted", len(key))
		}
	}
	if _, err := jet.OpenTables(t.Context(), nil, jet.TableOptions{Prefix: "a.b"}); err == nil {
		t.Error("a prefix with a dot is accepted")
	}
}

// A stream that was restored has other sequences. A node that runs sees its rows, and not those of before.
func TestRestoredStream(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	a := openTables(t, link).Table("n")
	for _, text := range []string{"1", "2", "3"} {
		set(t, a, "key", text)
		set(t, a, "gone", text)
	}
	if _, err := link[0].Request("$JS.API.STREAM.DELETE.thinkd_TABLE", nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	b := openTables(t, link).Table("n")
	set(t, b, "key", "2")
	wait(t, a, "key", "2")
	wait(t, a, "gone", "")
	set(t, a, "key", "4")
	wait(t, b, "key", "4")
}

// More rows than a batch has are read at the start, and no subject has anything of a key.
func TestManyRows(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	subjects := make(chan *nats.Msg, 1000)
	if _, err := link[0].ChanSubscribe("thinkd.>", subjects); err != nil {
		t.Fatal(err)
	}
	a := openTables(t, link).Table("n")
	const n = 300
	for i := range n {
		set(t, a, fmt.Sprint("canary", i), "x")
	}
	if rows, _ := openTables(t, link).Table("n").Rows(); len(rows) != n {
		t.Errorf("%d rows", len(rows))
	}
	if err := link[0].Flush(); err != nil {
		t.Fatal(err)
	}
	seen := make([]string, 0, n)
	for len(subjects) > 0 {
		m := <-subjects
		seen = append(seen, m.Subject)
		if strings.Contains(m.Subject, "canary") {
			t.Errorf("a subject is %s", m.Subject)
		}
	}
	if slices.Sort(seen); len(slices.Compact(seen)) != n {
		t.Errorf("%d subjects", len(seen))
	}
}

// Without the servers a node knows the rows that it knew, and says that they are old. A change fails, and is seen after the servers are back.
func TestTablesWithoutServers(t *testing.T) {
	servers := jettest.Start(t, 1)
	proxy := jettest.NewProxy(t, servers.Address(0))
	link := jettest.Dial(t, proxy.URL())
	cut, whole := openTables(t, link).Table("n"), openTables(t, servers.Dial()).Table("n")
	set(t, whole, "key", "old")
	wait(t, cut, "key", "old")
	proxy.LoseAnswers()
	set(t, whole, "key", "new")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cut.Change(ctx, "key", func([]byte) ([]byte, error) { return []byte("lost"), nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a change without servers: %v", err)
	}
	if rows, _ := cut.Rows(); string(rows["key"]) != "old" {
		t.Errorf("the row is %q", rows["key"])
	}
	proxy.Cut()
	wait(t, cut, "key", "new")
}

// A server that takes requests and does not answer keeps nobody from seeing changes over another connection.
func TestTablesWithMuteServer(t *testing.T) {
	t.Parallel()
	servers := jettest.Start(t, 1)
	proxy := jettest.NewProxy(t, servers.Address(0))
	half, whole := openTables(t, jettest.Dial(t, proxy.URL(), servers.URL(0))).Table("n"), openTables(t, servers.Dial()).Table("n")
	proxy.LoseAnswers()
	for i := range 3 {
		began := time.Now()
		set(t, whole, "key", fmt.Sprint(i))
		wait(t, half, "key", fmt.Sprint(i))
		t.Logf("the change was seen after %v", time.Since(began))
	}
	if !half.Fresh() {
		t.Error("the rows are not fresh")
	}
}

// sleeping is the link of a machine that sleeps: no request goes out.
type sleeping struct {
	jet.Link
	mu     sync.RWMutex // held for reading by each request
	asleep bool
}

func (s *sleeping) set(asleep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asleep = asleep
}

func (s *sleeping) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.asleep {
		return nil, errors.New("the machine sleeps")
	}
	return s.Link.Request(ctx, try, m)
}

// A machine sleeps for longer than the servers keep tombstones, and only one of its clocks shows that. Its rows are old when it goes on, and a row that was
// removed meanwhile is not there after the next look.
func TestTablesAfterSleep(t *testing.T) {
	link := jettest.Start(t, 1).Dial()
	machine, slept := &sleeping{Link: link}, new(atomic.Int64)
	all, err := jet.OpenTables(t.Context(), machine, jet.TableOptions{Prefix: "thinkd", Replicas: 1,
		Clock: func() time.Duration { return time.Hour + time.Duration(slept.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	here, other := all.Table("n"), openTables(t, link).Table("n")
	set(t, other, "kept", "1")
	set(t, other, "removed", "1")
	wait(t, here, "removed", "1")
	machine.set(true)
	set(t, other, "removed", "")
	list, err := jet.ReadStream(t.Context(), link, 0, "thinkd_TABLE", 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if len(m.Data) == 0 { // the tombstone is gone, too
			if err := jet.Purge(t.Context(), link, "thinkd_TABLE", m.Subject); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !here.Fresh() {
		t.Error("the rows are old before the machine slept")
	}
	slept.Store(int64(jet.TombstoneTime))
	if here.Fresh() {
		t.Error("the rows of before the sleep count as fresh")
	}
	machine.set(false)
	set(t, other, "later", "1")
	wait(t, here, "later", "1")
	if rows, _ := here.Rows(); rows["removed"] != nil || rows["kept"] == nil || !here.Fresh() {
		t.Errorf("after a look: %q, fresh %v", rows, here.Fresh())
	}
}
