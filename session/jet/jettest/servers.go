package jettest

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/ports"
)

// Servers are store servers that form one cluster, or one server alone.
type Servers struct {
	t    testing.TB
	list []*server.Server
	opts []*server.Options

	routes []*Proxy        // in front of each server, for the routes of the others; nil: there are none
	parted map[[2]int]bool // servers that Part has cut from each other
}

// ready bounds what a test waits for, in a process that is stopped or a machine that is busy. No test waits that long.
const ready = 2 * time.Minute

// Start starts servers, which end with the test.
func Start(t testing.TB, n int) *Servers {
	t.Helper()
	return start(t, n, nil)
}

// StartRouted starts servers between which Part can cut connections.
func StartRouted(t testing.TB, n int) *Servers {
	t.Helper()
	var routes []*Proxy
	for range n {
		p := listen(t)
		for i := range n { // so that it learns the names of all
			p.barred[serverNameOf(i)] = false
		}
		routes = append(routes, p)
	}
	return start(t, n, routes)
}

// StartConfig starts one server with a config of NATS, which says neither its name nor where it listens.
func StartConfig(t testing.TB, config string) *Servers {
	t.Helper()
	s := &Servers{t: t, list: make([]*server.Server, 1), opts: []*server.Options{{Port: free(t, 1)[0]}}}
	t.Cleanup(func() { s.Stop(0) })
	s.RunConfig(config)
	return s
}

// RunConfig starts the server of StartConfig again, with another config. It has the same address and another id.
func (s *Servers) RunConfig(config string) {
	s.t.Helper()
	s.Stop(0)
	path := filepath.Join(s.t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	o.ServerName, o.Host, o.Port, o.NoLog, o.NoSigs = serverNameOf(0), "127.0.0.1", s.opts[0].Port, true, true
	s.opts[0] = o
	s.Run(0)
}

func serverNameOf(i int) string { return fmt.Sprintf("s%d", i+1) }

func start(t testing.TB, n int, proxies []*Proxy) *Servers {
	t.Helper()
	s := &Servers{t: t, list: make([]*server.Server, n), opts: make([]*server.Options, n), routes: proxies, parted: make(map[[2]int]bool)}
	dir := t.TempDir()
	var routes []*url.URL
	all := free(t, 2*n)
	clients, peers := all[:n], all[n:]
	for i := range n {
		host := fmt.Sprintf("127.0.0.1:%d", peers[i])
		if proxies != nil {
			proxies[i].begin(host)
			host = proxies[i].Address()
		}
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: host})
	}
	for i := range n {
		s.opts[i] = &server.Options{ServerName: serverNameOf(i), Host: "127.0.0.1", Port: clients[i], NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i)), JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 8 << 30}
		if n > 1 {
			s.opts[i].Cluster = server.ClusterOpts{Name: "store", Host: "127.0.0.1", Port: peers[i]}
			if proxies != nil { // what the servers tell each other of a server is its proxy
				s.opts[i].Cluster.Advertise = proxies[i].Address()
			}
			s.opts[i].Routes = routes
		}
	}
	t.Cleanup(func() {
		for i := range s.list {
			s.Stop(i)
		}
	})
	for i := range n {
		s.Run(i)
	}
	if n > 1 {
		s.elect()
	}
	return s
}

// elect waits until the servers have a leader that knows all of them. Before, they refuse to create streams.
func (s *Servers) elect() {
	s.t.Helper()
	s.until(func() bool {
		for _, one := range s.list {
			if one.JetStreamIsLeader() && len(one.JetStreamClusterPeers()) == len(s.list) {
				return true
			}
		}
		return false
	}, "the servers elected no leader")
}

// until waits for what servers tell nobody.
func (s *Servers) until(done func() bool, otherwise string, args ...any) {
	s.t.Helper()
	until := time.NewTimer(ready)
	defer until.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-until.C:
			s.t.Fatalf("after %v: %s", ready, fmt.Sprintf(otherwise, args...))
		}
	}
}

func free(t testing.TB, n int) (list []int) {
	t.Helper()
	addresses, err := ports.Free(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		list = append(list, int(netip.MustParseAddrPort(a).Port()))
	}
	return list
}

// Run starts a server, again if it was stopped.
func (s *Servers) Run(i int) {
	s.t.Helper()
	one, err := server.NewServer(s.opts[i].Clone())
	if err != nil {
		s.t.Fatal(err)
	}
	one.Start() // it starts goroutines, and returns
	s.list[i] = one
	if !one.ReadyForConnections(ready) {
		s.t.Fatalf("server %d accepts no connections", i+1)
	}
}

// Stop ends a server.
func (s *Servers) Stop(i int) {
	if one := s.list[i]; one != nil {
		one.Shutdown()
		one.WaitForShutdown()
		s.list[i] = nil
	}
}

// Stored is the name of a file of the servers that has a text in it, or "". They must be stopped: what is in their memory is in no file.
func (s *Servers) Stored(text string) (file string) {
	s.t.Helper()
	for _, o := range s.opts {
		err := filepath.WalkDir(o.StoreDir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(text)) {
				file = path
			}
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return file
}

// Part cuts all connections between two servers, until Join, and returns when both know.
func (s *Servers) Part(i, j int) { s.bar(i, j, true) }

// Join allows connections between two servers again, and returns when there are some.
func (s *Servers) Join(i, j int) { s.bar(i, j, false) }

func (s *Servers) bar(i, j int, barred bool) {
	s.t.Helper()
	s.parted[[2]int{min(i, j), max(i, j)}] = barred
	s.routes[i].bar(serverNameOf(j), barred)
	s.routes[j].bar(serverNameOf(i), barred)
	s.until(func() bool { return s.list[i].NumRemotes() == s.reach(i) && s.list[j].NumRemotes() == s.reach(j) },
		"servers %d and %d have other routes than they may", i+1, j+1)
}

// reach is how many servers one may have connections to.
func (s *Servers) reach(i int) (n int) {
	for j := range s.list {
		if j != i && !s.parted[[2]int{min(i, j), max(i, j)}] {
			n++
		}
	}
	return n
}

// URL is that of a server.
func (s *Servers) URL(i int) string { return fmt.Sprintf("nats://127.0.0.1:%d", s.opts[i].Port) }

// Address is that of a server, for a proxy.
func (s *Servers) Address(i int) string { return fmt.Sprintf("127.0.0.1:%d", s.opts[i].Port) }

// Leader is the server that leads a stream; ok is false while there is none.
func (s *Servers) Leader(stream string) (i int, ok bool) {
	for i, one := range s.list {
		if one != nil && one.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i, true
		}
	}
	return 0, false
}

// StepDown has the leader of a stream give up its office.
func (s *Servers) StepDown(stream string) error {
	for _, one := range s.list {
		if one != nil && one.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return one.JetStreamStepdownStream(server.DEFAULT_GLOBAL_ACCOUNT, stream)
		}
	}
	return fmt.Errorf("stream %s has no leader", stream)
}

// Dial connects to each server. The connections end with the test.
func (s *Servers) Dial() jet.Conns {
	s.t.Helper()
	var urls []string
	for i := range s.list {
		urls = append(urls, s.URL(i))
	}
	return Dial(s.t, urls...)
}

// Dial connects to each address alone, also if its server names others.
func Dial(t testing.TB, urls ...string) (conns jet.Conns) {
	t.Helper()
	for _, u := range urls {
		conn, err := jet.Dial(u, nats.IgnoreDiscoveredServers())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conns = append(conns, conn)
	}
	return conns
}
