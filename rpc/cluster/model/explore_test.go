package model

import (
	"strings"
	"testing"
)

// counter is a world of one number below 8, with steps by name.
func counter(steps func(n int) []Step[int]) World[int] {
	return World[int]{Steps: func(n int) (list []Step[int]) {
		for _, step := range steps(n) {
			step.Next %= 8
			list = append(list, step)
		}
		return list
	}}
}

func up(n int) Step[int] { return Step[int]{Text: "one more", Next: n + 1} }

func TestExploreFindsTheShortestTrace(t *testing.T) {
	r := Explore(counter(func(n int) []Step[int] {
		double := Step[int]{Text: "double", Next: 2 * n}
		if n == 6 {
			double.Broken = "six was doubled"
		}
		return []Step[int]{up(n), double}
	}))
	if got := strings.Join(r.Trace, ", "); r.Broken != "six was doubled" || got != "one more, one more, one more, double, double" {
		t.Errorf("%s", r)
	}
}

func TestExploreVisitsEachStateOnce(t *testing.T) {
	if r := Explore(counter(func(n int) []Step[int] { return []Step[int]{up(n), up(n + 2)} })); r.Broken != "" || r.States != 8 || r.Steps != 16 {
		t.Errorf("%+v", r)
	}
}

// A goal that only a fault could reach cannot be reached. The trace goes on to where nothing more happens.
func TestExploreFindsWhatIsStuck(t *testing.T) {
	world := counter(func(n int) []Step[int] {
		switch {
		case n == 5:
			return []Step[int]{{Kind: Fault, Text: "repair", Next: 7}}
		case n == 2:
			return []Step[int]{up(n), {Text: "jump", Next: 6}}
		}
		return []Step[int]{up(n)}
	})
	world.Goals = []Goal[int]{{Broken: "never seven", Helps: Client, Due: func(int) bool { return true }, Met: func(n int) bool { return n == 7 }}}
	r := Explore(world)
	if got := strings.Join(r.Trace, ", "); r.Broken != "never seven" || got != "one more, one more, one more, one more, one more, (nothing more happens)" {
		t.Errorf("%s", r)
	}
	world.Goals[0].Helps = Fault
	if r := Explore(world); r.Broken != "" {
		t.Errorf("%s", r)
	}
}

// A bad step is an error only if it can be repeated without a fault.
func TestExploreFindsBadCycles(t *testing.T) {
	for _, last := range []Kind{Own, Fault} {
		r := Explore(counter(func(n int) []Step[int] {
			step := up(n)
			switch n {
			case 3:
				step.Bad = "round and round"
			case 7:
				step.Kind = last
			}
			return []Step[int]{step}
		}))
		if found := r.Broken == "round and round"; found != (last == Own) {
			t.Errorf("with a last step of kind %d:\n%s", last, r)
		}
		if last == Own && len(r.Trace) != 3+1+8 {
			t.Errorf("%s", r)
		}
	}
}

// Only the harm that is asked for is reported.
func TestExploreLooksForOneHarm(t *testing.T) {
	world := counter(func(n int) []Step[int] {
		step := up(n)
		if n >= 3 {
			step.Broken = Harm(strings.Repeat("x", n))
		}
		return []Step[int]{step}
	})
	world.Only = "xxxxx"
	if r := Explore(world); r.Broken != "xxxxx" || len(r.Trace) != 6 {
		t.Errorf("%s", r)
	}
}
