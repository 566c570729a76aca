package completion

import (
	"fmt"
	"strings"

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
	return map[string]Kind{"model": Models, "session": Sessions, "agent": Agents, "provider": Providers}[flag]
}

// OfArgument returns what the first argument of a command names, by the usage of the command, such as "continue ID".
func OfArgument(use string) Kind {
	words := strings.Fields(use)
	if len(words) < 2 {
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

// Values lists the values of a kind, each with a tab and a description if it has one. call makes a request to the daemon.
func Values(kind Kind, call func(method string, params, result any) error) (list []string, err error) {
	add := func(value, about string) {
		if about = strings.Join(strings.Fields(printable.Clean(about)), " "); about != "" {
			value += "\t" + about
		}
		list = append(list, value)
	}
	switch kind {
	case Models:
		var r struct {
			Models []struct{ Provider, ID, Name string }
		}
		err = call("models/list", map[string]any{}, &r)
		for _, m := range r.Models {
			add(m.Provider+"/"+m.ID, m.Name)
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
			add(s.ID, s.Title)
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
			add(a.Name, a.Model)
		}
	case Providers:
		var r struct {
			Providers []struct{ Provider, State string }
		}
		err = call("auth/status", map[string]any{}, &r)
		for _, p := range r.Providers {
			add(p.Provider, p.State)
		}
	default:
		err = fmt.Errorf("nothing lists %q", kind)
	}
	return list, err
}
