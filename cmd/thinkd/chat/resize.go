package chat

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// settledSize is a message to Update: the size of the window has not changed since the resize of this number.
type settledSize int

// resizePause is how long the size stays the same before the rows are written again.
const resizePause = 100 * time.Millisecond

// resized takes the size of the window.
func (s *screen) resized(width, height int) tea.Cmd {
	width, height = max(width, 4), max(height, 2)
	first, same := !s.sized, s.width == width && s.height == height
	s.sized, s.width, s.height = true, width, height
	s.input.SetSize(s.width-1, min(maxInputRows, max(s.height-4, 1)))
	switch {
	case first || same && !s.resizing || s.terminal == nil:
		return nil
	case s.reader != nil: // it covers the screen, and bubbletea draws all of that
		s.covered = true
		return nil
	}
	return s.hold()
}

// hold stops drawing, and rewrites the rows when no other size comes.
func (s *screen) hold() tea.Cmd {
	s.resizing = true
	if !s.printing { // else when that print is done
		s.terminal.hold()
	}
	s.resizes++
	n := s.resizes
	return tea.Tick(resizePause, func(time.Time) tea.Msg { return settledSize(n) })
}

// settle writes the rows again after a resize.
func (s *screen) settle(n settledSize) tea.Cmd {
	switch {
	case int(n) != s.resizes || !s.resizing:
		return nil
	case s.printing:
		return s.hold()
	}
	s.resizing = false
	again := tea.WindowSizeMsg{Width: s.width, Height: s.height} // bubbletea then draws its whole view
	return tea.Sequence(s.terminal.rewrite(s.repaint()), func() tea.Msg { return again })
}

// repaint is the sequence that writes the visible rows again, and leaves the cursor where the view begins.
func (s *screen) repaint() string {
	view := s.View()
	room := s.height - strings.Count(view.Content, "\n") - 1
	var list []string
	for i := len(s.printed) - 1; i >= 0 && len(list) < room; i-- {
		list = append(rows(s.printed[i], s.width), list...)
	}
	list = last(list, max(room, 0))
	var b strings.Builder
	if len(list) < room { // above them are rows of other programs: they go to the scrollback
		fmt.Fprintf(&b, "\x1b[%d;1H%s", s.height, strings.Repeat("\n", s.height))
	}
	b.WriteString("\x1b[?25l\x1b[H")
	for _, row := range list {
		b.WriteString("\x1b[K" + row + "\x1b[m\r\n")
	}
	b.WriteString("\x1b[J")
	if view.Cursor != nil {
		b.WriteString("\x1b[?25h")
	}
	return b.String()
}

// remember keeps what was printed, as far as a window can show it.
func (s *screen) remember(lines []string) {
	const most = 500
	s.printed = append(s.printed, lines...)
	if len(s.printed) > 2*most {
		s.printed = append([]string(nil), s.printed[len(s.printed)-most:]...)
	}
}
