package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/clipboard"
	"github.com/thinkd/thinkd/cmd/thinkd/files"
)

// Messages to Update of what runs outside of the program.
type (
	edited struct { // the editor has ended
		text string
		err  error
	}
	imagePasted struct {
		file string
		err  error
	}
	copied struct{ err error }
)

// clipboardPause is how long a program for the clipboard may take.
const clipboardPause = 10 * time.Second

// hasOutside lets commands of the person reach the clipboard and the editor.
func (s *screen) hasOutside() {
	s.copy = func(text string) { s.later = append(s.later, s.copyText(text)) }
	s.editor = func(text string) { s.later = append(s.later, s.openEditor(text)) }
}

// copyText copies with a program of the system, and asks the terminal to copy as well (OSC 52): over a network only that reaches the
// person's clipboard.
func (s *screen) copyText(text string) tea.Cmd {
	return tea.Batch(tea.SetClipboard(text), func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), clipboardPause)
		defer stop()
		return copied{clipboard.Write(ctx, s.env, text)}
	})
}

// wasCopied says what became of a copy. Whether the terminal has copied is not known.
func (s *screen) wasCopied(m copied) {
	switch {
	case m.err == nil:
		s.note("the last answer was copied")
	case errors.Is(m.err, clipboard.ErrNoProgram):
		s.note("the terminal was asked to copy the last answer (OSC 52)")
	default:
		s.add(failure, "", "the answer was not copied: "+m.err.Error())
	}
}

// pasteImage puts the image of the clipboard into a file, which the prompt mentions.
func (s *screen) pasteImage() tea.Cmd {
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), clipboardPause)
		defer stop()
		data, err := clipboard.Image(ctx, s.env)
		if err != nil {
			return imagePasted{err: err}
		}
		file, err := temporary("thinkd-*.png", data)
		return imagePasted{file, err}
	}
}

func (s *screen) imagePasted(m imagePasted) {
	if m.err != nil {
		s.note("nothing was pasted: %v", m.err)
		return
	}
	s.pasted = append(s.pasted, m.file)
	s.input.insert(files.Mention(m.file) + " ")
}

// openEditor opens a text in the person's editor.
func (s *screen) openEditor(text string) tea.Cmd {
	file, err := temporary("thinkd-prompt-*.md", []byte(text))
	if err != nil {
		return func() tea.Msg { return edited{err: err} }
	}
	usual := "vi"
	if runtime.GOOS == "windows" {
		usual = "notepad"
	}
	words := strings.Fields(cmp.Or(s.env("VISUAL"), s.env("EDITOR"), usual))
	cmd := exec.Command(words[0], append(words[1:], file)...)
	if s.terminal != nil { // an editor needs the terminal itself
		cmd.Stdout, cmd.Stderr = s.terminal.File, s.terminal.File
	}
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		defer os.Remove(file)
		if err != nil {
			return edited{err: err}
		}
		data, err := os.ReadFile(file)
		return edited{strings.TrimRight(string(data), "\n"), err}
	})
}

func (s *screen) wasEdited(m edited) {
	if m.err != nil {
		s.add(failure, "", "the editor failed: "+m.err.Error()+"; $EDITOR names it")
		return
	}
	s.input.SetValue(m.text)
}

// temporary writes a file that only the user can read.
func temporary(pattern string, data []byte) (name string, err error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := cmp.Or(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// saveNew writes a file that must not exist yet.
func saveNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return cmp.Or(err, f.Close())
}
