package registry

import (
	"bytes"
	"context"
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

// Agent is a named set of defaults for new sessions.
type Agent struct {
	Name      string
	Model     string // for [Catalog.Find]; empty: none
	System    string // the system prompt
	Reasoning Override
	OnOther   provider.OtherModel // when another model answers; empty: as the config has it
	Fallbacks *[]FallbackModel    // nil: as the config has it
	Egress    []string            // labels of providers that may be reached; none: all that the config allows
	Options   provider.Options    // of the model calls

	CompactModel string   // that writes summaries, for [Catalog.Find]; empty: the session's
	AskAbove     *float64 // USD that a prompt into a cold session may cost without a question; 0: any amount; nil: as the config has it
}

// given holds agents and the defaults of providers, by name.
type given struct {
	agents    map[string]Agent
	providers map[string]Defaults
}

// Settings are the agents and the providers' defaults. Values that clients set are stored and take precedence over the
// configuration. All methods may be called from any goroutine. Reads never wait for a change.
type Settings struct {
	config given         // never changes
	kept   durable.Value // nil: table has what clients set
	table  durable.Table // nil: kept has it
	opened *inForce      // what table had at first

	changeMu sync.Mutex // held during a change of kept, until it is stored
	set      given      // by clients; what kept has

	now atomic.Pointer[inForce] // both combined; the value that it points to never changes
}

// inForce is what applies.
type inForce struct {
	given
	version uint64 // of the table
}

// OpenSettings returns the configuration's agents and defaults, with the stored changes of earlier processes. Each change is
// stored before it applies. An error names the invalid value and the reason.
func OpenSettings(agents []Agent, providers map[string]Defaults, kept durable.Value) (*Settings, error) {
	s := newSettings(agents, providers)
	s.kept = kept
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
	s.now.Store(&inForce{given: *s.config.under(s.set)})
	return s, nil
}

func newSettings(agents []Agent, providers map[string]Defaults) *Settings {
	s := &Settings{config: given{map[string]Agent{}, maps.Clone(providers)}}
	for _, a := range agents {
		s.config.agents[a.Name] = a
	}
	return s
}

// current is what applies at the moment.
func (s *Settings) current() *inForce {
	now := s.now.Load()
	if s.table == nil || now.version == s.table.Version() {
		return now
	}
	now, _ = s.readTable() // a row that cannot be read is left out: a newer build has written it
	s.now.Store(now)
	return now
}

// under returns s with the values of another given in place of its own, name by name.
func (s given) under(over given) *given {
	both := given{map[string]Agent{}, map[string]Defaults{}}
	for _, one := range []given{s, over} {
		maps.Copy(both.agents, one.agents)
		maps.Copy(both.providers, one.providers)
	}
	return &both
}

// Defaults returns a provider's defaults in effect.
func (s *Settings) Defaults(providerID string) Defaults { return s.current().providers[providerID] }

// Agents returns all agents, sorted by name.
func (s *Settings) Agents() []Agent {
	all := s.current().agents
	list := make([]Agent, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[name])
	}
	return list
}

// Agent returns an agent by its name.
func (s *Settings) Agent(name string) (Agent, bool) {
	a, ok := s.current().agents[name]
	return a, ok
}

// SetDefaults changes a provider's defaults; nil restores those of the configuration. The change is stored on return.
func (s *Settings) SetDefaults(providerID string, d *Defaults) error {
	return s.change(providerRow(providerID), func(set given) error {
		delete(set.providers, providerID)
		if d != nil {
			set.providers[providerID] = *d
		}
		return nil
	})
}

// SetAgent changes an agent or creates one. change gets the agent in effect. The change is stored on return. If change returns
// an error, SetAgent returns it and changes nothing.
func (s *Settings) SetAgent(name string, change func(*Agent) error) error {
	return s.change(agentRow(name), func(set given) error {
		a := s.config.under(set).agents[name]
		a.Name = name
		if err := change(&a); err != nil {
			return err
		}
		set.agents[name] = a
		return nil
	})
}

// RemoveAgent removes the values that clients set for an agent. The configuration's agent of that name applies again, if there
// is one.
func (s *Settings) RemoveAgent(name string) error {
	return s.change(agentRow(name), func(set given) error {
		delete(set.agents, name)
		return nil
	})
}

