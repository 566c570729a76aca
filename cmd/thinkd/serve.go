package main

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session/bolt"
)

func (p *program) serveCommand() *cobra.Command {
	var addr string
	var rotate bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve WebSocket clients and the page until stopped",
		Long: `Run the daemon in the foreground. Serve the protocol on WebSockets at /rpc, and the web
page. If a daemon is already running, it listens for as long as this command runs.
Standard output has one line: the address of the page, with the token in its fragment.
The token is stored in the file "token" in the data directory.

An address that other machines can reach needs tls_cert and tls_key under [serve] in the
config, or behind_proxy = true. docs/serving.md shows how to connect through ssh instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rotate {
				return p.rotateToken()
			}
			return p.serve(cmd.Context(), addr)
		},
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:7717", "`ADDR` to listen on; port 0 selects a free port")
	cmd.Flags().BoolVar(&rotate, "rotate-token", false, "write a new token and exit; clients that used the old one are disconnected")
	return cmd
}

// rotateToken replaces the token. Listeners see it by themselves.
func (p *program) rotateToken() error {
	dir, err := p.data()
	if err != nil {
		return err
	}
	if err := writeToken(dir); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	_, err = fmt.Fprintf(p.errOut, "the token in %s is new; the old one is void, and its clients are disconnected\n", dir)
	return err
}

// serve is the daemon in the foreground. Where one runs already, that is asked to listen for as long as this process
// lives; when it goes, this process takes its place, at the same address.
func (p *program) serve(ctx context.Context, addr string) error {
	dir, err := p.data()
	if err != nil {
		return err
	}
	told := false
	tell := func(url string) error {
		if told {
			return nil
		}
		told = true
		if u, err := neturl.Parse(url); err == nil && strings.HasSuffix(addr, ":0") {
			addr = u.Host // the port that was free is the one to come back to
		}
		return p.announce(url)
	}
	for {
		h, err := p.host(ctx, dir, 0)
		if _, other := errors.AsType[*bolt.LockedError](err); !other {
			if err != nil {
				return err
			}
			return h.serve(ctx, addr, tell)
		}
		if err := p.serveThere(ctx, addr, tell); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// serve runs the daemon and its listener.
func (h *host) serve(ctx context.Context, addr string, tell func(url string) error) error {
	url, _, err := h.listen(addr)
	if err == nil {
		err = tell(url)
	}
	if err != nil {
		return errors.Join(err, h.close(new(sync.WaitGroup)))
	}
	return h.run(ctx)
}

// serveThere has the running daemon listen until ctx ends (nil) or that daemon does (nil).
func (p *program) serveThere(ctx context.Context, addr string, tell func(url string) error) error {
	link, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer link.Close()
	url, err := link.Listen(addr)
	if errors.Is(err, rpc.ErrDaemonGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := tell(url); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { link.Close() })()
	for err == nil {
		_, err = link.Next()
	}
	return nil
}
