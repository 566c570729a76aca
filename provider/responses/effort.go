package responses

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Repairs of what a model says about its effort.
const (
	// EffortOnTop is the beginning of a repair that says a model's effort where it is said at first, and no change of it
	// inside of the conversation; the model's id follows.
	EffortOnTop = "responses/effort_on_top:"
	// Efforts is the beginning of a repair that knows what efforts a model has, by its own refusal: its id, an equals
	// sign, and the words with commas between them follow. What is asked for is sent as the nearest of them.
	Efforts = "responses/efforts:"
)

func effortOnTop(model string) provider.Repair { return provider.Repair(EffortOnTop + model) }

func effortsOf(model string, words []string) provider.Repair {
	return provider.Repair(Efforts + model + "=" + strings.Join(words, ","))
}

// efforts are the words that may be sent, in ascending order (docs: reasoning).
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`['"\x60]([a-z]+)['"\x60]`) })

// learned lists the efforts that a refusal names in addition to the refused one; nil if it names none (docs: reasoning; the exact words
// vary).
func learned(refused, text string) []string {
	named := map[string]bool{}
	for _, found := range quoted().FindAllStringSubmatch(text, -1) {
		named[found[1]] = true
	}
	if !named[refused] {
		return nil // it is about something else
	}
	var words []string
	for _, word := range efforts {
		if named[word] && word != refused {
			words = append(words, word)
		}
	}
	return words
}

// levelsOf are efforts as levels.
func levelsOf(words []string) (levels []provider.Level) {
	for _, word := range words {
		if level, err := provider.ParseLevel(word); err == nil {
			levels = append(levels, level)
		}
	}
	return levels
}

// nearest is the word to send for an effort: itself, or of those that the model was heard to have the nearest below,
// else its lowest. What is to think never becomes none.
func nearest(word string, req *provider.Request) string {
	at := slices.Index(efforts, word)
	for _, repair := range slices.Backward(req.Repairs) {
		list, ok := strings.CutPrefix(string(repair), Efforts+req.Model.ID+"=")
		if !ok || at < 0 {
			continue
		}
		has := strings.Split(list, ",")
		if slices.Contains(has, word) {
			return word
		}
		best := ""
		for i, candidate := range efforts {
			if slices.Contains(has, candidate) && candidate != "none" && (best == "" || i < at) {
				best = candidate
			}
		}
		if best != "" {
			return best
		}
	}
	return word
}

// wordOf is the effort that a decision asks for, empty if none.
func wordOf(c provider.Control) string {
	switch c.Mode {
	case provider.ModeOff:
		return "none"
	case provider.ModeEffort:
		return string(c.Effort)
	}
	return ""
}

// inPlace reports whether changes of effort go inside of the conversation. The vendor does not take them together with
// compaction of its own (docs: reasoning).
func (a *API) inPlace(req *provider.Request) bool {
	return len(a.caller.Context) == 0 && req.Opening != "" && req.Decision.Control.Mode == provider.ModeEffort && !slices.Contains(req.Repairs, effortOnTop(req.Model.ID))
}

// configurationUpdate is the item from which on another effort applies. It stands in front of a message of the
// user's, and two in a row are refused (docs: reasoning).
type configurationUpdate struct {
	Type      string    `json:"type"`
	Reasoning reasoning `json:"reasoning"`
}

func effortChange(effort string) configurationUpdate {
	return configurationUpdate{"configuration_update", reasoning{Effort: effort}}
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
	Context string `json:"context,omitempty"`
}

// control is what the decision on thinking puts into the body.
type control struct {
	Reasoning *reasoning `json:"reasoning,omitempty"`
}