// maxSettings is the largest size of the settings in bytes: a list of all agents has to fit into a message.
const maxSettings = 1 << 20

// ErrSettingsFull means that the settings would exceed a megabyte after a change.
var ErrSettingsFull = errors.New("the settings would be larger than 1 MiB")

// CheckAgentName returns the reason why a word cannot be the name of an agent, or nil.
func CheckAgentName(word string) error {
	if len(word) > 64 || !agentName().MatchString(word) {
		return errors.New("an agent's name has letters, digits, dots, dashes and underscores, at most 64")
	}
	return nil
}

var agentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

// change changes what clients set. It changes nothing else than what the row of a table has.
func (s *Settings) change(row string, change func(given) error) error {
	if s.table != nil {
		return s.changeRow(row, change)
	}
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
	s.now.Store(&inForce{given: *s.config.under(next)})
	return nil
}

// The form in which settings are stored. It is the form of the protocol.
type (
	keptSettings struct {
		Agents    map[string]AgentText    `json:"agents,omitempty"`
		Providers map[string]keptProvider `json:"providers,omitempty"`
	}
	keptProvider struct {
		Defaults DefaultsText `json:"reasoning_defaults"`
	}
)

// AgentText is an agent in the file of settings (JSON) or in the config (TOML).
type AgentText struct {
	Model     string           `json:"model_id,omitempty" toml:"model"`
	System    string           `json:"system_prompt,omitempty" toml:"system_prompt"`
	Level     string           `json:"thinking_level,omitempty" toml:"thinking_level"` // the old form: off, low, medium, high
	Reasoning *OverrideText    `json:"reasoning,omitempty" toml:"reasoning"`
	OnOther   string           `json:"on_other_model,omitempty" toml:"on_other_model"`
	Fallbacks *[]FallbackModel `json:"fallbacks,omitempty" toml:"fallbacks"`
	Egress    []string         `json:"egress,omitempty" toml:"egress"`

	CompactModel string          `json:"compact_model,omitempty" toml:"compact_model"`
	AskAbove     *float64        `json:"ask_above,omitempty" toml:"ask_above"`
	Options      json.RawMessage `json:"options,omitempty" toml:"-"`
	OptionsTable any             `json:"-" toml:"options"` // the same in the config
}

// ReadOptions reads options as the config has them: a table. Its errors are *[OverrideError].
func ReadOptions(table any) (provider.Options, error) {
	if table == nil {
		return provider.Options{}, nil
	}
	text, err := json.Marshal(table)
	if err != nil { // a number that JSON has no word for
		return provider.Options{}, &OverrideError{"options", err}
	}
	return parseOptions(text)
}

func parseOptions(text []byte) (provider.Options, error) {
	o, err := provider.ParseOptions(text)
	if wrong, ok := errors.AsType[*provider.OptionError](err); ok {
		field := "options"
		if wrong.Member != "" {
			field += "." + wrong.Member
		}
		return o, &OverrideError{field, errors.New(wrong.Text)}
	}
	return o, err
}

// Agent parses the text. Its errors are *[OverrideError].
func (t AgentText) Agent(name string) (Agent, error) {
	override, err := ReadOverride(t.Reasoning, t.Level)
	if err != nil {
		return Agent{}, err
	}
	other, err := provider.ParseOtherModel(t.OnOther)
	if err != nil {
		return Agent{}, &OverrideError{"on_other_model", err}
	}
	if t.Fallbacks != nil {
		if err := CheckFallbacks(*t.Fallbacks); err != nil {
			return Agent{}, err
		}
	}
	if t.AskAbove != nil {
		if err := CheckAskAbove(*t.AskAbove); err != nil {
			return Agent{}, &OverrideError{"ask_above", err}
		}
	}
	options, err := ReadOptions(t.OptionsTable)
	if err == nil && len(t.Options) > 0 {
		options, err = parseOptions(t.Options)
	}
	return Agent{name, t.Model, t.System, override, other, t.Fallbacks, t.Egress, options, t.CompactModel, t.AskAbove}, err
}

