// Package menu is the list below the input: what could be typed next. It knows neither commands nor files, which its caller gives it.
package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// An Entry is something that can be typed.
type Entry struct {
	Text   string // that is typed
	More   string // what may follow, such as [NAME]
	Detail string // what it means
}

// A Menu is the entries that fit what was typed.
type Menu struct {
	From  int // where in the input the text begins that an entry replaces, in characters
	found []Entry
	of    int // entries that were asked
	at    int
}

// New returns the menu of the entries that fit a typed text; nil: none does. Those that begin with it come first, then those that have it
// anywhere, and then, behind two characters, those that have its
// characters in order.
func New(entries []Entry, typed string, from int) *Menu {
	type ranked struct {
		Entry
		rank int
	}
	var list []ranked
	typed = strings.ToLower(typed)
	for _, e := range entries {
		text := strings.ToLower(e.Text)
		name := text[strings.LastIndexByte(strings.TrimSuffix(text, "/"), '/')+1:]
		switch {
		case strings.HasPrefix(text, typed):
			list = append(list, ranked{e, 0})
		case strings.HasPrefix(name, typed):
			list = append(list, ranked{e, 1})
		case strings.Contains(text, typed):
			list = append(list, ranked{e, 2})
		case len(typed) > 2 && inOrder(text, typed):
			list = append(list, ranked{e, 3})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return a.rank - b.rank })
	if len(list) == 0 {
		return nil
	}
	m := &Menu{From: from, of: len(entries)}
	for _, r := range list {
		m.found = append(m.found, r.Entry)
	}
	return m
}

// inOrder reports whether a text has all characters of another one, in their order.
func inOrder(text, typed string) bool {
	for _, r := range typed {
		at := strings.IndexRune(text, r)
		if at < 0 {
			return false
		}
		text = text[at+len(string(r)):]
	}
	return true
}

// Selected is the entry that is selected.
func (m *Menu) Selected() Entry { return m.found[m.at] }

// Keep selects the entry that another menu has selected, if this one has it too.
func (m *Menu) Keep(text string) {
	if i := slices.IndexFunc(m.found, func(e Entry) bool { return e.Text == text }); i >= 0 {
		m.at = i
	}
}

// Move selects the entry that is so many rows below, and goes around at the ends.
func (m *Menu) Move(by int) { m.at = ((m.at+by)%len(m.found) + len(m.found)) % len(m.found) }

// Rows are the rows of the menu: at most most entries, and a row that says what keys do. selected and dim are styles.
func (m *Menu) Rows(width, most int, keys string, selected, dim func(string) string) []string {
	most = max(most, 1)
	from := min(max(m.at-most/2, 0), max(len(m.found)-most, 0))
	shown := m.found[from:min(from+most, len(m.found))]
	column := 0
	for _, e := range shown {
		column = max(column, ansi.StringWidth(e.label()))
	}
	column = min(column, width*3/5)
	var out []string
	for i, e := range shown {
		label := ansi.Truncate(e.label(), column, "…")
		text := label + strings.Repeat(" ", column-ansi.StringWidth(label))
		detail := ""
		if room := width - column - 5; room > 8 && e.Detail != "" {
			detail = "  " + ansi.Truncate(printable.Clean(e.Detail), room, "…")
		}
		if from+i == m.at {
			out = append(out, selected(strings.TrimRight("▸ "+text+detail, " ")))
		} else {
			out = append(out, strings.TrimRight("  "+text+dim(detail), " "))
		}
	}
	foot := fmt.Sprintf("  %d of %d", len(m.found), m.of)
	return append(out, dim(ansi.Truncate(foot+" · "+keys, width, "…")))
}

func (e Entry) label() string { return strings.TrimSpace(printable.Clean(e.Text + " " + e.More)) }
