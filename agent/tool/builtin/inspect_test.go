package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/provider"
)

func inspected(t *testing.T, h *Host, name string, input any) approval.Inspection {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	return h.Inspect(t.Context(), provider.ToolCall{ID: "c", Name: name, Input: text})
}

// What a call would do is shown whole, and nothing is changed by looking.
func TestInspect(t *testing.T) {
	files := map[string]string{"cart/cart.go": "one\ntwo\nthree\n", "plain": "x\n"}
	h, dir := at(t, files)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("word ", 30_000)
	for _, tt := range []struct {
		name, tool string
		input      in
		want       approval.Inspection
	}{
		{"a command", "run", in{"command": "git diff\nrm x", "path": "cart", "timeout_seconds": 600}, approval.Inspection{Command: "git diff\nrm x",
			Parts: []approval.Part{{Kind: approval.CommandPart, Text: "git diff\nrm x"}, {Kind: approval.ValuePart, Name: "path", Text: "cart"}, {Kind: approval.ValuePart, Name: "timeout_seconds", Text: "600"}}}},
		{"an edit", "edit_file", in{"path": "cart/cart.go", "edits": []in{{"old_text": "two", "new_text": "2"}}}, approval.Inspection{Folder: filepath.Join(dir, "cart"),
			Parts: []approval.Part{{Kind: approval.DiffPart, Name: "cart/cart.go", Text: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"}}}},
		{"an edit that does not fit", "edit_file", in{"path": "plain", "edits": []in{{"old_text": "y\n", "new_text": "a\nb"}}}, approval.Inspection{Folder: dir,
			Parts: []approval.Part{{Kind: approval.DiffPart, Name: "plain", Text: "@@ edit 1 of 1, which does not fit the file as it is now @@\n-y\n+a\n+b\n"}}}},
		{"an edit that changes nothing", "edit_file", in{"path": "plain", "edits": []in{{"old_text": "x", "new_text": "x"}}}, approval.Inspection{Folder: dir,
			Parts: []approval.Part{{Kind: approval.DiffPart, Name: "plain", Text: "@@ edit 1 of 1, which changes nothing @@\n-x\n+x\n"}}}},
		{"an edit of what is not there", "edit_file", in{"path": "none/x", "edits": []in{{"old_text": "y", "new_text": "z"}}}, approval.Inspection{
			Parts: []approval.Part{{Kind: approval.DiffPart, Name: "none/x", Text: "@@ edit 1 of 1, which does not fit the file as it is now @@\n-y\n+z\n"}}}},
		{"a new file", "write_file", in{"path": "new.txt", "content": long}, approval.Inspection{Folder: dir, Parts: []approval.Part{{Kind: approval.ContentPart, Name: "new.txt", Text: long}}}},
		{"a file that is there", "write_file", in{"path": "plain", "content": "y\n"}, approval.Inspection{Folder: dir,
			Parts: []approval.Part{{Kind: approval.DiffPart, Name: "plain", Text: "@@ -1,1 +1,1 @@\n-x\n+y\n"}}}},
		{"a file outside", "write_file", in{"path": "../out", "content": "y"}, approval.Inspection{Parts: []approval.Part{{Kind: approval.ContentPart, Name: "../out", Text: "y"}}}},
		{"a read", "read_file", in{"path": "plain"}, approval.Inspection{}},
	} {
		if tt.tool == "run" && runtime.GOOS == "windows" {
			tt.want.Command = ""
		}
		if diff := cmp.Diff(tt.want, inspected(t, h, tt.tool, tt.input)); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", tt.name, diff)
		}
	}
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s was changed: %q, %v", name, got, err)
		}
	}
}

// A folder is granted by what it is, and not by a link to it: a link can lead elsewhere by the next call.
func TestInspectFolders(t *testing.T) {
	h, dir := at(t, map[string]string{"cart/cart.go": "one\n", "keys/key": "k\n"})
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for link, to := range map[string]string{"cart/sub": "../keys", "cart/file": "../keys/key", "out": outside} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skipf("needs: symbolic links: %v", err)
		}
	}
	for path, want := range map[string]string{"cart/new": "cart", "cart/sub/new": "keys", "cart/file": "-", "out/new": "-", "../x": "-", "": "-"} {
		if want != "-" {
			want = filepath.Join(dir, want)
		} else {
			want = ""
		}
		if got := inspected(t, h, "write_file", in{"path": path, "content": "x"}).Folder; got != want && path != "" {
			t.Errorf("%q is in %q, want %q", path, got, want)
		}
	}
}

// stuck is an editor that does not answer until the context ends.
type stuck struct{}

func (stuck) Read(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}
func (stuck) Write(context.Context, string, string) error { return errors.New("nothing is written") }

// An editor that does not answer leaves people with the edits as they are.
func TestInspectEnds(t *testing.T) {
	dir := t.TempDir()
	h := New(Config{}).In(Place{Roots: []string{dir}, Files: stuck{}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := h.Inspect(ctx, provider.ToolCall{Name: "edit_file", Input: json.RawMessage(`{"path":"a","edits":[{"old_text":"x","new_text":"y"}]}`)})
	if want := "@@ edit 1 of 1, which does not fit the file as it is now @@\n-x\n+y\n"; len(got.Parts) != 1 || got.Parts[0].Text != want {
		t.Errorf("%+v", got)
	}
}
