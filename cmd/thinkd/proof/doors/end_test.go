package doors

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestOrderlyEnd ends the daemon in the middle of a turn, by a signal while its client is there and after that has gone: it
// goes in time, with status 0, tells its client how the turn ended, and keeps all that was acknowledged, what is queued
// included.
func TestOrderlyEnd(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(p *proof.Process){
		"SIGTERM": func(p *proof.Process) { p.House.EndBy(syscall.SIGTERM) },
		"SIGINT":  func(p *proof.Process) { p.House.EndBy(os.Interrupt) },
		"EOF":     func(p *proof.Process) { p.End() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && name != "EOF" {
				t.Skip("Windows has no signals to send to another process")
			}
			data := proof.DataDir(t)
			p := proof.Start(t, data, nil)
			id := p.NewSession("model_id", "sim/claude")
			if end := p.Turn(id, "First. [[sim: thinking=20 text=20 pace=0]]"); end.Stop != "end_turn" {
				t.Fatalf("the turn ends with %s", end.Stop)
			}
			running := p.Say(id, "Second. [[sim: thinking=30 text=5000 pace=100]]")
			p.Wait("text", func(u proof.Update) bool { return u.Method == "message_delta" && u.Turn == running })
			queued := p.Say(id, "Third. [[sim: thinking=20 text=20 pace=0]]")

			asked := time.Now()
			stop(p)
			if took := time.Since(asked); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if name != "EOF" { // the door has found another daemon
				afresh(p)
				p.House = nil
				p.End()
				if err := proof.Quit(data); err != nil {
					t.Fatal(err)
				}
			}
			var heard, thinking string
			ends := 0
			for _, u := range p.Seen() {
				if u.Turn == running {
					switch u.Method {
					case "message_delta":
						heard += u.Delta
					case "thinking_end":
						thinking = u.Text
					case "turn_end":
						ends++
						if u.Stop != "interrupted" {
							t.Errorf("the turn ends with %s", u.Stop)
						}
					}
				}
			}
			// A client that has closed its side may be gone altogether: it is not told for sure.
			if ends > 1 || ends == 0 && name != "EOF" {
				t.Errorf("the end of the turn was told %d times", ends)
			}

			p = proof.Start(t, data, nil)
			p.Must("session/attach", map[string]any{"session_id": id}, nil)
			messages, err := p.History(id)
			if err != nil {
				t.Fatal(err)
			}
			if len(messages) != 5 {
				t.Fatalf("the history has %d messages: %+v", len(messages), messages)
			}
			cut := messages[3]
			if cut.Turn != running || cut.Incomplete != "interrupted" || len(cut.Content) != 2 {
				t.Fatalf("the answer that was interrupted: %+v", cut)
			}
			if b := cut.Content[0]; b.Text != thinking || !b.Signed {
				t.Errorf("its thinking is %+v; %q was told", b, thinking)
			}
			if b := cut.Content[1]; !strings.HasPrefix(b.Text, heard) || heard == "" {
				t.Errorf("its text has %d bytes, and is not what was told (%d bytes) and more", len(b.Text), len(heard))
			}
			if last := messages[4]; last.Turn != queued || last.Role != "user" {
				t.Errorf("what was queued is %+v", last)
			}
			p.Must("session/queue", map[string]any{"session_id": id, "resume": true}, nil)
			if u := p.Wait("the queued turn's end", proof.Ended(queued)); u.Stop != "end_turn" {
				t.Errorf("the queued turn ends with %s: %v", u.Stop, u.Error)
			}
			p.End()
		})
	}
}

// TestEndInMidMessage ends the input of a daemon that has heard nothing yet, or half a message: it goes by itself.
func TestEndInMidMessage(t *testing.T) {
	t.Parallel()
	for said, well := range map[string]bool{
		"":                             true,
		"{\"jsonrpc\":":                true,
		"Content-Length: 100\r\n\r\n{": false, // the frame is broken, and the status says so
	} {
		cmd := proof.Command(t, nil, "--data", proof.DataDir(t), "stdio")
		cmd.Stdin = strings.NewReader(said)
		out, err := cmd.CombinedOutput()
		if (err == nil) != well || strings.Contains(string(out), "panic") {
			t.Errorf("after %q it ends with %v\n%s", said, err, out)
		}
	}
}

// TestSim serves the simulator as its own program, answers through it, and ends with a signal.
func TestSim(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send to another process")
	}
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
