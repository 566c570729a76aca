package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/thinkd/thinkd/session"
)

// scale has the sizes of the measurements.
type scale struct {
	deltas, thoughts int // of a flow
	paced            int // deltas whose latency is measured
	stored, attached int // sessions
	long             int // messages of a long session
	thought          int // bytes of a long thought
	viewers          int // of one session

	crowd                int           // sessions
	crowdWarm, crowdLong time.Duration // before and during the measurement
	crash                time.Duration // before the kill
	rest                 time.Duration // before memory is measured, so that a program can release some

	growAgain int     // the number of measurements of each point
	growMost  float64 // the largest multiple of the smallest size; 0: no limit
}

var (
	whole = scale{deltas: 200_000, thoughts: 20, paced: 1000, stored: 100_000, attached: 10_000, long: 10_000, thought: 10_000_000, viewers: 1000, crowd: 2000, crowdWarm: 4 * time.Second, crowdLong: 6 * time.Second,
		crash: 3 * time.Second, rest: 2500 * time.Millisecond, growAgain: 3}
	small = scale{deltas: 2000, thoughts: 2, paced: 30, stored: 300, attached: 100, long: 40, thought: 17_000, viewers: 3, crowd: 20, crowdWarm: time.Second / 2, crowdLong: time.Second / 2,
		crash: time.Second / 2, growAgain: 1, growMost: 10}
)

// stdio is the subject for measurements that need only one.
var stdio = subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.door == "stdio" })]

// bench is a run.
type bench struct {
	*house
	table
	began    time.Time
	where    string // the machine and the time, for the report
	scale    scale
	again    int            // the number of measurements of each value
	only     *regexp.Regexp // selects groups and growths
	apis     *regexp.Regexp // selects wire APIs
	compared []subject      // the columns
	missing  []string       // why cells of peers are empty

	template *conversation // for stores with many sessions; nil: not recorded yet
	full     map[int]full  // of the group stored, by the number of sessions
}

// conversation is a session with one turn, as a daemon stored it. Stores with many sessions consist of copies of it.
type conversation struct {
	record  session.Session
	entries []session.Entry
}

// full is a data directory with many sessions.
type full struct {
	dir string
	ids []session.ID
}

// progress prints what was measured, for people who wait.
func (b *bench) progress(what string, began time.Time) {
	now := time.Now()
	fmt.Fprintf(os.Stderr, "%4.0f s: %s took %.1f s\n", now.Sub(b.began).Seconds(), what, now.Sub(began).Seconds())
}

// deltas returns the length of a flow: peers take much longer for a delta.
func (b *bench) deltas(s subject) int {
	if s.peer != nil {
		return max(b.scale.deltas/peerShare, b.scale.thoughts)
	}
	return b.scale.deltas
}
