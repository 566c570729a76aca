package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

const (
	syncLine   = "  sync_interval: always\n"
	importLine = "    imports: [ { service: { account: SYS, subject: \"$SYS.REQ.SERVER.*.JSZ\" } } ]\n"
)

// documented is the config of docs/cluster.md for servers of NATS, with a directory of the test, and without some of its lines.
func documented(t *testing.T, dir string, without ...string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, config, found := strings.Cut(string(page), "```conf\n")
	config, _, ended := strings.Cut(config, "```")
	if !found || !ended {
		t.Fatal("docs/cluster.md has no config of a server of NATS")
	}
	for _, line := range append(without, "/var/lib/nats") {
		if strings.Count(config, line) != 1 {
			t.Fatalf("the config in docs/cluster.md does not have %q once", line)
		}
	}
	for _, line := range without {
		config = strings.Replace(config, line, "", 1)
	}
	return strings.Replace(config, "/var/lib/nats", dir, 1)
}

// reconnected waits until a connection has another run of its server than the one with the id.
func reconnected(t *testing.T, conn *nats.Conn, id string, change <-chan nats.Status) {
	t.Helper()
	for !conn.IsConnected() || conn.ConnectedServerId() == id {
		select {
		case <-change:
		case <-t.Context().Done():
			t.Fatal("the connection does not come back")
		}
	}
}

// With the config of docs/cluster.md a node knows that a server syncs. It asks again when the server was restarted, and the answer counts for sessions
// that are created.
func TestDisks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers := jettest.StartConfig(t, documented(t, dir))
	conn, err := jet.Dial(servers.URL(0), nats.UserInfo("node", "change-this"), nats.IgnoreDiscoveredServers())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	change := conn.StatusChanged()
	reconnected(t, conn, "", change)
	var said bytes.Buffer
	d := newDisks(jet.Conns{conn}, slog.New(slog.NewTextHandler(&said, nil)))
	if d.durability() != Unverified {
		t.Error("a server that was not asked counts as verified")
	}
	for _, c := range []struct {
		what       string
		without    []string
		durability Durability
		creatable  bool
		level      string
	}{
		{"sync always", nil, Verified, true, ""},
		{"restarted as weak", []string{syncLine}, Unverified, false, "level=ERROR"},
		{"restarted without the right to ask", []string{importLine}, Unverified, true, "level=WARN"},
		{"weak, without the right to ask", []string{syncLine, importLine}, Unverified, true, "level=WARN"},
		{"restarted as it was", nil, Verified, true, ""},
	} {
		id := conn.ConnectedServerId()
		servers.RunConfig(documented(t, dir, c.without...))
		reconnected(t, conn, id, change)
		if d.durability() != Unverified {
			t.Errorf("%s: what another run of the server said counts", c.what)
		}
		said.Reset()
		err := d.creatable(t.Context())
		weak := (*session.UnsyncedError)(nil)
		if errors.As(err, &weak) == c.creatable || (err == nil) != c.creatable || weak != nil && weak.Server != "s1" {
			t.Errorf("%s: a new session gets %v", c.what, err)
		}
		if got := d.durability(); got != c.durability {
			t.Errorf("%s: durability %s, want %s", c.what, got, c.durability)
		}
		if !strings.Contains(said.String(), c.level) || (said.Len() == 0) != (c.level == "") {
			t.Errorf("%s: the log says %q", c.what, said.String())
		}
		said.Reset()
		d.ask(t.Context(), true)
		if said.Len() > 0 {
			t.Errorf("%s: asked again, the log says %q", c.what, said.String())
		}
	}
	servers.Stop(0)
	for conn.IsConnected() {
		<-change
	}
	if d.durability() != Unverified {
		t.Error("a server that is gone counts as verified")
	}
}

// A request that was given up leaves nothing behind.
func TestDisksEnd(t *testing.T) {
	servers := jettest.StartConfig(t, documented(t, t.TempDir()))
	conn, err := jet.Dial(servers.URL(0), nats.UserInfo("node", "change-this"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	reconnected(t, conn, "", conn.StatusChanged())
	ctx, end := context.WithCancel(t.Context())
	end()
	d := newDisks(jet.Conns{conn}, slog.New(slog.DiscardHandler))
	d.watch(ctx)
	if got := d.of(0); got != (disk{}) {
		t.Errorf("a request that was given up left %+v", got)
	}
}

// A node creates no session in a store that does not sync, and goes on with those that are there.
func TestWeakStore(t *testing.T) {
	t.Parallel()
	testgo.Cost(t)
	dir := t.TempDir()
	servers := jettest.StartConfig(t, documented(t, dir))
	url := strings.Replace(servers.URL(0), "nats://", "nats://node:change-this@", 1)
	n, err := Open(t.Context(), Config{Name: "a", Servers: []string{url}, Prefix: "thinkd", Replicas: 1, OpenBytes: 1 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	store := n.Store()
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if status, err := n.Status(t.Context()); err != nil || status.Durability != Verified || status.Servers[0].Syncs != SyncAlways {
		t.Fatalf("%+v, %v", status, err)
	}
	ours := store.For(session.Operator)
	kept, stamp := session.NewID(), session.Creation{Stamp: session.Stamp{ID: "a", Digest: []byte("b")}, Answer: []byte("{}")}
	if err := ours.Create(t.Context(), session.Session{ID: kept, Created: 1, Updated: 1}); err != nil {
		t.Fatal(err)
	}
	id, change := n.conns[0].ConnectedServerId(), n.conns[0].StatusChanged()
	servers.RunConfig(documented(t, dir, syncLine))
	reconnected(t, n.conns[0], id, change)
	made := session.Session{ID: session.NewID(), Created: 1, Updated: 1}
	_, once := ours.CreateOnce(t.Context(), made, stamp)
	for _, err := range []error{ours.Create(t.Context(), made), once} {
		if want := (&session.UnsyncedError{Server: "s1"}).Error(); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ours.Get(t.Context(), kept); err != nil {
		t.Error(err)
	}
	if _, ok, err := ours.Creation(t.Context(), "a"); ok || err != nil {
		t.Errorf("the refused request left its stamp: %v, %v", ok, err)
	}
}
