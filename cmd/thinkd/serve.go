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
	var rotate, printToken, open bool
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
			page := &servedPage{p: p, printToken: printToken, open: open}
			return errors.Join(p.options.Serve(cmd.Context(), addr, page.announce, p.notice), page.close())
		},
	}
	cmd.Flags().StringVar(&addr, "listen", "127.0.0.1:7717", "`ADDR` to listen on; port 0 selects a free port")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in a browser: that of $BROWSER, or the user's default")
	cmd.Flags().BoolVar(&printToken, "print-token", false, "print the address with the token into a pipe or a file as well")
	cmd.Flags().BoolVar(&rotate, "rotate-token", false, "write a new token and exit; clients that used the old one are disconnected")
	return cmd
}

// servedPage is the page of a listener.
type servedPage struct {
	p          *program
	printToken bool
	open       bool         // in a browser
	gone       func() error // removes what leads the browser there; nil: nothing does
}

// announce prints the address of the page: with the token if a person reads it, otherwise with the path of the token's file. A browser
// that does not start is no reason to stop serving.
func (s *servedPage) announce(url string) error {
	dir, err := s.p.options.Data()
	if err != nil {
		return err
	}
	line := url
	if address, _, found := strings.Cut(url, "#token="); found && !s.printToken && !printable.IsTerminal(s.p.out) {
		line = address + "\ntoken: " + network.TokenPath(dir)
	}
	if err := s.p.announce(line); err != nil || !s.open {
		return err
	}
	if s.gone, err = network.Browse(dir, url, s.p.getenv); err != nil {
		s.p.notice(err.Error() + ". Open the address yourself")
	}
	return nil
}

func (s *servedPage) close() error {
	if s.gone == nil {
		return nil
	}
	return s.gone()
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
