package chat

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/cmd/thinkd/files"
)

// Messages to Update, in addition to keys.
type (
	connection struct {
		daemon Daemon
		words  string // what is to be said about it
	}
	gone   struct{ err error } // the connection broke
	ended  struct{ err error } // and there is no new one
	due    struct{}            // the print that was decided on
	shown  struct{}            // what was to be printed has been
	second time.Time
	looked struct{} // what a card shows has been on the screen for a frame
)

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return second(t) }) }

// Init is part of tea.Model.
func (s *screen) Init() tea.Cmd {
	if s.askBackground {
		return tea.Batch(tick(), tea.RequestBackgroundColor)
	}
	return tick()
}

// Update is part of tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		cmd = s.resized(msg.Width, msg.Height)
	case settledSize:
		cmd = s.settle(msg)
	case tea.ResumeMsg:
		s.covered = s.covered || s.reader != nil // the shell has written below it
	case tea.BackgroundColorMsg:
		s.look.light = !msg.IsDark()
	case received:
		if msg.answer != nil {
			s.answered(*msg.answer)
			if msg.answer.Error != nil { // it may be that of a card
				s.unsettle()
			}
		} else {
			s.notified(msg.update)
		}
	case connection:
		s.lost = false
		s.connected(msg.daemon)
		s.unsettle() // it is unknown whether the answer of a card arrived
		if msg.words != "" {
			s.note("%s", msg.words)
		}
		if s.id == "" {
			s.start()
		}
	case gone:
		if s.leaving {
			return s, tea.Quit
		}
		s.lost = true
		s.dial()
	case ended:
		s.err = msg.err
		return s, tea.Quit
	case due:
		return s, s.print()
	case shown:
		if s.printing = false; s.resizing {
			s.terminal.hold()
		}
	case second:
		s.followAgain()
		cmd = tick()
	case tea.KeyPressMsg:
		cmd = s.press(msg)
	case looked:
		s.looking = false
	case listed:
		s.files = msg
		cmd = s.suggest()
	case edited:
		s.wasEdited(msg)
	case copied:
		s.wasCopied(msg)
	case imagePasted:
		s.imagePasted(msg)
	case tea.PasteMsg:
		if s.picker == nil && s.reader == nil {
			s.lastKey, s.menu = s.now(), nil
			text := msg.Content
			if file, ok := files.Dropped(text); ok {
				text = files.Mention(file) + " "
			}
			s.input.Paste(text)
		}
	}
	s.syncCard()
	cmds := append(s.later, cmd, s.ring(), s.decide(), s.lookAgain())
	s.later = nil
	return s, tea.Batch(cmds...)
}

// ring rings the bell of the terminal when a question begins to wait.
func (s *screen) ring() tea.Cmd {
	waits := ""
	switch {
	case len(s.questions) > 0:
		waits = s.questions[0].Confirm
	case s.limit != nil:
		waits = "limit of " + s.turn
	}
	if waits == s.rung {
		return nil
	}
	if s.rung = waits; waits == "" {
		return nil
	}
	return tea.Raw("\a")
}

// unsettle lets a person answer the question of a card again.
func (s *screen) unsettle() {
	if s.card != nil {
		s.card.sent = false
	}
	if s.limit != nil {
		s.limit.sent = false
	}
}

// lookAgain comes back when what a card shows has been drawn.
func (s *screen) lookAgain() tea.Cmd {
	if s.card == nil || s.looking || s.card.settled(s.now()) {
		return nil
	}
	s.looking = true
	return tea.Tick(frame, func(time.Time) tea.Msg { return looked{} })
}

// decide starts to print the lines that are ready. Only one print runs, because commands of bubbletea overtake each other. It waits for a
// frame, so that the screen then shows a view of this moment. While the reader covers the screen, nothing is printed.
func (s *screen) decide() tea.Cmd {
	s.tallest = max(s.tallest, s.rows())
	s.moveOn()
	if s.reader != nil || s.printing || s.resizing {
		return nil
	}
	for _, l := range s.ready(s.width, s.roomToHold(), s.look) {
		s.waitingToPrint = append(s.waitingToPrint, printable(l, s.width)...)
	}
	switch {
	case len(s.waitingToPrint) > 0:
		s.printing, s.tallest = true, s.rows()
		return tea.Tick(frame, func(time.Time) tea.Msg { return due{} })
	case s.over:
		return tea.Quit
	}
	return nil
}

// moveOn notices that another session is open. What stood on the screen of the one before goes to the scrollback. A session that is
// attached again shows it anew.
func (s *screen) moveOn() {
	if last := s.shownLast; last != nil && last != s.conversation && last.id != s.id {
		last.close()
		for _, l := range last.ready(s.width, 0, s.look) {
			s.waitingToPrint = append(s.waitingToPrint, printable(l, s.width)...)
		}
	}
	s.shownLast = s.conversation
}

// print sends to the scrollback what fits above the view. With more, bubbletea would also send blank rows.
func (s *screen) print() tea.Cmd {
	room := s.height - s.tallest - 1
	var text []string
	for _, l := range s.waitingToPrint {
		if room -= 1 + ansi.StringWidth(l)/s.width; room < 0 && len(text) > 0 {
			break
		}
		text = append(text, l)
	}
	if s.reader != nil || s.resizing { // it began meanwhile
		text = nil
	}
	s.waitingToPrint = s.waitingToPrint[len(text):]
	s.remember(text)
	if len(text) == 1 && text[0] == "" {
		text[0] = " " // an empty print is none
	}
	return tea.Sequence(tea.Println(strings.Join(text, "\n")), func() tea.Msg { return shown{} })
}
