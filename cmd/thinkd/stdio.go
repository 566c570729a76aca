package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/cmd/thinkd/remote"
	"github.com/thinkd/thinkd/cmd/thinkd/welcome"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Speak the protocol on standard input and output, for editors and scripts",
		Long: `Speak JSON-RPC 2.0 on standard input and output. Messages are lines or have
Content-Length headers: thinkd uses the framing of the client's first message.
protocol.md describes the methods.

This command is a pipe to the daemon of the data directory, and starts the daemon if
none is running. The end of standard input closes the pipe. It does not stop a turn.
With --remote URL, it is a pipe to the daemon of another machine, and reconnects.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.door(cmd.Context(), door.Door{})
		},
	}
}

// doorStart is for how long a door may take what processors there are: it starts, perhaps a daemon as well, and each thread has
// something to do. With one processor the client's first answer took a tenth longer, since a read that waits for more of its
// input holds the processor until Go notices.
const doorStart = 250 * time.Millisecond

// door opens a door on standard input and output until its client leaves, or the process gets a signal to end.
//
// A door copies, one message after another, and wants one processor. With more, Go wakes a second thread for each message
// that comes, which finds nothing to do and sleeps again: that was half of the CPU of a delta here, and a sixth of its way.
func (p *program) door(ctx context.Context, d door.Door) error {
	started := time.AfterFunc(doorStart, func() { runtime.GOMAXPROCS(1) })
	defer started.Stop()
	d.Client, d.Dial = conn.Stdio(p.in, printable.Bare(p.out)), p.connect
	if p.remote != "" {
		d.Dial = p.again(d.ACP)
	}
	err := d.Run(ctx)
	if ctx.Err() != nil {
		return nil // by a signal
	}
	return err
}

// Pauses between tries to reach a daemon of another machine again.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second
)

// again connects to the daemon of --remote. The first try counts. Later ones are repeated as long as the client is there, because networks
// come back; a login that is over does not.
func (p *program) again(editor bool) func(context.Context) (*door.Link, error) {
	connected := false
	return func(ctx context.Context) (*door.Link, error) {
		for pause := firstPause; ; pause = min(2*pause, lastPause) {
			link, err := p.connectRemote(ctx, editor)
			if err == nil {
				connected = true
			}
			if err == nil || !connected || errors.Is(err, remote.ErrLogIn) {
				return link, err
			}
			timer := time.NewTimer(pause/2 + rand.N(pause/2))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return nil, context.Cause(ctx)
			}
		}
	}
}

func (p *program) acpCommand() *cobra.Command {
	var login bool
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Speak the Agent Client Protocol on standard input and output, for editors",
		Long: `Speak the Agent Client Protocol (ACP), version 1, on standard input and output:
one message per line. docs/editors.md has the set-up for each editor.

This command is a pipe to the daemon of the data directory, and starts the daemon if
none is running. The end of standard input closes the pipe. It does not stop a turn.
With --remote URL, it is a pipe to the daemon of another machine, and reconnects.

With --login, it asks for the key of a provider, or logs in. Editors run this in a terminal.
With --remote too, it first logs in to that daemon, as thinkd remote login does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if login {
				if done, err := p.loginFirst(cmd.Context()); done || err != nil {
					return err
				}
				return p.onDaemon(func(link *door.Link, _ []string) error { return welcome.Add(cmd.Context(), link, p.person(link)) })(cmd, args)
			}
			return p.door(cmd.Context(), door.Door{ACP: true})
		},
	}
	cmd.Flags().BoolVar(&login, "login", false, "ask for the key of a provider, or log in, and end")
	return cmd
}
