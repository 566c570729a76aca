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

// demoRun is a demo that runs.
type demoRun struct {
	t     *testing.T
	cmd   *exec.Cmd
	dir   string
	in    io.Writer
	out   io.Reader
	lines *bufio.Scanner
}

// startDemo builds thinkd-store, and starts a demo with files below dir.
func startDemo(t *testing.T) *demoRun {
	t.Helper()
	d := &demoRun{t: t, dir: t.TempDir()}
	store := filepath.Join(d.dir, "thinkd-store")
	if out, err := exec.Command("go", "build", "-o", store, "github.com/thinkd/thinkd/cmd/thinkd-store").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.cmd = exec.Command(store, "demo", "--thinkd", proof.Program(t), "--listen", strings.TrimPrefix(proof.ClosedAddress(t), "http://"))
	d.cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(d.dir, "tmp"), "HOME="+filepath.Join(d.dir, "home"))
	for _, name := range []string{"tmp", "home"} {
		if err := os.Mkdir(filepath.Join(d.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in, err := d.cmd.StdinPipe()
	out, err2 := d.cmd.StdoutPipe()
	if err := errors.Join(err, err2, d.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	d.in, d.out, d.lines = in, out, bufio.NewScanner(out)
	t.Cleanup(func() { d.cmd.Process.Signal(syscall.SIGTERM); d.cmd.Wait() }) // it may have ended
	return d
}

// until reads lines up to one of a form.
func (d *demoRun) until(form string) []string {
	d.t.Helper()
	for d.lines.Scan() {
		if found := regexp.MustCompile(form).FindStringSubmatch(d.lines.Text()); found != nil {
			return found
		}
	}
	d.t.Fatalf("no line like %q", form)
	return nil
}

// process reads the number of the process of a part.
func (d *demoRun) process(name string) (pid int) {
	d.t.Helper()
	pid, err := strconv.Atoi(d.until("^" + name + " .* process ([0-9]+)$")[1])
	if err != nil {
		d.t.Fatal(err)
	}
	return pid
}

// prompt prompts by the command that the demo prints.
func (d *demoRun) prompt() {
	d.t.Helper()
	chat := d.until("^Chat: (.*) chat$")
	args := append(strings.Fields(chat[1]), "prompt", "hello [[sim: text=20]]")
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil || len(out) == 0 {
		d.t.Errorf("%q: %q, %v", args, out, err)
	}
}

// TestDemo runs the demo, prompts through its address, kills a node and a store, starts them again, and ends it. Nothing is left.
func TestDemo(t *testing.T) {
	d := startDemo(t)
	server, node := d.process("store-2"), d.process("node-b")
	d.prompt()
	for name, pid := range map[string]int{"store-2": server, "node-b": node} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.until("^" + name + " has ended: signal: killed")
	}
	if _, err := io.WriteString(d.in, "\n"); err != nil {
		t.Fatal(err)
	}
	if pid := d.process("store-2"); pid == server {
		t.Errorf("store-2 is still process %d", pid)
	}
	again := d.process("node-b")
	if again == node {
		t.Errorf("node-b is still process %d", again)
	}
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(d.out)
	if err := errors.Join(err, d.cmd.Wait()); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
	if err := syscall.Kill(again, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("node-b runs on: %v", err)
	}
	for _, name := range []string{"tmp", "home"} {
		if left, err := os.ReadDir(filepath.Join(d.dir, name)); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
}
