// Package gitignore reads .gitignore files, and says which paths they name.
package gitignore

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of one file. What is beyond them names nothing.
const (
	maxPatterns = 2000
	maxPattern  = 256 // bytes
)

// Rules are the patterns of one .gitignore, in order.
type Rules []pattern

// pattern is a line of it (git's documentation: gitignore, "pattern format").
type pattern struct {
	glob   string // of a path as seen from the file's folder
	not    bool   // what it names is not ignored after all
	folder bool   // it names folders only
}

// Parse reads the text of a .gitignore. Lines that are no pattern name nothing.
func Parse(text string) (list Rules) {
	for line := range strings.Lines(text) {
		if len(line) > maxPattern || len(list) == maxPatterns {
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

// Says is the file's word on a path, with slashes, as seen from its folder: the last pattern that fits counts. known is false if none fits.
func (list Rules) Says(path string, folder bool) (ignored, known bool) {
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

// Ignored asks the files of several folders about a path: the nearest one that knows it counts. Each file has the path of its folder; that of the
// path's root is ".".
func Ignored(files map[string]Rules, name string, folder bool) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if ignored, known := files[dir].Says(strings.TrimPrefix(name, dir+"/"), folder); known {
			return ignored
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}
