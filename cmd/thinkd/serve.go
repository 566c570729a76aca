package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/network"
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
			return p.options.Serve(cmd.Context(), addr, p.announce, p.notice)
		},
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:7717", "`ADDR` to listen on; port 0 selects a free port")
	cmd.Flags().BoolVar(&rotate, "rotate-token", false, "write a new token and exit; clients that used the old one are disconnected")
	return cmd
}

// rotateToken replaces the token. Listeners see it by themselves.
func (p *program) rotateToken() error {
	dir, err := p.options.Data()
	if err != nil {
		return err
	}
	if err := network.WriteToken(dir); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	_, err = fmt.Fprintf(p.errOut, "the token in %s is new; the old one is void, and its clients are disconnected\n", dir)
	return err
}
