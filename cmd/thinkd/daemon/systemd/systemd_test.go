//go:build unix

package systemd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func environment(variables ...string) func(string) string {
	return func(name string) string {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestNotify(t *testing.T) {
	dir, err := os.MkdirTemp("", "thinkd") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, state := range []string{Ready, Stopping} {
		if err := Notify(environment("NOTIFY_SOCKET="+path), state); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 100)
		n, err := l.Read(got)
		if err != nil || string(got[:n]) != state {
			t.Errorf("got %q, %v; want %q", got[:n], err, state)
		}
	}
	if err := Notify(environment("NOTIFY_SOCKET="+path+"x"), Ready); err == nil {
		t.Error("no error without a manager at the socket")
	}
	if err := Notify(environment(), Ready); err != nil {
		t.Errorf("without a manager: %v", err)
	}
}

// The variables of another process, which this one inherited, are ignored. cmd/thinkd/proof/doors passes a socket.
func TestSocketOfAnother(t *testing.T) {
	for _, env := range [][]string{nil, {"LISTEN_PID=1", "LISTEN_FDS=1"}, {"LISTEN_FDS=1"}} {
		if l, err := Socket(environment(env...)); l != nil || err != nil {
			t.Errorf("%v: %v, %v", env, l, err)
		}
	}
}
