package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/menu"
	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// screen is the view for a terminal that can move its cursor. It is a tea.Model: only Update changes it.
type screen struct {
	*talk
	look          look
	width, height int
	input         input
	history       []string // what was typed, oldest first
	recall        int      // where in it the input is; len(history): a new one

	menu   *suggestion  // nil: closed
	files  []menu.Entry // of the folder, when they were last listed
	folder string
	env    func(string) string
	later  []tea.Cmd // that commands of the person begin
	pasted []string  // images from the clipboard, which are removed at the end
	rung   string    // the question for which the bell has rung

	reader  *reader    // nil: closed
	card    *card      // of the oldest open question; nil: there is none
	limit   *limitCard // of the limit at which the turn is parked; nil: there is no question, or it cannot be shown
	lastKey time.Time  // when a key went to the input
	looking bool       // a tick is under way that counts what a card shows

	waitingToPrint []string
	printing       bool          // a print is under way, or will be in a moment
	shownLast      *conversation // the one that was on the screen
	tallest        int           // rows of the tallest view since the print was decided on

	terminal      *terminal // nil in tests
	askBackground bool      // the terminal is asked for the colour of its background
	sized         bool      // the size of the window is known
	resizing      bool      // nothing is drawn until the size stays the same
	resizes       int
	covered       bool     // the size changed while the reader covered the screen
	printed       []string // the last lines in the scrollback

	dial func() // looks for the daemon again; its outcome comes as a connection or as an end
	lost bool   // the connection is lost
	err  error  // why the chat ended
}

// maxInputRows is how high the input grows before it scrolls.
const maxInputRows = 6

func newScreen(t *talk, l look) *screen {
	t.boxed, t.hints = true, true
	return &screen{talk: t, look: l, width: 80, height: 24, input: newInput()}
}

// rows is the height of the view.
func (s *screen) rows() int { return 1 + strings.Count(s.content(), "\n") }

// content is the lower end of the screen.
func (s *screen) content() string {
	if s.over {
		return ""
	}
	if s.picker != nil {
		return strings.Join(s.picker.view(s.width-1, min(s.height-1, 16), s.look), "\n")
	}
	return s.above() + strings.Join(append(append([]string{s.input.View()}, s.menuRows()...), s.foot()), "\n")
}

