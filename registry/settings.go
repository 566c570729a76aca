package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// Agent is what a new session may begin with by one name.
type Agent struct {
	Name      string
	Model     string // as [Catalog.Find] takes it; empty: it names none
	System    string // the system prompt
	Reasoning Override
}

// given are agents and defaults of providers, by name.
type given struct {
	agents    map[string]Agent
	providers map[string]Defaults
}

// Settings are the agents and the providers' defaults: the configuration's, and over them what clients have set, which
// is kept. They are safe for concurrent use, and who reads never waits for who writes.
type Settings struct {
	kept durable.Value

	changeMu sync.Mutex // held during a change, until it is kept
	set      given      // by clients
	config   given      // never changes

	now atomic.Pointer[given] // both together; what it points at never changes
}

// OpenSettings begins with the configuration's agents and defaults, and with what an earlier process kept. Each change is kept before it
// applies. An error names the value and says what is wrong with its text.
func OpenSettings(agents []Agent, providers map[string]Defaults, kept durable.Value) (*Settings, error) {
	s := &Settings{kept: kept, config: given{map[string]Agent{}, maps.Clone(providers)}}
	for _, a := range agents {
		s.config.agents[a.Name] = a
	}
	s.set = given{map[string]Agent{}, map[string]Defaults{}}
	text, err := kept.Get()
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if text != nil {
		if s.set, err = readSettings(text); err != nil {
			return nil, fmt.Errorf("settings: %s: %w; repair the file, or remove it to start without settings", kept.Name(), err)
		}
	}
	s.now.Store(s.config.under(s.set))
	return s, nil
}

// under is s with other statements over it, name by name.
func (s given) under(over given) *given {
	both := given{map[string]Agent{}, map[string]Defaults{}}
	for _, one := range []given{s, over} {
		maps.Copy(both.agents, one.agents)
		maps.Copy(both.providers, one.providers)
	}
	return &both
}

// Defaults are those of a provider in force.
func (s *Settings) Defaults(providerID string) Defaults { return s.now.Load().providers[providerID] }

