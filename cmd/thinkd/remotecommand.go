package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/remote"
)

// remoteCommands are the commands that --remote applies to.
var remoteCommands = []string{"prompt", "chat", "ask", "append", "continue", "resume", "models", "sessions", "parked", "usage", "quote", "auth", "stdio", "acp"}

// checkRemote refuses --remote for a command that works on this machine.
func (p *program) checkRemote(cmd *cobra.Command) error {
	if p.remote == "" {
		return nil
	}
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if !slices.Contains(remoteCommands, top.Name()) {
		return fmt.Errorf("--remote has no effect on thinkd %s; it is for %s", top.Name(), strings.Join(remoteCommands, ", "))
	}
	return nil
}

func (p *program) remoteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote",
		Short: "Log in to daemons of other machines, for commands with --remote",
		Args:  noCommand,
		RunE:  help,
	}
	cmd.AddCommand(p.remoteLoginCommand(), p.remoteLogoutCommand(), p.remoteListCommand())
	return cmd
}

func (p *program) remoteLoginCommand() *cobra.Command {
	var token bool
	cmd := &cobra.Command{
		Use:   "login URL",
		Short: "Log in to a daemon, at its OpenID provider or with an API token",
		Long: `Log in to a daemon. Its OpenID provider shows a code to be entered in a browser, on any
machine. With --token, an API token is read from standard input instead. Then commands
with --remote URL work on that daemon.`,
		Example: `  thinkd remote login https://thinkd.example.com
  thinkd prompt --remote https://thinkd.example.com "Hello"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := remote.ParseAddress(args[0])
			if err != nil {
				return err
			}
			logins, err := p.logins()
			if err != nil {
				return err
			}
			return p.remoteLogin(cmd.Context(), logins, at, token)
		},
	}
	cmd.Flags().BoolVar(&token, "token", false, "read an API token from standard input")
	return cmd
}

// remoteLogin logs in to a daemon, with a token from standard input or in a browser.
func (p *program) remoteLogin(ctx context.Context, logins remote.Logins, at remote.Address, token bool) (err error) {
	if token {
		err = p.keepToken(logins, at)
	} else {
		err = logins.Login(ctx, at, func(do remote.Prompt) {
			fmt.Fprintf(p.out, "Open %s\nand enter the code %s\n", do.URL, do.Code)
		})
	}
	if err != nil {
		return err
	}
	link, err := logins.Connect(ctx, at, false)
	if err != nil {
		return fmt.Errorf("the login was kept, but the daemon does not take it: %w", err)
	}
	fmt.Fprintf(p.out, "logged in to %s\n", at)
	return link.Close()
}

// loginFirst logs in to the daemon of --remote if there is no login that it takes. done: it has, and there is nothing else to do.
func (p *program) loginFirst(ctx context.Context) (done bool, err error) {
	if p.remote == "" {
		return false, nil
	}
	at, err := remote.ParseAddress(p.remote)
	if err != nil {
		return false, err
	}
	logins, err := p.logins()
	if err != nil {
		return false, err
	}
	link, err := logins.Connect(ctx, at, false)
	switch {
	case err == nil:
		return false, link.Close()
	case errors.Is(err, remote.ErrLogIn):
		return true, p.remoteLogin(ctx, logins, at, false)
	}
	return false, err
}

// maxTokenInput is more than any token has.
const maxTokenInput = 64 << 10

func (p *program) keepToken(logins remote.Logins, at remote.Address) error {
	text, err := bufio.NewReader(io.LimitReader(p.in, maxTokenInput)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the token: %w", err)
	}
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("no token on standard input")
	}
	return logins.SetToken(at, text)
}

func (p *program) remoteLogoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout URL", Short: "Delete the login to a daemon, and revoke it at its provider", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := remote.ParseAddress(args[0])
			if err != nil {
				return err
			}
			logins, err := p.logins()
			if err != nil {
				return err
			}
			was, err := logins.Logout(cmd.Context(), at)
			switch {
			case errors.Is(err, remote.ErrNotRevoked): // the login has ended here, which is what was asked for
				fmt.Fprintf(p.errOut, "%v\n", err)
				return nil
			case err == nil && !was:
				return fmt.Errorf("there is no login to %s", at)
			}
			return err
		},
	}
}

func (p *program) remoteListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the daemons that there is a login to", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			logins, err := p.logins()
			if err != nil {
				return err
			}
			list, err := logins.List()
			for _, at := range list {
				fmt.Fprintln(p.out, at)
			}
			return err
		},
	}
}
