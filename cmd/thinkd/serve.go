package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

func (p *program) serveCommand() *cobra.Command {
	var addr string
	var rotate, printToken bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve WebSocket clients and the page until stopped",
		Long: `Run the daemon in the foreground. Serve the protocol on WebSockets at /rpc, and the web
page. If a daemon is already running, it listens for as long as this command runs.
It prints the address of the page. In a terminal, the address contains the token. In a
pipe or a file, which may be a log, the next line has the path of the file with the token:
  http://127.0.0.1:7717/
  token: /home/me/.local/share/thinkd/token

An address that other machines can reach needs tls_cert and tls_key under [serve] in the
config, or behind_proxy = true. docs/serving.md shows how to connect through ssh instead.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rotate {
				return p.rotateToken()
			}
			return p.options.Serve(cmd.Context(), addr, p.announcePage(printToken), p.notice)
		},
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:7717", "`ADDR` to listen on; port 0 selects a free port")
	cmd.Flags().BoolVar(&printToken, "print-token", false, "print the address with the token into a pipe or a file as well")
	cmd.Flags().BoolVar(&rotate, "rotate-token", false, "write a new token and exit; clients that used the old one are disconnected")
	return cmd
}

// announcePage prints the address of the page: with the token if a person reads it, otherwise with the path of the token's file.
func (p *program) announcePage(printToken bool) func(url string) error {
	return func(url string) error {
		address, _, found := strings.Cut(url, "#token=")
		if !found || printToken || printable.IsTerminal(p.out) {
			return p.announce(url)
		}
		dir, err := p.options.Data()
		if err != nil {
			return err
		}
		return p.announce(address + "\ntoken: " + network.TokenPath(dir))
	}
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

// daemonCommand is the hidden command with which other commands start a daemon.
func (p *program) daemonCommand() *cobra.Command {
	var idle time.Duration
	var environment bool
	cmd := &cobra.Command{
		Use:    "daemon",
		Short:  "Be the daemon of the data directory; other commands start it when there is none",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("log-level") {
				p.options.LogLevel = "info" // into a file of its own
			}
			starter := daemon.Starter{Tell: p.announce, HangUp: func() error {
				if f, ok := printable.Bare(p.out).(*os.File); ok {
					return daemon.Silence(f)
				}
				return nil
			}}
			if environment {
				if err := daemon.TakeEnvironment(p.in); err != nil {
					return errors.Join(starter.Tell(err.Error()), errReported)
				}
			}
			err := p.options.Background(cmd.Context(), idle, starter)
			if errors.Is(err, daemon.ErrReported) {
				return errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&environment, daemon.EnvironmentFlag, false, "read further environment variables from standard input")
	cmd.Flags().DurationVar(&idle, "idle", 30*time.Second, "`TIME` without clients and turns after which it leaves; 0: never")
	return cmd
}
