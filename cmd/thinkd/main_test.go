package main

import (
	"errors"
	"fmt"
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
