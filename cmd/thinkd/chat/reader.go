package chat

import (
	"fmt"
	"strings"
)

// reader shows the whole conversation over the whole screen. What comes meanwhile is shown as it comes, as long as the
// end is in view.
type reader struct {
	up    int // how many rows the view is above the end
	total int // rows, when it was last drawn
	page  int
}

// toggle opens the reader, or closes it.
func (s *screen) toggle() {
	if s.reader != nil {
		s.reader = nil
	} else {
		s.reader = &reader{}
	}
}

// read takes the reader's keys.
func (s *screen) read(name string) {
	r := s.reader
	switch name {
	case "esc", "q", "ctrl+c", "enter":
		s.reader = nil
	case "up", "k":
		r.move(1)
	case "down", "j":
		r.move(-1)
	case "pgup", "b":
		r.move(r.page)
	case "pgdown", "space":
		r.move(-r.page)
	case "home", "g":
		r.move(r.total)
	case "end", "G":
		r.up = 0
	}
}

func (r *reader) move(by int) { r.up = min(max(r.up+by, 0), max(r.total-r.page, 0)) }

func (r *reader) view(c *conversation, width, height int, l look) string {
	all := c.whole(width, l)
	if grown := len(all) - r.total; r.up > 0 && r.total > 0 && grown > 0 {
		r.up += grown // what is read stays where it is
	}
	r.total, r.page = len(all), max(height-1, 1)
	r.move(0)
	to := len(all) - r.up
	shown := all[max(to-r.page, 0):to]
	lines := append(append([]string(nil), shown...), make([]string, r.page-len(shown))...)
	foot := fmt.Sprintf("rows %d to %d of %d · ↑ ↓ PgUp PgDn · Ctrl+O goes back", to-len(shown)+1, to, len(all))
	return strings.Join(append(lines, l.dim(line(foot, width-1))), "\n")
}
