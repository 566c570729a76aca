package clients

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// examples are programs that each library has, with the same arguments and the same output. %s is the program with its flags.
var examples = []struct{ name, question, want string }{
	{"ask", "Which is later? [[sim: pace=0 thinking=20 text=8]]", "The part about later decides, the rest follows.\nend_turn\n"},
	{"thinking", "Which is later? [[sim: pace=0 thinking=20 text=8]]", `minimal gives low: level_not_supported
The user says “Which is later?”. There are two ways to read this, and they differ only in how they treat
---
The part about later decides, the rest follows.
end_turn
`},
	{"tool", `Look it up. [[sim: tool=lookup args={"word":"date"} pace=0 text=6]]`, `Simulated Claude wants to use lookup, which a client runs. word date
lookup date
result date: 2026-03-01
end_turn
`},
	{"two", "Which is later? [[sim: pace=0 text=8]]", "The usual mistake is to begin with later\nthe same\n"},
	{"steer", "", `started queued queued steered
Be quick. [[sim: pace=0]]
Three. [[sim: pace=0]]
Two, edited. [[sim: pace=0]]
cancelled true
cancelled true
cancelled
end_turn
end_turn
cancelled
`},
	{"resume", "", "thinking\nsnapshot idle\ninterrupted\nend_turn\n"},
}

// A library is how the examples of a library are run.
type library struct {
	folder  string // of the examples
	command func(example string) (args []string)
	env     []string
}

// compiled compiles the TypeScript client, once, since its programs read the result.
var compiled = sync.OnceValue(func() error {
	node, err := exec.LookPath("node")
	if err != nil {
		return err
	}
	cmd := exec.Command(node, filepath.Join("node_modules", "typescript", "bin", "tsc"))
	cmd.Dir = filepath.Join("..", "..", "..", "..", "clients", "typescript")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// typescript is the compiled TypeScript client, and node to run its programs.
func typescript(t *testing.T) (node, dir string) {
	t.Helper()
	node, dir = proof.NodePackage(t, "clients/typescript")
	if err := compiled(); err != nil {
		t.Fatal(err)
	}
	return node, dir
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	node, dir := typescript(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(node, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	tests, err := filepath.Glob(filepath.Join(dir, "test", "*.test.mjs"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	run(append([]string{"--test"}, tests...)...)
	l := library{folder: filepath.Join(dir, "examples"), command: func(example string) []string {
		return []string{node, filepath.Join(dir, "examples", example+".mjs")}
	}}
	l.run(t, "aside", "levels")
	t.Run("aside", func(t *testing.T) { l.prints(t, proof.DataDir(t), "aside", "", "side question: ") })
	t.Run("levels", func(t *testing.T) {
		l.prints(t, proof.DataDir(t), "levels", "", "sim/claude-always: max gives max (as_requested)", "sim/gpt-silent: max gives off (no_thinking)")
	})

	const flag = "--experimental-websocket" // until node 22, which takes it too
	if out, err := exec.Command(node, flag, "-p", "typeof WebSocket").Output(); err != nil || strings.TrimSpace(string(out)) != "function" {
		t.Skipf("needs: a WebSocket in node: %s, %v", out, err)
	}
	l.command = func(example string) []string {
		return []string{node, flag, filepath.Join(dir, "examples", example+".mjs")}
	}
	l.cuts(t)
}

func TestPython(t *testing.T) {
	t.Parallel()
	python := proof.Needs(t, "python3")
	dir := filepath.Join("..", "..", "..", "..", "clients", "python")
	l := library{folder: filepath.Join(dir, "examples"), env: []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONDEVMODE=1"},
		command: func(example string) []string { return []string{python, filepath.Join(dir, "examples", example+".py")} }}
	l.run(t)
	t.Run("test", func(t *testing.T) {
		cmd := exec.Command(python, "-m", "unittest", "discover", "-s", filepath.Join(dir, "test"))
		cmd.Env = append(os.Environ(), l.env...)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "Warning") || strings.Contains(string(out), "Ran 0 tests") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	const debian = "/usr/bin/python3" // has Debian's packages, whichever python3 is first in PATH
	for _, python = range []string{python, debian} {
		if exec.Command(python, "-c", "import websockets").Run() == nil {
			l.cuts(t)
			return
		}
	}
	t.Skip("needs: python3-websockets")
}

func TestGo(t *testing.T) {
	t.Parallel()
	dir, bin := filepath.Join("..", "..", "..", "..", "clients", "go"), t.TempDir()
	args := []string{"build", "-C", dir, "-o", bin}
	if proof.Raced() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "./examples/...")...).CombinedOutput(); err != nil { // a module of its own, which needs one other
		t.Fatalf("%v\n%s", err, out)
	}
	l := library{folder: filepath.Join(dir, "examples"), command: func(example string) []string { return []string{filepath.Join(bin, example)} }}
	l.run(t)
	l.cuts(t)
}

// A client in another language, written from protocol.md alone.
func TestPerl(t *testing.T) {
	t.Parallel()
	perl := proof.Needs(t, "perl")
	const want = `Simulated Claude wants to use lookup, which a client runs. word date
result date: 2026-03-01
end_turn
4 blocks, nothing lost
`
	l := library{command: func(string) []string {
		return []string{perl, filepath.Join("..", "..", "..", "..", "testdata", "perl", "client.pl")}
	}}
	if got := l.output(t, proof.DataDir(t), "client", ""); got != want {
		t.Errorf("(-want +got)\n%s", cmp.Diff(want, got))
	}
}

// run runs each of the examples, and fails if there is one that no test runs. more are those of this library alone.
func (l library) run(t *testing.T, more ...string) {
	data := proof.DataDir(t)
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			if got := l.output(t, data, e.name, e.question); got != e.want {
				t.Errorf("(-want +got)\n%s", cmp.Diff(e.want, got))
			}
		})
	}
	list, err := os.ReadDir(l.folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(examples) + len(more) + 1; len(list) != want { // cuts is the other one
		t.Errorf("%s has %d examples, want %d", l.folder, len(list), want)
	}
}

func (l library) prints(t *testing.T, data, example, question string, want ...string) {
	t.Helper()
	got := l.output(t, data, example, question)
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s: no %q in %s", example, w, got)
		}
	}
}

// output runs an example to its end. After a line "thinking" of the example resume it kills the daemon.
func (l library) output(t *testing.T, data, example, question string) string {
	t.Helper()
	daemon := proof.Command(t, nil)
	args := append(l.command(example), daemon.Path+" --data "+data)
	if question != "" {
		args = append(args, question)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(daemon.Env, l.env...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		got.WriteString(line)
		if example == "resume" && line == "thinking\n" {
			kill(t, data)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s%s", example, err, got.String(), errs.String())
	}
	if strings.Contains(errs.String(), "DATA RACE") || strings.Contains(errs.String(), "Warning") {
		t.Errorf("%s: %s", example, errs.String())
	}
	return got.String()
}

func kill(t *testing.T, data string) {
	t.Helper()
	link, err := proof.GreetDaemon(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	process, err := os.FindProcess(link.Status.PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cuts runs the example that watches a turn over a WebSocket that is cut again and again.
func (l library) cuts(t *testing.T) {
	t.Run("cuts", func(t *testing.T) {
		data := t.TempDir()
		s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...))
		args := append(l.command("cuts"), s.Base, filepath.Join(data, "token"))
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(proof.Command(t, nil).Env, l.env...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "nothing lost") || strings.Contains(string(out), "DATA RACE") {
			t.Errorf("%v: %s", err, out)
		}
		s.Terminate()
	})
}
