package replay

import "github.com/thinkd/thinkd/provider"

// Foreign says how an API or a host takes thinking that is not its own. The words are those of a dialect's `echo.foreign`.
type Foreign string

const (
	ForeignDrop  Foreign = "drop"          // not at all
	ForeignEmpty Foreign = "empty_string"  // not at all, but an answer without the member for thinking is refused: it gets an empty one
	ForeignText  Foreign = "as_text_field" // in the member for thinking, as text
)

// Place says whose thinking goes back unchanged to an API, and how all other thinking is sent.
type Place struct {
	API                   string
	Vendor, Host, Account bool    // this member of the origin must be equal as well
	Foreign               Foreign // empty: the dialect says it
}

// Places is the rule for each pair of APIs after a change of model. Thinking that comes from the same place goes back as it
// came. Whether it came from the same place depends on what binds it: a signature binds it to its vendor, encryption to the
// account as well.
//
// Other thinking never becomes a part of what the model said: a model that reads such an answer takes the thinking for its
// own words, and some then write their thinking into the answer too (earendil-works/pi 6167 and 9554, aebrer/dreb 374).
// Servers of open models bind nothing. Their templates have a place for the thinking of earlier answers, so they get other
// thinking there if it is the reasoning itself. A summary describes the reasoning, and a model would learn to think like it.
//
// Adapters have rules in addition: Responses for hosts that bind thinking to the model, Gemini for generations, Converse for the makers
// of models, and Chat Completions for families of models and for the turns whose thinking goes back.
var Places = []Place{
	{API: "messages", Vendor: true, Foreign: ForeignDrop},
	{API: "responses", Vendor: true, Host: true, Account: true, Foreign: ForeignDrop},
	{API: "chat", Vendor: true}, // the dialect is the vendor here
	{API: "gemini", Foreign: ForeignDrop},
	{API: "ollama", Foreign: ForeignText},
	{API: "converse", Foreign: ForeignDrop},
	{API: "cohere", Foreign: ForeignDrop},
}

// PlaceOf returns the row of an API. It panics if there is none.
func PlaceOf(api string) Place {
	for _, p := range Places {
		if p.API == api {
			return p
		}
	}
	panic("replay: no place for the API " + api)
}

// Own reports whether a state comes from the same place as here, of whose members those count that the API's row names.
func Own(s provider.State, here provider.Origin) bool {
	o, p := s.Origin, PlaceOf(here.API)
	return len(s.Data) > 0 && o.API == here.API && (!p.Vendor || o.Vendor == here.Vendor) && (!p.Host || o.Host == here.Host) && (!p.Account || o.Account == here.Account)
}

// Count decides on thinking that is not Own, and counts it. It reports whether the text goes into the member for thinking.
func (f Foreign) Count(b provider.Thinking, count *provider.Conversion) bool {
	switch {
	case b.State.IsZero():
		count.Drop(1, provider.WhyUnsealed)
	case f != ForeignText || b.Text == "":
		count.Drop(1, provider.WhyForeign)
	case b.Kind != provider.ThinkingFull:
		count.Drop(1, provider.WhySummary)
	default:
		count.Say()
		return true
	}
	return false
}
