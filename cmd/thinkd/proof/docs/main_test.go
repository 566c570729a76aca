package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestMain(m *testing.M) { proof.Main(m) }

const top = "../../../.." // the root of the repository

// A line is one of a page.
type line struct {
	number int
	text   string
	fence  string // the language of the fenced block that it is in; "-": it is in none; "": the block names no language
}

// pages returns the lines of each page of the documentation, by path.
func pages(t *testing.T) map[string][]line {
	t.Helper()
	all := make(map[string][]line)
	for _, pattern := range []string{"*.md", "docs/*.md", "clients/*/README.md"} {
		paths, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(top, path)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.ToSlash(name)] = split(string(text))
		}
	}
	if len(all) < 15 {
		t.Fatalf("there are %d pages", len(all))
	}
	return all
}

func split(text string) []line {
	var list []line
	fence := "-"
	for i, l := range strings.Split(text, "\n") {
		language, ticks := strings.CutPrefix(strings.TrimSpace(l), "```")
		switch {
		case ticks && fence == "-":
			fence = language
		case ticks:
			fence = "-"
		default:
			list = append(list, line{i + 1, l, fence})
		}
	}
	return list
}
