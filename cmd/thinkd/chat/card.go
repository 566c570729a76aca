package chat

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A card asks whether one call may run. Its rules prevent that a person allows an unseen call, or allows one by accident:
//
//   - Keys go to the input. Tab reaches the card 500 ms after it appeared and 500 ms after the last key. No letter, digit or
//     paste answers, and nothing is selected at first.
//   - "Allow once" and "Always…" are disabled until each row of the call was drawn, and while the input has text. "Deny" is
//     always enabled, and sends the text of the input as the reason.
//   - PgDn moves by one page at most. Progress is counted in bytes, so that a resize keeps it.
//
// The daemon supplies the question, the parts and the grants. The card shows them.
type card struct {
	q         update
	appeared  time.Time
	at        answerID  // selected; empty: nothing is
	granting  bool      // the list of standing answers behind "Always…" is open
	grant     int       // selected in it; -1: nothing is
	sent      bool      // the answer is on its way
	seen      int       // bytes of the call that were drawn, from its beginning
	whole     bool      // all of it was
	top, page int       // the first row in view, and how many are
	drawn     time.Time // the rows in view are the same since then; zero: they are not in view
	rows      []cardRow
	width     int // that rows are for
}

type answerID string

const (
	allowOnce answerID = "allow"
	always    answerID = "always"
	deny      answerID = "deny"
)

// Bounds of a card.
const (
	cardPause   = 500 * time.Millisecond // until keys reach it
	cardColumns = 40                     // of a window that can show it
	cardRows    = 3                      // of the call, at least
)

// frame is longer than bubbletea takes to draw a view.
const frame = 25 * time.Millisecond

// answers returns the answers of a question in order, and which of them are enabled.
func (c *card) answers(typed bool) (ids []answerID, open map[answerID]bool) {
	open = map[answerID]bool{deny: !c.sent}
	for _, a := range c.q.Actions {
		switch a {
		case "allow":
			ids = append(ids, allowOnce)
			open[allowOnce] = c.whole && !typed && !c.sent
			if len(c.standing()) > 0 {
				ids = append(ids, always)
				open[always] = open[allowOnce]
			}
		case "deny":
			ids = append(ids, deny)
		}
	}
	return ids, open
}

// standing are the answers behind "Always…": approvals of later calls, and then denials.
func (c *card) standing() []grant { return slices.Concat(c.q.Grants, c.q.Denials) }

// settle counts the visible rows as seen, after the terminal has drawn them.
func (c *card) settle(now time.Time) {
	if c.drawn.IsZero() || now.Sub(c.drawn) < frame || c.page < cardRows {
		return
	}
	last := min(c.top+c.page, len(c.rows))
	start := 0
	if c.top > 0 {
		start = c.rows[c.top-1].end
	}
	if start <= c.seen && last > 0 {
		c.seen = max(c.seen, c.rows[last-1].end)
	}
	if last == len(c.rows) && start <= c.seen {
		c.whole = true
	}
}

// settled reports whether the visible rows were counted.
func (c *card) settled(now time.Time) bool { return c.drawn.IsZero() || now.Sub(c.drawn) >= frame }

// press handles a key for the card, and returns the answer to the question if the key gives one. All other keys go to the input and
// clear the selection. text is that of the input, without blanks around it; lastKey is when a key last went there.
func (c *card) press(name, text string, lastKey, now time.Time) (handled bool, ruling map[string]any) {
	ids, open := c.answers(text != "")
	if c.at == "" && name != "tab" && name != "shift+tab" {
		return false, nil
	}
	switch name {
	case "tab", "shift+tab":
		if c.at == "" && (now.Sub(c.appeared) < cardPause || now.Sub(lastKey) < cardPause) || c.granting {
			return true, nil
		}
		c.choose(ids, open, map[string]int{"tab": 1, "shift+tab": -1}[name])
	case "left", "right":
		if !c.granting {
			c.choose(ids, open, map[string]int{"right": 1, "left": -1}[name])
		}
	case "up", "down":
		by := map[string]int{"down": 1, "up": -1}[name]
		if c.granting {
			c.grant = min(max(c.grant+by, 0), len(c.standing())-1)
		} else {
			c.scroll(by, now)
		}
	case "pgup", "pgdown":
		if !c.granting {
			c.scroll(map[string]int{"pgdown": 1, "pgup": -1}[name]*max(c.page, 1), now)
		}
	case "end", "home":
	case "esc":
		if c.granting {
			c.granting, c.grant = false, -1
		} else {
			c.at = ""
		}
	case "enter":
		return true, c.enter(text, open)
	default:
		c.at, c.granting, c.grant = "", false, -1
		return false, nil
	}
	return true, nil
}

