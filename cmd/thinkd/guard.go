package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
)

// guard is what tools may not touch: the files of this daemon, and what the built-in lists and the config have. dir is the
// data directory, empty if nothing is stored.
func (p *program) guard(c config.Config, dir string) *guard.Guard {
	files := c.Tools.Files
	g := guard.Config{Data: dir, Protected: append([]string{}, files.Protected...), Secret: files.Secret, Program: files.Program, Open: files.Open}
	if home, err := os.UserHomeDir(); err == nil {
		g.Home = home
	}
	for _, path := range []string{c.Path, p.configPath, defaultConfigPath(), c.Serve.TLSKey, c.Serve.TLSCert} {
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
		g.Protected = append(g.Protected, socketFolder(p.getenv))
	}
	return guard.New(g)
}

// tellProtection prints what is protected from models and tools on this machine, and what is not.
func (p *program) tellProtection() {
	c, err := loadConfig(p.configPath, p.getenv)
	if err != nil {
		return // checkConfig has said so
	}
	dir, err := p.data()
	if err != nil {
		dir = ""
	}
	for _, kind := range []struct {
		danger tool.Danger
		text   string
	}{
		{tool.Protected, "no file tool may touch"},
		{tool.Secret, "each call of a file tool needs approval for"},
		{tool.Program, "a change needs approval also in tool mode edit:"},
	} {
		paths := make(map[string][]string)
		var abouts []string
		for _, place := range p.guard(c, dir).Places() {
			if place.Danger != kind.danger {
				continue
			}
			if paths[place.About] == nil {
				abouts = append(abouts, place.About)
			}
			paths[place.About] = append(paths[place.About], place.Path)
		}
		for _, about := range abouts {
			p.finding("files", nil, fmt.Sprintf("%s %s (%s)", kind.text, strings.Join(paths[about], ", "), about))
		}
	}
	if len(c.Tools.Files.Open) > 0 {
		p.unprotected("files", "no approval is needed for "+strings.Join(c.Tools.Files.Open, ", ")+" (tools.files.open)")
	}
	if why := hidden(); why == "" {
		p.finding("memory", nil, "other programs of your user can read neither the environment nor the memory of thinkd, and there are no core dumps")
	} else {
		p.unprotected("memory", "other programs of your user can read the environment and the memory of thinkd: "+why)
	}
	var exposed []string
	for _, pc := range c.Providers {
		if !pc.Key.IsZero() && pc.KeyEnv != "" {
			exposed = append(exposed, pc.KeyEnv)
		}
	}
	if len(exposed) > 0 {
		p.unprotected("keys", "every program of your user can read "+strings.Join(exposed, ", ")+" in the environment of your shell or editor; `thinkd auth set PROVIDER` keeps a key in a file instead")
	}
	p.tellSandbox(p.sandbox(c))
	p.unprotected("mcp servers", "they can read and change all that your user can")
}

// sandbox is that of commands.
func (p *program) sandbox(c config.Config) sandbox.Sandbox {
	box := c.Tools.Sandbox
	box.Confine = p.confine
	return box
}

func (p *program) tellSandbox(box sandbox.Sandbox) {
	kind, err := box.Choose()
	network := "have no network"
	if box.Network {
		network = "have the network (tools.sandbox_network)"
	}
	switch {
	case err != nil:
		p.unprotected("run", fmt.Sprintf("all commands are refused: the sandbox cannot be made: %v", err))
	case kind == sandbox.Off:
		p.unprotected("run", "commands can read and change all that your user can; only a sandbox holds them back, and there is none (tools.sandbox)")
	case kind == sandbox.Bwrap:
		p.finding("run", nil, "commands run in bubblewrap: they see no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
	case kind == sandbox.Landlock:
		p.finding("run", nil, "commands run under Landlock: they can read no protected files and no secret places of the home folder and the session's folder, write only in the session's folder, and "+network)
		p.unprotected("run", "under Landlock commands can list the names in secret places, and beside a secret in the session's folder they can make, rename and remove no files")
		for _, text := range sandbox.Lacks() {
			p.unprotected("run", "under Landlock of this kernel "+text)
		}
	}
}

// unprotected prints a line about what nothing protects. It is no fault of the installation.
func (p *program) unprotected(what, text string) { fmt.Fprintf(p.out, "note  %s: %s\n", what, text) }
