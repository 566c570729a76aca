package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary answer to the name thinkd as well: scripts and tests start the real program, with the
// race detector where the tests have it.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"thinkd": func() {
		if v := os.Getenv(versionVariable); v != "" {
			version = v
		}
		if err := errors.Join(offerMisdeed(), offerCalls()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		offerHeap()
		main()
	}})
}

// versionVariable makes the program another version of itself.
const versionVariable = "THINKD_TEST_VERSION"

// raced reports whether the tests, and with them the program, run with the race detector, which takes time and memory.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// leakChecked fails tests that leave a goroutine behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

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
