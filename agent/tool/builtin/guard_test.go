package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/tool"
)

// home is a host that works in the user's home folder, where the daemon's data and secrets are.
func home(t *testing.T) (*Host, string) {
	t.Helper()
	_, dir := at(t, map[string]string{".local/share/thinkd/token": "the secret token", ".local/share/thinkd/keys.json": "the secret keys",
		".ssh/id_ed25519": "the secret key", ".aws/credentials": "the secret cloud", ".netrc": "the secret password",
		"project/main.go": "package main // the secret of success", "project/.env": "KEY=the secret variable", "project/.git/config": "[core]",
		"project/.envrc": "", "project/sub/.gitignore": "x"})
	g := guard.New(guard.Config{Home: dir, Data: filepath.Join(dir, ".local/share/thinkd")})
	return New(Config{Guard: g}).In(Place{Roots: []string{dir}}), dir
}

// approved runs a call as the agent does when a person has approved it.
func approved(t *testing.T, h *Host, name string, input in) string {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	c := provider.ToolCall{ID: "c", Name: name, Input: text}
	r := h.Run(approval.WithDecision(t.Context(), approval.Decision{Concern: h.Examine(t.Context(), tool.Tool{}, c)}), c, func(string) {})
	return r.Blocks[0].(provider.Text).Text
}

func examine(t *testing.T, h *Host, name string, input in) approval.Danger {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return h.Examine(context.Background(), tool.Tool{}, provider.ToolCall{Name: name, Input: text}).Danger
}

func TestHostileProtectedFiles(t *testing.T) {
	testgo.Cost(t)
	h, dir := home(t)
	if err := os.Link(filepath.Join(dir, ".local/share/thinkd/keys.json"), filepath.Join(dir, "project", "notes.txt")); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	if err := os.Symlink(filepath.Join("..", ".local", "share", "thinkd"), filepath.Join(dir, "project", "docs")); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	before := snapshot(t, filepath.Join(dir, ".local"))
	for _, path := range []string{".local/share/thinkd/token", "project/notes.txt", "project/docs/keys.json", "project/docs/settings.json", filepath.Join(dir, ".local/share/thinkd/token")} {
		for name, input := range map[string]in{"read_file": {"path": path}, "write_file": {"path": path, "content": "mine"},
			"edit_file": {"path": path, "edits": []in{{"old_text": "secret", "new_text": "known"}}}, "search": {"path": path, "pattern": "secret"}, "list": {"path": filepath.Dir(path)},
			"run": {"path": filepath.Dir(path), "command": "pwd"}} {
			if filepath.Dir(path) == "project" && name != "read_file" && name != "write_file" && name != "edit_file" {
				continue
			}
			if got := approved(t, h, name, input); strings.Contains(got, "the secret") || !strings.Contains(got, "no tool may touch it") && !strings.Contains(got, "no such file") {
				t.Errorf("%s %s: %q", name, path, got)
			}
		}
	}
	if after := snapshot(t, filepath.Join(dir, ".local")); len(after) != len(before) || after[".local/share/thinkd/token"] != before[".local/share/thinkd/token"] {
		t.Errorf("the data directory was changed: %v", after)
	}
	if got := examine(t, h, "read_file", in{"path": "project/notes.txt"}); got != approval.Protected {
		t.Errorf("a hard link to the keys has danger %d", got)
	}
}

