package config

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/agent/tool/sandbox"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/session/tool"
)

// Tools says which calls of tools run, which ask a person, and which are refused.
type Tools struct {
	Rules   tool.Policy
	Builtin bool     // the built-in ones are in sessions whose clients name none
	PassEnv []string // variables that programs of tools get besides the usual ones
	Files   Files
	Sandbox sandbox.Sandbox // of commands

	Instructions Instructions // of projects
}

// Instructions says whose sessions get the instructions of their project.
type Instructions string

const (
	InstructLocal Instructions = ""    // those of the daemon's own user
	InstructAll   Instructions = "all" // also those of clients from the network
	InstructNone  Instructions = "off"
)

func (src *source) tools(f fileTools) (Tools, error) {
	c := Tools{Builtin: f.Builtin, PassEnv: f.PassEnv, Files: f.Files}
	c.Sandbox.Network = f.Network
	switch f.Instructions {
	case "", "local":
	case "all", "off":
		c.Instructions = Instructions(f.Instructions)
	default:
		return c, src.errorf("tools.project_instructions", "must be local, all or off")
	}
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
			return c, src.errorf("tools.pass_env", "must be names of environment variables")
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

// servers are those of [mcp_servers], by name.
func (src *source) servers(f map[string]toolhost.Server) (list []toolhost.Server, err error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		s := f[name]
		s.Name, s.CWD = name, src.beside(s.CWD)
		if len(s.Command) > 0 && filepath.Base(s.Command[0]) != s.Command[0] { // a path, relative to the file as all others
			s.Command = append([]string{src.beside(s.Command[0])}, s.Command[1:]...)
		}
		if wrong, ok := errors.AsType[*toolhost.ServerError](s.Check()); ok {
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
