package doctor

import "testing"

func TestProblemsFirst(t *testing.T) {
	const text = "ok    config: a\nbad   keys: first\nsecond\nnote  run: b\nbad   store: c\n"
	if got, want := problemsFirst(text), "bad   keys: first\nsecond\nbad   store: c\nok    config: a\nnote  run: b\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
