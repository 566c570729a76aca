package kills

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

var (
	killsWanted = flag.Int("kills", 8, "how many kills TestKills makes")
	killsSeed   = flag.Uint64("killseed", 0, "the seed of TestKills; 0: any")
)

// killLanes is over how many data directories the kills are spread: each sees its daemon again and again.
const killLanes = 4

// TestKills kills the daemon at random moments under load, starts it again on the same data directory, and compares what it has
// with what its clients received: the acknowledged prompts, the blocks whose end was published, the ends of turns, the numbers of
// notifications, and the last second of unfinished text.
func TestKills(t *testing.T) {
	t.Parallel()
	seed := *killsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-killseed %d", seed)
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(proof.Recite)

	var sum proof.Tally
	t.Cleanup(func() { sum.Report(t) })
	for n := range killLanes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := &proof.Lane{T: t, Rng: rand.New(rand.NewPCG(seed, uint64(n))), Name: fmt.Sprint(n), Data: t.TempDir(), Env: env, Sum: &sum}
			for range max(*killsWanted/killLanes, 1) {
				l.Live()
				if t.Failed() {
					t.Fatalf("after %d lives; -killseed %d", l.Lives, seed)
				}
			}
			l.Last()
		})
	}
}
