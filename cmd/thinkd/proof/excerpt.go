package proof

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a failing test shows of a text, so that the failure can be read.
const (
	firstLines, lastLines = 10, 35
	maxLine               = 300
)

// Excerpt is the beginning and the end of a text, with lines that are not too long. Lines that are not UTF-8 are quoted.
func Excerpt(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if left := len(lines) - firstLines - lastLines; left > 0 {
		tail := lines[len(lines)-lastLines:]
		lines = append(append(lines[:firstLines:firstLines], fmt.Sprintf("… %d more lines …", left)), tail...)
	}
	for i, line := range lines {
		cut, valid := "", utf8.ValidString(line)
		if len(line) > maxLine {
			line, cut = line[:maxLine], fmt.Sprintf("… (%d bytes)", len(line))
		}
		if valid {
			line = strings.ToValidUTF8(line, "") // of the rune that was cut
		} else {
			line = fmt.Sprintf("%q", line)
		}
		lines[i] = line + cut
	}
	return strings.Join(lines, "\n")
}
