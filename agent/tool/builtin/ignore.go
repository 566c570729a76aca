package builtin

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxIgnores bounds the patterns of one .gitignore; those behind them are not heeded.
const maxIgnores = 2000

// ignore is the patterns of one .gitignore, in order.
type ignore []pattern

// pattern is a line of it (git's documentation: gitignore, "pattern format").
type pattern struct {
	glob   string // of a path as seen from the file's folder
	not    bool   // what it names is not ignored after all
	folder bool   // it names folders only
}

// readIgnore reads the text of a .gitignore. Lines that are no pattern name nothing.
func readIgnore(text string) (list ignore) {
	for line := range strings.Lines(text) {
		if len(line) > maxGlob || len(list) == maxIgnores {
			continue // each is tried on each path
		}
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		var p pattern
		line, p.not = strings.CutPrefix(line, "!")
		line, p.folder = strings.CutSuffix(line, "/")
		if !strings.Contains(line, "/") {
			line = "**/" + line
		}
		// Braces are plain characters to git.
		p.glob = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(strings.TrimPrefix(line, "/"))
		if doublestar.ValidatePattern(p.glob) && line != "**/" {
			list = append(list, p)
		}
	}
	return list
}

// says is the file's word on a path as seen from its folder: the last pattern that fits counts.
func (list ignore) says(path string, folder bool) (ignored, known bool) {
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		if p.folder && !folder {
			continue
		}
		if fits, _ := doublestar.Match(p.glob, path); fits { // it was validated
			return !p.not, true
		}
	}
	return false, false
}
