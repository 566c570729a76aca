package stores

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

var damagesWanted = flag.Int("damages", 21, "how many damaged stores TestDamagedStores makes")

// TestDamagedStores starts the daemon on damaged copies of a store. Either it refuses to start, says what to do and changes no byte,
// or it starts, and each session reads as it was or is reported as damaged. It never crashes, and the second start goes like the
// first.
func TestDamagedStores(t *testing.T) {
	t.Parallel()
	whole, mark, want := storeToDamage(t)
	const shards = 4
	var mu sync.Mutex
	var refused, hit, unharmed int
	t.Cleanup(func() {
		t.Logf("of %d damaged stores %d are refused, %d start with sessions that are damaged, %d without harm",
			refused+hit+unharmed, refused, hit, unharmed)
		if !t.Failed() && (refused == 0 || hit == 0 || unharmed == 0) {
			t.Error("the damage does not reach all three")
		}
	})
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for n := shard; n < *damagesWanted; n += shards {
				what, data := spoil(rand.New(rand.NewPCG(uint64(n), 2)), n, whole)
				outcome := startDamaged(t, what, data, mark, want)
				mu.Lock()
				*[]*int{&refused, &hit, &unharmed}[outcome]++
				mu.Unlock()
				if t.Failed() {
					t.Fatalf("mutation %d: %s", n, what)
				}
			}
		})
	}
}

// storeToDamage is a store of long and short sessions, and the history of each.
func storeToDamage(t *testing.T) (whole, mark []byte, want map[string][]proof.SpokenMessage) {
	t.Helper()
	data := t.TempDir()
	p := proof.Start(t, data, nil)
	want = make(map[string][]proof.SpokenMessage)
	for n := range 8 {
		id := p.NewSession("model_id", "sim/claude", "thinking_level", "low")
		for turn := range 1 + n%4*3 {
			p.Turn(id, fmt.Sprintf("Prompt %d %s. [[sim: thinking=40 text=%d pace=0]]", turn, strings.Repeat("long ", n*100), 20+n*40))
		}
		history, err := p.History(id)
		if err != nil {
			t.Fatal(err)
		}
		want[id] = history
	}
	p.End()
	whole, err := os.ReadFile(filepath.Join(data, "thinkd.db"))
	if err == nil {
		mark, err = os.ReadFile(filepath.Join(data, "thinkd.mark"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return whole, mark, want
}

// spoil damages a copy: cuts it, empties it, zeroes or moves a page, turns a bit in a page's head or anywhere. The first copy is empty and
// the second one is whole, so that a few copies reach a refusal and a start without harm, wherever the others are damaged.
func spoil(r *rand.Rand, n int, whole []byte) (what string, data []byte) {
	page := os.Getpagesize()
	data = bytes.Clone(whole)
	used := len(bytes.TrimRight(data, "\x00"))
	at := r.IntN(used)
	start := at / page * page
	switch {
	case n == 1:
		return "whole", data
	case n%35 == 0:
		return "empty", nil
	}
	switch n % 7 {
	case 0:
		return fmt.Sprintf("cut to %d bytes", at), data[:at]
	case 1:
		clear(data[start : start+page])
		return fmt.Sprintf("page %d zeroed", at/page), data
	case 2:
		from := r.IntN(used) / page * page
		copy(data[start:start+page], whole[from:from+page])
		return fmt.Sprintf("page %d overwritten by %d", at/page, from/page), data
	case 3:
		at = start + r.IntN(80)
	}
	data[at] ^= 1 << r.IntN(8)
	return fmt.Sprintf("bit of byte %d of page %d", at%page, at/page), data
}

// startDamaged is 0 if the daemon refuses, 1 if sessions are damaged, 2 if nothing is.
func startDamaged(t *testing.T, what string, data, mark []byte, want map[string][]proof.SpokenMessage) (outcome int) {
	dir := t.TempDir()
	path := filepath.Join(dir, "thinkd.db")
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(filepath.Join(dir, "thinkd.mark"), mark, 0o600)); err != nil {
		t.Fatal(err)
	}
	for again := range 2 {
		h := proof.Open(t, dir, nil)
		first := <-h.Lines
		now := 0
		if first == proof.DaemonReady {
			now = readDamaged(t, h, what, want)
		} else {
			if !strings.Contains(first, "store is damaged: ") && !strings.Contains(first, "newer format") {
				t.Errorf("%s: the daemon says %q", what, first)
			}
			if err := h.Gone(); err == nil {
				t.Errorf("%s: a refused start is reported as a success", what)
			}
			if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, data) {
				t.Errorf("%s: refused, and the file was changed; %v", what, err)
			}
		}
		if again == 1 && now != outcome {
			t.Errorf("%s: the first start has the outcome %d, the second %d", what, outcome, now)
		}
		outcome = now
	}
	if log, err := os.ReadFile(filepath.Join(dir, proof.LogFileName)); err != nil && !errors.Is(err, os.ErrNotExist) || bytes.Contains(log, []byte("goroutine ")) {
		t.Errorf("%s: the log has %s, %v", what, log, err)
	}
	return outcome
}

// readDamaged reads each session, and prompts in a new one.
func readDamaged(t *testing.T, h *proof.House, what string, want map[string][]proof.SpokenMessage) (outcome int) {
	p := h.Client(nil)
	var list struct{ Sessions []json.RawMessage }
	p.Must("session/list", map[string]any{}, &list)
	if len(list.Sessions) < len(want) {
		t.Errorf("%s: %d of %d sessions are listed", what, len(list.Sessions), len(want))
	}
	outcome = 2
	for id, history := range want {
		got, err := p.History(id)
		var data struct{ Kind string }
		switch e, ok := errors.AsType[*proof.CallError](err); {
		case err == nil && !reflect.DeepEqual(got, history):
			t.Errorf("%s: session %s reads as what it never was", what, id)
		case ok && json.Unmarshal(e.Data, &data) == nil && data.Kind == "damaged":
			outcome = 1
		case err != nil:
			t.Errorf("%s: session %s: %v", what, id, err)
		}
	}
	if end := p.Turn(p.NewSession("model_id", "sim/claude"), "And? [[sim: thinking=5 text=5 pace=0]]"); end.Stop != "end_turn" {
		t.Errorf("%s: a turn ends with %s", what, end.Stop)
	}
	p.End()
	return outcome
}
