package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A component is something of others that is part of the program.
type component struct {
	name    string // a module's path, or a package's name
	version string
	where   string // what uses it
	license string // as SPDX names it
	text    string // of the licence
}

// systems are those of the release's builds. Each links other modules.
var systems = []string{"linux", "darwin", "windows"}

// programs are those of a release. A module belongs to the first one that has it.
var programs = []string{"thinkd", "thinkd-store"}

// pagePackages are what esbuild puts into web/dist.
var pagePackages = []string{"dompurify", "highlight.js", "katex", "marked"}

// components returns everything that any of the builds contains, sorted by name. An error names the component whose licence is
// missing, unknown or not allowed.
func components() ([]component, error) {
	goRoot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goVersion, err := output("go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	list := []component{{name: "Go", version: goVersion, where: "runtime and standard library"}}
	dirs := []string{goRoot}
	seen := make(map[string]bool)
	for _, program := range programs {
		modules, err := linked(program, seen)
		if err != nil {
			return nil, err
		}
		for _, m := range modules {
			list, dirs = append(list, component{name: m.Path, version: m.Version, where: program}), append(dirs, m.Dir)
		}
	}
	for _, name := range pagePackages {
		dir := filepath.Join("web", "node_modules", name)
		version, err := packageVersion(dir)
		if err != nil {
			return nil, fmt.Errorf("%w; run npm ci --prefix web", err)
		}
		list, dirs = append(list, component{name: name, version: version, where: "page"}), append(dirs, dir)
	}
	for i := range list {
		c := &list[i]
		if c.text, err = licenseText(dirs[i]); err == nil {
			c.license, err = classify(c.text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	slices.SortFunc(list, func(a, b component) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

type module struct {
	Path, Version, Dir string
	Main               bool
}

// linked lists the modules of the packages that a program imports, on any system. Those that were seen before are left out.
func linked(program string, seen map[string]bool) ([]module, error) {
	var list []module
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/"+program)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := run(cmd)
		if err != nil {
			return nil, err
		}
		for in := json.NewDecoder(strings.NewReader(out)); in.More(); {
			var p struct{ Module *module }
			if err := in.Decode(&p); err != nil {
				return nil, err
			}
			if m := p.Module; m != nil && !m.Main && !seen[m.Path] {
				seen[m.Path] = true
				list = append(list, *m)
			}
		}
	}
	return list, nil
}

func packageVersion(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var p struct{ Version string }
	err = json.Unmarshal(text, &p)
	return p.Version, err
}

// licenseText is the one file in a folder whose name says that it is a licence, and the notice that an Apache licence may demand to
// repeat.
func licenseText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	notice := ""
	for _, e := range entries {
		name, _, _ := strings.Cut(strings.ToLower(e.Name()), ".")
		switch {
		case e.IsDir():
		case name == "license" || name == "copying":
			found = append(found, e.Name())
		case name == "notice":
			notice = e.Name()
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d licence files %v, want 1", dir, len(found), found)
	}
	text, err := os.ReadFile(filepath.Join(dir, found[0]))
	if err == nil && notice != "" {
		var more []byte
		more, err = os.ReadFile(filepath.Join(dir, notice))
		text = append(append(text, '\n'), more...)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}

// classify names the licence that a text is. A licence that is not listed here has to be read by a person first: some demand more
// than a copy of their text.
func classify(text string) (string, error) {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(phrase string) bool { return strings.Contains(words, strings.ToLower(phrase)) }
	for _, known := range []struct {
		license string
		matches bool
	}{
		{"MIT", has("Permission is hereby granted, free of charge, to any person obtaining a copy") && !has("Apache License")},
		{"BSD-3-Clause OR GPL-2.0-only", has("SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only")},
		{"MPL-2.0 OR Apache-2.0", has("Mozilla Public License Version 2.0") && has("Apache License Version 2.0")},
		{"Apache-2.0 AND MIT", has("licensing transition from the MIT License to the Apache License, Version 2.0")},
		{"Apache-2.0", has("Apache License Version 2.0") || has("Licensed under the Apache License, Version 2.0")},
		{"ISC", has("Permission to use, copy, modify, and distribute this software for any purpose with or without fee")},
		{"BSD-3-Clause", has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("may not be used to endorse"))},
		{"BSD-2-Clause", has("Redistribution and use in source and binary forms")},
	} {
		if known.matches {
			return known.license, nil
		}
	}
	return "", errors.New("its licence is not one of the known ones: read it, then add it to classify")
}

func output(name string, args ...string) (string, error) { return run(exec.Command(name, args...)) }

// run returns what a command printed, without the last line's end.
func run(cmd *exec.Cmd) (string, error) {
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errOut.String())
	}
	return strings.TrimRight(string(out), "\n"), nil
}
