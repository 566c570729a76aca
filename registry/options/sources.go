package options

import "github.com/thinkd/thinkd/provider"

// Sources are all places that may ask for options, in order of precedence. Each option comes from the first place that states it.
type Sources struct {
	Turn    provider.Options
	Session provider.Options
	Agent   provider.Options
	Config  provider.Options // the operator's for all sessions
	Model   provider.Options // the defaults of the model's row
}

// Ask is what they amount to.
func (s Sources) Ask() provider.AskedOptions {
	asked := provider.AskedOptions{}
	for _, place := range []struct {
		options provider.Options
		source  provider.Source
	}{
		{s.Turn, provider.SourceTurn},
		{s.Session, provider.SourceSession},
		{s.Agent, provider.SourceAgent},
		{s.Config, provider.SourceConfig},
		{s.Model, provider.SourceModel},
	} {
		var added []string
		asked.Options, added = asked.Options.Under(place.options)
		for _, name := range added {
			if asked.Sources == nil {
				asked.Sources = make(map[string]provider.Source)
			}
			asked.Sources[name] = place.source
		}
	}
	return asked
}
