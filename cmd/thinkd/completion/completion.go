package completion

import (
	"context"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// Kind is what a flag or an argument names.
type Kind string

const (
	Models    Kind = "models"
	Sessions  Kind = "sessions"
	Agents    Kind = "agents"
	Providers Kind = "providers"
)

// sessionsMost is how many sessions are offered, the newest first.
const sessionsMost = 50

// Of returns what a flag with this name takes; empty: nothing that the daemon lists.
func Of(flag string) Kind {
	return map[string]Kind{"model": Models, "session": Sessions, "agent": Agents, "provider": Providers, "vendor": Providers}[flag]
}

// OfArgument returns what the first argument of a command names, by the usage of the command, such as "continue ID".
func OfArgument(use string) Kind {
	words := strings.Fields(use)
	if len(words) < 2 || words[0] == "revoke" { // its ID is that of a token
		return ""
	}
	switch strings.TrimSuffix(words[1], "...") {
	case "ID":
		return Sessions
	case "PROVIDER":
		return Providers
	}
	return ""
}

// List returns the values of a kind, each with a tab and a description if it has one. It asks the daemon that runs. If none runs, it
// reads the files that a daemon would read, and starts none: a shell must not start one because somebody pressed Tab.
func List(ctx context.Context, kind Kind, options daemon.Options) ([]string, error) {
	dir, err := options.Data()
	if err != nil {
		return nil, err
	}
	link, err := daemon.Greet(ctx, dir)
	if err != nil { // no daemon runs
		disk, err := options.ReadDisk()
		if err != nil {
			return nil, err
		}
		return stored(ctx, kind, disk)
	}
	defer link.Close()
	return listed(kind, link.Call)
}

// values are lines for a shell.
type values []string

func (v *values) add(value, about string) {
	if about = strings.Join(strings.Fields(printable.Clean(about)), " "); about != "" {
		value += "\t" + about
	}
	*v = append(*v, value)
}

// listed lists the values that a daemon knows. call makes a request to it.
func listed(kind Kind, call func(method string, params, result any) error) (list values, err error) {
	switch kind {
	case Models:
		var r struct {
			Models []struct{ Provider, ID, Name string }
		}
		err = call("models/list", map[string]any{}, &r)
		for _, m := range r.Models {
			list.add(m.Provider+"/"+m.ID, m.Name)
		}
	case Sessions:
		var r struct {
			Sessions []struct {
				ID    string `json:"session_id"`
				Title string
			}
		}
		err = call("session/list", map[string]any{"limit": sessionsMost}, &r)
		for _, s := range r.Sessions {
			list.add(s.ID, s.Title)
		}
	case Agents:
		var r struct {
			Agents []struct {
				Name  string `json:"agent"`
				Model string `json:"model_id"`
			}
		}
		err = call("agents/list", map[string]any{}, &r)
		for _, a := range r.Agents {
			list.add(a.Name, a.Model)
		}
	case Providers:
		var r struct {
			Providers []struct{ Provider, State string }
		}
		err = call("auth/status", map[string]any{}, &r)
		for _, p := range r.Providers {
			list.add(p.Provider, p.State)
		}
	default:
		err = fmt.Errorf("nothing lists %q", kind)
	}
	return list, err
}

// stored lists the values that are on disk.
func stored(ctx context.Context, kind Kind, disk daemon.OnDisk) (list values, err error) {
	switch kind {
	case Models:
		models, err := disk.Models()
		for _, m := range models {
			list.add(m.Provider+"/"+m.ID, m.Name)
		}
		return list, err
	case Sessions:
		sessions, err := disk.Sessions(ctx, sessionsMost)
		for _, s := range sessions {
			list.add(string(s.ID), s.Title)
		}
		return list, err
	case Agents:
		agents, err := disk.Agents()
		for _, a := range agents {
			list.add(a.Name, a.Model)
		}
		return list, err
	case Providers:
		for _, id := range disk.Providers() {
			list.add(id, "")
		}
		return list, nil
	}
	return nil, fmt.Errorf("nothing lists %q", kind)
}
