//go:build long

package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

var oldProgram = flag.String("clusterold", "", "TestRollBack: an older `program`")

// TestRollBack has nodes of two versions serve the same sessions, and then the older version alone.
func TestRollBack(t *testing.T) {
	if *oldProgram == "" {
		t.Skip("needs: -clusterold, an older program")
	}
	c := begin(t, jettest.Start(t, 3), 3)
	c.vendor.ScriptFunc(func(sim.Request) *sim.Answer { return quick() })
	old := func(name string) *node {
		t.Helper()
		urls, err := json.Marshal(c.urls)
		if err != nil {
			t.Fatal(err)
		}
		config := proof.WriteConfig(t, fmt.Sprintf("[cluster]\nservers = %s\nname = %q\nprefix = %q\nmax_open_bytes = 16777216\n", urls, name, c.prefix))
		cmd := proof.Command(t, c.env, "--data", t.TempDir(), "daemon", "--config", config, "--idle", "0")
		cmd.Path = *oldProgram
		n := &node{House: proof.OpenCommand(t, cmd), c: c, name: name, config: config}
		n.Ready()
		return n
	}
	a, b := old("a"), c.start("b")
	at, bt := a.door(), b.door()
	sessions := []string{at.NewSession(), bt.NewSession()}
	at.Turn(sessions[0], "Old.")
	bt.Turn(sessions[1], "New.")
	at.End()
	a.End()
	turn := func(p *proof.Process, text string) {
		t.Helper()
		for i, session := range sessions {
			attach(t, p, session)
			if end := p.Turn(session, fmt.Sprint(text, i)); end.Stop != "end_turn" {
				t.Errorf("the turn %q ends with %+v", text, end)
			}
		}
	}
	turn(bt, "Newer version ")
	a = old("a")
	bt.End()
	b.End()
	at = a.door()
	turn(at, "Older version ")
	for _, session := range sessions {
		history, err := at.History(session)
		if err != nil || len(history) != 6 {
			t.Errorf("%d messages, %v", len(history), err)
		}
	}
	b = c.start("b")
	bt = b.door()
	at.End()
	a.End()
	turn(bt, "Newer version again ")
	bt.End()
	b.End()
}

// TestProgram: the code and the data that the program has for clusters are at most 2 MB. Tables about the code, such as those of lines, are not counted.
func TestProgram(t *testing.T) {
	out, err := exec.Command("go", "tool", "nm", "-size", "-sort", "size", proof.PlainProgram(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	sizes := make(map[string]int)
	sum := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.Contains("tTrRdD", fields[2]) {
			continue
		}
		for _, pkg := range []string{"github.com/nats-io/", "thinkd/session/jet", "thinkd/session/lease", "thinkd/rpc/cluster"} {
			if !strings.Contains(fields[3], pkg) {
				continue
			}
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			sizes[pkg] += n
			sum += n
			break
		}
	}
	t.Logf("%d bytes: %v", sum, sizes)
	if sum == 0 || sum > 2_000_000 {
		t.Errorf("%d bytes of the program are for clusters", sum)
	}
}
