package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session/bolt"
)

func (p *program) doctorCommand() *cobra.Command {
	var check, compact bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check config, keys and store, and list what is protected",
		Long: `Check the config, list the available keys, and read every page, record and entry of
the store. List what is protected from models and tools on this machine, and what is
not. A store in use is skipped; with --check, a copy of it is checked. A damaged store is
never changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if compact {
				return p.compactStore(cmd.Context())
			}
			well := p.checkConfig()
			well = p.checkSettings() && well
			p.tellProtection()
			well = p.checkStore(cmd.Context(), check) && well
			if !well {
				return errSaid
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "check the store also while a daemon uses it; needs disk space for a copy")
	cmd.Flags().BoolVar(&compact, "compact", false, "rewrite the store without its free space; needs disk space for both, and no running daemon")
	cmd.MarkFlagsMutuallyExclusive("check", "compact")
	return cmd
}

// finding prints one line of the report.
func (p *program) finding(what string, err error, text string) bool {
	if err != nil {
		fmt.Fprintf(p.out, "bad   %s: %v\n", what, err)
		return false
	}
	fmt.Fprintf(p.out, "ok    %s: %s\n", what, text)
	return true
}

func (p *program) checkConfig() bool {
	c, err := loadConfig(p.configPath, p.getenv)
	path := c.Path
	if path == "" {
		path = "no file; the defaults are in force"
	}
	if !p.finding("config", err, path) {
		return false
	}
	keys, err := p.checkKeys()
	for _, pc := range c.Providers {
		state := "needs no key"
		switch {
		case !pc.Key.IsZero():
			state = "key in " + pc.KeyEnv
			if pc.KeyEnvNow != "" {
				state += "; that name is deprecated, set " + pc.KeyEnvNow
			}
		case !pc.NeedsKey():
		case keys != nil && !keys.Grant(pc.ID).IsZero():
			state = "key or login in " + keysName
		case pc.KeyEnv != "":
			state = "no key; set " + pc.KeyEnv
		default:
			state = "not logged in"
		}
		p.finding("provider "+pc.ID, nil, state)
	}
	return p.checkServers(c) && err == nil
}

// checkServers looks for the programs of MCP servers where the daemon will look for them.
func (p *program) checkServers(c config.Config) bool {
	well := true
	for _, s := range c.Servers {
		if len(s.Command) > 0 {
			path, err := exec.LookPath(s.Command[0])
			well = p.finding("MCP server "+s.Name, err, path) && well
		}
	}
	return well
}

// checkKeys reads the file of keys, which may be missing.
func (p *program) checkKeys() (*login.Keys, error) {
	dir, err := p.data()
	if err != nil {
		return nil, nil // which the check of the store says
	}
	keys, err := openKeys(dir)
	if err != nil {
		p.finding("keys", err, "")
	}
	return keys, err
}

// checkSettings says nothing where clients have set nothing.
func (p *program) checkSettings() bool {
	dir, err := p.data()
	if err != nil {
		return true // checkStore tells
	}
	path := filepath.Join(dir, settingsName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return true
	}
	_, err = openSettings(config.Config{}, dir, slog.New(slog.DiscardHandler))
	return p.finding("settings", err, path)
}

func (p *program) checkStore(ctx context.Context, inUse bool) bool {
	dir, err := p.data()
	if err != nil {
		return p.finding("store", err, "")
	}
	if link, err := greet(ctx, dir); err == nil {
		if inUse {
			return p.checkInUse(ctx, dir, link)
		}
		s := link.Status
		return p.finding("daemon", link.Close(), fmt.Sprintf(
			"process %d, version %s, serves %s: %d other clients, %d turns running; doctor --check checks the store as well",
			s.PID, s.Version, dir, s.Clients-1, s.Running))
	}
	path := filepath.Join(dir, "thinkd.db")
	report, err := bolt.CheckFile(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return p.finding("store", nil, "none yet; it will be in "+dir)
	}
	if locked, ok := errors.AsType[*bolt.LockedError](err); ok {
		return p.finding("store", nil, fmt.Sprintf("%s is in use (%v): stop that process to have it checked", path, locked))
	}
	if err != nil {
		return p.finding("store", err, "")
	}
	return p.storeFinding("store", path, rpc.NewStoreReport(report))
}

// checkInUse has the daemon check its own store.
func (p *program) checkInUse(ctx context.Context, dir string, link *rpc.Link) bool {
	stop := context.AfterFunc(ctx, func() { link.Close() })
	report, err := link.Check()
	if !stop() {
		err = errInterrupted
	}
	if err := errors.Join(err, link.Close()); err != nil {
		return p.finding("store", err, "")
	}
	return p.storeFinding("store", filepath.Join(dir, "thinkd.db"), report)
}

func (p *program) compactStore(ctx context.Context) error {
	dir, err := p.data()
	if err != nil {
		return err
	}
	before, after, err := bolt.Compact(ctx, filepath.Join(dir, "thinkd.db"))
	if err != nil {
		return err
	}
	p.finding("store", nil, fmt.Sprintf("written anew: %d KiB, of which %d KiB were free, are now %d KiB; %d sessions, %d entries",
		before.Size>>10, before.Free>>10, after.Size>>10, after.Sessions, after.Entries))
	return nil
}