// CheckAskAbove returns what is wrong with an amount of USD from which on prompts need a person's answer.
func CheckAskAbove(usd float64) error {
	if usd < 0 || usd > 0 && provider.MoneyOf(usd) == 0 {
		return errors.New("must be an amount of USD, or 0 to never ask")
	}
	return nil
}

// DefaultsText are a provider's defaults in text form. An empty member states nothing.
type DefaultsText struct {
	Effort   string `json:"effort,omitempty" toml:"effort"`
	Fallback string `json:"fallback,omitempty" toml:"fallback"`
}

func (s given) text() ([]byte, error) {
	kept := keptSettings{map[string]AgentText{}, map[string]keptProvider{}}
	for name, a := range s.agents {
		reasoning, level := a.Reasoning.State()
		agent := AgentText{Model: a.Model, System: a.System, Level: string(level), Reasoning: &reasoning, OnOther: string(a.OnOther), Fallbacks: a.Fallbacks, Egress: a.Egress, CompactModel: a.CompactModel, AskAbove: a.AskAbove}
		if !a.Options.IsZero() {
			options, err := json.Marshal(a.Options)
			if err != nil {
				return nil, err
			}
			agent.Options = options
		}
		kept.Agents[name] = agent
	}
	for id, d := range s.providers {
		kept.Providers[id] = keptProvider{DefaultsText{string(d.Level), string(d.Policy)}}
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	return append(text, '\n'), err
}

// readSettings refuses unknown members, because the next change would delete them.
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

// ReadDefaults parses a provider's defaults. Empty words state nothing. Errors are *[OverrideError].
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

// Rows of a table: one for each agent, and one for the defaults of each provider.
func agentRow(name string) string  { return "agent " + name }
func providerRow(id string) string { return "provider " + id }

// OpenTable is [OpenSettings] for settings that several nodes share. A change at one node applies at the others within a second. The configuration is that
// of each node.
func OpenTable(agents []Agent, providers map[string]Defaults, table durable.Table) (*Settings, error) {
	s := newSettings(agents, providers)
	s.table = table
	now, err := s.readTable()
	if err != nil {
		return nil, fmt.Errorf("settings: %s: %w", table.Name(), err)
	}
	s.now.Store(now)
	s.opened = now
	return s, nil
}

// readTable makes what applies. The error is about a row that is left out.
func (s *Settings) readTable() (now *inForce, wrong error) {
	rows, version := s.table.Rows()
	set := given{map[string]Agent{}, map[string]Defaults{}}
	for row, text := range rows {
		one, err := readSettings(text)
		if err != nil {
			wrong = fmt.Errorf("row %q: %w", row, err)
			continue
		}
		set = *set.under(one)
	}
	return &inForce{*s.config.under(set), version}, wrong
}

func (s *Settings) changeRow(row string, change func(given) error) error {
	others := s.size(row)
	return s.table.Change(context.Background(), row, func(old []byte) ([]byte, error) { // which bounds its time
		set := given{map[string]Agent{}, map[string]Defaults{}}
		if old != nil {
			var err error
			if set, err = readSettings(old); err != nil {
				return nil, err
			}
		}
		if err := change(set); err != nil {
			return nil, err
		}
		if len(set.agents)+len(set.providers) == 0 {
			return nil, nil
		}
		text, err := set.text()
		if err == nil && others+len(text) > maxSettings {
			err = ErrSettingsFull
		}
		return text, err
	})
}

// size is how long the texts of all rows but one are.
func (s *Settings) size(except string) (n int) {
	rows, _ := s.table.Rows()
	for row, text := range rows {
		if row != except {
			n += len(text)
		}
	}
	return n
}

// Watch calls f with each provider whose defaults were changed since OpenTable, by any node, until ctx ends. It returns at once if the settings are those of one daemon:
// who changes them there knows it.
func (s *Settings) Watch(ctx context.Context, f func(providerID string)) {
	if s.table == nil {
		return
	}
	last := s.opened.providers
	for {
		changed := s.table.Changed()
		next := s.current().providers
		all := maps.Clone(last)
		maps.Copy(all, next)
		for id := range all {
			if last[id] != next[id] {
				f(id)
			}
		}
		last = next
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