// choose selects the next enabled answer.
func (c *card) choose(ids []answerID, open map[answerID]bool, by int) {
	c.at = following(slices.DeleteFunc(ids, func(id answerID) bool { return !open[id] }), c.at, by)
}

// following is the answer after another one, or before it. Without one it is the first or the last.
func following[A comparable](open []A, at A, by int) A {
	for i, id := range open {
		if id == at {
			return open[(i+by+len(open))%len(open)]
		}
	}
	switch {
	case len(open) == 0:
		return at
	case by < 0:
		return open[len(open)-1]
	}
	return open[0]
}

// scroll moves the view, unless the terminal has not drawn the present rows yet. So no row is skipped.
func (c *card) scroll(by int, now time.Time) {
	if by > 0 && !c.settled(now) {
		return
	}
	c.settle(now)
	if top := min(max(c.top+by, 0), max(len(c.rows)-c.page, 0)); top != c.top {
		c.top, c.drawn = top, time.Time{}
	}
}

// enter returns the selected answer, if it is still enabled.
func (c *card) enter(text string, open map[answerID]bool) (ruling map[string]any) {
	if !open[c.at] {
		return nil
	}
	ruling = map[string]any{"action": "allow"}
	switch c.at {
	case always:
		if !c.granting {
			c.granting, c.grant = true, -1
			return nil
		}
		if c.grant < 0 {
			return nil
		}
		if c.grant >= len(c.q.Grants) {
			ruling["action"] = "deny"
		}
		ruling["grant"] = c.standing()[c.grant].ID
	case deny:
		ruling["action"] = "deny"
		if text != "" {
			ruling["reason"] = ansi.Truncate(text, maxReason, "…")
		}
	}
	c.sent, c.at, c.granting = true, "", false
	return ruling
}

// maxReason is in columns; the daemon takes 4 KiB.
const maxReason = 1000

// view is the card, in rows.
func (c *card) view(width int, l look, typed bool, questions int) []string {
	if c.granting {
		return c.list(width, l)
	}
	lines := c.head(width, l, questions)
	if c.page < cardRows {
		lines = append(lines, l.warning("The window is too small to show the call. Enlarge it to 40x12 to allow the call."))
	} else {
		last := min(c.top+c.page, len(c.rows))
		for _, r := range c.rows[c.top:last] {
			lines = append(lines, r.text)
		}
		text := "the end was shown"
		switch below := len(c.rows) - last; {
		case below > 0:
			text = fmt.Sprintf("%d more below: Tab, then PgDn", below)
		case !c.whole:
			text = "rows above were not shown yet: Tab, then PgUp"
			if c.top == 0 {
				text = "the end is shown"
			}
		}
		if len(c.rows) == 0 {
			text = "it has no arguments"
		} else {
			text = fmt.Sprintf("rows %d–%d of %d · %s", c.top+1, last, len(c.rows), text)
		}
		lines = append(lines, ruled(text, "", width))
	}
	return append(lines, c.foot(width, l, typed)...)
}

// ruled is a text in a horizontal line.
func ruled(left, right string, width int) string {
	text := "── " + line(left, width-6) + " "
	if right != "" {
		right = " " + right + " ─"
	}
	if fill := width - ansi.StringWidth(text) - ansi.StringWidth(right); fill > 0 {
		return text + strings.Repeat("─", fill) + right
	}
	return text
}

// head returns the question, and who asks it.
func (c *card) head(width int, l look, questions int) []string {
	of := ""
	if questions > 1 {
		of = fmt.Sprintf("question 1 of %d", questions)
	}
	message := visible(cmp.Or(c.q.Message, "The model wants to use a tool."))
	var lines []string
	if room := width - 8 - ansi.StringWidth(of); ansi.StringWidth(message) <= room {
		lines = append(lines, l.bold(ruled(message, of, width)))
	} else {
		lines = append(lines, l.bold(ruled(cmp.Or(of, "a question"), "", width)))
		for _, row := range rows(ansi.Wrap(message, width-2, ""), width-2) {
			lines = append(lines, "  "+l.bold(row))
		}
	}
	for _, row := range strings.Split(ansi.Wrap(c.q.origin(), width-2, ""), "\n") {
		lines = append(lines, "  "+l.dim(row))
	}
	if n := c.q.hidden(); n > 0 {
		for _, row := range strings.Split(ansi.Wrap("! "+unprinted(n), width, ""), "\n") {
			lines = append(lines, l.warning(row))
		}
	}
	return lines
}

