package tool

import (
	"github.com/thinkd/thinkd/provider"
)

// Rule says whether a call runs, asks or is denied.
type Rule string

const (
	Allow Rule = "allow" // it runs
	Ask   Rule = "ask"   // a person is asked, and silence is a no
	Deny  Rule = "deny"  // it never runs, and the model gets an error
)

// Words lists all rules.
func (Rule) Words() []string { return provider.Words(Allow, Ask, Deny) }

// UnmarshalText reads a rule as configs and clients write it.
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = readWord[Rule](text)
	return err
}

// Policy is a set of rules. The zero Policy says nothing.
type Policy struct {
	Names   map[string]Rule `json:"names,omitempty"`   // by a tool's name
	Effects map[Effect]Rule `json:"effects,omitempty"` // for tools without a rule of their own
}

// Rule is the policy's rule on a tool, empty if it has none. A tool's own rule comes before that of its effect.
func (p Policy) Rule(t Tool) Rule {
	if r := p.Names[t.Name]; r != "" {
		return r
	}
	effect := t.Effect
	if effect == "" {
		effect = Other
	}
	return p.Effects[effect]
}

// Mode is a person's standing word on the calls of a session, which a client of the session gives as it answers questions.
type Mode string

const (
	ModeAsk  Mode = "ask"  // as the rules say; the zero Mode is the same
	ModeEdit Mode = "edit" // what changes data runs where the rules would ask
	ModeRead Mode = "read" // what does not only read is refused
)

// Words lists all modes.
func (Mode) Words() []string { return provider.Words(ModeAsk, ModeEdit, ModeRead) }

// UnmarshalText reads a mode as clients write it.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = readWord[Mode](text)
	return err
}
