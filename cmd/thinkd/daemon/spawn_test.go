package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/door"
)

func TestOlder(t *testing.T) {
	order := []string{"0.1.0-dev", "0.1.0", "v0.1.1-alpha", "0.1.1-beta", "0.1.1-rc.9", "0.1.1-rc.10", "0.1.1-rc.10.1", "0.1.1+build5", "0.2.0", "0.10.0", "1.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got := older(a, b); got != (i < j) {
				t.Errorf("older(%s, %s) is %v", a, b, got)
			}
		}
		for _, word := range []string{"", "dev", "1.2", "1.2.3.4", "1.x.3", "-1.0.0", "01.0.0", "1.0.0-rc.01"} {
			if older(a, word) || older(word, a) {
				t.Errorf("%q and %q have an order", a, word)
			}
		}
	}
}

// Most daemons have the same config as the command. Then the command reports nothing, and does not ask the daemon.
func TestOtherConfig(t *testing.T) {
	const doc = "thinking_level = \"low\"\n"
	env := []string{"ANTHROPIC_API_KEY=sk-a", "OTHER=1"}
	c, err := loadConfig(proof.WriteConfig(t, doc), proof.Environment(env...))
	if err != nil {
		t.Fatal(err)
	}
	daemon := door.Status{Inputs: c.Inputs.Sum, Variables: strings.Join(c.Inputs.Variables, " ")}
	for _, tt := range []struct {
		name, doc string
		env       []string
		same      bool   // it is not looked into
		want      string // the difference that is reported
	}{
		{"the same", doc, env, true, ""},
		{"another variable", doc, []string{"ANTHROPIC_API_KEY=sk-a", "OTHER=2"}, true, ""},
		{"a comment", doc + "# nothing", env, false, ""},
		{"another key", doc, []string{"ANTHROPIC_API_KEY=sk-b"}, false, ""},
		{"no key", doc, nil, false, "another config (ANTHROPIC_API_KEY)"},
		{"another address", doc, append(env, "ANTHROPIC_BASE_URL=http://127.0.0.1:1"), false, "another config (ANTHROPIC_BASE_URL)"},
		{"another level", "thinking_level = \"high\"\n", env, false, "another config (thinking_level)"},
		{"a wrong one", "thinking_level = \"lots\"\n", env, false, "the config that it was started with"},
	} {
		p := Options{ConfigPath: proof.WriteConfig(t, tt.doc), Getenv: proof.Environment(tt.env...)}
		asked := false
		theirs := func() (door.DaemonConfig, error) { asked = true; return door.DaemonConfig{Facts: c.Inputs.Facts}, nil }
		if got, wrong := p.otherConfig(daemon, theirs); got != tt.want || (wrong != nil) != (tt.name == "a wrong one") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, wrong, tt.want)
		}
		if asked && tt.same {
			t.Errorf("%s: the daemon was asked for its config", tt.name)
		}
	}
}

// The log is bounded, and no record is cut or lost that has room.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), logName)
	l := &logFile{path: path}
	record := func(i int) string { return fmt.Sprintf("%06d %s\n", i, strings.Repeat("x", 1000)) }
	const writers, each = 4, 1000
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(testgo.Guard(t, func() {
			for i := range each {
				if n, err := l.Write([]byte(record(w*each + i))); err != nil || n != len(record(0)) {
					t.Errorf("%d, %v", n, err)
				}
			}
		}))
	}
	writing.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	var all []byte
	for _, name := range []string{path + ".1", path} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) > maxLog || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", filepath.Base(name), len(text), err)
		}
		proof.CheckMode(t, name, 0o600)
		all = append(all, text...)
	}
	last := make([]int, writers)
	for line := range bytes.Lines(all) {
		i, err := strconv.Atoi(string(line[:6]))
		if err != nil || string(line) != record(i) {
			t.Fatalf("not a record: %.40q", line)
		}
		if w := i / each; i%each < last[w] {
			t.Errorf("record %d comes late", i)
		} else {
			last[w] = i % each
		}
	}
	// What was there is gone on with; a link is not followed.
	again := &logFile{path: path}
	if _, err := again.Write([]byte("again\n")); err != nil {
		t.Error(err)
	}
	again.Close()
	if text, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(text, []byte("x\nagain\n")) {
		t.Errorf("%v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("needs: symbolic links: ", err)
	}
	if _, err := (&logFile{path: link}).Write([]byte("x")); err == nil {
		t.Error("a link is followed")
	}
}

// What lies in the socket's place is removed if a socket may lie there, and left if not.
func TestSocketPlace(t *testing.T) {
	dir, err := os.MkdirTemp("", "thinkd") // t.TempDir may be too long a path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, socketName)
	first, err := openSocket(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	second, err := openSocket(dir, os.Getenv) // as after a crash
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	proof.CheckMode(t, path, os.ModeSocket|0o600) // the second one's
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSocket(dir, os.Getenv); err == nil || !strings.Contains(err.Error(), "is not a socket; remove it") {
		t.Errorf("a file in its place: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip("needs: symbolic links: ", err)
	}
	third, err := openSocket(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	proof.CheckMode(t, path, os.ModeSocket|0o600)
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("a link was followed: %v", err)
	}
}

// A directory for sockets that is another user's, or a link, is not used.
func TestPrivateDir(t *testing.T) {
	base := t.TempDir()
	env := proof.Environment("XDG_RUNTIME_DIR=" + base)
	dir, err := privateDir(env)
	if err != nil || dir != filepath.Join(base, "thinkd") {
		t.Fatalf("%s, %v", dir, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := privateDir(env); err != nil {
		t.Error(err)
	}
	proof.CheckMode(t, dir, os.ModeDir|0o700)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Skip("needs: symbolic links: ", err)
	}
	if _, err := privateDir(env); err == nil {
		t.Error("a link is followed")
	}
	if os.Getuid() != 0 {
		return
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 1, 1); err != nil {
		t.Skip("needs: root: ", err)
	}
	if _, err := privateDir(env); err == nil {
		t.Error("another user's directory is used")
	}
}