// unprinted returns the note that characters are shown by name.
func unprinted(n int) string {
	if n == 1 {
		return "1 invisible character is shown as ‹name›."
	}
	return fmt.Sprintf("%d invisible characters are shown as ‹name›.", n)
}

// foot returns the answers.
func (c *card) foot(width int, l look, typed bool) []string {
	ids, open := c.answers(typed)
	var words []string
	hint := "Tab selects one"
	switch {
	case c.sent:
		hint = "answered"
	case c.at != "":
		hint = "Enter selects it · letters go to the input"
	case len(ids) == 1:
		hint = fmt.Sprintf("It is larger than %s bytes and cannot be shown.", c.q.Limit)
	case typed:
		hint = "The input has text: Deny sends it as the reason."
	case !open[allowOnce]:
		hint = "Allow is enabled after the last row was shown."
	}
	for _, id := range ids {
		label := map[answerID]string{allowOnce: "Allow once", always: "Always…", deny: "Deny"}[id]
		words = append(words, answerLabel(label, id == c.at, open[id], l))
	}
	return choices(words, hint, width, l)
}

// answerLabel is an answer as a card shows it.
func answerLabel(label string, selected, open bool, l look) string {
	switch {
	case selected:
		return l.selected("▸[" + label + "]")
	case !open:
		return " " + l.dim("("+label+")")
	}
	return "  " + label
}

// choices is a row of answers with a hint at its end, or below it if there is no room. In a narrow window, each answer has its own row.
func choices(words []string, hint string, width int, l look) []string {
	text := strings.Join(words, "  ")
	if ansi.StringWidth(text) > width {
		text = strings.Join(words, "\n")
	}
	if gap := width - ansi.StringWidth(text) - ansi.StringWidth(hint); gap >= 2 {
		return []string{text + strings.Repeat(" ", gap) + l.dim(hint)}
	}
	lines := strings.Split(text, "\n")
	for _, row := range strings.Split(ansi.Wrap(hint, width-2, ""), "\n") {
		lines = append(lines, "  "+l.dim(row))
	}
	return lines
}

// list returns the standing answers behind "Always…".
func (c *card) list(width int, l look) []string {
	var lines []string
	for i, g := range c.standing() {
		switch i {
		case len(c.q.Grants):
			lines = append(lines, l.bold(ruled("Deny without a question until this session ends", "", width)))
		case 0:
			lines = append(lines, l.bold(ruled("Allow without a question until this session ends", "", width)))
		}
		for n, row := range rows(ansi.Wrap(visible(g.Text), width-4, ""), width-4) {
			switch {
			case i == c.grant && n == 0:
				lines = append(lines, l.selected("▸ "+row))
			case i == c.grant:
				lines = append(lines, l.selected("  "+row))
			default:
				lines = append(lines, "  "+row)
			}
		}
	}
	for _, text := range []string{"The answer is for this call as well.", "↑ ↓ select · Enter answers · Esc goes back · /grants lists and revokes"} {
		for _, row := range strings.Split(ansi.Wrap(text, width-2, ""), "\n") {
			lines = append(lines, "  "+l.dim(row))
		}
	}
	return lines
}

// origin returns who asks, and for what.
func (u update) origin() string {
	o := u.Origin
	words := []string{"Asked by " + visible(o.Provider+"/"+o.Model)}
	if o.Folder != "" {
		words = append(words, "in "+visible(atHome(o.Folder)))
	}
	switch {
	case o.Server != "":
		words = append(words, "server "+visible(o.Server))
	case o.Host == "client":
		words = append(words, "run by a client")
	}
	words = append(words, "tool "+visible(u.Name))
	if o.Effect != "" {
		words = append(words, "effect: "+visible(o.Effect))
	}
	for _, p := range u.Parts {
		switch p.Kind {
		case "command":
			words = append(words, size(p.Text))
		case "diff":
			added, removed := changed(p.Text)
			words = append(words, fmt.Sprintf("+%d −%d", added, removed))
		}
	}
	return strings.Join(words, " · ")
}

func atHome(folder string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return folder
	}
	if rest, ok := strings.CutPrefix(folder, home); ok && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return folder
}
