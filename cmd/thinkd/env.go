package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
)

// defaultConfigPath is where the configuration is looked for unasked; empty where the user has no such directory.
func defaultConfigPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "" // an account without a home, such as a service: there is no file to miss
	}
	return filepath.Join(dir, "thinkd", "config.toml")
}

// defaultDataDir is where the daemon keeps its store, unless told otherwise.
func defaultDataDir(goos string, getenv func(string) string) (string, error) {
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "thinkd"), nil
		}
		return "", errors.New("no data directory: %LocalAppData% is not set; name one with --data")
	case "darwin":
		if home := getenv("HOME"); home != "" {
			return filepath.Join(home, "Library", "Application Support", "thinkd"), nil
		}
	default:
		// A relative path is to be ignored (XDG Base Directory Specification).
		if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "thinkd"), nil
		}
		if home := getenv("HOME"); home != "" {
			return filepath.Join(home, ".local", "share", "thinkd"), nil
		}
	}
	return "", errors.New("no data directory: HOME is not set; name one with --data")
}

// readConfig reads the file at path; with no path the default one, which may be missing: read is empty then.
func readConfig(path string) (doc []byte, read string, err error) {
	given := path != ""
	if !given {
		if path = defaultConfigPath(); path == "" {
			return nil, "", nil
		}
	}
	doc, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !given:
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("config: %w", err)
	}
	return doc, path, nil
}

// loadConfig reads the config at path; with no path the default one, which may be missing.
func loadConfig(path string, getenv func(string) string) (config.Config, error) {
	doc, path, err := readConfig(path)
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(path, doc, getenv)
}
