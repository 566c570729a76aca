package instructions

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/session"
)

// Most is the number of bytes that the files of a session have together.
const Most = 32 << 10

// found is a file that was read.
type found struct {
	session.InstructionFile
	name string // below the root, with slashes
	text string
}

// limited returns the beginning of a text with at most n bytes, which ends at a character. A text that is not UTF-8 has none.
func limited(data []byte, n int) (text string, ok bool) {
	if bytes.IndexByte(data, 0) >= 0 {
		return "", false
	}
	if len(data) > n {
		data = data[:n]
		for cut := 0; cut < utf8.UTFMax && !utf8.Valid(data) && len(data) > 0; cut++ {
			data = data[:len(data)-1]
		}
	}
	return string(data), utf8.Valid(data)
}

// render writes the files as a part of the system prompt, in the given order.
func render(list []found) session.Instructions {
	var in session.Instructions
	var b strings.Builder
	b.WriteString("Instructions of the project, from files of its repository. Files further down apply to folders further down, and take precedence. What the user says takes precedence over all of them.\n")
	for _, f := range list {
		fmt.Fprintf(&b, "\n<instructions file=%q>\n%s\n</instructions>\n", f.name, strings.TrimSpace(f.text))
		if f.Cut {
			fmt.Fprintf(&b, "(%s is longer. The rest is left out.)\n", f.name)
		}
		in.Files = append(in.Files, f.InstructionFile)
	}
	in.Text = strings.TrimSuffix(b.String(), "\n")
	return in
}
