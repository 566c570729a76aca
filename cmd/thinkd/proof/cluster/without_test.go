//go:build long

package cluster

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

var (
	beforeProgram = flag.String("clusterbefore", "", "TestWithoutCluster: the `program` before it had nodes, built like this one: CGO_ENABLED=0, tag proof")
	starts        = flag.Int("clusterstarts", 40, "how often TestWithoutCluster starts each program")
)

// TestWithoutCluster compares the start and the memory of a daemon without [cluster] with those of the program before it had nodes, in one run: the programs
// start one after the other, in turn.
func TestWithoutCluster(t *testing.T) {
	if *beforeProgram == "" {
		t.Skip("needs: -clusterbefore, an older program without nodes")
	}
	_, env := proof.Simulator(t, sim.Config{})
	var took, own [2][]float64 // in ms and MB, before and now
	for range *starts {
		for i, program := range []string{*beforeProgram, proof.PlainProgram(t)} {
			cmd := proof.Command(t, env, "--data", t.TempDir(), "daemon", "--idle", "0")
			cmd.Path = program
			since := time.Now()
			h := proof.OpenCommand(t, cmd)
			h.Ready()
			took[i] = append(took[i], float64(time.Since(since))/float64(time.Millisecond))
			own[i] = append(own[i], float64(proof.MemoryOf(t, h.Cmd.Process.Pid).Own)/1e6)
			h.End()
		}
	}
	var size [2]int64
	for i, program := range []string{*beforeProgram, proof.PlainProgram(t)} {
		info, err := os.Stat(program)
		if err != nil {
			t.Fatal(err)
		}
		size[i] = info.Size()
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	start, memory := [2]float64{median(took[0]), median(took[1])}, [2]float64{median(own[0]), median(own[1])}
	t.Logf("median of %d starts: %.1f ms before, %.1f ms now; memory of its own %.2f MB before, %.2f MB now; files of %.1f MB before, %.1f MB now", *starts,
		start[0], start[1], memory[0], memory[1], float64(size[0])/1e6, float64(size[1])/1e6)
	t.Logf("fastest start: %.1f ms before, %.1f ms now", took[0][0], took[1][0])
	proof.Judge(t, start[1] <= start[0]*1.1+1, "a start takes %.1f ms, and %.1f before", start[1], start[0])
	proof.Judge(t, memory[1] <= memory[0]*1.1, "a daemon has %.2f MB of its own, and %.2f before", memory[1], memory[0])
}
