package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/markdown"
)

// Themes are the names of the sets of colours. The plain one has none, as with NO_COLOR; bold, dim and italic text stays.
var Themes = []string{"dark", "light", "plain"}

// look has the styles of the parts. Without colour, the other attributes stay.
type look struct {
	plain  bool // no sequences at all
	colour bool
	light  bool // the background is
}

// lookOf returns the look of a theme; ok is false if it has no theme of this name.
func lookOf(theme string) (l look, ok bool) {
	return look{colour: theme != "plain", light: theme == "light"}, slices.Contains(Themes, theme)
}

// guessLook returns the look for a terminal, from its environment: COLORFGBG has the numbers of the text's and the background's colour. sure
// is false if that is not set: the terminal may still answer what its background is.
func guessLook(env func(string) string) (l look, sure bool) {
	if env("NO_COLOR") != "" {
		return look{}, true
	}
	parts := strings.Split(env("COLORFGBG"), ";")
	background, err := strconv.Atoi(parts[len(parts)-1])
	return look{colour: true, light: err == nil && (background == 7 || background >= 9 && background <= 15)}, err == nil
}

func (l look) thinking(s string) string { return l.with("\x1b[2;3m", s) }
func (l look) dim(s string) string      { return l.with("\x1b[2m", s) }
func (l look) bold(s string) string     { return l.with("\x1b[1m", s) }
func (l look) mark(s string) string     { return l.with("\x1b[7m", s) }

// hidden is a name in place of a character. What stands around it keeps its own style.
func (l look) hidden(s string) string {
	if l.plain || s == "" {
		return s
	}
	return "\x1b[7m" + s + "\x1b[27m"
}

func (l look) warning(s string) string  { return l.tinted(l.either("33", "38;5;130"), "\x1b[1m", s) }
func (l look) selected(s string) string { return l.tinted("\x1b[36m", "\x1b[1m", s) }
func (l look) added(s string) string    { return l.tinted("\x1b[32m", "", s) }
func (l look) removed(s string) string  { return l.tinted("\x1b[31m", "", s) }
func (l look) failure(s string) string  { return l.tinted("\x1b[31m", "\x1b[1m", s) }

// either is the sequence of a colour on a dark background, and that on a light one.
func (l look) either(dark, light string) string {
	if l.light {
		dark = light
	}
	return "\x1b[" + dark + "m"
}

// tinted has a colour, or another style where there is none.
func (l look) tinted(colour, other, s string) string {
	switch {
	case l.colour:
		return l.with(colour, s)
	case other != "":
		return l.with(other, s)
	}
	return s
}

// styles are those of Markdown. Yellow and bright colours cannot be read on a light background.
func (l look) styles() *markdown.Styles {
	switch {
	case l.plain:
		return &markdown.Styles{}
	case !l.colour:
		return &markdown.Styles{Heading: "\x1b[1m", Strong: "\x1b[1m", Emphasis: "\x1b[3m", Strike: "\x1b[9m", Link: "\x1b[4m", Muted: "\x1b[2m", Comment: "\x1b[2m"}
	}
	return &markdown.Styles{Heading: "\x1b[1m", Strong: "\x1b[1m", Emphasis: "\x1b[3m", Strike: "\x1b[9m", Muted: "\x1b[2m",
		Code: "\x1b[36m", Link: l.either("4;94", "4;34"), Comment: "\x1b[2;3m", String: "\x1b[32m", Keyword: l.either("95", "35"), Number: l.either("93", "34"),
		Added: "\x1b[32m", Removed: "\x1b[31m", Addresses: true}
}

// diff is a line of a diff in its colours. ok is false for a line that belongs to none.
func (l look) diff(one string) (text string, ok bool) {
	switch {
	case strings.HasPrefix(one, "@@ "), strings.HasPrefix(one, "--- "), strings.HasPrefix(one, "+++ "), strings.HasPrefix(one, "diff --git "):
		return l.dim(one), true
	case strings.HasPrefix(one, "+"):
		return l.added(one), true
	case strings.HasPrefix(one, "-"):
		return l.removed(one), true
	}
	return one, strings.HasPrefix(one, " ")
}

// with sets the style again on each line, because the terminal prints them separately.
func (l look) with(style, s string) string {
	if l.plain || s == "" {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, one := range lines {
		if one != "" {
			lines[i] = style + one + "\x1b[m"
		}
	}
	return strings.Join(lines, "\n")
}
