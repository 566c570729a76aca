package rpc

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var idleConns = flag.Int("idle", 200, "how many idle WebSocket connections TestIdleWebSockets holds")

// TestIdleWebSockets holds idle connections, whose clients live in processes of their own, and prints what one costs.
// Run it with -idle 10000, without the race detector for the figures; the system has to allow as many open files.
func TestIdleWebSockets(t *testing.T) {
	addr := listenOn(t, testHTTP(t, testServer(t, Config{}), HTTPConfig{Hosts: []string{"thinkd.test:0"}, Port: 1}))
	memory := func() (heap, stacks, rss uint64) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse, resident(t)
	}
	heap, stacks, rss := memory()
	goroutines := runtime.NumGoroutine()
	begin := time.Now()

	const perProcess = 2500
	var clients []io.WriteCloser
	var children []*exec.Cmd
	for left := *idleConns; left > 0; left -= perProcess {
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
	moreHeap, moreStacks, moreRSS := memory()
	n := uint64(*idleConns)
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
		t.Skip("only as a child of TestIdleWebSockets")
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
		c := dialRaw(t, tcp)
		c.send(t, frame(fin|text, pingWith("1")))
		if _, got, err := c.receive(); err != nil || got != fmt.Sprintf(pong, "1") {
			t.Fatal(got, err)
		}
		conns = append(conns, c.conn)
		reading.Go(func() { c.closedAfter(true) }) // ends with the connection; awaited below
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		c.Close()
	}
	reading.Wait()
}
