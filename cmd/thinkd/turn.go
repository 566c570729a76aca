package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/watch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// turnStatus is the end of the help of each command that shows a turn.
const turnStatus = `The exit status is
  0    if the turn ended normally
  1    if it failed: no daemon, unknown model, no key, an error of the provider
  2    if the answer is incomplete: max_tokens, a limit, a refusal
  130  if it was interrupted or cancelled`

// text is the words of a command, with the text of standard input if that is a pipe or a file.
func (p *program) text(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text != "-" && !piped(p.in) {
		return text, nil
	}
	all, err := io.ReadAll(p.in)
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return about(text, string(all)), nil
}

// piped is true for an input that ends by itself. A terminal does not, and who starts us in the background may have given
// us a device or a socket that never says anything.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// about is a text with what it is about.
func about(text, context string) string {
	switch {
	case text == "-":
		return context
	case strings.TrimSpace(context) == "":
		return text
	}
	return text + "\n\n" + context
}

// onTurn runs the work of a command that shows a turn. Unlike onDaemon, it leaves an interrupt to that work, which cancels the turn.
func (p *program) onTurn(ctx context.Context, run func(link *door.Link) error) error {
	link, err := p.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(run(link), link.Close())
}

func (p *program) view(json bool) watch.View {
	return watch.View{Out: p.out, ErrOut: p.errOut, JSON: json, Plain: p.getenv("TERM") == "dumb"}
}

// attach subscribes a link to a session.
func attach(link *door.Link, id string) func() (session.ID, error) {
	return func() (session.ID, error) {
		return session.ID(id), link.Call("session/attach", map[string]any{"session_id": id, "limit": 1}, nil)
	}
}