// Agents lists all agents by name.
func (s *Settings) Agents() []Agent {
	all := s.now.Load().agents
	list := make([]Agent, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// Agent finds an agent by its name.
func (s *Settings) Agent(name string) (Agent, bool) {
	a, ok := s.now.Load().agents[name]
	return a, ok
}

// SetDefaults puts a provider's defaults in force; nil: those of the configuration again. It is kept on return.
func (s *Settings) SetDefaults(providerID string, d *Defaults) error {
	return s.change(func(set given) error {
		delete(set.providers, providerID)
		if d != nil {
			set.providers[providerID] = *d
		}
		return nil
	})
}

// SetAgent changes an agent, or makes one: change gets it as it is in force. It is kept on return. An error of change
// is returned, and nothing has changed.
func (s *Settings) SetAgent(name string, change func(*Agent) error) error {
	return s.change(func(set given) error {
		a := s.now.Load().agents[name]
		a.Name = name
		if err := change(&a); err != nil {
			return err
		}
		set.agents[name] = a
		return nil
	})
}

// RemoveAgent forgets what clients have set of an agent: the configuration's is in force again, if there is one.
func (s *Settings) RemoveAgent(name string) error {
	return s.change(func(set given) error {
		delete(set.agents, name)
		return nil
	})
}

// maxSettings is in bytes: a list of all agents has to fit into a message.
const maxSettings = 1 << 20

// ErrSettingsFull refuses a change after which the settings would be larger than a megabyte.
var ErrSettingsFull = errors.New("the settings would be larger than a megabyte")

// CheckAgentName says what is wrong with a word as the name of an agent, nil if nothing is.
func CheckAgentName(word string) error {
	if len(word) > 64 || !agentName().MatchString(word) {
		return errors.New("an agent's name has letters, digits, dots, dashes and underscores, at most 64")
	}
	return nil
}

var agentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

func (s *Settings) change(change func(given) error) error {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	next := *given{}.under(s.set)
	if err := change(next); err != nil {
		return err
	}
	text, err := next.text()
	if err != nil {
		return err
	}
	if len(text) > maxSettings {
		return ErrSettingsFull
	}
	if err := s.kept.Put(text); err != nil {
		return err
	}
	s.set = next
	s.now.Store(s.config.under(next))
	return nil
}

// The form in which settings are kept, which is that of the protocol.
type (
	keptSettings struct {
		Agents    map[string]AgentText    `json:"agents,omitempty"`
		Providers map[string]keptProvider `json:"providers,omitempty"`
	}
	keptProvider struct {
		Defaults DefaultsText `json:"reasoning_defaults"`
	}
)

// AgentText is an agent as it is written, in the file of settings (json) or in the config (toml).
type AgentText struct {
	Model     string  `json:"model_id,omitempty" toml:"model"`
	System    string  `json:"system_prompt,omitempty" toml:"system_prompt"`
	Level     string  `json:"thinking_level,omitempty" toml:"thinking_level"` // the old form: off, low, medium, high
	Reasoning *Stated `json:"reasoning,omitempty" toml:"reasoning"`
}

// Agent reads the text. Its errors are *[OverrideError].
func (t AgentText) Agent(name string) (Agent, error) {
	override, err := ReadOverride(t.Reasoning, t.Level)
	return Agent{name, t.Model, t.System, override}, err
}

// DefaultsText are a provider's defaults as they are written. The empty text states nothing.
type DefaultsText struct {
	Effort   string `json:"effort,omitempty" toml:"effort"`
	Fallback string `json:"fallback,omitempty" toml:"fallback"`
}

func (s given) text() ([]byte, error) {
	kept := keptSettings{map[string]AgentText{}, map[string]keptProvider{}}
	for name, a := range s.agents {
		reasoning, level := a.Reasoning.State()
		kept.Agents[name] = AgentText{a.Model, a.System, string(level), &reasoning}
	}
	for id, d := range s.providers {
		kept.Providers[id] = keptProvider{DefaultsText{string(d.Level), string(d.Policy)}}
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	return append(text, '\n'), err
}

// readSettings takes no member that it does not know: the next change would lose it.
func readSettings(text []byte) (given, error) {
	var kept keptSettings
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&kept); err != nil {
		return given{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return given{}, errors.New("there is more after the settings' end")
	}
	s := given{map[string]Agent{}, map[string]Defaults{}}
	for _, name := range slices.Sorted(maps.Keys(kept.Agents)) {
		if err := CheckAgentName(name); err != nil {
			return given{}, fmt.Errorf("agents: %q: %w", name, err)
		}
		a, err := kept.Agents[name].Agent(name)
		if err != nil {
			return given{}, fmt.Errorf("agents.%s.%w", name, err)
		}
		s.agents[name] = a
	}
	for _, id := range slices.Sorted(maps.Keys(kept.Providers)) {
		d, err := ReadDefaults(kept.Providers[id].Defaults.Effort, kept.Providers[id].Defaults.Fallback)
		if err != nil {
			return given{}, fmt.Errorf("providers.%s.reasoning_defaults.%w", id, err)
		}
		s.providers[id] = d
	}
	return s, nil
}

// ReadDefaults takes the words of a provider's defaults; empty ones say nothing. Errors are *[OverrideError].
func ReadDefaults(effort, fallback string) (d Defaults, err error) {
	if effort != "" {
		if d.Level, err = provider.ParseLevel(effort); err != nil {
			return Defaults{}, &OverrideError{"effort", err}
		}
	}
	if fallback != "" {
		if d.Policy, err = provider.ParsePolicy(fallback); err != nil {
			return Defaults{}, &OverrideError{"fallback", err}
		}
	}
	return d, nil
}
