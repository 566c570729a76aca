package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

const top = "../.." // the root of the repository

var declaration = regexp.MustCompile(`^func ((?:Test|Benchmark)\w+)\(`)

// testNames are the tests and benchmarks of the repository, by directory. All tests share one walk: with the race detector,
// reading every test file takes a second.
var testNames = sync.OnceValues(func() (map[string][]string, error) {
	names := make(map[string][]string)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "func ") {
				if match := declaration.FindStringSubmatch(line); match != nil {
					names[filepath.Dir(path)] = append(names[filepath.Dir(path)], match[1])
				}
			}
		}
		return err
	})
	return names, err
})

// declared returns the tests and benchmarks of the files below a directory, or of its own files alone.
func declared(t *testing.T, dir string, below bool) []string {
	t.Helper()
	all, err := testNames()
	if err != nil {
		t.Error(err)
	}
	var names []string
	for at, list := range all {
		if at == dir || below && strings.HasPrefix(at, dir+string(filepath.Separator)) {
			names = append(names, list...)
		}
	}
	return names
}

// Each test that the threat model names is there.
func TestThreatModelNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := declared(t, top, true)
	named := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(page), -1)
	if len(named) < 40 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		if !slices.Contains(there, name) {
			t.Errorf("there is no test %s", name)
		}
	}
}

// docs/dependencies.md has a row for each direct dependency, and for no other module.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(top, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w./-]+\\.[\\w./-]+)` \\| \\w").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = true
	}
	for _, r := range mod.Require {
		if !r.Indirect && !listed[r.Mod.Path] {
			t.Errorf("docs/dependencies.md has no row for %s: say what it is for, and what it costs if that is much", r.Mod.Path)
		}
		if !r.Indirect {
			delete(listed, r.Mod.Path)
		}
	}
	for path := range listed {
		t.Errorf("docs/dependencies.md has a row for %s, which is no direct dependency", path)
	}
}