// above is what stands above the input, each line with its end.
func (s *screen) above() string {
	lines := s.lower()
	if room := s.room(lines); room > 0 {
		if live := s.live(s.width, room, s.look); len(live) > 0 {
			lines = append(append([]string{""}, live...), lines...)
		}
	}
	if !s.asks() {
		lines = append(lines, "")
	}
	if over := len(lines) + s.fixed() - s.height; over > 0 {
		lines = lines[min(over, len(lines)):]
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// asks reports whether a card is open. The input stands below it without an empty row.
func (s *screen) asks() bool { return s.card != nil || s.limit != nil }

// fixed is how many rows the input, what belongs to it and the foot have.
func (s *screen) fixed() int { return s.input.Height() + len(s.menuRows()) + 1 }

// lower returns the rows between the conversation and the input.
func (s *screen) lower() []string {
	lines := s.news()
	switch {
	case s.card != nil:
		lines = append(lines, s.card.view(s.width-1, s.look, s.typed(), len(s.questions))...)
	case s.limit != nil:
		lines = append(lines, s.limit.view(s.width-1, s.look, s.typed())...)
	case s.box():
		lines = append(lines, s.aside.view(s.width-1, max(s.height/2-4, boxRows), s.look)...)
	}
	if s.turn != "" || s.compacting {
		style := s.look.dim
		if s.parked != nil && len(s.questions) == 0 {
			style = s.look.warning
		}
		lines = append(lines, style(line(s.state(), s.width-1)))
	}
	return lines
}

// room is how many rows the conversation has above the lower rows.
func (s *screen) room(lower []string) int {
	room := s.height - s.fixed() - len(lower) - 2 // an empty row above it, and one that stays free
	if !s.asks() {
		room = max(room-1, 1) // and one above the input
	}
	return room
}

// roomToHold is how many rows can stay on the screen so that their thought can be folded. At the end of the chat there are none.
func (s *screen) roomToHold() int {
	if s.over || s.leaving {
		return 0
	}
	return s.room(s.lower())
}

// menuRows are those of the menu below the input.
func (s *screen) menuRows() []string {
	if s.menu == nil || s.height < 12 {
		return nil
	}
	keys := map[suggestionKind]string{ofCommands: "Tab completes · Enter runs · Esc closes", ofWords: "Tab completes · Enter runs · Esc closes", ofFiles: "Tab or Enter inserts the path · Esc closes"}[s.menu.kind]
	return s.menu.Rows(s.width-1, min(menuRowsMost, s.height/3), keys, s.look.selected, s.look.dim)
}

// news returns the rows at the top: a lost connection, and pending prompts.
func (s *screen) news() (lines []string) {
	if s.lost {
		lines = append(lines, s.look.failure(line("connection lost; reconnecting", s.width-1)))
	}
	for i, w := range s.queue {
		if i == 3 {
			lines = append(lines, s.look.dim(fmt.Sprintf("  and %d more", len(s.queue)-i)))
			break
		}
		word := "waits: "
		if s.held {
			word = "held (/resume): "
		}
		lines = append(lines, s.look.dim(line(word+w.Text, s.width-1)))
	}
	if s.card != nil && s.box() {
		lines = append(lines, s.look.dim(line(s.aside.note(), s.width-1)))
	}
	return lines
}

// box reports whether a side question is open.
func (s *screen) box() bool { return s.aside != nil && !s.aside.closed }

// boxRows is how many rows of an answer the box of a side question has, at least.
const boxRows = 3

// state returns what runs, and its keys.
func (s *screen) state() string {
	if s.turn == "" {
		return "summarising · Esc stops it"
	}
	word := "working"
	for _, it := range s.open {
		switch it.kind {
		case thinking:
			word = "thinking"
		case answer:
			word = "answering"
		}
	}
	if s.limit != nil {
		return "waiting for you · Tab selects the question · Esc stops the turn"
	}
	if s.parked != nil && len(s.questions) == 0 {
		return fmt.Sprintf("‖ parked · %s · Esc ends it · /resume", s.parked.When(s.now()))
	}
	if len(s.questions) > 0 {
		return fmt.Sprintf("waiting for you · %s · Tab selects the question · Esc stops the turn", s.now().Sub(s.began).Round(time.Second))
	}
	stops := "Esc stops it · "
	if s.box() {
		stops = "" // Esc closes the box
	}
	return fmt.Sprintf("%s · %s · %sCtrl+O shows all · Ctrl+S steers", word, s.now().Sub(s.began).Round(time.Second), stops)
}

// foot returns the last line: model and level of the next turn, and the usage.
func (s *screen) foot() string {
	words := []string{s.model.String(), "thinking " + string(s.level)}
	if s.other != "" {
		words = append(words, "answered by "+s.other)
	}
	if s.payer.Kind == "plan" || s.payer.Kind == "key" {
		words = append(words, "paid by "+s.payer.Kind+" "+safe.Clean(s.payer.Name))
	}
	if s.id == "" {
		words = []string{"no session"}
	}
	if c := s.usage.Context; c != nil && c.Window > 0 {
		words = append(words, thousands(c.Used)+" of "+thousands(c.Window))
	}
	if c := s.usage.Cost; c != nil && c.Amount > 0 {
		words = append(words, c.String())
	}
	return s.look.dim(line(strings.Join(append(words, "/help"), " · "), s.width-1))
}

// syncLimit shows the card of a limit. A side question hides it, and so does a small window: the line of state says that the turn is
// parked, and the commands work.
func (s *screen) syncLimit() {
	switch {
	case s.spending() == nil || len(s.questions) > 0 || s.box() || s.width < cardColumns || s.height < limitRows:
		s.limit = nil
	case s.limit == nil || s.limit.turn != s.parked:
		s.limit = newLimitCard(s.parked, s.now())
	}
	if c := s.limit; c != nil && c.at != "" && !slices.Contains(c.open(s.typed()), c.at) {
		c.at, c.raising = "", false
	}
}

// syncCard shows the card of the oldest open question, and lays it out.
func (s *screen) syncCard() {
	s.syncLimit()
	now := s.now()
	if len(s.questions) == 0 {
		s.card = nil
		return
	}
	if q := s.questions[0]; s.card == nil || s.card.q.Confirm != q.Confirm {
		s.card = &card{q: q, appeared: now, grant: -1}
	}
	c := s.card
	if width := s.width - 1; c.width != width {
		c.rows, c.width = callRows(c.q, width, s.look), width
		c.drawn = time.Time{}
		c.top = max(len(c.rows)-1, 0) // the row up to which all was seen stays in view
		for i, r := range c.rows {
			if r.end > c.seen || c.seen == 0 {
				c.top = i
				break
			}
		}
	}
	page := s.cardRoom()
	if page != c.page {
		c.page, c.drawn = page, time.Time{}
	}
	if top := min(c.top, max(len(c.rows)-c.page, 0)); top != c.top {
		c.top, c.drawn = top, time.Time{}
	}
	switch covered := s.reader != nil || s.picker != nil || c.granting || c.page < cardRows; {
	case covered:
		c.drawn = time.Time{}
	case c.drawn.IsZero():
		c.drawn = now
	}
	c.settle(now)
	if _, open := c.answers(s.typed()); c.at != "" && !open[c.at] {
		c.at, c.granting = "", false
	}
}

// typed reports whether the input has text.
func (s *screen) typed() bool { return strings.TrimSpace(s.input.Value()) != "" }

// cardRoom is how many rows of a call the window can show.
func (s *screen) cardRoom() int {
	if s.width < cardColumns {
		return 0
	}
	room := s.height - 1 - len(s.news()) - len(s.card.head(s.width-1, s.look, len(s.questions))) - 1 - len(s.card.foot(s.width-1, s.look, s.typed())) - 1 - 1 - s.input.Height() - 1
	return max(min(room, max(len(s.card.rows), cardRows)), 0)
}

// View is part of tea.Model.
func (s *screen) View() tea.View {
	if s.reader != nil && !s.resizing {
		v := tea.NewView(s.reader.view(s.conversation, s.width, s.height, s.look))
		v.AltScreen = true
		return v
	}
	v := tea.NewView(s.content())
	if s.picker == nil && !s.over {
		v.Cursor = s.input.Cursor()
		v.Cursor.Y += strings.Count(s.above(), "\n")
	}
	return v
}
