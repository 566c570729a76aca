package testgo

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Check is rapid.Check with a short failure: what the property says, the seed and the file that repeat the run, and what was drawn first and
// last. rapid itself prints each value, which takes hundreds of lines for a session, and prints twice what the property says. With -rapid.log
// all values are printed.
func Check(t rapid.TB, property func(*rapid.T)) {
	t.Helper()
	r := &repeated{TB: t}
	defer r.report() // rapid.Check ends the goroutine of a test that fails
	rapid.Check(r, property)
}

// repeated is the test that rapid reports to. When a property has failed, rapid says so, and then runs it once more to log what happens.
type repeated struct {
	rapid.TB
	failure string // what rapid says
	drawn   []string
}

func (r *repeated) Errorf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	r.Fail()
}

func (r *repeated) Logf(format string, args ...any) {
	r.Helper()
	text := fmt.Sprintf(format, args...)
	if r.failure != "" && strings.HasPrefix(format, "[rapid] draw ") {
		r.drawn = append(r.drawn, strings.TrimPrefix(text, "[rapid] draw "))
		return
	}
	r.Log(text)
}

func (r *repeated) Log(args ...any) {
	r.Helper()
	if text := strings.TrimSpace(fmt.Sprintln(args...)); text != "" {
		r.failure = strings.Replace(r.failure, text, "see above", 1)
	}
	r.TB.Log(args...)
}

func (r *repeated) report() {
	r.Helper()
	if r.failure == "" {
		return
	}
	r.TB.Errorf("%s\nDrawn:\n%s", Excerpt(strings.TrimSuffix(r.failure, "\nFailed test output:")), Excerpt(strings.Join(r.drawn, "\n")))
}
