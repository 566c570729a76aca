package daemon

import "testing"

func TestTidy(t *testing.T) {
	var tidy tidy
	tidy.collect()
	before := held()
	garbage := make([]byte, 4*tidiedAbove)
	for i := range garbage {
		garbage[i] = 1
	}
	if grown := held(); grown < before+3*tidiedAbove {
		t.Fatalf("%d bytes, after %d", grown, before)
	}
	garbage = nil
	if !tidy.due() {
		t.Error("nothing is due")
	}
	tidy.collect()
	if after := held(); after > before+2*tidiedAbove {
		t.Errorf("%d bytes are held, after %d", after, before)
	}
	if tidy.due() {
		t.Error("it is due again")
	}
}
