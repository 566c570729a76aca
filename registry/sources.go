package registry

import "github.com/thinkd/thinkd/provider"

// Defaults are a provider's own level and policy, as its operator set them; empty members say nothing.
type Defaults struct {
	Level  provider.Level
	Policy provider.Policy
}

// Sources are all who may say how a call is to think, the first that says anything first. Empty members say nothing.
type Sources struct {
	Turn     provider.Level
	Session  provider.Level
	Agent    Override       // only a custom one says anything
	Config   provider.Level // the operator's for all sessions
	Provider Defaults

	Policy  provider.Policy // the session's; then the agent's, then the provider's
	Display provider.Display
}

// Ask is what they amount to. Where nobody names a level, the model's row does: see [Resolve].
func (s Sources) Ask() Ask {
	agent := s.Agent
	if agent.Mode != Custom {
		agent = Override{}
	}
	ask := Ask{Policy: s.Policy, Display: s.Display}
	for _, said := range []struct {
		level  provider.Level
		source provider.Source
	}{
		{s.Turn, provider.SourceTurn},
		{s.Session, provider.SourceSession},
		{agent.Level, provider.SourceAgent},
		{s.Config, provider.SourceConfig},
		{s.Provider.Level, provider.SourceProvider},
	} {
		if said.level != "" {
			ask.Level, ask.Source = said.level, said.source
			break
		}
	}
	for _, policy := range []provider.Policy{agent.Policy, s.Provider.Policy} {
		if ask.Policy == "" {
			ask.Policy = policy
		}
	}
	return ask
}
