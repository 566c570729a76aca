package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/service"
)

func (p *program) serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Register the daemon with systemd or launchd: install, status, remove",
		Long: `Register the daemon with the service manager of your user. This needs no root.

With systemd, the manager listens on the socket of the data directory and starts the daemon
for the first connection. launchd keeps the daemon running. The daemon does not get the
variables of your shell: store keys with thinkd auth set.`,
	}
	add := func(name, short string, run func(ctx context.Context, s service.Program) error) {
		cmd.AddCommand(&cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.service()
			if err != nil {
				return err
			}
			return run(cmd.Context(), s)
		}})
	}
	add("install", "Install and start the service; a running daemon is stopped first", p.installService)
	add("status", "Show whether the service is installed and active", p.serviceStatus)
	add("remove", "Stop and remove the service; sessions and keys stay", func(ctx context.Context, s service.Program) error {
		removed, err := service.Remove(ctx, s)
		text := "No service is installed."
		if removed {
			text = "Removed the service."
		}
		if err == nil {
			_, err = fmt.Fprintln(p.out, text)
		}
		return err
	})
	return cmd
}

// service is what a service of this program starts: the flags of this command apply to it.
func (p *program) service() (s service.Program, err error) {
	if s.Path, err = os.Executable(); err != nil {
		return s, err
	}
	if s.Data, err = p.options.Data(); err != nil {
		return s, err
	}
	if p.options.ConfigPath != "" {
		if s.Config, err = filepath.Abs(p.options.ConfigPath); err != nil {
			return s, err
		}
	}
	s.Socket, err = p.options.Socket()
	return s, err
}

func (p *program) installService(ctx context.Context, s service.Program) error {
	files, err := service.Install(ctx, s, func() error {
		_, err := p.options.Stop(ctx, stopWait, func(turns int) { p.notice(fmt.Sprintf("waiting up to %v for %s", stopWait, count(turns, "turn"))) })
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "Installed the service:\n  %s\n", strings.Join(files, "\n  "))
	return err
}

func (p *program) serviceStatus(ctx context.Context, program service.Program) error {
	s, err := service.Status(ctx, program)
	if err != nil {
		return err
	}
	state := "not installed"
	switch {
	case s.Installed && !s.Current:
		state = "installed for another program, data directory or config"
	case s.Installed:
		state = "installed"
	}
	activity := "not active"
	if s.Active {
		activity = "active"
	}
	_, err = fmt.Fprintf(p.out, "%s  %s, %s\n", cmp.Or(s.Manager, "service"), state, activity)
	if err == nil && !s.Active {
		return errNotRunning
	}
	return err
}
