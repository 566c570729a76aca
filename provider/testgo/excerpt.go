package testgo

import (
	"fmt"
	"strconv"
	"strings"
)

// maxExcerptLines and maxExcerptColumns bound what a failure shows of one text.
const (
	maxExcerptLines   = 24
	maxExcerptColumns = 400
)

// Excerpt returns a text as a failure shows it: the first and the last lines, with the number of the lines between them,
// each cut at 400 bytes and quoted if it is not printable.
func Excerpt[T string | []byte](text T) string {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if left := len(lines) - maxExcerptLines; left > 0 {
		half := maxExcerptLines / 2
		tail := lines[len(lines)-half:]
		lines = append(lines[:half:half], fmt.Sprintf("… %d lines …", left))
		lines = append(lines, tail...)
	}
	for i, line := range lines {
		cut := ""
		if len(line) > maxExcerptColumns {
			line, cut = line[:maxExcerptColumns], fmt.Sprintf("… %d bytes more", len(line)-maxExcerptColumns)
		}
		if strings.ContainsFunc(line, unprintable) {
			line = strconv.Quote(line)
		}
		lines[i] = line + cut
	}
	return strings.Join(lines, "\n")
}

func unprintable(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '\uFFFD' }
