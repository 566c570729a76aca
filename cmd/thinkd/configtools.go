package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
)

// toolsConfig says which calls of tools run, which ask a person, and which are refused.
type toolsConfig struct {
	Rules       tool.Policy
	ConfirmTime time.Duration // until silence is a no
	Builtin     bool          // the built-in ones are in sessions whose clients name none
	PassEnv     []string      // variables that programs of tools get besides the usual ones
	Files       guardedFiles
	Sandbox     sandbox.Sandbox // of commands
}

// guardedFiles are the operator's additions to the built-in lists of package guard.
type guardedFiles struct {
	Protected []string `toml:"protected"`
	Secret    []string `toml:"secret"`
	Program   []string `toml:"program"`
	Open      []string `toml:"open"`
}

// fileTools is [tools] as written.
type fileTools struct {
	Builtin     bool              `toml:"builtin"`
	PassEnv     []string          `toml:"pass_env"`
	ConfirmTime any               `toml:"confirm_time"` // see parseTime
	Names       map[string]string `toml:"names"`
	Effects     map[string]string `toml:"effects"`
	Files       guardedFiles      `toml:"files"`
	Sandbox     string            `toml:"sandbox"`
	Network     bool              `toml:"sandbox_network"`
}

func (src *source) tools(f fileTools) (toolsConfig, error) {
	c := toolsConfig{ConfirmTime: 5 * time.Minute, Builtin: f.Builtin, PassEnv: f.PassEnv, Files: f.Files}
	c.Sandbox.Network = f.Network
	if f.Sandbox != "" {
		if err := c.Sandbox.Kind.UnmarshalText([]byte(f.Sandbox)); err != nil {
			return c, src.errorf("tools.sandbox", "%w", err)
		}
	}
	for _, list := range []struct {
		key   string
		paths []string
	}{{"protected", f.Files.Protected}, {"secret", f.Files.Secret}, {"program", f.Files.Program}, {"open", f.Files.Open}} {
		for _, path := range list.paths {
			if err := guard.CheckPath(path); err != nil {
				return c, src.errorf("tools.files."+list.key, "%w", err)
			}
		}
	}
	for _, name := range f.PassEnv {
		if name == "" || !variableName().MatchString(name) {
			return c, src.errorf("tools.pass_env", "wants names of environment variables")
		}
	}
	if f.ConfirmTime != nil {
		var err error
		if c.ConfirmTime, err = parseTime(f.ConfirmTime); err != nil {
			return c, src.errorf("tools.confirm_time", "%w", err)
		}
		if c.ConfirmTime <= 0 {
			return c, src.errorf("tools.confirm_time", "wants more than nothing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Names)) {
		var r tool.Rule
		if err := r.UnmarshalText([]byte(f.Names[name])); err != nil {
			return c, src.errorf("tools.names."+name, "%w", err)
		}
		if c.Rules.Names == nil {
			c.Rules.Names = make(map[string]tool.Rule)
		}
		c.Rules.Names[name] = r
	}
	for _, word := range slices.Sorted(maps.Keys(f.Effects)) {
		var e tool.Effect
		if err := e.UnmarshalText([]byte(word)); err != nil {
			return c, src.errorf("tools.effects."+word, "%w", err)
		}
		var r tool.Rule
		if err := r.UnmarshalText([]byte(f.Effects[word])); err != nil {
			return c, src.errorf("tools.effects."+word, "%w", err)
		}
		if c.Rules.Effects == nil {
			c.Rules.Effects = make(map[tool.Effect]tool.Rule)
		}
		c.Rules.Effects[e] = r
	}
	return c, nil
}

// fileServer is a server of tools as written.
type fileServer struct {
	Command []string          `toml:"command"`
	Env     map[string]string `toml:"env"`
	CWD     string            `toml:"cwd"`
	URL     string            `toml:"url"`
	Headers map[string]string `toml:"headers"`
	Tools   []string          `toml:"tools"`

	TrustHints bool `toml:"trust_hints"`
}

// servers are those of [mcp_servers], by name.
func (src *source) servers(f map[string]fileServer) (list []tool.Server, err error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		w := f[name]
		if len(w.Command) > 0 && filepath.Base(w.Command[0]) != w.Command[0] { // a path, as other paths of the file: the daemon's folder is another than the shell's
			w.Command = append([]string{src.beside(w.Command[0])}, w.Command[1:]...)
		}
		s := tool.Server{Name: name, Command: w.Command, Env: w.Env, CWD: src.beside(w.CWD), URL: w.URL, Headers: w.Headers, Tools: w.Tools, TrustHints: w.TrustHints}
		if wrong, ok := errors.AsType[*tool.ServerError](s.Check()); ok {
			key := "mcp_servers." + name
			if wrong.Member != "name" {
				key += "." + wrong.Member
			}
			return nil, src.errorf(key, "%w", wrong.Err)
		}
		list = append(list, s)
	}
	return list, nil
}
