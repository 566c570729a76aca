// Cluster says what a cluster costs: messages, writes, bytes and memory of each store server, at 1,000, 100,000 and 10 million sessions, and which
// limit of the design is reached first.
//
//	go run ./bench/cluster            prints the model, with the constants that are in the code
//	go run ./bench/cluster -measure   measures the constants with three servers, and the error of the model
//
// The model is linear: a constant for each append and each session, times what people do. Bytes, writes and memory do not depend on the machine, so
// three servers on one machine are enough to measure them. Times do, so they are marked as not yet measured.
//
// Files depend in one direction: main, measure, model.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	again := flags.Bool("measure", false, "measure the constants, and the error of the model")
	sessions := flags.Int("sessions", 4000, "the `NUMBER` of sessions to measure with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := measured
	if *again {
		var err error
		if c, err = compare(ctx, *sessions, out); err != nil {
			return err
		}
	}
	return report(c, out)
}

// compare measures constants, prints them, and then the error of what they predict.
func compare(ctx context.Context, sessions int, out io.Writer) (c constants, err error) {
	f, err := startFarm(ctx)
	if f != nil {
		defer func() { err = errors.Join(err, f.stop()) }()
	}
	if err != nil {
		return c, err
	}
	c, serial, err := f.measure(ctx, sessions)
	if err != nil {
		return c, err
	}
	fmt.Fprintf(out, "constants for each server: %+v\nchanges of one value in a second, on this machine: %.0f\n\n", c, serial)
	before, err := f.used()
	if err != nil {
		return c, err
	}
	const appends = 7 // another mix than that of the measurement
	n := max(sessions/4, 8)
	took, err := f.work(ctx, 10*sessions, n, appends)
	if err != nil {
		return c, err
	}
	after, err := f.used()
	if err != nil {
		return c, err
	}
	got := after.minus(before)
	stored := float64(n * (appends + 1))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%d sessions with %d appends each\tpredicted\tmeasured\terror\n", n, appends)
	made := float64(n)
	for _, row := range []struct {
		what                string
		predicted, measured float64
	}{
		{"bytes that stay", made*c.Create + stored*c.Stored, got.stored},
		{"bytes written", made*c.CreateWritten + stored*c.Written, got.written},
		{"writes", made*c.CreateWrites + stored*c.Writes, got.writes},
		{"processor seconds", made*c.CreateCPU + stored*c.CPU, got.cpu},
	} {
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%+.0f %%\n", row.what, row.predicted, row.measured, 100*(row.predicted/row.measured-1))
	}
	fmt.Fprintf(table, "seconds\t\t%.1f\t\n\n", took.Seconds())
	return c, table.Flush()
}

// report prints what loads cost, and the limits.
func report(c constants, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var all []costs
	row := func(what, form string, of func(load, costs) float64) {
		fmt.Fprintf(table, "%s\t", what)
		for i, n := range scales {
			fmt.Fprintf(table, form+"\t", of(loadOf(n), all[i]))
		}
		fmt.Fprintln(table)
	}
	for _, n := range scales {
		all = append(all, c.predict(loadOf(n)))
	}
	row("sessions", "%.0f", func(l load, _ costs) float64 { return l.Sessions })
	row("turns that run", "%.0f", func(l load, _ costs) float64 { return l.Live })
	row("nodes", "%.0f", func(l load, _ costs) float64 { return l.Nodes })
	row("appends in a second", "%.1f", func(_ load, c costs) float64 { return c.Appends })
	row("changes of values in a second", "%.1f", func(_ load, c costs) float64 { return c.Values })
	row("checkpoints in a second, in memory", "%.0f", func(_ load, c costs) float64 { return c.Checkpoints })
	row("heartbeats in a second, at a node", "%.0f", func(_ load, c costs) float64 { return c.Heartbeats })
	row("writes in a second, each server", "%.0f", func(_ load, c costs) float64 { return c.Writes })
	row("MB written in a second, each server", "%.2f", func(_ load, c costs) float64 { return c.Written / 1e6 })
	row("GB on disk, each server", "%.2f", func(_ load, c costs) float64 { return c.Disk / 1e9 })
	row("MB of memory for sessions, each server", "%.1f", func(_ load, c costs) float64 { return c.Memory / 1e6 })
	row("processors, each server", "%.2f", func(_ load, c costs) float64 { return c.CPU })
	row("changes of the budgets in a second", "%.1f", func(_ load, c costs) float64 { return c.Serial })
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nlimits, by turns that run:")
	for _, l := range c.limits() {
		at := "not yet measured"
		if l.Live > 0 {
			at = fmt.Sprintf("%.0f", l.Live)
		}
		fmt.Fprintf(out, "  %s: %s (%s)\n", l.What, at, l.Why)
	}
	return nil
}
