package demo

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet/ports"
)

// greeter is a node that says its name to each client, and hangs up.
func greeter(t *testing.T, name string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := testgo.Go(t, func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := io.WriteString(c, name); err != nil {
				t.Error(err)
			}
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// TestFront: clients reach one node after another, and none that does not listen.
func TestFront(t *testing.T) {
	dead, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: l, nodes: []string{greeter(t, "a"), dead[0], greeter(t, "c")}}
	ctx, stop := context.WithCancel(t.Context())
	var ended error
	done := testgo.Go(t, func() { ended = f.run(ctx) })
	got := ""
	for range 6 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		name, err := io.ReadAll(c)
		if err != nil {
			t.Error(err)
		}
		got += string(name)
		c.Close()
	}
	if got != "accacc" {
		t.Errorf("clients reach %q", got)
	}
	stop()
	if <-done; ended != nil {
		t.Error(ended)
	}
}

// TestFailedStart: a node that does not start is an error with the end of its log, also if its output ends before the process does.
// Nothing runs on, and the folder is removed.
func TestFailedStart(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("needs: sh")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	store, node := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "node")
	for path, text := range map[string]string{store: "exec sleep 1000", node: "exec >&-; sleep 0.1; echo no stores here >&2; exit 3"} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := Run(t.Context(), Config{Listen: "127.0.0.1:0", Store: store, Thinkd: node, Credentials: func(string) error { return nil }, Out: &out})
	if err == nil || !strings.Contains(err.Error(), "node-a did not start: exit status 3\nno stores here") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestFolder: a folder that is there is not touched.
func TestFolder(t *testing.T) {
	if err := Run(t.Context(), Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("the error is %v", err)
	}
}
