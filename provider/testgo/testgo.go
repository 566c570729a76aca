// Package testgo starts the goroutines of tests, runs random tests, and bounds what a failure prints.
//
// If a test starts a goroutine with the go statement, a panic in it ends the whole test binary, and the results of all other tests are
// lost. A goroutine of this package fails only its own test.
package testgo

import (
	"runtime/debug"
	"strings"
	"testing"
)

// maxStackLines bounds what a panic reports: the frames nearest to it come first.
const maxStackLines = 40

// Go runs f in a goroutine, and closes done when f has ended. If f panics, t fails with the value and the stack, and the
// process lives on. A goroutine must not end itself with t.Fatal, t.FailNow or t.Skip, which belong to the test's own
// goroutine: that fails t as well.
//
// Go does not wait. What f waits for has to happen before t ends, and t has to wait for done, or for something else that
// f does, before it ends: a failure after the end of t still ends the process.
func Go(t testing.TB, f func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Guard(t, f)()
	}()
	return ended
}

// Guard is f for others to start, such as a sync.WaitGroup: like Go, it fails t if f panics.
func Guard(t testing.TB, f func()) func() {
	return func() {
		returned := false
		defer func() {
			switch value := recover(); {
			case returned:
			case value == nil: // the sign of runtime.Goexit, since panic(nil) has a value of its own
				t.Error("a goroutine of the test ended by t.FailNow or t.Skip: it has to call t.Error and return")
			default:
				t.Errorf("a goroutine of the test panicked: %v\n%s", value, head(string(debug.Stack())))
			}
		}()
		f()
		returned = true
	}
}

// head is the beginning of a stack, from the call of panic on.
func head(stack string) string {
	if at := strings.Index(stack, "\npanic("); at >= 0 {
		stack = stack[at+1:]
	}
	lines := strings.SplitAfter(stack, "\n")
	return strings.Join(lines[:min(len(lines), maxStackLines)], "")
}
