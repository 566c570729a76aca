package chat

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// press takes a key: the reader's, the picker's, the card's, or the input's.
func (s *screen) press(k tea.KeyPressMsg) tea.Cmd {
	read := s.reader != nil
	cmd := s.pressed(k)
	if read && s.reader == nil && s.covered {
		s.covered = false
		return tea.Batch(cmd, s.hold())
	}
	return cmd
}

func (s *screen) pressed(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch name {
	case "ctrl+o":
		s.toggle()
		return nil
	case "ctrl+t":
		s.fold()
		return nil
	case "ctrl+z":
		return tea.Suspend // Windows has no such thing: nothing happens
	}
	switch {
	case s.reader != nil:
		s.read(name)
		return nil
	case s.picker != nil:
		s.pick(name, k.Text)
		return nil
	case s.menu != nil:
		if handled, send := s.pressMenu(name); handled {
			s.lastKey = s.now()
			if send {
				s.submit(false)
			}
			return nil
		}
	}
	switch {
	case s.card != nil && s.pressCard(name):
		return nil
	case s.limit != nil && s.pressLimit(name):
		return nil
	case s.box() && s.pressBox(name):
		return nil
	}
	s.lastKey, s.menu = s.now(), nil
	switch name {
	case "ctrl+g":
		return s.openEditor(s.input.Value())
	case "ctrl+v":
		return s.pasteImage()
	case "enter", "ctrl+s":
		s.submit(name == "ctrl+s")
		return nil
	case "tab", "shift+tab":
		return nil
	case "esc":
		s.cancel()
		return nil
	case "ctrl+c":
		s.interrupt()
		return nil
	case "ctrl+d":
		if s.input.Value() == "" {
			s.quit()
			return nil
		}
	case "up", "down":
		if s.recalled(name) {
			return nil
		}
	}
	s.input.Press(k)
	return s.suggest()
}

// pressCard passes a key to the card, and sends the answer that the key gives. The text of the input is the reason of a denial.
func (s *screen) pressCard(name string) bool {
	text := strings.TrimSpace(s.input.Value())
	handled, ruling := s.card.press(name, text, s.lastKey, s.now())
	if ruling == nil {
		return handled
	}
	if ruling["reason"] != nil {
		s.history, s.recall = append(s.history, text), len(s.history)+1
		s.input.SetValue("")
	}
	s.rule(s.card.q.Confirm, ruling)
	return true
}

// pressLimit passes a key to the card of a limit, and sends the answer that the key gives.
func (s *screen) pressLimit(name string) bool {
	handled, d := s.limit.press(name, s.typed(), s.lastKey, s.now())
	if d != nil {
		s.allowance(*d)
	}
	return handled
}

// pressBox passes a key to the box of a side question. While a card hides the box, the box gets only those that close it.
func (s *screen) pressBox(name string) bool {
	if s.card != nil && name != "esc" && name != "ctrl+c" {
		return false
	}
	handled, do := s.aside.press(name)
	switch do {
	case asideClose:
		s.closeAside()
	case asideKeep:
		s.keepAside()
	}
	return handled
}

// submit sends the input as a prompt or a command. It steers the running turn if it is asked to.
func (s *screen) submit(steer bool) {
	text := s.input.Value()
	if strings.TrimSpace(text) == "" || s.lost {
		return // it stays until it can be sent
	}
	s.input.SetValue("")
	s.menu = nil
	s.history = append(s.history, text)
	s.recall = len(s.history)
	s.enter(text, steer)
}

// interrupt does the first of these that there is to do: end the turn, clear the input, leave.
func (s *screen) interrupt() {
	switch {
	case s.cancel():
	case s.input.Value() != "":
		s.input.SetValue("")
	default:
		s.quit()
	}
}

// recalled goes through what was typed, unless the cursor has a line of the input to go to.
func (s *screen) recalled(name string) bool {
	switch {
	case name == "up" && s.input.OnFirstLine() && s.recall > 0:
		s.recall--
	case name == "down" && s.input.OnLastLine() && s.recall < len(s.history):
		s.recall++
	default:
		return false
	}
	s.input.SetValue("")
	if s.recall < len(s.history) {
		s.input.SetValue(s.history[s.recall])
	}
	return true
}

// fold folds the thoughts that are still on the screen, or unfolds them. Without one, it opens the reader at the last thought.
func (s *screen) fold() {
	if s.reader != nil {
		s.reader = nil
		return
	}
	held := s.items[s.next:]
	if i := slices.IndexFunc(held, func(it *item) bool { return it.kind == thinking && it.done }); i >= 0 {
		s.unfolded = !s.unfolded
		if s.holding(s.width, s.roomToHold(), s.look) <= s.next+i {
			return
		}
		s.unfolded = false // there is no room, and what is printed cannot be folded
	}
	if slices.ContainsFunc(s.items, func(it *item) bool { return it.kind == thinking }) {
		s.reader = &reader{atThought: true}
	}
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

func (s *screen) pick(name, text string) {
	p := s.picker
	switch name {
	case "esc", "ctrl+c":
		s.picker = nil
	case "up", "ctrl+p":
		p.move(-1)
	case "down", "ctrl+n":
		p.move(1)
	case "pgup":
		p.move(-10)
	case "pgdown":
		p.move(10)
	case "home":
		p.move(-len(p.rows))
	case "end":
		p.move(len(p.rows))
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(p.filter)
		p.narrow(p.filter[:len(p.filter)-n])
	case "enter":
		if left := p.left(); len(left) > 0 && !p.rows[p.at].disabled {
			s.picker = nil
			p.choose(p.at)
		}
	default:
		p.narrow(p.filter + text)
	}
}
