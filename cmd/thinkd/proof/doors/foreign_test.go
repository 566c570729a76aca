package doors

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestConversation holds a conversation with a scripted model, from raw lines and from raw Content-Length
// frames, and checks every notification.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, withHeaders := range map[string]bool{"lines": false, "content-length": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor, env := proof.Simulator(t, sim.Config{})
			vendor.Script(sim.Answer{Parts: []sim.Part{
				{Kind: sim.Thinking, Text: "Compare both dates."}, {Kind: sim.Text, Text: "The second."}}})
			f := proof.StartFramed(t, proof.Command(t, env, "--data", proof.DataDir(t), "stdio"), withHeaders)

			f.Send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"model_id":"anthropic/claude-opus-5-5","thinking_level":"high"}}`)
			var made struct {
				ID string `json:"session_id"`
				proof.LevelAnswer
			}
			answerTo(t, f.Read(), 1, &made)
			if made.Level != "high" || made.Preferred != "high" || made.Reasoning.Effective != "high" {
				t.Errorf("session/new: %+v", made)
			}
			f.Send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"session_id":"` + made.ID + `","text":"Which date is later?"}}`)
			var receipt struct {
				Turn        string `json:"turn_id"`
				Message     string `json:"message_id"`
				Disposition string `json:"disposition"`
			}
			answerTo(t, f.Read(), 2, &receipt) // before the first notification
			if receipt.Disposition != "started" {
				t.Errorf("session/prompt: %+v", receipt)
			}

			var order []string
			thinking, text, next := "", "", uint64(1)
			for u := (proof.Update{}); u.Method != "turn_end"; {
				u = f.Next()
				first := u.Seq
				if u.FirstSeq != 0 {
					first = u.FirstSeq
				}
				if u.Session != made.ID || first != next || u.TS == 0 || u.Method != "session_update" && u.Turn != receipt.Turn {
					t.Errorf("%s: %s, want number %d", u.Method, u.Raw, next)
				}
				next = u.Seq + 1
				if order = append(order, u.Method); len(order) > 1 && order[len(order)-2] == u.Method {
					order = order[:len(order)-1]
				}
				switch u.Method {
				case "prompt":
					if u.Message != receipt.Message {
						t.Errorf("prompt: %s", u.Raw)
					}
				case "thinking_delta":
					thinking += u.Delta
				case "thinking_end":
					if u.Text != "Compare both dates." || u.Text != thinking || u.Kind != "summary" || !u.Signed || u.Block != 0 {
						t.Errorf("thinking_end after %q: %s", thinking, u.Raw)
					}
				case "message_delta":
					text += u.Delta
				case "text_end":
					if u.Text != "The second." || u.Text != text || u.Block != 1 {
						t.Errorf("text_end after %q: %s", text, u.Raw)
					}
				case "message_end", "turn_end":
					if u.Stop != "end_turn" {
						t.Errorf("%s: %s", u.Method, u.Raw)
					}
				}
			}
			want := []string{"prompt", "turn_start", "message_start", "thinking_start", "thinking_delta", "thinking_end",
				"message_delta", "text_end", "message_end", "usage", "session_update", "turn_end"}
			if !slices.Equal(order, want) {
				t.Errorf("the notifications come as %v,\nwant %v", order, want)
			}

			f.Send(`{"jsonrpc":"2.0","id":3,"method":"thinking/set","params":{"session_id":"` + made.ID + `","level":"medium"}}`)
			var set struct {
				proof.LevelAnswer
				Applies string `json:"applies"`
			}
			answerTo(t, f.Read(), 3, &set)
			if set.Level != "medium" || set.Preferred != "medium" || set.Applies != "now" || set.Reasoning.Effective != "medium" {
				t.Errorf("thinking/set: %+v", set)
			}
			if u := f.Next(); u.Method != "session_update" || u.Seq != next {
				t.Errorf("thinking/set is published as %s %s", u.Method, u.Raw)
			}
			f.End()
		})
	}
}

func answerTo(t *testing.T, m proof.Message, id int, result any) {
	t.Helper()
	if m.ID == nil || *m.ID != id || m.Error != nil {
		t.Fatalf("request %d is answered with %s", id, m.Raw)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		t.Fatal(err)
	}
}

// TestForeignLibrary holds a conversation through the JSON-RPC library that Language Server clients use.
func TestForeignLibrary(t *testing.T) {
	t.Parallel()
	node, dir := proof.NodePackage(t, "testdata/vscode-jsonrpc")
	daemon := proof.Command(t, nil)
	cmd := exec.Command(node, filepath.Join(dir, "conversation.mjs"), daemon.Path, "--data", proof.DataDir(t), "stdio")
	cmd.Env = daemon.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "thinking_end") || !strings.Contains(string(out), "turn_end") {
		t.Errorf("the library saw %s", out)
	}
}
