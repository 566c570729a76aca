//go:build unix

package doors

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// A daemon that a service manager starts takes the manager's socket, says when it is ready and when it ends, and leaves the socket there:
// a door that came before the daemon is served, and one that comes after it starts the next daemon.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	data := filepath.Join(proof.DataDir(t), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, proof.SocketFileName)
	if len(path) > 100 {
		t.Skip("needs: a shorter TMPDIR")
	}
	manager, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	states, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(filepath.Dir(data), "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	for range 2 {
		f, err := manager.File()
		if err != nil {
			t.Fatal(err)
		}
		cmd := proof.Command(t, []string{"NOTIFY_SOCKET=" + states.LocalAddr().String(), "LISTEN_FDS=1"}, "--data", data, "daemon")
		shell := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", cmd.Path)
		shell.Args = append(shell.Args, cmd.Args[1:]...)
		shell.Env, shell.ExtraFiles = cmd.Env, []*os.File{f}
		var errOut conntest.Log
		shell.Stderr = &errOut
		early, err := net.Dial("unix", path) // waits in the manager's queue
		if err == nil {
			err = shell.Start()
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if got := state(t, states); got != "READY=1" {
			t.Errorf("the daemon says %q", got)
		}
		if s := proof.TheDaemon(t, data); s.PID != shell.Process.Pid || s.Clients != 2 {
			t.Errorf("the daemon is %+v, want process %d and 2 clients", s, shell.Process.Pid)
		}
		early.Close()
		if err := proof.Quit(data); err != nil {
			t.Error(err)
		}
		if got := state(t, states); got != "STOPPING=1" {
			t.Errorf("the daemon says %q", got)
		}
		if err := shell.Wait(); err != nil || errOut.String() != "" {
			t.Errorf("the daemon ends with %v\n%s", err, proof.Excerpt(errOut.String()))
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("the manager's socket: %v", err)
		}
	}
}

func state(t *testing.T, states net.Conn) string {
	t.Helper()
	text := make([]byte, 100)
	n, err := states.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(text[:n])
}

// A socket at another place than commands look at is refused, with what to change.
func TestSocketActivationElsewhere(t *testing.T) {
	t.Parallel()
	dir := proof.DataDir(t)
	manager, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	f, err := manager.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := proof.Command(t, []string{"LISTEN_FDS=1"}, "--data", filepath.Join(dir, "data"), "daemon")
	shell := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", cmd.Path)
	shell.Args = append(shell.Args, cmd.Args[1:]...)
	shell.Env, shell.ExtraFiles, shell.Stderr = cmd.Env, []*os.File{f}, io.Discard
	out, err := shell.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "change ListenStream= in the socket unit") {
		t.Errorf("%v, printed %q", err, out)
	}
}
