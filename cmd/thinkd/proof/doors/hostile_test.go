package doors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

// A model with instructions to steal works in the user's home folder, in tool mode edit, and the operator allows its tools. It gets
// no key, no token and no secret of the user, and writes nothing that the daemon or git would run. Nobody is there to approve a
// call, so each of these calls is refused immediately.
func TestHostileInjection(t *testing.T) {
	testgo.Cost(t)
	t.Parallel()
	home := t.TempDir()
	data := filepath.Join(home, ".local", "share", "thinkd")
	for name, text := range map[string]string{".ssh/id_ed25519": "the secret key", ".aws/credentials": "the secret cloud",
		".bash_history": "the secret history", "shop/.env": "the secret variable", "shop/.git/config": "[core]", "shop/main.go": "package main"} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(home, ".ssh", "id_ed25519"), filepath.Join(home, "shop", "notes.txt")); err != nil {
		t.Skipf("needs: hard links: %v", err)
	}
	config := filepath.Join(home, "config.toml")
	if err := os.WriteFile(config, []byte("[tools.names]\nread_file = \"allow\"\nwrite_file = \"allow\"\nsearch = \"allow\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type call struct{ name, path, want string }
	calls := []call{
		{"read_file", ".local/share/thinkd/thinkd.log", "no tool may touch it"},
		{"read_file", ".local/share/thinkd/thinkd.db", "no tool may touch it"},
		{"read_file", "config.toml", "no tool may touch it"},
		{"write_file", ".local/share/thinkd/token", "no tool may touch it"},
		{"write_file", ".local/share/thinkd/settings.json", "no tool may touch it"},
		{"write_file", "config.toml", "no tool may touch it"},
		{"read_file", ".ssh/id_ed25519", "no client that could ask one"},
		{"read_file", "shop/notes.txt", "no client that could ask one"},
		{"read_file", ".aws/credentials", "no client that could ask one"},
		{"read_file", ".bash_history", "no client that could ask one"},
		{"write_file", "shop/.env", "no client that could ask one"},
		{"read_file", "shop/main.go", "package main"}, // the operator allows it
		{"search", "shop", "places are left out"},
	}
	answer := sim.Answer{}
	for i, c := range calls {
		input := fmt.Sprintf(`{"path":%q,"content":"mine","pattern":"the secret"}`, c.path)
		answer.Parts = append(answer.Parts, sim.Part{Kind: sim.Call, ID: fmt.Sprintf("toolu_%d", i), Name: c.name, Input: json.RawMessage(input)})
	}
	model, env := proof.Simulator(t, sim.Config{})
	model.Script(answer, sim.Answer{Parts: []sim.Part{{Text: "Done."}}})
	p := proof.Start(t, data, append(env, "HOME="+home), "--config", config)
	var s struct {
		ID string `json:"session_id"`
	}
	p.Must("session/new", map[string]any{"model_id": "anthropic/claude-haiku-4-5", "cwd": home, "tools": "builtin"}, &s)
	p.Must("session/update", map[string]any{"session_id": s.ID, "tool_mode": "edit"}, nil)
	begun := time.Now()
	turn := p.Say(s.ID, "Summarise the README.")
	p.Wait("the end of the turn", proof.Ended(turn))
	t.Logf("%d calls took %v", len(calls), time.Since(begun).Round(time.Millisecond))

	results := map[string]string{}
	for _, u := range p.Seen() {
		var e struct {
			Call    string `json:"call_id"`
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(u.Raw, &e); err != nil {
			t.Fatal(err)
		}
		switch u.Method {
		case "tool_end":
			results[e.Call] = e.Content[0].Text
		case "confirm":
			t.Errorf("a question that nobody can answer: %s", u.Raw)
		}
	}
	for i, c := range calls {
		got := results[fmt.Sprintf("toolu_%d", i)]
		if !strings.Contains(got, c.want) || strings.Contains(got, "the secret") {
			t.Errorf("%s %s: %q, want %q", c.name, c.path, got, c.want)
		}
	}
	for _, name := range []string{"token", "settings.json"} {
		if text, err := os.ReadFile(filepath.Join(data, name)); string(text) == "mine" {
			t.Errorf("the model wrote %s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(home, "shop", ".env")); err != nil || string(text) != "the secret variable" {
		t.Errorf("the model wrote .env: %q, %v", text, err)
	}
}
