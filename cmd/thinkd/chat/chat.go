package chat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/thinkd/thinkd/cmd/thinkd/files"
	"github.com/thinkd/thinkd/provider"
)

// Config is what a chat needs.
type Config struct {
	In, Out *os.File
	Env     []string // name=value

	// Dial finds or starts the daemon, and returns a message about it. It is called again after the daemon has exited.
	Dial func(context.Context) (Daemon, string, error)

	Session string         // to continue; empty: a new one
	Last    bool           // continue the last session of the folder, if there is one
	Folder  string         // whose files prompts can mention; empty: none
	New     map[string]any // params of session/new; their model and level also hold for a session to continue
	Plain   bool           // plain lines, whatever the terminal can do
	Echo    bool           // for plain lines: the terminal shows what is typed
	Theme   string         // one of [Themes]; empty: that of the terminal
}

// Run runs a chat until the person leaves. A running turn then continues in the daemon.
func Run(ctx context.Context, c Config) error {
	d, words, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	t := newTalk(time.Now, c.New)
	t.start = func() {
		switch {
		case c.Session != "":
			t.reopen(c.Session)
		case c.Last:
			t.continueIn(c.Folder)
		default:
			t.create()
		}
	}
	t.save = saveNew
	t.contents = func(text string) (provider.Blocks, error) {
		return files.Attached(files.Mentioned(text, c.Folder), text)
	}
	if c.Plain {
		t.hints = c.Echo
		return (&lines{talk: t, out: c.Out, echo: c.Echo, newCode: randomCode}).run(ctx, c, d, words)
	}
	l, sure := lookOf(c.Theme)
	if c.Theme == "" {
		l, sure = guessLook(c.env)
	}
	s := newScreen(t, l)
	s.askBackground, s.terminal, s.folder, s.env = !sure, &terminal{File: c.Out}, c.Folder, c.env
	s.hasOutside()
	err = s.run(ctx, c, d, words)
	for _, file := range s.pasted {
		err = cmp.Or(err, os.Remove(file))
	}
	if words := t.farewell(); words != "" {
		if _, failed := fmt.Fprintln(c.Out, "\n"+l.dim(words)); failed != nil {
			err = cmp.Or(err, failed)
		}
	}
	return err
}

// env returns a variable of the environment.
func (c Config) env(name string) string {
	for _, one := range slices.Backward(c.Env) { // the last one counts
		if value, ok := strings.CutPrefix(one, name+"="); ok {
			return value
		}
	}
	return ""
}

// run runs the program on a terminal until the person leaves.
func (s *screen) run(ctx context.Context, c Config, d Daemon, words string) error {
	// The view never stands in the first row: what is erased from there on, tmux and others keep in the scrollback.
	width := 79
	if columns, _, err := term.GetSize(int(c.Out.Fd())); err == nil && columns > 0 {
		width = columns
	}
	s.remember([]string{s.look.dim(line("thinkd chat · / lists the commands, /help the keys too", width-1))})
	if _, err := fmt.Fprintln(c.Out, s.printed[0]); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, s.terminal.release)()
	p := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(c.In), tea.WithOutput(s.terminal), tea.WithEnvironment(c.Env), tea.WithoutSignalHandler())
	quit, stop := context.WithCancel(ctx)
	readers := make(chan struct{}, 1) // held by the one goroutine that reads
	listen := func(d Daemon, words string) {
		readers <- struct{}{}
		go func() { // stops with the connection, which run closes; run waits for the last one below
			defer func() { <-readers }()
			p.Send(connection{d, words})
			err := receive(d, func(m received) { p.Send(m) })
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

// run reads and writes until the person leaves, or until the input has ended and no turn runs.
func (f *lines) run(ctx context.Context, c Config, d Daemon, words string) error {
	messages, broken := make(chan received), make(chan error, 1)
	stopped := make(chan struct{})
	defer close(stopped)
	listen := func(d Daemon) { // stops with the connection, or with run
		broken <- receive(d, func(m received) {
			select {
			case messages <- m:
			case <-stopped:
			}
		})
	}
	begin := func(d Daemon, words string) {
		f.connected(d)
		if words != "" {
			f.note("%s", words)
		}
		if f.id == "" {
			f.start()
		}
		go listen(d)
	}
	begin(d, words)
	typed := make(chan string)
	go func() { // stops with the input, or with the process: a read from a terminal cannot be cancelled
		defer close(typed)
		in := bufio.NewScanner(c.In)
		in.Buffer(nil, 8<<20)
		for in.Scan() {
			select {
			case typed <- in.Text():
			case <-stopped:
				return
			}
		}
	}()
	defer func() { f.daemon.Close() }()
	var input <-chan string = typed
	for !f.over && f.err == nil {
		f.write()
		var pause <-chan time.Time // nil: there is nothing to wait for
		if !f.again.IsZero() {
			pause = time.After(f.again.Sub(f.now()))
		}
		if f.eof && f.idle() && !f.leaving {
			f.quit()
			continue
		}
		select {
		case m := <-messages:
			if m.answer != nil {
				f.answered(*m.answer)
			} else {
				f.notified(m.update)
			}
		case <-pause:
			f.followAgain()
		case text, ok := <-f.when(input):
			if !ok {
				f.eof, input = true, nil
			} else {
				f.read(text)
			}
		case err := <-broken:
			if f.leaving {
				return nil
			}
			f.note("connection lost (%v); reconnecting", err)
			f.write()
			d, words, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			begin(d, words)
		case <-ctx.Done():
			if asked := f.closeAside(); !f.cancel() && !asked {
				return context.Cause(ctx)
			}
			f.eof, input, ctx = true, nil, context.WithoutCancel(ctx) // the end of the turn is still shown
		}
	}
	f.write()
	if f.err == nil && f.failed && !f.echo {
		return ErrFailed
	}
	return f.err
}

// ErrFailed says that the last turn of a chat in a pipe failed. The output has shown it.
var ErrFailed = errors.New("the last turn failed")
