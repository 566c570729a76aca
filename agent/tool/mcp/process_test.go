package mcp

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/agent/tool/process"
)

// pid is that of the server's program.
func (l *link) pid() int {
	<-l.ready
	return l.program.Process.Pid
}

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// serveHTTP runs the reference server at an address, or at one that is free, until stop or the end of the test.
func serveHTTP(t *testing.T, command []string, address string) (at string, stop func()) {
	t.Helper()
	port := "127.0.0.1:0"
	if address != "" {
		port = strings.TrimPrefix(address, "http://")
	}
	l, err := net.Listen("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	at = "http://" + l.Addr().String()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // the server takes a number, not a listener
	cmd := exec.Command(command[0], append(command[1:], "streamableHttp")...)
	cmd.Env = process.Environ(nil, map[string]string{"PORT": port})
	process.Group(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		if err := process.EndGroup(cmd); err != nil {
			t.Error(err)
		}
		cmd.Wait() // it was killed
	}
	t.Cleanup(stop)
	for deadline := time.Now().Add(2 * time.Minute); ; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err == nil {
			conn.Close()
			return at, stop
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
