package doors

import (
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
	ways := map[string]func(p *proof.Process){"EOF": func(p *proof.Process) { p.End() }}
	if runtime.GOOS != "windows" { // which has no signals to send to another process
		ways["SIGTERM"] = func(p *proof.Process) { p.House.EndBy(syscall.SIGTERM) }
		ways["SIGINT"] = func(p *proof.Process) { p.House.EndBy(os.Interrupt) }
	}
	for name, stop := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := proof.DataDir(t)
			p := proof.Start(t, data, nil)
			id := p.NewSession("model_id", "sim/claude")
			if end := p.Turn(id, "First. [[sim: thinking=20 text=20 pace=0]]"); end.Stop != "end_turn" {
				t.Fatalf("the turn ends with %s", end.Stop)
			}
			running := p.Say(id, "Second. [[sim: thinking=30 text=50000 pace=100]]")
			p.Wait("text", func(u proof.Update) bool { return u.Method == "message_delta" && u.Turn == running })
			queued := p.Say(id, "Third. [[sim: thinking=20 text=20 pace=0]]")

			asked := time.Now()
			stop(p)
			took := time.Since(asked)
			proof.Judge(t, took <= 10*time.Second, "it took %s", took)
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
			// A client that has closed its side may be gone altogether, so it need not get the end.
			if ends > 1 || ends == 0 && name != "EOF" {
				t.Errorf("the end of the turn came %d times", ends)
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
				t.Errorf("its thinking is %+v; the client got %q", b, thinking)
			}
			if b := cut.Content[1]; !strings.HasPrefix(b.Text, heard) || heard == "" {
				t.Errorf("its text has %d bytes, and does not begin with the %d bytes that the client got", len(b.Text), len(heard))
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
