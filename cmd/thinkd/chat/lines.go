package chat

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// lines is the face for terminals that cannot move their cursor, and for pipes: a line that is read is a prompt, a
// command, or the answer to what was asked last. What comes is written as it comes, and nothing is written twice.
type lines struct {
	*talk
	out     io.Writer
	echo    bool   // what is typed stands in the output already
	typed   string // the last prompt
	offered string // the question or the list that was written last
	eof     bool   // nothing more will be said
	err     error  // of the output
}

func (f *lines) put(format string, args ...any) {
	if _, err := fmt.Fprintf(f.out, format, args...); err != nil && f.err == nil {
		f.err = err
	}
}

// write writes what is new.
func (f *lines) write() {
	for f.next < len(f.items) {
		it := f.items[f.next]
		f.writeItem(it)
		if !it.done {
			break
		}
		f.next++
	}
	f.offer()
}

func (f *lines) writeItem(it *item) {
	switch it.kind {
	case thinking, answer, output:
		f.stream(it)
	case said:
		if f.echo && f.typed == it.text() {
			f.typed = ""
			return
		}
		f.put("\n> %s\n", it.text())
	case call:
		f.put("\n[call] %s\n", it.text())
	case failure:
		f.put("\nerror: %s\n", it.text())
	default:
		f.put("[%s]\n", strings.TrimRight(it.text(), "\n"))
	}
}

// stream writes what an item has grown by.
func (f *lines) stream(it *item) {
	text := it.text()
	if !it.begun && (text != "" || it.done) {
		it.begun = true
		f.put("%s", map[kind]string{thinking: "\n[thinking]\n", answer: "\n"}[it.kind])
	}
	if len(text) > it.printed {
		f.put("%s", text[it.printed:])
		it.printed = len(text)
	}
	if !it.done {
		return
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		f.put("\n")
	}
	if it.kind == thinking {
		f.put("[%s]\n", it.head)
	}
}

// offer writes what wants an answer, once.
func (f *lines) offer() {
	var text strings.Builder
	switch {
	case len(f.questions) > 0:
		q := f.questions[0]
		fmt.Fprintf(&text, "\n%s\n%s\n", Clean(cmp.Or(q.Message, q.Title, q.Name)), line(called(q.Name, q.Arguments), 200))
		for _, c := range choices(q.Actions) {
			fmt.Fprintf(&text, "  %s  %s\n", cmp.Or(c.letter, c.key), c.words)
		}
	case f.picker != nil:
		fmt.Fprintf(&text, "\n%s: a number, or nothing\n", f.picker.title)
		for i, r := range f.picker.rows {
			fmt.Fprintf(&text, "%s\n", strings.TrimRight(fmt.Sprintf("%3d  %s  %s", i+1, Clean(r.label), Clean(r.detail)), " "))
		}
	}
	if s := text.String(); s != f.offered {
		f.offered = s
		f.put("%s", s)
	}
}

// read takes a line.
func (f *lines) read(text string) {
	word := strings.TrimSpace(text)
	switch {
	case len(f.questions) > 0 && !strings.HasPrefix(word, "/"):
		for _, c := range choices(f.questions[0].Actions) {
			if word == c.letter || word == c.key || word == c.action {
				f.answer(c.action)
			}
		}
	case f.picker != nil:
		p := f.picker
		f.picker = nil
		if n, err := strconv.Atoi(word); err == nil && n > 0 && n <= len(p.rows) {
			if p.rows[n-1].disabled {
				f.note("%s: %s", p.rows[n-1].label, p.rows[n-1].detail)
			} else {
				p.choose(n - 1)
			}
		}
	default:
		f.typed = word
		f.enter(text, false)
	}
}

// idle is true when all that was asked for has been told.
func (f *lines) idle() bool {
	return f.turn == "" && len(f.answers) == 0 && len(f.asked) == 0
}

// when is the input, once the answer to the last line is there: a line may be meant for what that offers.
func (f *lines) when(input <-chan string) <-chan string {
	if len(f.answers) > 0 {
		return nil
	}
	return input
}

// run reads and writes until the person leaves, or until there is nothing more to read and nothing runs.
func (f *lines) run(ctx context.Context, c Config, d Daemon, words string) error {
	messages, broken := make(chan tea.Msg), make(chan error, 1)
	stopped := make(chan struct{})
	defer close(stopped)
	listen := func(d Daemon) { // ends with the connection, or with run
		broken <- receive(d, func(m tea.Msg) {
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
	go func() { // ends with the input, or with the process: a read of a terminal cannot be called off
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
		if f.eof && f.idle() && !f.leaving {
			f.quit()
			continue
		}
		select {
		case m := <-messages:
			if m := m.(received); m.answer != nil {
				f.answered(*m.answer)
			} else {
				f.told(m.update)
			}
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
			f.note("the daemon has gone (%v); looking for it", err)
			f.write()
			d, words, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			begin(d, words)
		case <-ctx.Done():
			if !f.cancel() {
				return context.Cause(ctx)
			}
			f.eof, input, ctx = true, nil, context.WithoutCancel(ctx) // the end of the turn is still told
		}
	}
	f.write()
	return f.err
}
