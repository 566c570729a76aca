package testgo

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func TestGo(t *testing.T) {
	for _, test := range []struct {
		name string
		f    func()
		want []string // what the failure has; nil: none
	}{
		{"returns", func() {}, nil},
		{"panics", panics, []string{"panicked: of its own", "testgo.panics"}},
		{"nil pointer", func() { var r *recorder; r.errors = nil }, []string{"nil pointer", "testgo_test.go"}},
		{"panic of nil", func() { panic(error(nil)) }, []string{"panic called with nil"}},
		{"exits", runtime.Goexit, []string{"t.FailNow"}},
		{"deep", func() { deep(1000) }, []string{"panicked: deep", "testgo.deep"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			<-Go(r, test.f)
			if test.want == nil {
				if r.errors != nil {
					t.Fatalf("fails with %q", r.errors)
				}
				return
			}
			if len(r.errors) != 1 {
				t.Fatalf("fails with %q, want one failure", r.errors)
			}
			for _, want := range test.want {
				if !strings.Contains(r.errors[0], want) {
					t.Errorf("the failure lacks %q:\n%s", want, r.errors[0])
				}
			}
			if n := strings.Count(r.errors[0], "\n"); n > maxStackLines+1 {
				t.Errorf("the failure has %d lines", n)
			}
		})
	}
}

func panics() { panic("of its own") }

func deep(n int) {
	if n == 0 {
		panic("deep")
	}
	deep(n - 1)
}
