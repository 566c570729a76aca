package chat

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// picker lets a person choose one of some rows, and narrow them by typing.
type picker struct {
	title  string
	rows   []row
	at     int // the row that Enter takes; of rows, not of what the filter leaves
	filter string
	choose func(i int)
}

type row struct {
	label, detail     string
	disabled, current bool
}

// left are the rows that the filter leaves: those that have all of its words.
func (p *picker) left() []int {
	var left []int
	for i, r := range p.rows {
		if matches(strings.ToLower(r.label+" "+r.detail), p.filter) {
			left = append(left, i)
		}
	}
	return left
}

func matches(text, filter string) bool {
	for _, w := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// move goes by so many rows of those that are left, and stays within them.
func (p *picker) move(by int) {
	left := p.left()
	if len(left) == 0 {
		return
	}
	at := 0
	for i, n := range left {
		if n <= p.at {
			at = i
		}
	}
	p.at = left[min(max(at+by, 0), len(left)-1)]
}

// narrow sets the filter, and goes to the first row that it leaves if the present one is not.
func (p *picker) narrow(filter string) {
	p.filter = filter
	left := p.left()
	for _, i := range left {
		if i == p.at {
			return
		}
	}
	if len(left) > 0 {
		p.at = left[0]
	}
}

// view is the picker in so many rows.
func (p *picker) view(width, height int, l look) []string {
	head := p.title
	if p.filter != "" {
		head += ": " + p.filter
	}
	out := []string{l.bold(line(head, width))}
	left := p.left()
	if len(left) == 0 {
		return append(out, l.dim("nothing matches"))
	}
	at := 0
	for i, n := range left {
		if n == p.at {
			at = i
		}
	}
	room := max(height-2, 1)
	from := min(max(at-room/2, 0), max(len(left)-room, 0))
	shown := left[from:min(from+room, len(left))]
	column := 0
	for _, n := range shown {
		column = max(column, ansi.StringWidth(p.rows[n].label))
	}
	for _, n := range shown {
		out = append(out, p.rows[n].view(n == p.at, width, min(column, width*3/5), l))
	}
	return append(out, l.dim(line(fmt.Sprintf("%d of %d · Enter takes, Esc leaves, type to filter", at+1, len(left)), width)))
}

// view is a row whose detail begins behind so many columns of labels.
func (r row) view(at bool, width, column int, l look) string {
	sign := "  "
	if r.current {
		sign = "* "
	}
	label, detail := sign+line(r.label, width-3), ""
	if r.detail != "" {
		pad := strings.Repeat(" ", max(column+len(sign)-ansi.StringWidth(label), 0))
		if room := width - ansi.StringWidth(label) - len(pad) - 3; room > 8 {
			detail = pad + "  " + line(r.detail, room)
		}
	}
	switch {
	case at:
		return l.mark(label + detail)
	case r.disabled:
		return l.dim(label + detail)
	}
	return label + l.dim(detail)
}
