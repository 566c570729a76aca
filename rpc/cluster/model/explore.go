package model

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Kind says who takes a step. It decides what a goal may count on.
type Kind uint8

const (
	Own    Kind = iota // the program, the network or a store does what it does anyway
	Client             // a client or an operator asks for something
	Fault              // something fails: the number of faults is bounded, and no goal counts on one
)

// Step is one way on from a state.
type Step[S comparable] struct {
	Kind   Kind
	Text   string // for people, with the actor first
	Next   S
	Broken Harm // the invariant that the step breaks
	Bad    Harm // what is wrong if the step can be repeated for ever without a fault
}

// Goal is what must stay possible: from every state in which it is due, steps of the kinds up to Helps lead to a state in which it is met.
type Goal[S comparable] struct {
	Broken Harm // what is wrong if no such steps exist
	Helps  Kind
	Due    func(S) bool
	Met    func(S) bool
}

// World is what Explore visits. Steps must depend on the state alone.
type World[S comparable] struct {
	Start S
	Steps func(S) []Step[S]
	Goals []Goal[S]
	Show  func(S) string // one line about a state, for traces
	Only  Harm           // look for this alone, unless it is ""
}

func (w World[S]) wanted(harm Harm) bool { return harm != "" && (w.Only == "" || w.Only == harm) }

// Report is what Explore found.
type Report struct {
	Broken Harm     // "": nothing is wrong
	Trace  []string // the steps that lead there from the start: no shorter sequence of steps does
	States int
	Steps  int
}

func (r Report) String() string {
	if r.Broken == "" {
		return fmt.Sprintf("no fault in %d states and %d steps\n", r.States, r.Steps)
	}
	var b strings.Builder
	for i, line := range r.Trace {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, line)
	}
	fmt.Fprintf(&b, "  => %s\n", r.Broken)
	return b.String()
}

// search holds what was visited. States have numbers, in the order of their distance from the start. The states themselves are not kept:
// 128 bits of hash tell them apart, and a trace is made by taking its steps again.
type search[S comparable] struct {
	World[S]
	seeds   [2]maphash.Seed
	numbers map[[2]uint64]int32
	from    []int32 // the state before, on a shortest way
	by      []int32 // which of its steps led here
	goals   [][]uint8
	edges   []edge
}

type edge struct {
	from, to int32
	step     int32
	kind     Kind
	bad      bool
}

// What a state is to a goal.
const (
	due uint8 = 1 << iota
	met
)

// Explore visits all states that the steps lead to, nearest first. It stops at the first broken invariant. If there is none, it looks for a
// state that cannot reach a goal, and for a bad step that can be repeated for ever.
func Explore[S comparable](world World[S]) Report {
	s := &search[S]{World: world, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, numbers: make(map[[2]uint64]int32)}
	s.number(world.Start, -1, -1)
	frontier := []S{world.Start}
	for at := int32(0); len(frontier) > 0; at++ {
		state := frontier[0]
		frontier = frontier[1:]
		for i, step := range world.Steps(state) {
			if world.wanted(step.Broken) {
				return s.report(step.Broken, append(s.way(at), s.line(step)))
			}
			number, known := s.number(step.Next, at, int32(i))
			if !known {
				frontier = append(frontier, step.Next)
			}
			s.edges = append(s.edges, edge{at, number, int32(i), step.Kind, world.wanted(step.Bad)})
		}
	}
	for i, goal := range world.Goals {
		if !world.wanted(goal.Broken) {
			continue
		}
		if at := s.stuck(i); at >= 0 {
			return s.report(goal.Broken, append(s.way(s.end(at, goal.Helps)), "(nothing more happens)"))
		}
	}
	if r, found := s.cycle(); found {
		return r
	}
	return s.report("", nil)
}

// number is the number of a state. known says that the state was visited before; else it gets the next one.
func (s *search[S]) number(state S, from, by int32) (number int32, known bool) {
	key := [2]uint64{maphash.Comparable(s.seeds[0], state), maphash.Comparable(s.seeds[1], state)}
	if number, known = s.numbers[key]; known {
		return number, true
	}
	number = int32(len(s.from))
	s.numbers[key] = number
	s.from, s.by = append(s.from, from), append(s.by, by)
	marks := make([]uint8, len(s.Goals))
	for i, goal := range s.Goals {
		if goal.Met(state) {
			marks[i] = met
		} else if goal.Due(state) {
			marks[i] = due
		}
	}
	s.goals = append(s.goals, marks)
	return number, false
}

func (s *search[S]) report(broken Harm, trace []string) Report {
	return Report{Broken: broken, Trace: trace, States: len(s.from), Steps: len(s.edges)}
}

// way is the trace to a state.
func (s *search[S]) way(to int32) (trace []string) {
	s.walk(to, func(step Step[S]) { trace = append(trace, s.line(step)) })
	return trace
}

