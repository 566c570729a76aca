//go:build unix

package doors

import (
	"bufio"
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestSim serves the simulator as its own program, answers through it, and ends with a signal.
func TestSim(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
	defer cancel()
	cmd := proof.Command(t, nil, "sim", "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL=" + strings.TrimSpace(address)}
	var out, errOut strings.Builder
	prompt := proof.Command(t, env, "--data", proof.DataDir(t), "prompt", "--thinking", "high", "Which date is later? [[sim: thinking=30 text=60]]")
	prompt.Stdout, prompt.Stderr = &out, &errOut
	if err := prompt.Run(); err != nil || !strings.Contains(out.String(), "You asked: *Which date is later?*") || !strings.Contains(errOut.String(), "The user says “Which") {
		t.Errorf("%v\n%s\n%s", err, out.String(), errOut.String())
	}
	// While an answer is under way.
	data := t.TempDir()
	p := proof.Start(t, data, env)
	turn := p.Say(p.NewSession(), "Which date is later? [[sim: thinking=5000 pace=50]]")
	p.Wait("thinking", func(u proof.Update) bool { return u.Method == "thinking_delta" && u.Turn == turn })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the simulator ends with %v", err)
	}
	p.Wait("a retry", func(u proof.Update) bool { return u.Method == "retry" && u.Turn == turn })
	p.End()
}
