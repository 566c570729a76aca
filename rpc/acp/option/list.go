package option

import (
	"cmp"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry/options"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Source is what a list needs in addition to the session.
type Source struct {
	Models    []provider.Model             // of the catalog
	Available func(providerID string) bool // the provider can be called now
	Boolean   bool                         // the editor shows boolean options
}

// List is the complete list for a session as it stands.
func List(from Source, st agent.State) []Option {
	list := []Option{modelOption(from, st), modeOption(st.Session.Mode), levelOption(st)}
	if displays := st.Model.Thinking.Display; len(displays) > 0 && st.Session.Storage != provider.StoreOpaque { // which never asks for the text
		o := unset(Display, "Thinking text", "How the vendor shows thinking", string(st.Session.Display))
		for _, d := range displays {
			o.Options = append(o.Options, Choice{Value: string(d), Name: wordNames[string(d)]})
		}
		list = append(list, o)
	}
	for _, s := range stated {
		o := unset(s.id, s.name, s.about, s.get(st.Session.Options.Or()))
		for _, word := range s.words {
			if word == o.Current || sent(s.set, word, st) {
				o.Options = append(o.Options, Choice{Value: word, Name: wordNames[word]})
			}
		}
		if len(o.Options) > 1 {
			list = append(list, o)
		}
	}
	if from.Boolean {
		list = append(list, Option{ID: Other, Name: "Stop if another model answers", Category: "model_config", Type: "boolean",
			About: "Ends the turn if the vendor answers with another model than the selected one", Current: st.Session.OnOther == provider.OtherStop})
	}
	return list
}

var wordNames = map[string]string{
	"summarized": "Summary", "omitted": "None", "updates": "Notes on progress",
	"low": "Short", "medium": "Medium", "high": "Long",
	"auto": "As the account is set up", "standard": "Standard", "flex": "Flex: cheaper and slower", "priority": "Priority: faster and dearer",
}

// unset is a select of the category model_config that the session need not state. current is empty if it does not.
func unset(id, name, about, current string) Option {
	return Option{ID: id, Name: name, About: about, Category: "model_config", Type: "select", Current: cmp.Or(current, Unset),
		Options: []Choice{{Value: Unset, Name: "Default"}}}
}

// sent reports whether the session's model takes a word of an option as it is.
func sent(set func(*provider.Options, string), word string, st agent.State) bool {
	var o provider.Options
	set(&o, word)
	d := options.Resolve(provider.AskedOptions{Options: o}, st.Model, st.Decision, options.Request{})
	return len(d.Outcomes) == 1 && d.Outcomes[0].State == provider.OptionSent
}

// modelOption has the models that can be used now, and the session's own whether it can or not.
func modelOption(from Source, st agent.State) Option {
	current := session.ModelRef{Provider: st.Model.Provider, ID: st.Model.ID}.String()
	o := Option{ID: Model, Name: "Model", Category: "model", Type: "select", Current: current, Options: []Choice{}}
	found := false
	for _, m := range from.Models {
		ref := session.ModelRef{Provider: m.Provider, ID: m.ID}.String()
		if ref != current && !from.Available(m.Provider) {
			continue
		}
		found = found || ref == current
		o.Options = append(o.Options, Choice{Value: ref, Name: cmp.Or(m.Name, m.ID)})
	}
	if !found {
		o.Options = append(o.Options, Choice{Value: current, Name: cmp.Or(st.Model.Name, st.Model.ID)})
	}
	return o
}

var levelNames = map[provider.Level]string{
	provider.Off: "Off", provider.Auto: "Provider default", provider.On: "On", provider.Minimal: "Minimal", provider.Low: "Low",
	provider.Medium: "Medium", provider.High: "High", provider.XHigh: "Extra high", provider.Max: "Max",
}

// levelOption has the levels of the session's model. The chosen one is the level in effect. This model may
// not have the level that the user prefers; that one is shown in addition.
func levelOption(st agent.State) Option {
	d := st.Decision
	levels := slices.Clone(d.Supported)
	switch {
	case !d.KnownModel: // it is unknown what it takes; a level passes as its vendor spells it
		levels = []provider.Level{provider.Auto, provider.Off, provider.Low, provider.Medium, provider.High}
	case st.Model.Thinking.Thinks():
		levels = slices.Insert(levels, 0, provider.Auto)
	}
	if !slices.Contains(levels, d.Effective) {
		levels = append(levels, d.Effective)
	}
	o := Option{ID: Level, Name: "Thinking", Category: "thought_level", Type: "select", Current: string(d.Effective),
		Options: []Choice{}, Meta: map[string]any{"thinkd.dev/level": map[string]any{
			"preferred": wire.Preferred(st.Session.Settings), "effective": d.Effective, "reason": d.Reason}}}
	for i, level := range levels {
		if !slices.Contains(levels[:i], level) {
			o.Options = append(o.Options, Choice{Value: string(level), Name: cmp.Or(levelNames[level], string(level))})
		}
	}
	return o
}

func modeOption(mode tool.Mode) Option {
	o := Option{ID: Mode, Name: "Mode", Category: "mode", Type: "select", Current: string(cmp.Or(mode, tool.ModeAsk))}
	for _, m := range modeList() {
		o.Options = append(o.Options, Choice{Value: m.ID, Name: m.Name, About: m.About})
	}
	return o
}

func modeList() []ModeChoice {
	return []ModeChoice{
		{string(tool.ModeAsk), "Ask", "Asks before it changes or runs anything"},
		{string(tool.ModeEdit), "Edit freely", "Changes files without asking, and asks before it runs anything"},
		{string(tool.ModeRead), "Read only", "Reads, and refuses the rest"},
	}
}

// ModesOf is the mode of a session in the older form.
func ModesOf(st agent.State) *Modes {
	return &Modes{string(cmp.Or(st.Session.Mode, tool.ModeAsk)), modeList()}
}
