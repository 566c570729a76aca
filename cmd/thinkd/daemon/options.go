package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/lmittmann/tint"

	"github.com/thinkd/thinkd/agent/tool/process"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// Options say which daemon a process is, looks for or starts. Members that are empty have their defaults.
type Options struct {
	Version    string                   // of this program
	Getenv     func(name string) string // the environment
	ConfigPath string                   // the config file; empty: the default one, which may be missing
	DataDir    string                   // empty: the default one
	LogLevel   string                   // debug, info, warn or error
	LogFormat  string                   // text or json
	LogTo      io.Writer                // where records go

	Supervisor process.Supervisor // of the processes of tools; nil: there is none
	Confine    []string           // see [sandbox.Sandbox]
}

// DefaultLogLevel is that of commands. A daemon in the background has "info".
const DefaultLogLevel = "warn"

// Data is the data directory, as an absolute path. It may not exist yet.
func (o Options) Data() (string, error) {
	if o.DataDir != "" {
		return filepath.Abs(o.DataDir)
	}
	return defaultDataDir(goos, o.Getenv)
}

// Config reads and checks the config.
func (o Options) Config() (config.Config, error) {
	doc, path, err := o.configFile()
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(path, doc, o.Getenv)
}

// configFile reads the config's file. A file that is not named may be missing: path is empty then.
func (o Options) configFile() (doc []byte, path string, err error) {
	if path = o.ConfigPath; path == "" {
		if path = defaultConfigPath(); path == "" {
			return nil, "", nil
		}
	}
	doc, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.ConfigPath == "":
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("config: %w", err)
	}
	return doc, path, nil
}

// Logger writes records as the options say. Its error names the flag that is wrong.
func (o Options) Logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q is none of debug, info, warn, error", o.LogLevel)
	}
	switch o.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(o.LogTo, &slog.HandlerOptions{Level: level})), nil
	case "text":
		options := &tint.Options{Level: level, TimeFormat: "15:04:05.000"}
		if !printable.IsTerminal(o.LogTo) {
			options.TimeFormat, options.NoColor = "2006-01-02 15:04:05.000", true
		}
		return slog.New(tint.NewTextHandler(printable.Bare(o.LogTo), options)), nil
	}
	return nil, fmt.Errorf("--log-format %q is none of text, json", o.LogFormat)
}

const goos = runtime.GOOS

// defaultConfigPath is where the configuration is looked for unasked; empty where the user has no such directory.
func defaultConfigPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "" // an account without a home, such as a service: there is no file to miss
	}
	return filepath.Join(dir, "thinkd", "config.toml")
}

// defaultDataDir is where the daemon keeps its store by default.
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
