package main

import (
	"strings"
	"testing"
)

// The model at 10,000 turns, by hand: 10,000 / 60 turns begin in a second, with 9 appends and 5 changes of values each.
func TestPredict(t *testing.T) {
	c := constants{Writes: 2, Written: 1000, Stored: 100, CPU: 0.001, Create: 300}
	l := loadOf(1e7)
	if l.Live != 10_000 || l.Nodes != 9 {
		t.Fatalf("%+v", l)
	}
	got := c.predict(l)
	near := func(what string, got, want float64) {
		t.Helper()
		if got < want*0.999 || got > want*1.001 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("appends", got.Appends, 1500)
	near("values", got.Values, 833.3)
	near("writes", got.Writes, 2*2333.3)
	near("processors", got.CPU, 2.3333)
	near("written", got.Written, 2333.3*1000+2*1500*1900)
	near("disk", got.Disk, 1e7*(300+27*2000))
	near("budgets", got.Serial, 500)
	near("heartbeats", got.Heartbeats, 9*18)
}

func TestReport(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10000000", "not yet measured", "GB on disk"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := run(t.Context(), []string{"-x"}, &out); err == nil {
		t.Error("an unknown flag is no error")
	}
}
