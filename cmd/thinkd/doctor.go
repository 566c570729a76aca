package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/session"
)

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the config, which keys are there, and the store",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			well := p.checkConfig()
			well = p.checkSettings() && well
			well = p.checkStore(cmd.Context()) && well
			if !well {
				return errSaid
			}
			return nil
		},
	}
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
		case !pc.needsKey():
		case keys != nil && !keys.Grant(pc.ID).IsZero():
			state = "key or login in " + keysName
		case pc.KeyEnv != "":
			state = "no key; set " + pc.KeyEnv
		default:
			state = "not logged in"
		}
		p.finding("provider "+pc.ID, nil, state)
	}
	return err == nil
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
	_, err = openSettings(config{}, dir, slog.New(slog.DiscardHandler))
	return p.finding("settings", err, path)
}

func (p *program) checkStore(ctx context.Context) bool {
	dir, err := p.data()
	if err != nil {
		return p.finding("store", err, "")
	}
	if link, err := greet(ctx, dir); err == nil {
		s := link.Status
		return p.finding("daemon", link.Close(), fmt.Sprintf(
			"process %d, version %s, serves %s: %d other clients, %d turns running; end it to have the store checked",
			s.PID, s.Version, dir, s.Clients-1, s.Running))
	}
	path := filepath.Join(dir, "thinkd.db")
	report, err := session.CheckFile(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return p.finding("store", nil, "none yet; it will be in "+dir)
	}
	if locked, ok := errors.AsType[*session.LockedError](err); ok {
		return p.finding("store", nil, fmt.Sprintf("%s is in use (%v): stop that process to have it checked", path, locked))
	}
	well := p.finding("store", err, fmt.Sprintf("%s: %d sessions, %d entries", path, report.Sessions, report.Entries))
	for _, d := range report.Damaged {
		well = p.finding("session "+string(d.ID), d.Err, "") && well
	}
	return well
}
