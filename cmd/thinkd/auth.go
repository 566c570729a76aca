package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/thinkd/thinkd/cmd/thinkd/echo"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/cmd/thinkd/welcome"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

func (p *program) authCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "List the providers that have a key or a login; set, log in, log out",
		Args:  noCommand,
		RunE: p.onDaemon(func(link *door.Link, _ []string) error {
			return call(p, link, "auth/status", present(), asJSON, p.showAuth)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of auth/status as JSON")
	set := &cobra.Command{
		Use:   "set PROVIDER",
		Short: "Store a key, read from standard input",
		Args:  cobra.ExactArgs(1),
	}
	name := nameFlag(set)
	set.RunE = p.onDaemon(func(link *door.Link, args []string) error {
		return p.askKey(set.Context(), link, args[0], *name)
	})
	logout := &cobra.Command{
		Use:   "logout PROVIDER",
		Short: "Delete the key or login of a provider",
		Args:  cobra.ExactArgs(1),
	}
	gone := nameFlag(logout)
	logout.RunE = p.onDaemon(func(link *door.Link, args []string) error { return p.setKey(link, args[0], *gone, "") })
	cmd.AddCommand(set, logout,
		&cobra.Command{
			Use:   "login PROVIDER",
			Short: "Log in to a plan (copilot, chatgpt) or to an MCP server (mcp:NAME)",
			Args:  cobra.ExactArgs(1),
			RunE:  p.onDaemon(func(link *door.Link, args []string) error { return p.logIn(link, args[0]) }),
		},
	)
	return cmd
}

// nameFlag is the flag that names a further key.
func nameFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("name", "", "name of a further key, for fallbacks")
}

// authState is a provider's entry in auth/status.
type authState struct {
	Provider, State, Source string
	Login                   bool
	Limits                  []quota.Limit
	Keys                    []struct{ Name string }
}

// authList is what auth/status returns.
type authList struct{ Providers []authState }

func (p *program) showAuth(list authList) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tSTATE\tFROM\t")
	for _, s := range list.Providers {
		hint := ""
		if s.Login && s.State != "ready" {
			hint = "thinkd auth login " + s.Provider
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Provider, s.State, s.Source, hint)
		for _, l := range s.Limits {
			fmt.Fprintf(w, "\t\t\t%s\n", printable.Clean(l.Words()))
		}
		for _, key := range s.Keys {
			fmt.Fprintf(w, "%s\t%s\t%s\tkey %s\n", s.Provider, "ready", "keys", key.Name)
		}
	}
	return w.Flush()
}

// person sits at this program's terminal.
func (p *program) person(link *door.Link) welcome.Person {
	return welcome.Person{
		Out: p.out, Line: p.readLine,
		Store: func(ctx context.Context, provider string) error { return p.askKey(ctx, link, provider, "") },
		LogIn: func(_ context.Context, provider string) error { return p.logIn(link, provider) },
	}
}

// askKey reads a provider's key and stores it. name is that of a further key; empty: the first. It asks for no key that nobody takes.
func (p *program) askKey(ctx context.Context, link *door.Link, provider, name string) error {
	if err := link.Call("models/list", present("provider", provider), nil); err != nil {
		return err // there is no such provider
	}
	key, err := p.readKey(ctx, provider)
	if err != nil {
		return err
	}
	return p.setKey(link, provider, name, key)
}

func (p *program) setKey(link *door.Link, provider, name, key string) error {
	var s authState
	params := map[string]any{"provider": provider, "key": key}
	if name != "" {
		params["name"] = name
	}
	if err := link.Call("auth/set_key", params, &s); err != nil {
		return err
	}
	if name != "" {
		state := "removed"
		if key != "" {
			state = "ready"
		}
		fmt.Fprintf(p.out, "%s, key %s: %s\n", provider, name, state)
		return nil
	}
	p.sayState(s)
	return nil
}

func (p *program) sayState(s authState) {
	text := s.State
	if s.Source == "environment" {
		text += " (the environment's key applies)"
	}
	fmt.Fprintf(p.out, "%s: %s\n", s.Provider, text)
}

// maxKeyInput is more than any key has.
const maxKeyInput = 64 << 10

// readKey reads a key: one line. It is no argument, since anybody can see those.
func (p *program) readKey(ctx context.Context, provider string) (string, error) {
	line, err := p.keyLine(ctx, provider)
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("reading the key: %w", err)
	}
	key := strings.TrimSpace(line)
	if key == "" {
		return "", errors.New("no key on standard input; `thinkd auth logout` removes one")
	}
	return key, nil
}

// keyLine reads the line of a key. In a terminal, it asks for it, and the terminal does not show it.
func (p *program) keyLine(ctx context.Context, provider string) (line string, err error) {
	f, ok := p.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return await(ctx, func() (string, error) { return bufio.NewReader(io.LimitReader(p.in, maxKeyInput)).ReadString('\n') })
	}
	fd := int(f.Fd())
	restore, err := echo.Off(fd) // before the question, which somebody may answer at once
	if err != nil {
		return "", err
	}
	defer func() { // also after an interrupt
		if failed := restore(); err == nil {
			err = failed
		}
	}()
	fmt.Fprintf(p.errOut, "key for %s: ", provider)
	defer fmt.Fprintln(p.errOut)
	return await(ctx, func() (string, error) {
		typed, err := term.ReadPassword(fd)
		return string(typed), err
	})
}

// readLine reads a line from a terminal, which returns one line for each read. Its error is io.EOF if there is no more.
func (p *program) readLine(ctx context.Context) (string, error) {
	return await(ctx, func() (string, error) { return bufio.NewReader(p.in).ReadString('\n') })
}

// await waits for a read that cannot be interrupted, or for the end of ctx.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() { // ends with its line, or with the process, which ends when nobody waits any more
		text, err := read()
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errInterrupted
	case l := <-lines:
		return l.text, l.err
	}
}

// logIn shows what to do and waits until the login has ended. When this command ends before, so does the login.
func (p *program) logIn(link *door.Link, provider string) error {
	if err := link.Call("auth/login", map[string]any{"provider": provider}, nil); err != nil {
		return err
	}
	for {
		n, err := link.Next()
		if err != nil {
			return err
		}
		if n.Method != "auth_update" {
			continue
		}
		var u struct {
			State, URL, Code string
			Error            *conn.Error
		}
		if err := json.Unmarshal(n.Params, &u); err != nil {
			return fmt.Errorf("auth_update: %w", err)
		}
		switch u.State {
		case "waiting":
			fmt.Fprintf(p.out, "Open %s\n", u.URL)
			if u.Code != "" {
				fmt.Fprintf(p.out, "and enter the code %s\n", u.Code)
			}
		case "ready":
			fmt.Fprintf(p.out, "%s: logged in\n", provider)
			return nil
		case "failed":
			return u.Error
		}
	}
}
