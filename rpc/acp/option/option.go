package option

import (
	"github.com/thinkd/thinkd/provider"
)

// Ids of the options. Editors look for these words where a category is not enough for them.
const (
	Model   = "model"
	Mode    = "mode"
	Level   = "reasoning_effort"
	Other   = "stop_on_other_model" // a boolean; the others are selects
	Display = "thinking_display"

	Verbosity   = "verbosity"
	ServiceTier = "service_tier"
)

// Unset is the value of an option of model calls that the session does not state. The agent, the config or the model's row may.
const Unset = "default"

// Option is a configuration option as ACP has it.
type Option struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	About    string         `json:"description,omitempty"`
	Category string         `json:"category"`
	Type     string         `json:"type"`
	Current  any            `json:"currentValue"`      // a bool of the type boolean, or else a string
	Options  []Choice       `json:"options,omitempty"` // of a select, which always has some
	Meta     map[string]any `json:"_meta,omitempty"`
}

// Choice is a value of a select.
type Choice struct {
	Value string `json:"value"`
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// Modes is the older form of the mode option, for editors that know no options.
type Modes struct {
	Current   string       `json:"currentModeId"`
	Available []ModeChoice `json:"availableModes"`
}

// ModeChoice is a mode in that form.
type ModeChoice struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	About string `json:"description"`
}

// stated are the model_config options of a session's model calls that are words.
var stated = []struct {
	id, name, about string
	words           []string
	get             func(provider.Options) string
	set             func(*provider.Options, string)
}{
	{Verbosity, "Length of answers", "How long the model's answers are", provider.Verbosity("").Words(),
		func(o provider.Options) string { return string(o.Verbosity) },
		func(o *provider.Options, word string) { o.Verbosity = provider.Verbosity(word) }},
	{ServiceTier, "Service tier", "How the vendor treats requests, and what it charges", provider.ServiceTier("").Words(),
		func(o provider.Options) string { return string(o.ServiceTier) },
		func(o *provider.Options, word string) { o.ServiceTier = provider.ServiceTier(word) }},
}
