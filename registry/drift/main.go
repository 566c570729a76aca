// Drift compares the catalog with public tables of model facts, and prints what differs:
//
//	go run ./registry/drift [-all] TABLE…
//	go run ./registry/drift -page FILE TABLE…
//
// A TABLE is a JSON file in the form of models.dev (api.json), of litellm (model_prices_and_context_window.json) or of
// pi-ai (a file per provider, or several of them in one object). A file's name may end in the day of the table, as in
// litellm-2026-07-24.json: such a table loses to facts of the catalog that are at least a month newer. These differences,
// and those that accepted.json explains, are counted and printed only with -all. Models that the catalog lacks are listed
// at the end. The exit status is 1 if a fact differs that accepted.json does not explain.
//
// Inside the package, files depend in one direction: table, compare, page, main.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thinkd/thinkd/registry"
)

func main() {
	all := flag.Bool("all", false, "print accepted differences as well, with their reasons")
	to := flag.String("page", "", "write the catalog and what is not confirmed in it to this `FILE`, in Markdown")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: drift [-all] TABLE…")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *to != "" {
		if err := writePage(*to, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "drift:", err)
			os.Exit(2)
		}
		return
	}
	open, err := run(os.Stdout, flag.Args(), *all, time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		os.Exit(2)
	}
	if open > 0 {
		os.Exit(1)
	}
}

// run prints the differences, those that cost people most first, and returns how many nobody has accepted.
func run(out io.Writer, files []string, all bool, now time.Time) (open int, err error) {
	rows, err := readTables(files)
	if err != nil {
		return 0, err
	}
	reasons, err := accepted()
	if err != nil {
		return 0, err
	}
	found := compare(registry.Default().At(func() time.Time { return now }).Model, rows, now)
	explained, older, lacking := 0, 0, 0
	for _, d := range found {
		why, ok := reason(reasons, d)
		switch {
		case ok && d.severity != absent:
			explained++
		case ok:
		case d.severity == absent:
			lacking++
		case d.older:
			older++
		default:
			open++
		}
		if !ok && !d.older || all {
			fmt.Fprintln(out, d)
		}
		if ok && all {
			fmt.Fprintf(out, "    accepted (%s): %s\n", why.Right, why.Reason)
		}
	}
	fmt.Fprintf(out, "%d rows compared: %d differences, %d of them accepted, %d from older tables; %d models are not in the catalog\n",
		len(rows), open+explained+older, explained, older, lacking)
	return open, nil
}

func readTables(files []string) (rows []row, err error) {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		found, err := readTable(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		base := strings.TrimSuffix(filepath.Base(name), ".json")
		asOf, _ := time.Parse(time.DateOnly, base[max(0, len(base)-len(time.DateOnly)):]) // zero: the name has no day
		for i := range found {
			found[i].table, found[i].asOf = base, asOf
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// pageDay is the day of the prices in the page's comparison. It is fixed, because a page that changes with the date could not be checked.
var pageDay = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func writePage(name string, files []string) error {
	rows, err := readTables(files)
	if err != nil {
		return err
	}
	text, err := page(rows, pageDay)
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
