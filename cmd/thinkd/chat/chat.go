package chat

import (
	"context"
	"os"
	"time"
)

// Config is what a chat needs.
type Config struct {
	In, Out *os.File
	Env     []string // name=value

	// Dial finds or starts the daemon, and returns a message about it. It is called again after the daemon has exited.
	Dial func(context.Context) (Daemon, string, error)

	Session string         // to continue; empty: a new one
	New     map[string]any // params of session/new
	Plain   bool           // plain lines, whatever the terminal can do
	Echo    bool           // for plain lines: the terminal shows what is typed
	Colour  bool
}

// Run runs a chat until the person leaves. A running turn then continues in the daemon.
func Run(ctx context.Context, c Config) error {
	d, words, err := c.Dial(ctx)
	if err != nil {
		return err
	}
	t := newTalk(time.Now, c.New)
	t.start = func() {
		if c.Session == "" {
			t.create()
		} else {
			t.follow(c.Session, 0)
		}
	}
	if c.Plain {
		return (&lines{talk: t, out: c.Out, echo: c.Echo, newCode: randomCode}).run(ctx, c, d, words)
	}
	return newScreen(t, look{colour: c.Colour}).run(ctx, c, d, words)
}
