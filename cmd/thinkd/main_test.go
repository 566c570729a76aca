package main

import (
	"io"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) { proof.Main(m) }

// A command that the arguments begin with is made alone, and is the one that is made with the others.
func TestOneCommand(t *testing.T) {
	p := &program{out: io.Discard, errOut: io.Discard}
	all := p.command(nil).Commands()
	if len(all) < 12 {
		t.Errorf("there are %d commands", len(all))
	}
	for _, c := range all {
		alone := p.command([]string{c.Name(), "--help"}).Commands()
		if len(alone) != 1 || alone[0].Use != c.Use || alone[0].Flags().FlagUsages() != c.Flags().FlagUsages() {
			t.Errorf("%s: %d commands", c.Name(), len(alone))
		}
	}
	if n := len(p.command([]string{"help", "stdio"}).Commands()); n != len(all) {
		t.Errorf("help knows %d commands of %d", n, len(all))
	}
}
