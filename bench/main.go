// Bench measures thinkd against a floor: a program that does nothing but what any program in its place has to do
// (bench/floor). Both read the same streams from the same upstream in the same run, one after the other and again, so
// that a busy machine is as hard on the one as on the other. docs/performance.md says how it is run and has the last
// figures.
//
//	go run ./bench          the table
//	go run ./bench plots    how costs grow, drawn
//
// The programs are built anew and run as they are shipped: everything is on, the store is synced, the daemon and its
// door are processes of their own. What they use is asked of the system, from outside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"github.com/thinkd/thinkd/session"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// scale is how much is measured.
type scale struct {
	deltas, thoughts    int // of a flow
	latencySeconds      int
	stored              int // sessions
	crowd, crowdSeconds int
	crashMS             int
}

var (
	whole = scale{deltas: 200_000, thoughts: 20, latencySeconds: 4, stored: 10_000, crowd: 2000, crowdSeconds: 6, crashMS: 3000}
	small = scale{deltas: 2000, thoughts: 2, latencySeconds: 1, stored: 100, crowd: 20, crowdSeconds: 1, crashMS: 1200}
)

// stdio is the subject that stands for thinkd where one is enough.
var stdio = subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.door == "stdio" })]

// bench is a run.
type bench struct {
	*house
	table
	out   io.Writer
	scale scale
	again int // so often is everything measured
	only  *regexp.Regexp

	full    string // the directory of stored
	fullIDs []session.ID
}

// groups are what is measured, in the order of the table.
var groups = []struct {
	name string
	most int // times
	f    func(*bench, subject) error
}{
	{"start", 100, (*bench).measureStart},
	{"latency", 100, (*bench).measureLatency},
	{"flow", 100, (*bench).measureFlow},
	{"many", 100, (*bench).measureMany},
	{"memory", 100, (*bench).measureMemory},
	{"stored", 3, (*bench).measureStored},
	{"crowd", 3, (*bench).measureCrowd},
	{"crash", 100, (*bench).measureCrash},
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	again := flags.Int("n", 5, "measure everything so often; the table has medians")
	only := flags.String("only", "", "a `REGEXP`: measure only what it fits of start, latency, flow, many, memory, stored, crowd, crash, apis")
	who := flags.String("subject", "", "a `REGEXP`: measure only these columns")
	tiny := flags.Bool("small", false, "measure hardly anything: to see that all of it works")
	profiles := flags.String("profile", "", "have thinkd write profiles of itself into `DIR`")
	command := ""
	if len(args) > 0 && (args[0] == "plots" || args[0] == "upstream") {
		command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if command == "upstream" {
		return runUpstream()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{out: out, scale: whole, again: *again, table: table{columns: subjectNames()}}
	if *tiny {
		b.scale = small
	}
	var err error
	if b.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*who)
	if err != nil {
		return err
	}
	if b.house, err = openHouse(ctx, *profiles); err != nil {
		return err
	}
	defer b.house.Close()
	return b.measure(func(s subject) bool { return chosen.MatchString(s.name) })
}

// measure measures and prints.
func (b *bench) measure(chosen func(subject) bool) error {
	fmt.Fprintf(b.out, "%s, %s\n\n", time.Now().Format("2006-01-02 15:04"), machine())
	if err := b.warm(); err != nil {
		return err
	}
	for _, g := range groups {
		if !b.only.MatchString(g.name) {
			continue
		}
		for n := range min(b.again, g.most) {
			for _, s := range subjects {
				if !chosen(s) {
					continue
				}
				began := time.Now()
				if err := g.f(b, s); err != nil {
					return fmt.Errorf("%s of %s: %w", g.name, s.name, err)
				}
				fmt.Fprintf(os.Stderr, "%s %d/%d %s: %.1f s\n", g.name, n+1, min(b.again, g.most), s.name, time.Since(began).Seconds())
			}
		}
	}
	if len(b.rows) > 0 {
		fmt.Fprintln(b.out, b.markdown())
	}
	if !b.only.MatchString("apis") {
		return nil
	}
	t := &table{}
	for _, a := range apis {
		t.columns = append(t.columns, column{a.name, true})
	}
	for n := range b.again {
		for _, a := range apis {
			if err := b.measureAPI(t, a); err != nil {
				return fmt.Errorf("the wire API %s: %w", a.name, err)
			}
		}
		fmt.Fprintf(os.Stderr, "apis %d/%d\n", n+1, b.again)
	}
	fmt.Fprintln(b.out, t.markdown())
	return nil
}

// warm has everything run once: the upstream records its streams from the daemon's requests, and the system reads the
// programs from the disk.
func (b *bench) warm() error {
	var errs []error
	for _, thoughts := range []int{1, b.scale.thoughts} {
		for _, a := range apis {
			if thoughts > 1 && a != apis[0] {
				continue
			}
			errs = append(errs, b.with(stdio, 1, a.model, func(i *instance, ids []string) error {
				_, err := i.flow(ids, order{deltas: 100, thoughts: thoughts})
				return err
			}))
		}
	}
	return errors.Join(errs...)
}
