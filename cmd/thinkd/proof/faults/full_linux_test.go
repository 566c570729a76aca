package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestFullDisk lets the store run out of room, by a limit on the size of the files that the daemon may write, and gives
// it room again. While it is full each write is refused with store_readonly and reading works; nothing that was
// acknowledged is lost; with room the same daemon goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := proof.Start(t, data, nil)
	id := p.NewSession("model_id", "sim/claude")
	if end := p.Turn(id, "First. [[sim: thinking=10 text=10 pace=0]]"); end.Stop != "end_turn" {
		t.Fatalf("the turn ends with %s", end.Stop)
	}
	info, err := os.Stat(filepath.Join(data, "thinkd.db"))
	if err != nil {
		t.Fatal(err)
	}
	room(t, p, uint64(info.Size())+1<<20)

	// Prompts are acknowledged until there is no more room.
	var acked []string
	long := strings.Repeat("a long word ", 10_000)
	for n := 0; ; n++ {
		var receipt struct {
			Turn string `json:"turn_id"`
		}
		text := fmt.Sprintf("Prompt %d. [[sim: thinking=10 text=10 pace=0]] %s", n, long)
		err := p.Call("session/prompt", map[string]any{"session_id": id, "text": text}, &receipt)
		if err != nil {
			readOnlyError(t, "session/prompt", err)
			break
		}
		acked = append(acked, receipt.Turn)
		if len(acked) > 1000 {
			t.Fatal("the disk is never full")
		}
		// The turn ends, or its session is closed since its end cannot be kept: then the client attaches anew.
		u := p.Wait("the turn's end", func(u proof.Update) bool {
			return u.Turn == receipt.Turn && u.Method == "turn_end" || u.Method == "stale"
		})
		if u.Method == "stale" {
			break
		}
	}
	if len(acked) < 3 {
		t.Errorf("only %d prompts fitted in", len(acked))
	}

	// Full: writes are refused, reads are not.
	p.Must("session/attach", map[string]any{"session_id": id}, nil)
	for method, params := range map[string]map[string]any{
		"session/prompt": {"session_id": id, "text": long},
		"session/new":    {"system_prompt": long},
		"session/update": {"session_id": id, "title": "Another title"},
		"thinking/set":   {"session_id": id, "level": "low"},
	} {
		readOnlyError(t, method, p.Call(method, params, nil))
	}
	wantPrompts(t, p, id, acked)

	// Room again: it goes on, after a second or so, without a word.
	room(t, p, unix.RLIM_INFINITY)
	var last string
	deadline := time.After(proof.Patience)
	for last == "" {
		var receipt struct {
			Turn string `json:"turn_id"`
		}
		err := p.Call("session/prompt", map[string]any{"session_id": id, "text": "Last. [[sim: thinking=10 text=10 pace=0]]"}, &receipt)
		if err == nil {
			last = receipt.Turn
			break
		}
		readOnlyError(t, "session/prompt", err)
		select {
		case <-deadline:
			t.Fatalf("it does not go on\n%s", proof.Excerpt(p.Log()))
		case <-time.After(20 * time.Millisecond): // until the store has looked
		}
	}
	var end struct {
		Stop string `json:"stop_reason"`
	}
	p.Must("turn/wait", map[string]any{"session_id": id, "turn_id": last}, &end)
	if end.Stop != "end_turn" {
		t.Errorf("the turn after that ends with %s", end.Stop)
	}
	acked = append(acked, last)
	wantPrompts(t, p, id, acked)
	for _, turn := range acked {
		p.Must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, &end)
		if end.Stop != "end_turn" && end.Stop != "interrupted" {
			t.Errorf("turn %s ended with %s", turn, end.Stop)
		}
	}
	p.Kill()
	p = proof.Start(t, data, nil)
	wantPrompts(t, p, id, acked)
	p.End()
	out, err := proof.Command(t, nil, "--data", data, "doctor").CombinedOutput()
	if err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// room limits how long a file of the daemon's may get.
func room(t *testing.T, p *proof.Process, size uint64) {
	t.Helper()
	limit := &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.House.Cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, nil); err != nil {
		t.Fatal(err)
	}
}

func readOnlyError(t *testing.T, what string, err error) {
	t.Helper()
	e, ok := errors.AsType[*proof.CallError](err)
	var data struct{ Kind string }
	if !ok || json.Unmarshal(e.Data, &data) != nil || e.Code != 1006 || data.Kind != "store_readonly" {
		t.Fatalf("%s without room: %v (%+v)", what, err, e)
	}
}

// wantPrompts wants the first prompt and these, each once and in order.
func wantPrompts(t *testing.T, p *proof.Process, id string, turns []string) {
	t.Helper()
	messages, err := p.History(id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		if m.Role == "user" {
			got = append(got, m.Turn)
		}
	}
	if len(got) != len(turns)+1 || strings.Join(got[1:], " ") != strings.Join(turns, " ") {
		t.Errorf("the history has the turns %v,\nacknowledged were one and %v", got, turns)
	}
}