func TestHostileSecretPlaces(t *testing.T) {
	testgo.Cost(t)
	h, dir := home(t)
	for _, path := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", "project/.env"} {
		if got := examine(t, h, "read_file", in{"path": path}); got != approval.Secret {
			t.Errorf("%s has danger %d", path, got)
		}
		if got := call(t, h, "read_file", in{"path": path}); !strings.HasPrefix(got, "failed: ") || strings.Contains(got, "the secret") {
			t.Errorf("%s without approval: %q", path, got)
		}
		if got := approved(t, h, "read_file", in{"path": path}); !strings.Contains(got, "the secret") {
			t.Errorf("%s with approval: %q", path, got)
		}
	}
	if got := approved(t, h, "search", in{"pattern": "the secret"}); !strings.HasPrefix(got, "project/main.go:1:") || strings.Count(got, "the secret") != 1 ||
		!strings.Contains(got, "[6 secret or protected places are left out") { // .aws, .local/share/thinkd, .netrc, .ssh, project/.env and .envrc
		t.Errorf("search: %q", got)
	}
	for _, input := range []in{{}, {"deep": true}} {
		got := approved(t, h, "list", input)
		for _, name := range []string{".ssh", ".aws", ".netrc", "thinkd/", "id_ed25519", ".env\n"} {
			if strings.Contains(got, name) {
				t.Errorf("list %v tells of %s: %q", input, name, got)
			}
		}
		if !strings.Contains(got, "places are left out") {
			t.Errorf("list %v does not say that it left something out: %q", input, got)
		}
	}
	if got := approved(t, h, "list", in{"path": ".ssh"}); got != "id_ed25519\n" {
		t.Errorf("list with approval: %q", got)
	}
	// The approval was for another file: what the name leads to was replaced meanwhile.
	link := filepath.Join(dir, "project", "notes")
	if err := os.Symlink("main.go", link); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	concern := h.Examine(t.Context(), tool.Tool{}, provider.ToolCall{Name: "read_file", Input: json.RawMessage(`{"path":"project/notes"}`)})
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", ".ssh", "id_ed25519"), link); err != nil {
		t.Fatal(err)
	}
	r := h.Run(approval.WithDecision(t.Context(), approval.Decision{Concern: concern}), provider.ToolCall{Name: "read_file", Input: json.RawMessage(`{"path":"project/notes"}`)}, func(string) {})
	if text := r.Blocks[0].(provider.Text).Text; !r.Failed || strings.Contains(text, "the secret") {
		t.Errorf("a link that was replaced: %q", text)
	}
}

func TestHostilePrograms(t *testing.T) {
	testgo.Cost(t)
	_, dir := home(t)
	h := New(Config{}).In(Place{Roots: []string{filepath.Join(dir, "project")}})
	for _, path := range []string{".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json", ".bashrc", "sub/.git/config"} {
		if got := examine(t, h, "write_file", in{"path": path}); got != approval.Program {
			t.Errorf("%s has danger %d", path, got)
		}
		if got := call(t, h, "write_file", in{"path": path, "content": "evil"}); !strings.Contains(got, "not approved") {
			t.Errorf("%s without approval: %q", path, got)
		}
		if got := approved(t, h, "write_file", in{"path": path, "content": "good"}); strings.Contains(got, "approved") {
			t.Errorf("%s with approval: %q", path, got)
		}
	}
	if got := examine(t, h, "read_file", in{"path": ".git/config"}); got != approval.NoDanger {
		t.Errorf("reading has danger %d", got)
	}
	if got := examine(t, h, "write_file", in{"path": ".envrc"}); got != approval.Secret {
		t.Errorf(".envrc has danger %d", got)
	}
}

func TestBroadFolder(t *testing.T) {
	h, dir := home(t)
	for name, input := range map[string]in{"read_file": {"path": "project/main.go"}, "list": {}, "search": {"pattern": "x"}} {
		if got := examine(t, h, name, input); got != approval.Broad {
			t.Errorf("%s in the home folder has danger %d", name, got)
		}
	}
	h.place.Roots[0] = filepath.Join(dir, "project")
	if got := examine(t, h, "read_file", in{"path": "main.go"}); got != approval.NoDanger {
		t.Errorf("in a project: %d", got)
	}
}

// An editor opens files by their paths, so the paths are judged.
func TestHostileEditor(t *testing.T) {
	testgo.Cost(t)
	h, _ := home(t)
	h.place.Files = refuser{t}
	for _, path := range []string{".ssh/id_ed25519", ".local/share/thinkd/token", "project/.env", "project/.git/config"} {
		for name, input := range map[string]in{"read_file": {"path": path}, "write_file": {"path": path, "content": "x"}} {
			if name == "read_file" && path == "project/.git/config" {
				continue
			}
			if got := call(t, h, name, input); !strings.HasPrefix(got, "failed: ") {
				t.Errorf("%s %s: %q", name, path, got)
			}
		}
	}
}

// refuser is an editor that must not be asked.
type refuser struct{ t *testing.T }

func (r refuser) Read(_ context.Context, path string) (string, error) {
	r.t.Errorf("the editor reads %s", path)
	return "", nil
}

func (r refuser) Write(_ context.Context, path, _ string) error {
	r.t.Errorf("the editor writes %s", path)
	return nil
}
