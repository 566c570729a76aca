//go:build long

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// smallDisks has a disk of its own for each of three servers, which is full soon. grow gives them more space.
func smallDisks(t *testing.T, size string) (dir string, grow func(size string)) {
	t.Helper()
	dir = t.TempDir()
	var disks []string
	for i := range 3 {
		disk := filepath.Join(dir, fmt.Sprint("s", i+1))
		if err := os.Mkdir(disk, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "mode=0700,size="+size); err != nil {
			t.Skipf("needs: root, to mount small disks: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(disk, 0); err != nil {
				t.Error(err)
			}
		})
		disks = append(disks, disk)
	}
	return dir, func(size string) {
		t.Helper()
		for _, disk := range disks {
			if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "mode=0700,size="+size); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFullDisks fills the disks of all three servers at once, without max_bytes. No prompt is acknowledged that is not stored. When there is space, and the
// servers have started again, the nodes go on: each prompt that was acknowledged is there, and the one that was refused can be sent again.
func TestFullDisks(t *testing.T) {
	dir, grow := smallDisks(t, "48m")
	stores := jettest.StartProcesses(t, dir)
	c := begin(t, stores, 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	a, b := c.start("a"), c.start("b")
	at := a.door()
	session := at.NewSession()
	var kept []string // acknowledged
	var refusal map[string]any
	for i := 0; refusal == nil; i++ {
		text := fmt.Sprintf("Prompt %d. %s", i, strings.Repeat("x", 200<<10))
		params := map[string]any{"session_id": session, "text": text, "client_id": fmt.Sprint("prompt ", i)}
		var r struct {
			Turn string `json:"turn_id"`
		}
		sent := time.Now()
		if err := at.Call("session/prompt", params, &r); err != nil {
			t.Logf("prompt %d is refused after %v: %v", i, time.Since(sent), err)
			refusal = params
			break
		}
		kept = append(kept, text)
		end := at.Wait("the end of a turn", func(u proof.Update) bool {
			return proof.Ended(r.Turn)(u) || u.Method == "stale" && u.Session == session
		})
		if end.Stop != "end_turn" {
			t.Logf("the turn of prompt %d ends by %s %q after %v", i, end.Method, end.Stop, time.Since(sent))
		}
		at.Forget()
		if i == 1000 {
			t.Fatal("the disks are not full")
		}
	}
	if len(kept) == 0 {
		t.Fatal("no prompt was acknowledged")
	}
	for i := range 3 {
		stores.Kill(i)
	}
	grow("512m")
	stores.StartAll()
	back := time.Now()
	for { // again, with the same client_id
		attach(t, at, session)
		_ = at.Call("session/queue", map[string]any{"session_id": session, "resume": true}, nil) // there may be none
		err := at.Call("session/prompt", refusal, nil)
		if err == nil {
			break
		}
		if time.Since(back) > proof.Patience {
			t.Fatalf("with space again, the prompt is refused: %v", err)
		}
		proof.Moment(200 * time.Millisecond)
	}
	t.Logf("%d prompts of 200 KiB were acknowledged; with space again, prompts are accepted after %v", len(kept), time.Since(back))
	kept = append(kept, refusal["text"].(string))
	at.House = a.House
	at.Kill()
	bt := b.door() // it reads what is stored
	attach(t, bt, session)
	_ = bt.Call("session/queue", map[string]any{"session_id": session, "resume": true}, nil) // there may be none
	c.inHistory(t, bt, session, kept)
	bt.End()
	b.End()
}

// inHistory fails the test unless each of the prompts is in the history once, in order, and no model got one twice.
func (c *cluster) inHistory(t *testing.T, p *proof.Process, session string, prompts []string) {
	t.Helper()
	history, err := p.History(session)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, m := range history {
		if m.Role != "user" || len(m.Content) == 0 {
			continue
		}
		if at == len(prompts) || m.Content[0].Text != prompts[at] {
			t.Errorf("message %d is %.30q", at, m.Content[0].Text)
		}
		at++
	}
	if at != len(prompts) {
		t.Errorf("%d prompts of %d are in the history", at, len(prompts))
	}
	asked := c.prompted()
	for _, text := range prompts {
		if asked[text] > 1 {
			t.Errorf("a model got %.30q %d times", text, asked[text])
		}
	}
}