// state is the state with a number.
func (s *search[S]) state(number int32) S {
	state := s.Start
	s.walk(number, func(step Step[S]) { state = step.Next })
	return state
}

// walk takes the steps from the start to a state.
func (s *search[S]) walk(to int32, each func(Step[S])) {
	var indexes []int32
	for at := to; s.from[at] >= 0; at = s.from[at] {
		indexes = append(indexes, s.by[at])
	}
	state := s.Start
	for i := len(indexes) - 1; i >= 0; i-- {
		step := s.Steps(state)[indexes[i]]
		each(step)
		state = step.Next
	}
}

func (s *search[S]) line(step Step[S]) string {
	if s.Show == nil {
		return step.Text
	}
	return fmt.Sprintf("%-100s | %s", step.Text, s.Show(step.Next))
}

// stuck returns the nearest state in which the goal is due and cannot be reached any more, or -1. It goes backwards from the states in which
// the goal is met.
func (s *search[S]) stuck(goal int) int32 {
	reaches := make([]bool, len(s.from))
	var next []int32
	for number, marks := range s.goals {
		if marks[goal] == met {
			reaches[number] = true
			next = append(next, int32(number))
		}
	}
	first, before := s.incoming(s.Goals[goal].Helps)
	for len(next) > 0 {
		to := next[len(next)-1]
		next = next[:len(next)-1]
		for _, from := range before[first[to]:first[to+1]] {
			if !reaches[from] {
				reaches[from] = true
				next = append(next, from)
			}
		}
	}
	for at, marks := range s.goals {
		if marks[goal] == due && !reaches[at] {
			return int32(at)
		}
	}
	return -1
}

// end goes on from a state, by steps of the kinds up to most, to the nearest one in which they change nothing more. If there is none, it
// stays where it is.
func (s *search[S]) end(at int32, most Kind) int32 {
	outgoing := make(map[int32][]int32)
	for _, e := range s.edges {
		if e.kind <= most && e.from != e.to {
			outgoing[e.from] = append(outgoing[e.from], e.to)
		}
	}
	seen := map[int32]bool{at: true}
	for next := []int32{at}; len(next) > 0; next = next[1:] {
		if len(outgoing[next[0]]) == 0 {
			return next[0]
		}
		for _, to := range outgoing[next[0]] {
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	return at
}

// incoming lists, for each state, the states from which a step of the kinds up to most leads to it: before[first[n]:first[n+1]].
func (s *search[S]) incoming(most Kind) (first, before []int32) {
	first = make([]int32, len(s.from)+1)
	for _, e := range s.edges {
		if e.kind <= most {
			first[e.to+1]++
		}
	}
	for i := range s.from {
		first[i+1] += first[i]
	}
	before = make([]int32, first[len(s.from)])
	filled := make([]int32, len(s.from))
	for _, e := range s.edges {
		if e.kind <= most {
			before[first[e.to]+filled[e.to]] = e.from
			filled[e.to]++
		}
	}
	return first, before
}

// cycle looks for a bad step from which other steps lead back to its beginning, without a fault. The nearest one is reported.
func (s *search[S]) cycle() (Report, bool) {
	var outgoing [][]edge
	for _, bad := range s.edges {
		if !bad.bad || bad.kind == Fault {
			continue
		}
		if outgoing == nil {
			outgoing = make([][]edge, len(s.from))
			for _, e := range s.edges {
				if e.kind != Fault {
					outgoing[e.from] = append(outgoing[e.from], e)
				}
			}
		}
		if back, ok := s.path(outgoing, bad); ok {
			return back, true
		}
	}
	return Report{}, false
}

// path has the steps of a shortest way from the end of a bad step back to its beginning.
func (s *search[S]) path(outgoing [][]edge, bad edge) (Report, bool) {
	via := map[int32]edge{bad.to: bad}
	for next := []int32{bad.to}; len(next) > 0; next = next[1:] {
		if next[0] == bad.from {
			return s.lasso(via, bad), true
		}
		for _, e := range outgoing[next[0]] {
			if _, seen := via[e.to]; !seen {
				via[e.to] = e
				next = append(next, e.to)
			}
		}
	}
	return Report{}, false
}

func (s *search[S]) lasso(via map[int32]edge, bad edge) Report {
	var around []edge
	for at := bad.from; ; at = via[at].from {
		if around = append(around, via[at]); via[at] == bad {
			break
		}
	}
	trace := append(s.way(bad.from), "(from here on, for ever:)")
	state, broken := s.state(bad.from), Harm("")
	for i := len(around) - 1; i >= 0; i-- {
		step := s.Steps(state)[around[i].step]
		trace = append(trace, s.line(step))
		state = step.Next
		if i == len(around)-1 {
			broken = step.Bad
		}
	}
	return s.report(broken, trace)
}
