package service

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/arguments"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// New has a client's choices for a new session. All members are optional.
type New struct {
	Model     string // an id, or what the catalog finds by it
	Level     provider.Level
	Fallback  provider.Policy
	Display   provider.Display
	System    string
	Agent     string // by name
	CWD       string
	Title     string
	Tools     *Choice // nil: what the operator's config says
	Servers   []toolhost.Server
	Options   *provider.Options // nil: none
	KeepAlive provider.KeepAlive
	OnOther   provider.OtherModel
	Fallbacks *[]registry.FallbackModel // nil: those of the agent, or of the config
	Egress    []string                  // labels of providers that the session may reach
	AskAbove  *float64                  // USD; nil: that of the agent, or of the config
	Rules     tool.Policy               // it makes the operator's stricter
	Storage   provider.ThinkingStorage  // of thinking
	Ephemeral bool                      // nothing of it is kept on disk
}

// ReadOptions reads the options that a client asks for. Unknown members have no effect: the answer to the request lists them, as in all
// params. Errors are *[provider.OptionError].
func ReadOptions(data []byte) (provider.Options, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err == nil {
		names := provider.OptionNames()
		maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
		if data, err = json.Marshal(members); err != nil {
			return provider.Options{}, err
		}
	}
	o, err := provider.ParseOptions(data)
	if err == nil && o.Schema != nil {
		if wrong := arguments.CheckSchema(o.Schema.Schema); wrong != nil {
			err = &provider.OptionError{Member: "output_schema.schema", Text: wrong.Error()}
		}
	}
	return o, err
}

// Choice has the tools that a client chooses.
type Choice struct {
	Own     []tool.Tool // that clients run; of each its name, description, schema, title and effect
	Builtin bool
}

// Record returns the record of a new session, without its tools. Its errors name members of session/new.
func (c Caller) Record(p New) (session.Session, error) {
	named, err := c.Agent(p.Agent)
	if err != nil {
		return session.Session{}, err
	}
	set := session.Settings{Agent: agent.ChoiceOf(named)}
	if id := cmp.Or(p.Model, named.Model); id == "" {
		set.Model = c.DefaultModel()
	} else if set.Model, err = c.Model(id, ""); err != nil {
		return session.Session{}, err
	}
	if id := named.CompactModel; id != "" {
		if set.Agent.CompactModel, err = c.Model(id, ""); err != nil {
			return session.Session{}, err
		}
	}
	set.Level, set.Display, set.Fallback = p.Level, p.Display, p.Fallback
	set.Options = p.Options
	if set.Storage, err = provider.ParseThinkingStorage(string(p.Storage)); err != nil {
		return session.Session{}, conn.InvalidParams("thinking_storage", "%v", err)
	}
	if set.KeepAlive, err = provider.ParseKeepAlive(string(p.KeepAlive)); err != nil {
		return session.Session{}, conn.InvalidParams("options.keep_alive", "%v", err)
	}
	if set.OnOther, err = provider.ParseOtherModel(string(cmp.Or(p.OnOther, named.OnOther))); err != nil {
		return session.Session{}, conn.InvalidParams("options.on_other_model", "%v", err)
	}
	if set.Fallbacks, err = c.Fallbacks("options.fallbacks", cmp.Or(p.Fallbacks, named.Fallbacks)); err != nil {
		return session.Session{}, err
	}
	if set.Egress, err = c.egress(p.Egress, named.Egress); err != nil {
		return session.Session{}, err
	}
	if set.AskAbove, err = AskAbove("options.ask_above", cmp.Or(p.AskAbove, named.AskAbove)); err != nil {
		return session.Session{}, err
	}
	title, err := ReadTitle(p.Title)
	if err != nil {
		return session.Session{}, err
	}
	if len(p.CWD) > maxCWD {
		return session.Session{}, conn.InvalidParams("cwd", "is longer than %d bytes", maxCWD)
	}
	return session.Session{Title: title, System: cmp.Or(p.System, named.System), CWD: p.CWD, Settings: set, Rules: p.Rules, Ephemeral: p.Ephemeral}, nil
}

// Agent returns the agent that a client names, the zero agent for an empty name. Error: *[conn.Error] with the existing names.
func (c Caller) Agent(name string) (registry.Agent, error) {
	if name == "" {
		return registry.Agent{}, nil
	}
	a, ok := c.config.Settings.Agent(name)
	if ok && !c.OwnsMachine() {
		a = withoutKeys(a)
	}
	if ok {
		return a, nil
	}
	e := conn.InvalidParams("agent", "no such agent: %s", wire.Characters(name, 100))
	candidates := []string{}
	for _, a := range c.config.Settings.Agents() {
		candidates = append(candidates, a.Name)
	}
	e.Data["candidates"] = candidates
	return registry.Agent{}, e
}

// Bounds of what a client hangs on a session: it comes along in every list.
const (
	maxTitle = 200     // characters
	maxCWD   = 4 << 10 // bytes
)

// ReadTitle makes a line of what a client gives as a title. Error: *[conn.Error] if it is too long.
func ReadTitle(text string) (string, error) {
	title := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(title) > maxTitle {
		return "", conn.InvalidParams("title", "is longer than %d characters", maxTitle)
	}
	return title, nil
}

// AskAbove reads an amount of USD that a client states in a member; nil: it states none. Errors are *[conn.Error].
func AskAbove(member string, usd *float64) (*provider.Money, error) {
	if usd == nil {
		return nil, nil
	}
	if err := registry.CheckAskAbove(*usd); err != nil {
		return nil, conn.InvalidParams(member, "%v", err)
	}
	return new(provider.MoneyOf(*usd)), nil
}
