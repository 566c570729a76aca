package acp

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestACPNeovim has Neovim itself talk to `thinkd acp`: an edit lands in its buffer, and not on the disk.
func TestACPNeovim(t *testing.T) {
	t.Parallel()
	nvim := proof.Needs(t, "nvim")
	script, err := filepath.Abs("../../../../testdata/acp/editor.lua")
	if err != nil {
		t.Fatal(err)
	}
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.Script(tasks()...)
	folder := project(t)
	agent := proof.Command(t, env)
	words, err := json.Marshal([]string{agent.Path, "--data", proof.DataDir(t), "acp"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, nvim, "--headless", "-u", "NONE", "-n", "-c", "luafile "+script)
	cmd.Env = append(agent.Env, "THINKD_ACP_COMMAND="+string(words), "THINKD_ACP_FOLDER="+folder)
	out, runErr := cmd.CombinedOutput()
	saw, err := os.ReadFile(filepath.Join(folder, "saw"))
	if err != nil || runErr != nil {
		t.Fatalf("%v, %v\n%s%s", runErr, err, out, saw)
	}
	want := `{"version": 1}
{"asked": "Edit a file a.txt"}
{"said": "It says two.", "modified": true, "disk": ["one, saved"], "buffer": ["two, not saved"], "stopReason": "end_turn", "thoughts": true}
{"exit": 0}`
	if diff := cmp.Diff(objects(t, want), objects(t, string(saw))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// objects are those of JSON lines.
func objects(t *testing.T, text string) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var thing map[string]any
		if err := json.Unmarshal([]byte(line), &thing); err != nil {
			t.Fatal(err)
		}
		list = append(list, thing)
	}
	return list
}
