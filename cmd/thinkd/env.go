package main

import (
	"errors"
	"os"
	"path/filepath"
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
