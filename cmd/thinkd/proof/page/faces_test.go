package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestClientExamples runs each example of the TypeScript client against the program. The library passes its compiler and
// its own tests first.
func TestClientExamples(t *testing.T) {
	t.Parallel()
	node, dir := proof.NodePackage(t, "clients/typescript")
	run := func(t *testing.T, env []string, args ...string) string {
		t.Helper()
		cmd := exec.Command(node, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run(t, nil, filepath.Join("node_modules", "typescript", "bin", "tsc"))
	t.Logf("%s", run(t, nil, "--test", "--test-reporter=spec", filepath.Join("test", "pauses.test.mjs"), filepath.Join("test", "ask.test.mjs")))

	daemon := proof.Command(t, nil)
	thinkd := daemon.Path + " --data " + proof.DataDir(t)
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"ask.mjs":    {[]string{thinkd, "Which is later, Monday or Tuesday? [[sim: pace=0]]"}, []string{"Monday", "end_turn after"}},
		"aside.mjs":  {[]string{thinkd}, []string{"side question: "}},
		"levels.mjs": {[]string{thinkd}, []string{"sim/claude-always: max gives max (as_requested)", "sim/gpt-silent: max gives off (no_thinking)"}},
	} {
		got := run(t, daemon.Env, append([]string{filepath.Join("examples", name)}, c.args...)...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", name, want, got)
			}
		}
	}

	const flag = "--experimental-websocket" // until node 22, which takes it too
	if out, err := exec.Command(node, flag, "-p", "typeof WebSocket").Output(); err != nil || strings.TrimSpace(string(out)) != "function" {
		t.Skipf("needs: a WebSocket in node: %s, %v", out, err)
	}
	data := t.TempDir()
	s := proof.StartServe(t, proof.Command(t, nil, proof.ServeArgs(data)...))
	if got := run(t, daemon.Env, flag, filepath.Join("examples", "resume.mjs"), s.Base, filepath.Join(data, "token")); !strings.Contains(got, "nothing lost") {
		t.Errorf("resume.mjs: %s", got)
	}
	s.Terminate()
	if list, err := os.ReadDir(filepath.Join(dir, "examples")); err != nil || len(list) != 4 {
		t.Errorf("an example is not run here: %v, %v", list, err)
	}
}
