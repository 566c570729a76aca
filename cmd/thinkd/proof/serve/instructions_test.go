package serve

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestInstructions: a session keeps the instructions of its project as they were at its start, and a quote counts them.
func TestInstructions(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "AGENTS.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Answer in verse, always.")
	config := proof.WriteConfig(t, "[tools]\nbuiltin = true\nproject_instructions = \"all\"\n")
	s := proof.StartServe(t, proof.Command(t, nil, append([]string{"--config", config}, proof.ServeArgs(t.TempDir())...)...))
	c := proof.DialWS(t, s.Base, s.Token, nil)
	type file struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
	}
	var made struct {
		ID           string `json:"session_id"`
		Instructions []file `json:"project_instructions"`
	}
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "cwd": folder}, &made)
	if len(made.Instructions) != 1 || made.Instructions[0] != (file{path, 24}) {
		t.Fatalf("instructions: %+v", made.Instructions)
	}
	system := func(id string) (tokens int) {
		t.Helper()
		var q struct {
			Prompt struct {
				Parts []struct {
					Part   string `json:"part"`
					Tokens int    `json:"tokens"`
				} `json:"parts"`
			} `json:"prompt"`
		}
		c.Must("session/quote", map[string]any{"session_id": id, "text": "Which?"}, &q)
		for _, p := range q.Prompt.Parts {
			if p.Part == "system" {
				tokens += p.Tokens
			}
		}
		return tokens
	}
	before := system(made.ID)
	if before == 0 {
		t.Error("the quote does not count the instructions")
	}
	write("Answer in verse, always. And in a second sentence, which makes the instructions longer.")
	if after := system(made.ID); after != before {
		t.Errorf("%d tokens after a change of the file, %d before", after, before)
	}
	var fork struct {
		ID string `json:"session_id"`
	}
	c.Must("session/fork", map[string]any{"session_id": made.ID}, &fork)
	if forked := system(fork.ID); forked != before {
		t.Errorf("%d tokens in a fork, %d before", forked, before)
	}
	var attached struct {
		Session struct {
			Instructions []file `json:"project_instructions"`
		} `json:"session"`
	}
	c.Must("session/attach", map[string]any{"session_id": fork.ID}, &attached)
	if len(attached.Session.Instructions) != 1 || attached.Session.Instructions[0].Bytes != 24 {
		t.Errorf("attach: %+v", attached.Session.Instructions)
	}
	s.Terminate()
}
