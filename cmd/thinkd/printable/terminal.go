package printable

import (
	"fmt"
	"io"
	"os"
)

// Output is a file for a command to print to: on a terminal, without what a terminal would obey. What a command prints comes
// from models, tools, vendors and files. A command that has control sequences of its own writes them to [Bare].
func Output(f *os.File) io.Writer {
	if IsTerminal(f) {
		return &Writer{To: f}
	}
	return f
}

// Bare is the file behind [Output].
func Bare(w io.Writer) io.Writer {
	if safe, ok := w.(*Writer); ok {
		return safe.To
	}
	return w
}

// IsTerminal reports whether a person reads w.
func IsTerminal(w io.Writer) bool {
	f, ok := Bare(w).(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Say prints a message of the program, after its name. On a terminal, rows end between words.
func Say(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, Wrap("thinkd: "+text, Columns(w), 2))
	return err
}
