//go:build linux || darwin

package usersocket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// visitVariable makes this test a client of the socket that it names: a process of another account.
const visitVariable = "THINKD_TEST_VISIT"

func TestMain(m *testing.M) {
	if path := os.Getenv(visitVariable); path != "" {
		os.Exit(visit(path))
	}
	os.Exit(m.Run())
}

// visit prints what the socket says first.
func visit(path string) int {
	c, err := net.Dial("unix", path)
	if err == nil {
		_, err = io.Copy(os.Stdout, c)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// greet says who the client is, and waits for its end.
func greet(ctx context.Context, l *auth.Lease, f conn.Frames) error {
	err := f.Write([][]byte{[]byte(l.Principal().Name)})
	stop := context.AfterFunc(ctx, func() { f.Close(context.Cause(ctx)) })
	defer stop()
	for err == nil {
		_, err = f.Read()
	}
	return f.Close(err)
}

func open(t *testing.T, path string, users map[int]session.Owner) *Socket {
	t.Helper()
	s, err := Open(Config{Path: path, Users: users, Limit: 1000, Serve: greet, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// folder has a short path, as sockets need one, and everybody can look into it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "thinkd")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// dial connects, and returns the first line.
func dial(t *testing.T, path string) (net.Conn, string) {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return c, strings.TrimSpace(line)
}

var ann = session.Owner{User: "ann"}

// The account of the connecting process decides who the client is. Others hear why they are refused.
func TestAccounts(t *testing.T) {
	path := filepath.Join(folder(t), "sock")
	open(t, path, map[int]session.Owner{os.Geteuid(): ann, 4242: {User: "bob"}})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Error(info.Mode(), err)
	}
	if _, name := dial(t, path); name != ann.String() {
		t.Errorf("served as %s", name)
	}
	others := filepath.Join(folder(t), "sock")
	open(t, others, map[int]session.Owner{4242: {User: "bob"}})
	if _, refusal := dial(t, others); gjson.Get(refusal, "error.code").Int() != int64(conn.CodeUnauthorized) || !strings.Contains(refusal, "socket_users") {
		t.Error(refusal)
	}
	if os.Geteuid() != 0 || runtime.GOOS != "linux" { // only root can be other accounts
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]string{4242: session.Owner{User: "bob"}.String(), 4243: "the account 4243 is not a user"} {
		cmd := exec.Command("/proc/self/fd/3")
		if file, err := os.Open(program); err == nil { // its folder may be closed to others
			defer file.Close()
			cmd.ExtraFiles = []*os.File{file}
		}
		cmd.Env = []string{visitVariable + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if !strings.Contains(line, want) {
			t.Errorf("account %d: %q, %v", uid, line, err)
		}
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}
}

// Where others could put a file in the place of the socket, there is none. A file that is not ours stays.
func TestPlaces(t *testing.T) {
	for what, place := range map[string]func(dir string) error{
		"everybody can write": func(dir string) error { return os.Chmod(dir, 0o777) },
		"a sticky folder":     func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"a group can write":   func(dir string) error { return os.Chmod(dir, 0o775) },
		"a regular file":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "sock"), nil, 0o600) },
		"a link":              func(dir string) error { return os.Symlink("/tmp/elsewhere", filepath.Join(dir, "sock")) },
		"no folder":           os.Remove,
	} {
		dir := folder(t)
		if err := place(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "sock")
		before, _ := os.Lstat(path)
		s, err := Open(Config{Path: path, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Errorf("%s: it listens", what)
			s.Close()
		}
		after, _ := os.Lstat(path)
		if (before == nil) != (after == nil) {
			t.Errorf("%s: the file has changed: %v", what, after)
		}
	}
}

// The socket of a daemon that was killed is replaced, that of one that lives is not, and each removes its own file only.
func TestReplace(t *testing.T) {
	path := filepath.Join(folder(t), "sock")
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	if _, err := Open(Config{Path: path}); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("beside a daemon: %v", err)
	}
	old.Close()
	s := open(t, path, map[int]session.Owner{os.Geteuid(): ann})
	if _, name := dial(t, path); name != ann.String() {
		t.Error(name)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	open(t, path, nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket of the next daemon: %v", err)
	}
}

// One account cannot take all connections, and the end of the socket ends them all.
func TestBounds(t *testing.T) {
	path := filepath.Join(folder(t), "sock")
	s := open(t, path, map[int]session.Owner{os.Geteuid(): ann})
	for range maxPeer {
		if _, name := dial(t, path); name != ann.String() {
			t.Fatal(name)
		}
	}
	if _, refusal := dial(t, path); gjson.Get(refusal, "error.code").Int() != int64(conn.CodeOverloaded) {
		t.Error(refusal)
	}
	if n := s.Clients(); n != maxPeer {
		t.Errorf("%d clients", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := s.Clients(); n != 0 {
		t.Errorf("%d clients after the end", n)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// written has a token once something was written.
type written chan struct{}

func (w written) Write(p []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(p), nil
}

// The pause after a failed accept does not hold up Close.
func TestCloseInPause(t *testing.T) {
	defer func(old time.Duration) { pause = old }(pause)
	pause = time.Hour
	logged := make(written, 1)
	s, err := Open(Config{Path: filepath.Join(folder(t), "sock"), Log: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.socket.SetDeadline(time.Unix(1, 0)); err != nil { // accept fails
		t.Error(err)
	}
	<-logged
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
