package conn

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// dial serves one client over a unix socket, as doors do.
func dial(b *testing.B) net.Conn {
	listener, err := net.Listen("unix", b.TempDir()+"/s")
	if err != nil {
		b.Skipf("needs: a unix socket: %v", err)
	}
	served := make(chan error, 1)
	testgo.Go(b, func() {
		conn, err := listener.Accept()
		if err == nil {
			err = testServer(b, 0).Serve(b.Context(), conn)
		}
		served <- err
	})
	conn, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); <-served; listener.Close() })
	return conn
}

// BenchmarkRequest is a request and its answer, one after another.
func BenchmarkRequest(b *testing.B) {
	conn := dial(b)
	in := bufio.NewReader(conn)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(conn, conntest.Ping("1")+"\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdates is one update on its way from a goroutine to a client that reads.
func BenchmarkUpdates(b *testing.B) {
	conn := dial(b)
	in := bufio.NewReaderSize(conn, 64<<10)
	if _, err := fmt.Fprintf(conn, "%s\n", conntest.Request(1, "follow", `{"session_id":"a","updates":1000000000}`)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargeRequest is the reading of a message of 4 MiB.
func BenchmarkLargeRequest(b *testing.B) {
	message := conntest.Request(1, "ping", `{"x":"`+strings.Repeat("x", 4<<20)+`"}`) + "\n"
	conn := dial(b)
	in := bufio.NewReader(conn)
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(conn, message); err != nil {
			b.Fatal(err)
		}
		if _, err := in.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
}
