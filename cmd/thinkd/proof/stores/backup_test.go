package stores

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestBackupWithImages copies a store whose session has an image while a turn runs, and restores it elsewhere.
func TestBackupWithImages(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	p := proof.Start(t, data, nil)
	id := p.NewSession("model_id", "sim/claude")
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))
	var said struct {
		Turn string `json:"turn_id"`
	}
	p.Must("session/prompt", map[string]any{"session_id": id, "content": []any{
		map[string]any{"type": "text", "text": "What is this? [[sim: thinking=5 text=5 pace=0]]"},
		map[string]any{"type": "media", "mime_type": "image/png", "data": image}}}, &said)
	p.Wait("the end of the turn", proof.Ended(said.Turn))
	want := media(t, p, id)
	if want != image {
		t.Fatalf("the history has the image %q", want)
	}
	running := p.Say(id, "And now? [[sim: thinking=100000 text=5 pace=100]]")
	p.Wait("thinking", func(u proof.Update) bool { return u.Turn == running && u.Method == "thinking_delta" })

	path := filepath.Join(dir, "copy.db")
	backup := func(path string) (string, error) {
		out, err := proof.Command(t, nil, "--data", data, "sessions", "backup", path).CombinedOutput()
		return string(out), err
	}
	out, err := backup(path)
	if err != nil || !strings.Contains(out, "copy.db.blobs: 1 files") {
		t.Errorf("backup: %v\n%s", err, out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, err := backup(path); err == nil || !strings.Contains(out, "copy.db.blobs: file already exists") {
		t.Errorf("backup over images that are there: %v\n%s", err, out)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it leaves a file: %v", err)
	}
	other := filepath.Join(dir, "other")
	if out, err := backup(other); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	p.Must("session/cancel", map[string]any{"session_id": id}, nil)
	p.Wait("the end of the turn", proof.Ended(running))
	p.End()

	restored := t.TempDir()
	if err := errors.Join(os.Rename(other, filepath.Join(restored, "thinkd.db")),
		os.Rename(other+".blobs", filepath.Join(restored, "blobs"))); err != nil {
		t.Fatal(err)
	}
	p = proof.Start(t, restored, nil)
	if diff := cmp.Diff(want, media(t, p, id)); diff != "" {
		t.Errorf("the image (-was +restored):\n%s", diff)
	}
	var end struct {
		Stop string `json:"stop_reason"`
	}
	p.Must("turn/wait", map[string]any{"session_id": id, "turn_id": running}, &end)
	if end.Stop != "interrupted" {
		t.Errorf("the turn that ran ended with %s", end.Stop)
	}
	p.End()
}

// media is the data of the first prompt's second block.
func media(t *testing.T, p *proof.Process, id string) string {
	t.Helper()
	var page struct {
		Messages []struct{ Content []struct{ Data string } }
	}
	p.Must("session/history", map[string]any{"session_id": id}, &page)
	if len(page.Messages) == 0 || len(page.Messages[0].Content) < 2 {
		t.Fatalf("the history is %+v", page)
	}
	return page.Messages[0].Content[1].Data
}