// Each command that the pages give runs tests: every alternative of its pattern names one, in every package that it lists.
func TestDocsNameTests(t *testing.T) {
	checked := 0
	for _, page := range []string{"README.md", "docs/CONTRIBUTING.md", "docs/reliability.md", "docs/performance.md"} {
		text, err := os.ReadFile(filepath.Join(top, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range regexp.MustCompile("go test [^`\n]*").FindAllString(string(text), -1) {
			c := parseGoTest(strings.ReplaceAll(line, `\|`, "|")) // a table's cell cannot contain a bare |
			if len(c.packages) > 0 && !slices.Contains(c.packages, "./PACKAGE") {
				checked += c.check(t, page+": "+line)
			}
		}
	}
	if checked < 100 {
		t.Errorf("the pages name %d tests", checked)
	}
}

// A goTest is a command that runs tests.
type goTest struct {
	dir      string // of -C
	packages []string
	run      string
	bench    string
}

func parseGoTest(line string) goTest {
	var c goTest
	words := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1)
	for i := 2; i < len(words) && words[i] != "#" && words[i] != ">"; i++ {
		flag, value := words[i], ""
		if i+1 < len(words) {
			value = strings.Trim(words[i+1], `'"`)
		}
		switch {
		case flag == "-C":
			c.dir = value
		case flag == "-run":
			c.run = value
		case flag == "-bench":
			c.bench = value
		case strings.HasPrefix(flag, "."):
			c.packages = append(c.packages, flag)
			continue
		default:
			continue
		}
		i++
	}
	return c
}

// check looks for the tests of a command, and returns how many names it looked for.
func (c goTest) check(t *testing.T, line string) int {
	patterns := slices.Concat(alternatives("Test", c.run), alternatives("Benchmark", c.bench))
	found := make([]bool, len(patterns))
	for _, p := range c.packages {
		dir, below := strings.CutSuffix(p, "/...")
		names := declared(t, filepath.Join(top, c.dir, dir), below)
		hit := len(patterns) == 0 && len(names) > 0
		for i, pattern := range patterns {
			if slices.ContainsFunc(names, pattern.matches) {
				found[i], hit = true, true
			}
		}
		if !hit {
			t.Errorf("%s: %s has none of these tests", line, p)
		}
	}
	for i, ok := range found {
		if !ok {
			t.Errorf("%s: no test matches %s", line, patterns[i].name)
		}
	}
	return len(patterns)
}

// An alternative is one of the names that the pattern of a command selects.
type alternative struct {
	kind string // Test or Benchmark
	name *regexp.Regexp
}

func (a alternative) matches(name string) bool {
	return strings.HasPrefix(name, a.kind) && a.name.MatchString(name)
}

// alternatives splits a pattern as package testing does, at | and / outside of brackets, and keeps the first element of
// each alternative: the name of the test. The elements after it name subtests. "^$" selects nothing.
func alternatives(kind, pattern string) []alternative {
	var all []alternative
	depth, from, subtest := 0, 0, false
	for i := 0; i <= len(pattern); i++ {
		end := i == len(pattern)
		switch {
		case end || depth == 0 && (pattern[i] == '|' || pattern[i] == '/'):
			if name := pattern[from:i]; !subtest && name != "" && name != "^$" {
				all = append(all, alternative{kind, regexp.MustCompile(name)})
			}
			from, subtest = i+1, !end && pattern[i] == '/'
		case strings.ContainsRune("([", rune(pattern[i])):
			depth++
		case strings.ContainsRune(")]", rune(pattern[i])):
			depth--
		}
	}
	return all
}

// generated are the tables that a command writes, by the page and the line before the first row.
var generated = map[string]string{
	"docs/models.md": "", // go generate ./registry/drift writes the whole page
}

// A cell of a table has at most 15 words: what needs more is a paragraph under a heading. A command in backquotes counts as one word.
func TestDocsTableCells(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(top, "README.md"), filepath.Join(top, "protocol.md"))
	code, bar := regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`[^\\]\|`)
	tables := 0
	for _, page := range pages {
		name, err := filepath.Rel(top, page)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := generated[filepath.ToSlash(name)]; ok {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			tables++
			for _, cell := range bar.Split(code.ReplaceAllString(line, "code"), -1) {
				if words := strings.Fields(strings.Trim(cell, "| ")); len(words) > 15 {
					t.Errorf("%s:%d: a cell of %d words: %s", name, i+1, len(words), strings.Join(words, " "))
				}
			}
		}
	}
	if tables < 100 {
		t.Errorf("the pages have %d rows", tables)
	}
}

// Each block of code ends before the next heading. Without its end, the rest of the page is shown as code.
func TestDocsCodeBlocksEnd(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(top, "README.md"), filepath.Join(top, "protocol.md"))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		begin := 0 // the line on which the open block began, or 0
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case strings.HasPrefix(line, "```") && begin == 0:
				begin = i + 1
			case strings.HasPrefix(line, "```"):
				begin = 0
			case begin > 0 && strings.HasPrefix(line, "## ") || begin > 0 && strings.HasPrefix(line, "### "):
				t.Errorf("%s:%d: the block of code has no end before line %d", page, begin, i+1)
				begin = 0
			}
		}
		if begin > 0 {
			t.Errorf("%s:%d: the block of code has no end", page, begin)
		}
	}
}

// docs/architecture.md has a row for the files that differ between systems, and for no others.
func TestSystemsAreListed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w/-]+_)\\*\\.go` \\|").FindAllStringSubmatch(string(page), -1) {
		listed[row[1]] = true
	}
	there := make(map[string]bool)
	name := regexp.MustCompile(`^(.*_)(linux|darwin|windows|unix|other)\.go$`)
	err = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git" || e.Name() == "proof") {
			return fs.SkipDir
		}
		if err == nil && name.MatchString(e.Name()) {
			path, err = filepath.Rel(top, path)
			there[name.FindStringSubmatch(filepath.ToSlash(path))[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for files := range there {
		if !listed[files] {
			t.Errorf("docs/architecture.md has no row for %s*.go: say what differs between systems", files)
		}
		delete(listed, files)
	}
	for files := range listed {
		t.Errorf("docs/architecture.md has a row for %s*.go, which is not there", files)
	}
}
