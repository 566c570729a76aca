package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// inputs are what a configuration is made of: the file, and the variables that were looked at. Where they are the same, so
// is the configuration. A door compares them with the daemon's and need not make a configuration of its own.
type inputs struct {
	Sum       string   // empty: not known
	Variables []string // sorted
}

// sumOf is for comparisons. There are keys among the values, so it is for commands of the same user alone.
func sumOf(doc []byte, variables []string, getenv func(string) string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(doc), doc)
	for _, name := range variables {
		fmt.Fprintf(h, "\n%s=%q", name, getenv(name))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// recorder remembers which variables are looked at.
type recorder struct {
	getenv func(string) string
	asked  []string
}

func (r *recorder) get(name string) string {
	r.asked = append(r.asked, name)
	return r.getenv(name)
}

// inputs are those that have been looked at so far.
func (r *recorder) inputs(doc []byte) inputs {
	slices.Sort(r.asked)
	names := slices.Compact(r.asked)
	return inputs{sumOf(doc, names, r.getenv), names}
}

// readConfig reads the file at path; with no path the default one, which may be missing: read is empty then.
func readConfig(path string) (doc []byte, read string, err error) {
	given := path != ""
	if !given {
		if path = defaultConfigPath(); path == "" {
			return nil, "", nil
		}
	}
	doc, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !given:
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("config: %w", err)
	}
	return doc, path, nil
}
