//go:build long && !windows

package cluster

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestDemo runs the demo, prompts through its address, kills a node and a store, starts them again, and ends it. Nothing is left.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "thinkd-store")
	if out, err := exec.Command("go", "build", "-o", store, "github.com/thinkd/thinkd/cmd/thinkd-store").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(store, "demo", "--thinkd", proof.Program(t), "--listen", strings.TrimPrefix(proof.ClosedAddress(t), "http://"))
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+filepath.Join(dir, "home"))
	for _, name := range []string{"tmp", "home"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }) // it may have ended
	lines := bufio.NewScanner(out)
	until := func(form string) []string {
		t.Helper()
		for lines.Scan() {
			if found := regexp.MustCompile(form).FindStringSubmatch(lines.Text()); found != nil {
				return found
			}
		}
		t.Fatalf("no line like %q", form)
		return nil
	}
	process := func(name string) (pid int) {
		t.Helper()
		pid, err := strconv.Atoi(until("^" + name + " .* process ([0-9]+)$")[1])
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	prompt := func() {
		t.Helper()
		chat := until("^Chat: (.*) chat$")
		args := append(strings.Fields(chat[1]), "prompt", "hello [[sim: text=20]]")
		out, err := exec.Command(args[0], args[1:]...).Output()
		if err != nil || len(out) == 0 {
			t.Errorf("%q: %q, %v", args, out, err)
		}
	}
	server, node := process("store-2"), process("node-b")
	prompt()
	for name, pid := range map[string]int{"store-2": server, "node-b": node} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until("^" + name + " has ended: signal: killed")
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if pid := process("store-2"); pid == server {
		t.Errorf("store-2 is still process %d", pid)
	}
	again := process("node-b")
	if again == node {
		t.Errorf("node-b is still process %d", again)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
	if err := syscall.Kill(again, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("node-b runs on: %v", err)
	}
	for _, name := range []string{"tmp", "home"} {
		if left, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
}
