package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

const settingsName = "settings.json"

// openSettings are the agents and the providers' defaults: the config's, and over them what clients have set, which is
// kept in the data directory. Without a directory it is kept nowhere. An error names the file.
func openSettings(c config, dir string, log *slog.Logger) (*registry.Settings, error) {
	defaults := make(map[string]registry.Defaults)
	for _, p := range c.Providers {
		defaults[p.ID] = p.Defaults
	}
	if dir == "" {
		return registry.OpenSettings(c.Agents, defaults, nil, nil)
	}
	path := filepath.Join(dir, settingsName)
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("settings: %w", err)
	}
	settings, err := registry.OpenSettings(c.Agents, defaults, kept, func(text []byte) error {
		err := replaceFile(path, text)
		if err != nil {
			log.Error("settings cannot be written", "err", err)
			return session.ErrReadOnly // what clients know of a disk that takes nothing
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("settings: %s: %w; mend the file, or remove it to begin anew", path, err)
	}
	return settings, nil
}

// replaceFile puts a file for this user alone in place of any other, whole or not at all; it is durable on return.
func replaceFile(path string, text []byte) (err error) {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(dir, name+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename durable. Windows has nothing of the kind, and needs nothing.
func syncDir(path string) error {
	if goos == "windows" {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
