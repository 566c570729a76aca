package stores

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// kept are sessions by what they keep. Each has canaries of its own: what its models think and say, and what its user says.
var kept = []struct {
	name  string // a word of the prompts
	model string
	other string // another model that the session may call
	words []string

	thinking, rest bool // the canary of thinking, and those of prompts and answers, are in files
}{
	{"full-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", nil, true, true},
	{"opaque-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"thinking_storage", "opaque"}, false, true},
	{"opaque-2", "openai/gpt-5.5", "anthropic/claude-haiku-4-5-20251001", []string{"thinking_storage", "opaque"}, false, true},
	{"none-1", "openai/gpt-5.5", "anthropic/claude-opus-5-5", []string{"thinking_storage", "none"}, false, true},
	{"none-2", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"thinking_storage", "none"}, false, true},
	{"memory-1", "anthropic/claude-opus-5-5", "openai/gpt-5.5", []string{"ephemeral", "true"}, false, false},
}

var nameOf = regexp.MustCompile(`(full|opaque|none|memory)-[0-9]`)

func canary(part, name string) string { return "canary of the " + part + " of " + name }

// TestCanaries streams canaries in thinking, text and prompts, with calls of tools, over kills in the middle of thinking, changes of the
// model, forks, exports and backups. No byte of what a session does not keep is in any file, and no vendor refuses a request.
func TestCanaries(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	for _, pair := range env { // the same stand-in speaks both APIs
		if base, ok := strings.CutPrefix(pair, "ANTHROPIC_BASE_URL="); ok {
			env = append(env, "OPENAI_API_KEY=sk-of-the-test", "OPENAI_BASE_URL="+base+"/v1")
		}
	}
	vendor.ScriptFunc(func(r sim.Request) *sim.Answer {
		names := nameOf.FindAllString(string(r.Body), -1)
		if len(names) == 0 {
			return nil
		}
		name := names[len(names)-1]
		thought, said := strings.Repeat(canary("thinking", name)+". ", 40), canary("text", name)+"."
		a := &sim.Answer{Parts: []sim.Part{{Kind: sim.Thinking, Text: thought}, {Kind: sim.Text, Text: said}}}
		last := r.Body[bytes.LastIndex(r.Body, []byte("Round")):]
		switch {
		case bytes.Contains(last, []byte("slowly")):
			a.Pace = 50
		case bytes.Contains(last, []byte("list the files")) && !bytes.Contains(last, []byte("result-of-the-tool")):
			a.Parts = append(a.Parts, sim.Part{Kind: sim.Call, Name: "list_files"})
		}
		return a
	})
	data, out := t.TempDir(), t.TempDir()
	p := proof.Start(t, data, env, "--log-level", "debug")
	sessions := make([]string, len(kept))
	streamed := make([]int, len(kept))
	for round := range 3 {
		for i, k := range kept {
			if sessions[i] == "" || k.name == "memory-1" {
				params := map[string]any{"model_id": k.model, "thinking_level": "high", "display": "summarized", "tools": []any{map[string]any{
					"name": "list_files", "description": "Lists files.", "input_schema": map[string]any{"type": "object"}}}}
				for w := 0; w+1 < len(k.words); w += 2 {
					if params[k.words[w]] = k.words[w+1]; k.words[w+1] == "true" {
						params[k.words[w]] = true
					}
				}
				var made struct {
					ID string `json:"session_id"`
				}
				p.Must("session/new", params, &made)
				sessions[i] = made.ID
			} else {
				p.Must("session/attach", map[string]any{"session_id": sessions[i]}, nil)
			}
			of := map[string]any{"session_id": sessions[i]}
			if round > 0 {
				p.Must("model/set", map[string]any{"session_id": sessions[i], "model_id": []string{k.model, k.other}[round%2]}, nil)
			}
			turn := p.Say(sessions[i], fmt.Sprintf("Round %d of %s, %s: list the files.", round, k.name, canary("prompt", k.name)))
			begun := p.Wait("a call", func(u proof.Update) bool {
				return u.Turn == turn && (u.Method == "tool_start" || u.Method == "turn_end")
			})
			var call struct {
				ID string `json:"call_id"`
			}
			if err := json.Unmarshal(begun.Raw, &call); err != nil || call.ID == "" {
				t.Fatalf("%s, round %d: no call: %s %s %v", k.name, round, begun.Method, begun.Stop, begun.Error)
			}
			p.Must("tool/result", map[string]any{"session_id": sessions[i], "call_id": call.ID,
				"content": []any{map[string]any{"type": "text", "text": "result-of-the-tool"}}}, nil)
			if end := p.Wait("the end", proof.Ended(turn)); end.Stop != "end_turn" {
				t.Fatalf("%s: the turn ends with %s: %v", k.name, end.Stop, end.Error)
			}
			var forked struct {
				ID string `json:"session_id"`
			}
			p.Must("session/fork", of, &forked)
			p.Must("session/attach", map[string]any{"session_id": forked.ID}, nil)
			if end := p.Turn(forked.ID, fmt.Sprintf("Round %d of %s in a fork, %s.", round, k.name, canary("prompt", k.name))); end.Stop != "end_turn" {
				t.Fatalf("%s: the fork ends with %s: %v", k.name, end.Stop, end.Error)
			}
			for _, id := range []string{sessions[i], forked.ID} {
				var exported struct{ Text string }
				p.Must("session/export", map[string]any{"session_id": id, "format": "markdown", "thinking": true}, &exported)
				if !strings.Contains(exported.Text, canary("text", k.name)) || strings.Contains(exported.Text, canary("thinking", k.name)) != k.thinking && k.rest {
					t.Errorf("%s: the export has %s", k.name, proof.Excerpt(exported.Text))
				}
			}
		}
		backup := filepath.Join(out, fmt.Sprintf("backup-%d", round))
		if b, err := proof.Command(t, env, "--data", data, "sessions", "backup", backup).CombinedOutput(); err != nil {
			t.Fatalf("backup: %v: %s", err, b)
		}
		i := []int{3, 4, 1}[round] // a kill in the middle of thinking
		p.Say(sessions[i], fmt.Sprintf("Round %d of %s, %s: think slowly.", round, kept[i].name, canary("prompt", kept[i].name)))
		for _, u := range p.Seen() {
			for j, k := range kept {
				if strings.Contains(u.Delta+u.Text, canary("thinking", k.name)) {
					streamed[j]++
				}
			}
		}
		proof.Moment(time.Duration(rand.IntN(900)) * time.Millisecond)
		p.Kill()
		scan(t, fmt.Sprintf("after kill %d", round), data, out)
		if round < 2 {
			p = proof.Start(t, data, env, "--log-level", "debug")
			for _, id := range []string{sessions[0], sessions[1]} {
				p.Must("session/state", map[string]any{"session_id": id}, nil)
			}
		}
	}
	for i, k := range kept {
		if asked := k.thinking || strings.HasPrefix(k.name, "none") || k.name == "memory-1"; asked && streamed[i] == 0 {
			t.Errorf("%s: no thinking came to the client: the test shows nothing", k.name)
		}
	}
	for _, r := range vendor.Refusals() {
		t.Errorf("refused: %+v", r)
	}
}

// scan looks for canaries in the raw bytes of all files.
func scan(t *testing.T, when string, dirs ...string) {
	t.Helper()
	var all []byte
	files := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			all = append(append(all, 0), text...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kept {
		for part, want := range map[string]bool{"thinking": k.thinking, "text": k.rest, "prompt": k.rest} {
			if n := bytes.Count(all, []byte(canary(part, k.name))); (n > 0) != want {
				t.Errorf("%s: %d canaries of the %s of %s in %d files, want some: %v", when, n, part, k.name, files, want)
			}
		}
	}
	t.Logf("%s: %d files, %d bytes", when, files, len(all))
}
