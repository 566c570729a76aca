package builtin

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/provider/testgo"
)

func box(kind sandbox.Kind, network bool) sandbox.Sandbox {
	return sandbox.Sandbox{Kind: kind, Network: network, Confine: []string{os.Args[0], "confine"}}
}

// A command in a sandbox reaches no secret, writes nowhere but in its folders, and has no network.
func TestHostileSandbox(t *testing.T) {
	testgo.Cost(t)
	for kind, needs := range map[sandbox.Kind]string{sandbox.Bwrap: "bubblewrap", sandbox.Landlock: "landlock"} {
		t.Run(string(kind), func(t *testing.T) {
			if _, err := box(kind, false).Choose(); err != nil {
				t.Skipf("needs: %s: %v", needs, err)
			}
			testHostileSandbox(t, kind)
		})
	}
}

func testHostileSandbox(t *testing.T, kind sandbox.Kind) {
	dir, err := os.MkdirTemp("/var/tmp", "thinkd-test") // bubblewrap hides all of /tmp
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
	for name, to := range map[string]string{"project/link": "../.ssh", "project/open/link": "../../data/token"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := guard.New(guard.Config{Home: dir, Data: filepath.Join(dir, "data"), Secret: []string{"~/vault"}, Open: []string{"~/project/open"}})
	sandboxed := func(network bool) *Host {
		return New(Config{Guard: g, Sandbox: box(kind, network)}).In(Place{Roots: []string{filepath.Join(dir, "project")}})
	}
	h, free := sandboxed(false), New(Config{Guard: g}).In(Place{Roots: []string{filepath.Join(dir, "project")}})
	everything := in{"command": "cat ../.ssh/id_ed25519 ../.netrc ../data/token .env sub/.aws/credentials ../vault/deep/x link/id_ed25519 open/link main.go ../other/file open/.env 2>/dev/null; true"}
	if got := call(t, free, "run", everything); strings.Count(got, "the secret") != 8 {
		t.Fatalf("without a sandbox: %q", got)
	}
	if got, want := call(t, h, "run", everything), "package main\nother\nan example\n[exit code 0]"; got != want {
		t.Errorf("secrets: %q, want %q", got, want)
	}
	hidden := in{"command": "ln .env open/hard; ln ../.netrc open/hard; mv .env open/moved; cp .env open/copied; mv sub/.aws open/cloud; cat open/hard open/moved open/copied open/cloud/credentials; mount --bind ../vault open; echo x > .env; rm -f .env ../.netrc; : > ../data/token; truncate -s 0 ../other/file; chmod 777 ../other; true"}
	if got := call(t, h, "run", hidden); strings.Contains(got, "the secret") {
		t.Errorf("moved secrets: %q", got)
	}
	got := call(t, h, "run", in{"command": `echo changed > main.go; echo new > open/new && mv open/new open/made && cat open/made; echo x > ../other/file; echo x > ../new; echo x > ../.ssh/new; echo x > $TMPDIR/own && cat $TMPDIR/own; umount ../data; echo x > /dev/null || echo null; pwd; exit 3`})
	has(t, "writing", got, "new\n", "x\n", filepath.Join(dir, "project"), "[exit code 3]")
	for name, want := range map[string]string{"project/main.go": "changed\n", "project/open/made": "new\n", "other/file": "other\n", "new": "", ".ssh/new": "", ".netrc": "the secret password\n",
		"data/token": "the secret token\n", "project/.env": "the secret variable\n", "project/sub/.aws/credentials": "the secret cloud\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if string(text) != want || err != nil && want != "" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	for what, command := range map[string]string{
		"environment of another process": fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"folder of another process":      fmt.Sprintf("cat /proc/%d/root/etc/passwd", os.Getpid()),
		"a disk":                         "cat /dev/[svn][dv][a-z]* /dev/mem 2>/dev/null | grep -q .",
		"the owner of the machine":       "mknod $TMPDIR/null c 1 3 || chown 1 $TMPDIR",
	} {
		if got := call(t, h, "run", in{"command": command}); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%s: %q", what, got)
		}
	}
	if len(sandbox.Lacks()) == 0 || kind == sandbox.Bwrap {
		if got := call(t, h, "run", in{"command": fmt.Sprintf("kill -URG %d", os.Getpid())}); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("a signal to another process: %q", got)
		}
	}
	if got, want := call(t, h, "run", in{"command": "pwd", "path": "sub"}), filepath.Join(dir, "project", "sub")+"\n[exit code 0]"; got != want {
		t.Errorf("in a folder: %q, want %q", got, want)
	}
	temp := strings.TrimSuffix(call(t, h, "run", in{"command": "mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; echo $TMPDIR"}), "\n[exit code 0]")
	if _, err := os.Stat(temp); err == nil && temp != "/tmp" {
		t.Errorf("the temporary folder %q is left behind", temp)
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
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	connect := in{"command": fmt.Sprintf(`%s -c 'echo > /dev/tcp/127.0.0.1/%d'`, bash, l.Addr().(*net.TCPAddr).Port)}
	if got := call(t, h, "run", connect); !strings.HasPrefix(got, "failed: ") || len(accepted) != 0 {
		t.Errorf("without a network: %q", got)
	}
	send := func(text string) in {
		return in{"command": fmt.Sprintf(`%s -c 'echo %s > /dev/udp/127.0.0.1/%d'`, bash, text, udp.LocalAddr().(*net.UDPAddr).Port)}
	}
	call(t, h, "run", send("forbidden")) // bubblewrap's own network takes it, and nobody gets it
	if got := call(t, sandboxed(true), "run", connect); got != "[exit code 0]" {
		t.Errorf("with a network: %q", got)
	}
	<-accepted
	if got := call(t, sandboxed(true), "run", send("allowed")); got != "[exit code 0]" {
		t.Errorf("with a network: %q", got)
	}
	// The loopback keeps the order: what comes first must be what was sent with a network, which says so.
	one := make([]byte, 64)
	n, _, err := udp.ReadFrom(one)
	if err != nil || string(one[:n]) != "allowed\n" {
		t.Errorf("the first datagram is %q, %v", one[:n], err)
	}
	l.Close()
	<-done
}

// Where the sandbox that the config demands cannot be made, no command runs.
func TestHostileNoSandbox(t *testing.T) {
	testgo.Cost(t)
	h, dir := at(t, nil)
	h.tools.config.Sandbox = sandbox.Sandbox{Kind: sandbox.Landlock} // with nothing that confines
	if got := call(t, h, "run", in{"command": "touch ran"}); !strings.HasPrefix(got, "failed: the config demands a sandbox for commands, and there is none, so the command was not run: Landlock needs") {
		t.Errorf("%q", got)
	}
	h.tools.config.Sandbox.Confine = []string{filepath.Join(dir, "missing")}
	if _, err := h.tools.config.Sandbox.Choose(); err == nil { // its start fails
		if got := call(t, h, "run", in{"command": "touch ran"}); !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%q", got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran")
	}
}
