package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

const settingsName = "settings.json"

// openSettings are the agents and the providers' defaults: the config's, and over them what clients have set, which is
// kept in the data directory. Without a directory it is kept nowhere. An error names the file.
func openSettings(c config.Config, dir string, log *slog.Logger) (*registry.Settings, error) {
	defaults := make(map[string]registry.Defaults)
	for _, p := range c.Providers {
		defaults[p.ID] = p.Defaults
	}
	if dir == "" {
		return registry.OpenSettings(c.Agents, defaults, nil, nil)
	}
	path := filepath.Join(dir, settingsName)
	kept, err := durable.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("settings: %w", err)
	}
	settings, err := registry.OpenSettings(c.Agents, defaults, kept, func(text []byte) error {
		err := durable.Replace(path, text)
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
