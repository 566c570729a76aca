package daemon

import (
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
)

// Guard is what tools may not touch: the files of this daemon, and what the built-in lists and the config have. dir is the
// data directory, empty if nothing is stored.
func (o Options) Guard(c config.Config, dir string) *guard.Guard {
	files := c.Tools.Files
	g := guard.Config{Data: dir, Protected: append([]string{}, files.Protected...), Secret: files.Secret, Program: files.Program, Open: files.Open}
	if home, err := os.UserHomeDir(); err == nil {
		g.Home = home
	}
	for _, path := range []string{c.Path, o.ConfigPath, defaultConfigPath(), c.Serve.TLSKey, c.Serve.TLSCert} {
		if path == "" {
			continue
		}
		if path, err := filepath.Abs(path); err == nil {
			g.Protected = append(g.Protected, path)
		}
	}
	if dir != "" {
		if socket, err := findSocket(dir); err == nil {
			g.Protected = append(g.Protected, socket)
		}
		g.Protected = append(g.Protected, socketFolder(o.Getenv))
	}
	return guard.New(g)
}

// Sandbox is that of commands.
func (o Options) Sandbox(c config.Config) sandbox.Sandbox {
	box := c.Tools.Sandbox
	box.Confine = o.Confine
	return box
}
