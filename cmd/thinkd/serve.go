package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) serveCommand() *cobra.Command {
	var addr string
	var rotate bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve WebSocket clients and the page until stopped",
		Long: `Serve the protocol on WebSockets at /rpc, and a page. The one line on standard output
is the page's address, with the token in its fragment. The token is kept in the file
"token" in the data directory.

An address that others can reach needs tls_cert and tls_key under [serve] in the
config, or behind_proxy = true. README.md shows how to come in through ssh instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rotate {
				return p.rotateToken()
			}
			return p.serve(cmd.Context(), addr)
		},
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:7717", "`ADDR` to listen on; port 0: any free one")
	cmd.Flags().BoolVar(&rotate, "rotate-token", false, "make a new token and end; who came in with the old one is disconnected")
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

// serve is the daemon in the foreground. It ends in order: no more clients, the turns, the clients, the store.
func (p *program) serve(ctx context.Context, addr string) error {
	dir, err := p.data()
	if err != nil {
		return err
	}
	d, err := p.open(ctx, nil)
	if err != nil {
		return err
	}
	c, err := loadConfig(p.configPath, p.getenv)
	if err != nil {
		return errors.Join(err, d.close())
	}
	l, err := openListener(c.Serve, dir, addr, d.server, d.log)
	if err != nil {
		return errors.Join(err, d.close())
	}
	_, err = fmt.Fprintln(p.out, l.URL())
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-l.failed:
		}
	}
	err = errors.Join(err, l.Refuse(), d.agents.Close())
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := d.server.Drain(told); err != nil {
		d.log.Warn("a client does not read; it is not told how its turns ended", "err", err)
	}
	return errors.Join(err, l.Close(), d.close())
}
