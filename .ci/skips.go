// Skips lists the tests that were skipped because this machine lacks something, and fails for those that are not
// expected: go run .ci/skips.go EXPECTED EVENTS…
//
// EXPECTED has a line for each reason that may come: "needs: root". EVENTS are files that go test -json wrote.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type event struct{ Action, Package, Test, Output string }

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(expected string, files []string) error {
	text, err := os.ReadFile(expected)
	if err != nil {
		return err
	}
	var prefixes []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			prefixes = append(prefixes, line)
		}
	}
	wrong, skipped := 0, 0
	for _, name := range files {
		reasons, err := skips(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range reasons {
			skipped++
			note := ""
			if !s.expected(prefixes) {
				wrong++
				note = ": NOT EXPECTED"
			}
			fmt.Printf("%s %s\n    %s%s\n", s.Package, s.Test, s.Output, note)
		}
	}
	fmt.Printf("%d skipped\n", skipped)
	if wrong > 0 {
		return fmt.Errorf("%d tests were skipped for reasons that are not in %s: install what they need, or add a line there", wrong, expected)
	}
	return nil
}

func (e event) expected(prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(e.Output, p) {
			return true
		}
	}
	return false
}

// skips has the skipped tests of a file, with the reason as their output.
func skips(name string) ([]event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	said := make(map[[2]string]string)
	var all []event
	for d := json.NewDecoder(f); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		key := [2]string{e.Package, e.Test}
		switch e.Action {
		case "output":
			said[key] += e.Output
		case "pass", "fail":
			delete(said, key)
		case "skip":
			if e.Test != "" { // else the package has no tests
				e.Output = reason(said[key])
				all = append(all, e)
			}
		}
	}
}

// reason is the line that t.Skip printed, without its place.
func reason(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			if _, text, ok := strings.Cut(line, ".go:"); ok {
				if _, text, ok = strings.Cut(text, ": "); ok {
					return text
				}
			}
			return line
		}
	}
	return "no reason"
}
