package rpc

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/storetest"
)

var idleCount = flag.Int("idle", 200, "how many idle connections TestIdleWebSockets holds, and sessions TestIdleSessions")

// TestIdleWebSockets holds idle connections, whose clients live in processes of their own, and prints what one costs.
// Run it with -idle 10000, without the race detector for the figures; the system has to allow as many open files.
func TestIdleWebSockets(t *testing.T) {
	_, addr := listenOn(t, testServer(t, Config{}))
	heap, stacks, rss := memory(t)
	goroutines := runtime.NumGoroutine()
	begin := time.Now()

	const perProcess = 2500
	var clients []io.WriteCloser
	var children []*exec.Cmd
	for left := *idleCount; left > 0; left -= perProcess {
		child := exec.Command(os.Args[0], "-test.run=^TestIdleClients$")
		child.Env = append(os.Environ(), "THINKD_IDLE_ADDR="+addr.String(), "THINKD_IDLE_COUNT="+strconv.Itoa(min(left, perProcess)))
		child.Stderr = os.Stderr
		stdin, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children, clients = append(children, child), append(clients, stdin)
		defer child.Process.Kill() // it has ended, if all went well
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	took := time.Since(begin)
	moreHeap, moreStacks, moreRSS := memory(t)
	n := uint64(*idleCount)
	each := float64(runtime.NumGoroutine()-goroutines) / float64(n)
	t.Logf("%d connections in %v; each: %.2f goroutines, %d bytes of heap, %d of stacks, %d resident", n, took.Round(time.Millisecond), each,
		int64(moreHeap-heap)/int64(n), int64(moreStacks-stacks)/int64(n), int64(moreRSS-rss)/int64(n))
	if each > 3.1 {
		t.Errorf("%.2f goroutines for a connection", each)
	}
	if cost := (moreHeap - heap + moreStacks - stacks) / n; cost > 40<<10 && n >= 100 {
		t.Errorf("%d bytes for a connection", cost)
	}
	for i, stdin := range clients {
		stdin.Close()
		if err := children[i].Wait(); err != nil {
			t.Error(err)
		}
	}
}

// memory is what this process holds.
func memory(t *testing.T) (heap, stacks, rss uint64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse, resident(t)
}

// resident is the memory of this process, 0 where the system does not tell.
func resident(t *testing.T) uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// TestIdleClients is the other side: each client has had an answer, and then answers pings until standard input ends.
func TestIdleClients(t *testing.T) {
	addr := os.Getenv("THINKD_IDLE_ADDR")
	if addr == "" {
		return // this is the test binary itself, not the child of TestIdleWebSockets
	}
	count, err := strconv.Atoi(os.Getenv("THINKD_IDLE_COUNT"))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	var conns []net.Conn
	for range count {
		c := conntest.Dial(t, tcp)
		c.Send(conntest.Frame(conntest.Fin|conntest.Text, conntest.Ping("1")))
		if _, got, err := c.Receive(); err != nil || got != fmt.Sprintf(conntest.Pong, "1") {
			t.Fatal(got, err)
		}
		conns = append(conns, c.Conn)
		reading.Go(testgo.Guard(t, func() { c.ClosedAfter(true) })) // ends with the connection; awaited below
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		c.Close()
	}
	reading.Wait()
}

// TestIdleSessions holds idle sessions with a turn in each: followed by one client, then by none, then let go, and prints
// what one costs. Run it with -idle 10000, without the race detector for the figures.
func TestIdleSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // ten minutes pass
		store, err := bolt.Open(t.TempDir(), bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		catalog, err := registry.New([]registry.Provider{{ID: "sim", Vendor: "sim"}})
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		group, err := agent.NewGroup(t.Context(), agent.Config{Store: store, Left: store.OpenTurns, Catalog: catalog, Log: log, Simulator: "sim",
			Provider: func(string) provider.Provider { return nil }}) // no turn is run
		if err != nil {
			t.Fatal(err)
		}
		defer group.Close()
		ids := storeSessions(t, group, store, *idleCount)

		server := NewServer(Config{Version: "1.2.3", Config: service.Config{Log: log, Sessions: service.AgentsOf(group), Catalog: group.Config().Catalog,
			Providers:    func() []service.ProviderStatus { return nil },
			DefaultModel: func(session.Owner) session.ModelRef { return session.ModelRef{Provider: "sim", ID: "claude"} }}})
		ours, theirs := net.Pipe()
		served := make(chan error)
		testgo.Go(t, func() { served <- server.Serve(context.Background(), theirs) }) // ends with the connection; awaited below
		defer func() { ours.Close(); <-served }()
		in := bufio.NewReader(ours)
		forEach := func(method string) {
			for _, id := range ids {
				if _, err := io.WriteString(ours, conntest.Request(1, method, fmt.Sprintf(`{"session_id":%q}`, id))+"\n"); err != nil {
					t.Fatal(err)
				}
				line, err := in.ReadString('\n')
				if err != nil || !gjson.Get(line, "result").Exists() {
					t.Fatal(line, err)
				}
			}
		}
		n := float64(len(ids))
		synctest.Wait()
		heap, stacks, rss := memory(t)
		goroutines := runtime.NumGoroutine()
		check := func(state string, most int64, mostGoroutines float64) {
			t.Helper()
			synctest.Wait()
			h, s, r := memory(t)
			each := float64(runtime.NumGoroutine()-goroutines) / n
			more := int64(h) - int64(heap)
			if each > 0 { // the runtime keeps the stacks of goroutines that have ended for those that will begin
				more += int64(s) - int64(stacks)
			}
			t.Logf("%d sessions, %s; each: %.2f goroutines, %d bytes of heap, %d of stacks, %d resident", len(ids), state, each,
				int64(h-heap)/int64(n), int64(s-stacks)/int64(n), int64(r-rss)/int64(n))
			if each > mostGoroutines {
				t.Errorf("%s: %.2f goroutines for a session", state, each)
			}
			if more/int64(n) > most && n >= 100 {
				t.Errorf("%s: %d bytes for a session", state, more/int64(n))
			}
		}
		forEach("session/attach")
		check("followed by a client", 40<<10, 4)
		forEach("session/detach")
		check("loaded", 32<<10, 2)
		time.Sleep(12 * time.Minute) // ten, and the time until that is looked after
		check("let go", 4<<10, 0)
	})
}

// storeSessions makes sessions with a turn each.
func storeSessions(t *testing.T, group *agent.Group, store session.Store, n int) []session.ID {
	ids := make([]session.ID, n)
	const at = 64 // a time, so that they share commits
	var making sync.WaitGroup
	for first := range at {
		making.Go(testgo.Guard(t, func() {
			for i := first; i < n; i += at {
				s, err := group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = s.ID
				turn, said, reply := session.NewTurnID(), session.NewMessageID(), session.NewMessageID()
				var entries []session.Entry
				for _, body := range []session.Body{
					session.Prompt{Message: said, Content: provider.Blocks{provider.Text{Text: "Which date is later?"}}},
					session.TurnStart{},
					session.Sealed{Message: reply, Block: provider.Text{Text: strings.Repeat("The second. ", 80)}},
					session.MessageEnd{Message: reply}, session.TurnEnd{StopReason: "end_turn"},
				} {
					entries = append(entries, session.Entry{Turn: turn, Body: body})
				}
				if _, err := storetest.Append(t.Context(), store.For(session.Operator), s.ID, entries...); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	making.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return ids
}
