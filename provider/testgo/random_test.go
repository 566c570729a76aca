package testgo

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// recorded is a test that records what it says.
type recorded struct {
	rapid.TB
	said   strings.Builder
	failed bool
}

func (r *recorded) Log(args ...any)                   { fmt.Fprintln(&r.said, args...) }
func (r *recorded) Logf(format string, args ...any)   { fmt.Fprintf(&r.said, format+"\n", args...) }
func (r *recorded) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorded) Fail()                             { r.failed = true }
func (r *recorded) Failed() bool                      { return r.failed }
func (r *recorded) FailNow()                          { panic(r) } // instead of an end of the goroutine

// A property that draws many values and fails says why, once, and how to repeat that, in at most 60 lines.
func TestCheck(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		f := flag.Lookup(name)
		was := f.Value.String()
		defer f.Value.Set(was)
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	why := "the answer is wrong:\n" + strings.Repeat("a line\n", 25) + "the end"
	for name, property := range map[string]func(*rapid.T){
		"failure": func(r *rapid.T) {
			for range 1000 {
				rapid.Int().Draw(r, "n")
			}
			r.Fatal(why)
		},
		"panic": func(r *rapid.T) {
			for range 1000 {
				rapid.Int().Draw(r, "n")
			}
			panic(why)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorded{TB: t}
			func() {
				defer func() {
					if recover() != r {
						t.Error("the test goes on")
					}
				}()
				Check(r, property)
			}()
			said := r.said.String()
			if n := strings.Count(said, "\n"); n > 60 {
				t.Errorf("it says %d lines:\n%s", n, said)
			}
			for _, want := range []string{"the answer is wrong:", "-rapid.seed=", "-run=", "\nn: "} {
				if strings.Count(said, want) < 1 || want == "the answer is wrong:" && strings.Count(said, want) > 1 {
					t.Errorf("%q is there %d times in:\n%s", want, strings.Count(said, want), said)
				}
			}
		})
	}
}

func TestCheckPasses(t *testing.T) {
	r := &recorded{TB: t}
	Check(r, func(r *rapid.T) { rapid.Int().Draw(r, "n") })
	if r.failed || !strings.HasPrefix(r.said.String(), "[rapid] OK, passed") {
		t.Errorf("it says %q", r.said.String())
	}
}
