package builtin

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/provider/testgo"
)

// A command in the sandbox reaches no secret, writes nowhere but in its folders, and has no network.
func TestHostileSandbox(t *testing.T) {
	if err := (Sandbox{Kind: SandboxBwrap}).Check(); err != nil {
		t.Skipf("needs: bubblewrap: %v", err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "thinkd-test") // the sandbox hides all of /tmp
	if err != nil {
		t.Skipf("needs: a folder outside of /tmp: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, text := range map[string]string{".ssh/id_ed25519": "the secret key", ".netrc": "the secret password", "data/token": "the secret token",
		"project/.env": "the secret variable", "project/sub/.aws/credentials": "the secret cloud", "project/main.go": "package main", "other/file": "other",
		"project/open/.env": "an example", "vault/deep/x": "the secret vault"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := guard.New(guard.Config{Home: dir, Data: filepath.Join(dir, "data"), Secret: []string{"~/vault"}, Open: []string{"~/project/open"}})
	sandboxed := func(network bool) *Host {
		return New(Config{Guard: g, Sandbox: Sandbox{SandboxAuto, network}}).In(Place{Roots: []string{filepath.Join(dir, "project")}})
	}
	h, free := sandboxed(false), New(Config{Guard: g}).In(Place{Roots: []string{filepath.Join(dir, "project")}})
	everything := in{"command": "cat ../.ssh/id_ed25519 ../.netrc ../data/token .env sub/.aws/credentials ../vault/deep/x main.go ../other/file open/.env 2>/dev/null; true"}
	if got := call(t, free, "run", everything); strings.Count(got, "the secret") != 6 {
		t.Fatalf("without a sandbox: %q", got)
	}
	if got, want := call(t, h, "run", everything), "package main\nother\nan example\n[exit code 0]"; got != want {
		t.Errorf("secrets: %q, want %q", got, want)
	}
	got := call(t, h, "run", in{"command": `echo changed > main.go; echo x > ../other/file; echo x > ../new; echo x > ../.ssh/new; echo x > $TMPDIR/own && cat $TMPDIR/own; umount ../data; echo x > .env; pwd; exit 3`})
	has(t, "writing", got, "x\n", filepath.Join(dir, "project"), "[exit code 3]")
	for name, want := range map[string]string{"project/main.go": "changed\n", "other/file": "other\n", "new": "", ".ssh/new": "", "data/token": "the secret token\n", "project/.env": "the secret variable\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if string(text) != want || err != nil && want != "" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	if got := call(t, h, "run", in{"command": fmt.Sprintf("cat /proc/%d/environ; kill -9 %d", os.Getpid(), os.Getpid())}); !strings.HasPrefix(got, "failed: ") {
		t.Errorf("other processes: %q", got)
	}
	if got, want := call(t, h, "run", in{"command": "pwd", "path": "sub"}), filepath.Join(dir, "project", "sub")+"\n[exit code 0]"; got != want {
		t.Errorf("in a folder: %q, want %q", got, want)
	}

	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs: bash, which opens connections")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{}, 2)
	done := testgo.Go(t, func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
			accepted <- struct{}{}
		}
	})
	connect := in{"command": fmt.Sprintf(`%s -c 'echo > /dev/tcp/127.0.0.1/%d'`, bash, l.Addr().(*net.TCPAddr).Port)}
	if got := call(t, h, "run", connect); !strings.HasPrefix(got, "failed: ") || len(accepted) != 0 {
		t.Errorf("without a network: %q", got)
	}
	if got := call(t, sandboxed(true), "run", connect); got != "[exit code 0]" {
		t.Errorf("with a network: %q", got)
	}
	<-accepted
	l.Close()
	<-done
}

// Where the sandbox that the config demands cannot be made, no command runs.
func TestHostileNoSandbox(t *testing.T) {
	before := bwrap
	defer func() { bwrap = before }()
	bwrap = func() (string, error) { return "", errors.New("bwrap is not installed") }
	for _, kind := range []SandboxKind{SandboxAuto, SandboxBwrap} {
		h, dir := at(t, nil)
		h.tools.config.Sandbox.Kind = kind
		if got := call(t, h, "run", in{"command": "touch ran"}); !strings.HasPrefix(got, "failed: the config demands a sandbox for commands, and there is none, so the command was not run: bwrap is not") {
			t.Errorf("%s: %q", kind, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Error("the command ran")
		}
	}
}
