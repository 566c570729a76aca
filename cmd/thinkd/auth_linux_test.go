package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// The terminal does not show a key, not even if it is typed while the question is being printed.
func TestKeyIsNotShown(t *testing.T) {
	t.Parallel()
	tty, other := proof.Terminal(t)
	asked := &question{t: t, tty: tty, answer: func() {
		if _, err := io.WriteString(other, "sk-of-the-test\n"); err != nil {
			t.Error(err)
		}
	}}
	p := &program{in: tty, errOut: asked}
	key, err := p.readKey(t.Context(), "anthropic")
	if key != "sk-of-the-test" || err != nil {
		t.Errorf("the key is %q, %v", key, err)
	}
	if !strings.HasPrefix(asked.text.String(), "key for anthropic: ") {
		t.Errorf("the terminal shows %q", asked.text.String())
	}
	if !echoes(t, tty) {
		t.Error("the terminal does not show what is typed after the key")
	}
}

// question receives what the program writes, and gives the answer at once.
type question struct {
	t      *testing.T
	tty    *os.File
	answer func()
	text   strings.Builder
}

func (q *question) Write(b []byte) (int, error) {
	if q.text.Len() == 0 {
		if echoes(q.t, q.tty) {
			q.t.Error("the terminal shows the key that is typed now")
		}
		q.answer()
	}
	return q.text.Write(b)
}

// echoes reports whether a terminal shows what is typed.
func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0
}
