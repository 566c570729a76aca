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
