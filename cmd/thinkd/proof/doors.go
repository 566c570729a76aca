package proof

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/thinkd/thinkd/rpc/door"
)

// DataDir is a data directory whose daemon ends with the test.
func DataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := Quit(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Door runs `thinkd stdio`; who the daemon is, is its affair.
func Door(t *testing.T, data string, env []string, flags ...string) *Process {
	t.Helper()
	args := append([]string{"--data", data}, flags...)
	return StartCommand(t, Command(t, env, append(args, "stdio")...))
}

// TheDaemon is who serves a data directory.
func TheDaemon(t *testing.T, data string) door.Status {
	t.Helper()
	link, err := GreetDaemon(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	return link.Status
}

const VendorModel = "anthropic/claude-opus-5-5"

// Attach subscribes and is where the session stands.
func (p *Process) Attach(session string) (seq uint64, open bool) {
	p.T.Helper()
	var at struct {
		Seq  uint64          `json:"seq"`
		Open json.RawMessage `json:"open"`
	}
	p.Must("session/attach", map[string]any{"session_id": session}, &at)
	return at.Seq, at.Open != nil
}

// CheckDense fails unless each number after one comes once, as far as it goes.
func CheckDense(t *testing.T, who string, updates []Update, session string, after uint64) {
	t.Helper()
	for _, u := range updates {
		if u.Session != session || u.Method == "stale" {
			continue
		}
		first := u.Seq
		if u.FirstSeq != 0 {
			first = u.FirstSeq
		}
		if first != after+1 || u.Seq < first {
			t.Errorf("%s: %s has the numbers %d to %d after %d", who, u.Method, first, u.Seq, after)
			return
		}
		after = u.Seq
	}
}

func CheckMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Error(err)
	} else if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}
