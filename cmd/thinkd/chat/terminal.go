package chat

import (
	"io"
	"os"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// A terminal is the output of the program. It can hold back what bubbletea draws while the window is being resized.
//
// Terminals fold the rows of the screen anew when their width changes, each in its own way. So bubbletea no longer knows in which row its view
// stands, and parts of earlier views stay. The screen therefore waits until the size stays the same, goes to the first row, and writes the
// visible rows again, from memory. Then bubbletea draws its view below them.
//
//	WindowSizeMsg ─► hold ─► 100 ms without another ─► rewrite replaces bubbletea's next print ─► WindowSizeMsg: it draws all
type terminal struct {
	*os.File

	mu    sync.Mutex
	holds bool
	text  string // in place of the print of rewriteMark
}

// rewriteMark is the text of a print that is replaced. Nothing else prints it: it is no text that can be shown.
const rewriteMark = "\x1b_thinkd\x1b\\"

// Write writes to the terminal, unless it holds that back.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text != "" && strings.Contains(string(p), rewriteMark) {
		text := t.text
		t.holds, t.text = false, ""
		if _, err := t.File.WriteString(text); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if t.holds {
		return len(p), nil
	}
	return t.File.Write(p)
}

// WriteString is Write.
func (t *terminal) WriteString(text string) (int, error) { return t.Write([]byte(text)) }

// ReadFrom is Write, of all that r has.
func (t *terminal) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{t}, r)
}

func (t *terminal) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds = true
}

// release ends a hold: what bubbletea writes at the end of the program restores the modes of the terminal.
func (t *terminal) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holds = false
}

// rewrite sets what is written in place of the next print, and returns that print.
func (t *terminal) rewrite(text string) tea.Cmd {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = text
	return tea.Println(rewriteMark)
}
