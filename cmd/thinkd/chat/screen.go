package chat

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/thinkd/thinkd/rpc/door"
)

// screen is the view for a terminal that can move its cursor. It is a tea.Model: only Update changes it.
type screen struct {
	*talk
	look          look
	width, height int
	input         input
	history       []string // what was typed, oldest first
	recall        int      // where in it the input is; len(history): a new one

	reader  *reader   // nil: closed
	card    *card     // of the oldest open question; nil: there is none
	lastKey time.Time // when a key went to the input
	looking bool      // a tick is under way that counts what a card shows

	waitingToPrint []string
	printing       bool // a print is under way, or will be in a moment
	tallest        int  // rows of the tallest view since the print was decided on

	dial func() // looks for the daemon again; its outcome comes as a connection or as an end
	lost bool   // the connection is lost
	err  error  // why the chat ended
}

// Messages to Update, in addition to keys.
type (
	received struct {
		update update
		answer *door.Answer
	}
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

// maxInputRows is how high the input grows before it scrolls.
const maxInputRows = 6

func newScreen(t *talk, l look) *screen {
	return &screen{talk: t, look: l, width: 80, height: 24, input: newInput()}
}

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return second(t) }) }

// Init is part of tea.Model.
func (s *screen) Init() tea.Cmd { return tick() }

// Update is part of tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(msg.Width, 4), max(msg.Height, 2)
		s.input.SetSize(s.width-1, min(maxInputRows, max(s.height-4, 1)))
	case received:
		if msg.answer != nil {
			s.answered(*msg.answer)
			if msg.answer.Error != nil && s.card != nil { // it may be that of the card
				s.card.sent = false
			}
		} else {
			s.notified(msg.update)
		}
	case connection:
		s.lost = false
		s.connected(msg.daemon)
		if s.card != nil { // it is unknown whether the answer arrived
			s.card.sent = false
		}
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
		s.printing = false
	case second:
		cmd = tick()
	case tea.KeyPressMsg:
		cmd = s.press(msg)
	case looked:
		s.looking = false
	case tea.PasteMsg:
		if s.picker == nil && s.reader == nil {
			s.lastKey = s.now()
			s.input.Paste(msg.Content)
		}
	}
	s.syncCard()
	return s, tea.Batch(cmd, s.decide(), s.lookAgain())
}

// lookAgain comes back when what a card shows has been drawn.
func (s *screen) lookAgain() tea.Cmd {
	if s.card == nil || s.looking || s.card.settled(s.now()) {
		return nil
	}
	s.looking = true
	return tea.Tick(frame, func(time.Time) tea.Msg { return looked{} })
}

// frame is longer than bubbletea takes to draw a view.
const frame = 25 * time.Millisecond

// decide starts to print the lines that are ready. Only one print runs, because commands of bubbletea overtake each other. It waits for a
// frame, so that the screen then shows a view of this moment. While the reader covers the screen, nothing is printed.
func (s *screen) decide() tea.Cmd {
	s.tallest = max(s.tallest, s.rows())
	if s.reader != nil || s.printing {
		return nil
	}
	for _, l := range s.ready(s.width, s.look) {
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
	if s.reader != nil { // it was opened meanwhile
		text = nil
	}
	s.waitingToPrint = s.waitingToPrint[len(text):]
	if len(text) == 1 && text[0] == "" {
		text[0] = " " // an empty print is none
	}
	return tea.Sequence(tea.Println(strings.Join(text, "\n")), func() tea.Msg { return shown{} })
}

// rows is the height of the view.
func (s *screen) rows() int { return 1 + strings.Count(s.content(), "\n") }

// View is part of tea.Model.
func (s *screen) View() tea.View {
	if s.reader != nil {
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

// content is the lower end of the screen.
func (s *screen) content() string {
	if s.over {
		return ""
	}
	if s.picker != nil {
		return strings.Join(s.picker.view(s.width-1, min(s.height-1, 16), s.look), "\n")
	}
	return s.above() + s.input.View() + "\n" + s.foot()
}

// above is what stands above the input, each line with its end.
func (s *screen) above() string {
	lines := s.news()
	fixed := s.input.Height() + 3
	if s.card != nil {
		lines = append(lines, s.card.view(s.width-1, s.look, s.typed(), len(s.questions))...)
		fixed-- // the input stands below the card without an empty row
	}
	if s.turn != "" || s.compacting {
		lines = append(lines, s.look.dim(line(s.state(), s.width-1)))
	}
	room := s.height - fixed - len(lines) - 1
	if s.card == nil {
		room = max(room, 1)
	}
	if room > 0 {
		if live := s.live(s.width, room, s.look); len(live) > 0 {
			lines = append(append([]string{""}, live...), lines...)
		}
	}
	if s.card == nil {
		lines = append(lines, "")
	}
	if over := len(lines) + s.input.Height() + 1 - s.height; over > 0 {
		lines = lines[min(over, len(lines)):]
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
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
	return lines
}

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
	if len(s.questions) > 0 {
		return fmt.Sprintf("waiting for you · %s · Tab selects the question · Esc stops the turn", s.now().Sub(s.began).Round(time.Second))
	}
	return fmt.Sprintf("%s · %s · Esc stops it · Ctrl+O shows all · Ctrl+S steers", word, s.now().Sub(s.began).Round(time.Second))
}

// foot returns the last line: model and level of the next turn, and the usage.
func (s *screen) foot() string {
	words := []string{s.model.String(), "thinking " + string(s.level)}
	if s.other != "" {
		words = append(words, "answered by "+s.other)
	}
	if s.payer.Kind == "plan" || s.payer.Kind == "key" {
		words = append(words, "paid by "+s.payer.Kind+" "+Clean(s.payer.Name))
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

// receive reads a connection to its end, in order. It runs in parallel with the program until the connection is closed.
func receive(d Daemon, send func(tea.Msg)) error {
	for {
		n, a, err := d.Receive()
		if err != nil {
			return err
		}
		m := received{answer: a}
		if a != nil {
			a.Result = append([]byte(nil), a.Result...) // valid until the next read
		} else if m.update, err = decode(n.Method, n.Params); err != nil {
			return err
		}
		send(m)
	}
}

// run runs the program on a terminal until the person leaves.
func (s *screen) run(ctx context.Context, c Config, d Daemon, words string) error {
	// The view never stands in the first row: what is erased from there on, tmux and others keep in the scrollback.
	if _, err := fmt.Fprintln(c.Out, s.look.dim(line("thinkd chat · /help lists the commands and the keys", 78))); err != nil {
		return err
	}
	p := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithEnvironment(c.Env), tea.WithoutSignalHandler())
	quit, stop := context.WithCancel(ctx)
	readers := make(chan struct{}, 1) // held by the one goroutine that reads
	listen := func(d Daemon, words string) {
		readers <- struct{}{}
		go func() { // stops with the connection, which run closes; run waits for the last one below
			defer func() { <-readers }()
			p.Send(connection{d, words})
			err := receive(d, p.Send)
			p.Send(gone{err})
		}()
	}
	s.dial = func() {
		go func() { // stops with quit, or with its result
			d, words, err := c.Dial(quit)
			switch {
			case err != nil:
				p.Send(ended{err})
			default:
				listen(d, words)
			}
		}()
	}
	listen(d, words)
	_, err := p.Run()
	stop()
	var left error
	if s.daemon != nil {
		left = s.daemon.Close()
	}
	readers <- struct{}{}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return cmp.Or(s.err, err, left)
}
