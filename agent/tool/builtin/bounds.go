package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of patterns, checked before they are compiled. Matching takes a step for each instruction of the program and each
// byte of the line, and cannot be stopped in between: with these bounds a line takes about half a second at worst.
const (
	maxPattern      = 4 << 10 // bytes of a regular expression
	maxInstructions = 1000    // of its program
	maxGlob         = 256     // bytes of a glob
	maxAlternatives = 64      // that the braces of a glob stand for
)

// compilePattern compiles a regular expression that is cheap enough to match.
func compilePattern(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("pattern: longer than %d bytes", maxPattern)
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern: not a regular expression (RE2): %w", err)
	}
	if n := instructions(tree); n > maxInstructions {
		return nil, fmt.Errorf("pattern: too large, with %d instructions of at most %d; use fewer or smaller repetitions", n, maxInstructions)
	}
	return regexp.Compile(pattern)
}

// instructions is about how many instructions a regular expression compiles to. The parser bounds its depth and counts.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return max(re.Min+1, re.Max) * (n + 1)
	case syntax.OpConcat:
		return n
	}
	return n + 1 + len(re.Sub)
}

// checkGlob says what is wrong with a glob, nil if nothing is. Braces are tried one alternative after the other, so those in
// different groups multiply.
func checkGlob(glob string) error {
	if len(glob) > maxGlob {
		return fmt.Errorf("glob: longer than %d bytes", maxGlob)
	}
	if n := alternatives(glob); n > maxAlternatives {
		return fmt.Errorf("glob: its braces stand for more than %d patterns; search several times", maxAlternatives)
	}
	if !doublestar.ValidatePattern(glob) {
		return errors.New("glob: not a pattern of paths, such as **/*.go")
	}
	return nil
}

// alternatives is how many patterns a glob with braces stands for, or a larger number, but no more than one above the bound.
func alternatives(glob string) int {
	n := 1
	var open []int // alternatives of the groups that are open
	for i := 0; i < len(glob) && n <= maxAlternatives; i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				n *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return min(n, maxAlternatives+1)
}

// maxDiffed is how many bytes are compared line by line. What is the same before and after them does not count.
const maxDiffed = 512 << 10

// contextLines stand around each change.
const contextLines = 3

// changed is where two texts differ: whole lines, with some that are the same around them. before is the lines above.
func changed(old, text string) (before int, oldPart, newPart string) {
	n := 0
	for n < min(len(old), len(text)) && old[n] == text[n] {
		n++
	}
	start := strings.LastIndexByte(old[:n], '\n') + 1
	for range contextLines {
		start = strings.LastIndexByte(old[:max(start-1, 0)], '\n') + 1
	}
	n = 0
	for n < min(len(old), len(text))-start && old[len(old)-1-n] == text[len(text)-1-n] {
		n++
	}
	end := len(old) - n // in old
	for range contextLines + 1 {
		if i := strings.IndexByte(old[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(old)
		}
	}
	return strings.Count(old[:start], "\n"), old[start:end], text[start : len(text)-(len(old)-end)]
}
