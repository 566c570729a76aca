package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// A process writes what the variables ask for, and nothing else.
func TestRecord(t *testing.T) {
	for _, c := range []struct{ variables, want []string }{
		{[]string{profileVariable}, []string{".cpu", ".heap"}},
		{[]string{traceVariable}, []string{".trace"}},
		{[]string{profileVariable, traceVariable}, []string{".cpu", ".heap", ".trace"}},
	} {
		dir := t.TempDir()
		var env []string
		for _, v := range c.variables {
			env = append(env, v+"="+dir)
		}
		p := newProgram(strings.NewReader(""), io.Discard, io.Discard, proof.Environment(env...))
		if err := p.execute(t.Context(), []string{"version"}); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			info, err := f.Info()
			if err != nil || info.Size() == 0 || !strings.HasSuffix(strings.TrimSuffix(f.Name(), filepath.Ext(f.Name())), "-version") {
				t.Errorf("%s: %v, %v", f.Name(), info, err)
			}
			got = append(got, filepath.Ext(f.Name()))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: it wrote %v, want %v", c.variables, got, c.want)
		}
	}
}

// A directory that is missing is an error that names the variable. What began before has ended: it can begin again.
func TestRecordNowhere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for range 2 {
		p := newProgram(strings.NewReader(""), io.Discard, io.Discard, proof.Environment(profileVariable+"="+t.TempDir(), traceVariable+"="+missing))
		if err := p.execute(t.Context(), []string{"version"}); err == nil || !strings.Contains(err.Error(), traceVariable) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%v", err)
		}
	}
}
