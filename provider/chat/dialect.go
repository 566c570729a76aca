package chat

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/thinktag"
)

// Dialect is what a host does in its own way. The named ones are in dialects.json; a configuration may state another
// one by the same record, see [ParseDialect]. A Dialect is never changed once it is made.
//
// Names of members of a body are paths with dots. Objects are merged into the body, member by member.
type Dialect struct {
	ID     string `json:"id"`
	AsOf   string `json:"as_of,omitempty"`  // YYYY-MM-DD
	Source string `json:"source,omitempty"` // the documents that state it

	ChatPath string            `json:"chat_path"`
	Auth     string            `json:"auth"`              // bearer; api-key: a header of that name; none
	Headers  map[string]string `json:"headers,omitempty"` // sent with each request
	// A header that says whether a person or a tool spoke last (user, agent), and one that is true if the request has images.
	InitiatorHeader string `json:"initiator_header,omitempty"`
	VisionHeader    string `json:"vision_header,omitempty"`

	Request  RequestForm  `json:"request"`
	Response ResponseForm `json:"response"`
	Echo     EchoRule     `json:"echo"`
	Message  MessageForm  `json:"message"`
	Listing  Listing      `json:"listing"`

	Models []Overlay `json:"models,omitempty"` // the longest prefix wins
}

// ThinkingForm is how thinking is asked for.
type ThinkingForm struct {
	Effort   *Effort  `json:"effort,omitempty"`    // nil: there are no words for it, and on is all
	On       object   `json:"on,omitempty"`        // sent with every request for thinking; empty: it is on anyway
	Off      object   `json:"off,omitempty"`       // nil: it cannot be off; empty: silence is off
	OffOmits []string `json:"off_omits,omitempty"` // taken out where thinking is off
	Budget   *Budget  `json:"budget,omitempty"`
	// Show is sent to every model that thinks, whatever its level: what makes thinking visible, or keeps it.
	Show object `json:"show,omitempty"`
	// Exclusive lists members that refuse each other's company: the first one that is there stays.
	Exclusive [][]string `json:"exclusive,omitempty"`
}

// Effort is a member that takes a word.
type Effort struct {
	Path string                    `json:"path"`
	Map  map[provider.Level]string `json:"map,omitempty"` // the host's words; a level that is not here is its own word
}

// Budget is a member that takes a number of tokens.
type Budget struct {
	Path string `json:"path"`
}

// Overlay is how thinking is asked for on some models. What it does not state is as in the dialect.
type Overlay struct {
	Prefix     string `json:"prefix"` // of the model's id; letters of either case are the same
	VerifiedOn string `json:"verified_on,omitempty"`
	Notes      string `json:"notes,omitempty"`
	NeverOff   bool   `json:"never_off,omitempty"` // any form of off is refused or ignored
	ThinkingForm
}

// RequestForm is what goes into a body.
type RequestForm struct {
	ThinkingForm
	WithTools        object   `json:"with_tools,omitempty"`         // sent beside tools
	Drop             []string `json:"drop,omitempty"`               // sampling parameters that are refused or ignored
	DropWhenThinking []string `json:"drop_when_thinking,omitempty"` // the same while thinking
	ChoiceKeepsCache bool     `json:"choice_keeps_cache,omitempty"` // tool_choice none leaves the tools in the prompt
	// ToolChoiceWhenThinking is what tool_choice may be while thinking. Nothing but the default, and none where ChoiceKeepsCache
	// says so, is ever sent, so all that a record can get wrong here is to leave out auto.
	ToolChoiceWhenThinking []string `json:"tool_choice_when_thinking,omitempty"`
	MaxTokensField         string   `json:"max_tokens_field,omitempty"` // empty: no limit is sent
	ForceStream            bool     `json:"force_stream,omitempty"`     // a call that is not streamed is refused
	NoStreamTools          bool     `json:"no_stream_tools,omitempty"`  // a streamed call with tools is refused
	IncludeUsage           bool     `json:"include_usage,omitempty"`    // stream_options.include_usage is sent
	SeedField              string   `json:"seed_field,omitempty"`       // empty: seed

	// ServiceTiers are the host's words for service_tier, where they differ.
	ServiceTiers map[provider.ServiceTier]string `json:"service_tiers,omitempty"`

	Cache *CacheForm `json:"cache,omitempty"` // nil: the host caches by itself, or not at all
}

// CacheForm is how a request says what of a prompt the host shall keep: by marks of Anthropic's form, for some of its models.
type CacheForm struct {
	Models []string `json:"models"`         // parts of ids; letters of either case are the same
	Tool   string   `json:"tool"`           // where the mark of a tool's result stands: part, or message beside its content
	Long   bool     `json:"long,omitempty"` // the longer time can be asked for
}

// Ways in which an array of details grows.
const (
	mergeOpenRouter = "openrouter"        // pieces join, a signature completes what stands before it
	mergeCumulative = "cumulative_prefix" // the same, where a piece may be all of the text so far
)

// ResponseForm is what comes back.
type ResponseForm struct {
	TextFields   []string `json:"text_fields"` // of thinking; the first that is not empty counts, in each chunk
	DetailsField string   `json:"details_field,omitempty"`
	DetailsMerge string   `json:"details_merge,omitempty"`
	OpaqueField  string   `json:"opaque_field,omitempty"` // of the message, to be given back
	CallFields   []string `json:"call_fields,omitempty"`  // of a tool call, to be given back
	// MessageFields are members of a message that go back with it as they came, whatever blocks it has.
	MessageFields []string       `json:"message_fields,omitempty"`
	ContentArray  bool           `json:"content_array,omitempty"` // thinking is a part of content
	InlineTags    *thinktag.Tags `json:"inline_tags,omitempty"`
	Repeats       bool           `json:"repeats,omitempty"` // a long piece of thinking that comes twice in a row is a filler

	UsagePaths      []string `json:"usage_paths"`
	ReasoningTokens []string `json:"reasoning_tokens"` // in the usage; empty: there is no count
	// Cost is what the host charged, in USD, in the usage; empty: it does not tell. OwnKey says in the usage that the
	// user's own key at the vendor was used, whose charge is OwnKeyCost and comes on top.
	Cost       string `json:"cost,omitempty"`
	OwnKey     string `json:"own_key,omitempty"`
	OwnKeyCost string `json:"own_key_cost,omitempty"`
	// ReasoningExcluded says that completion_tokens is without thinking, where the total does not tell.
	ReasoningExcluded bool     `json:"reasoning_excluded_from_completion,omitempty"`
	NoFinishReason    bool     `json:"no_finish_reason,omitempty"` // the host never sends one: [DONE] alone ends an answer
	EOFWithoutDone    string   `json:"eof_without_done,omitempty"` // error: the host truncates answers; else a finish_reason is an end as well
	ErrorPaths        []string `json:"error_paths"`
}

// Scopes of an echo.
const (
	echoNever     = "never"
	echoToolLoop  = "tool_loop"      // after the last message of the user
	echoCallTurns = "all_call_turns" // wherever a tool was called
	echoAllTurns  = "all_turns"
)

// Forms of a sound.
const (
	audioBase64 = "base64"
	audioURL    = "data_url"
)

// What stands for thinking that is not there, in a turn with tool calls.
const (
	echoOmit        = "omit"
	echoEmptyString = "send_empty_string"
	echoEmptyArray  = "send_empty_array" // where an empty array came
)

// EchoRule is how earlier thinking goes back.
type EchoRule struct {
	Field   string         `json:"field,omitempty"` // empty: under the name that it came under
	Also    []string       `json:"also,omitempty"`  // other names for hosts of unknown age
	Scope   string         `json:"scope"`
	Empty   string         `json:"empty"`
	Foreign replay.Foreign `json:"foreign"` // what becomes of another's thinking
	// Inline leaves thinking that came between tags where it was, byte for byte.
	Inline bool `json:"inline,omitempty"`
	// Family says that opaque data is of use to models of the same family alone: the first word of the id.
	Family      bool     `json:"family,omitempty"`
	StripFields []string `json:"strip_fields,omitempty"` // never on a message, whatever came
	// CallPlaceholder is put on the first call of a message in the tool loop that has nothing of the host's own.
	CallPlaceholder object `json:"call_placeholder,omitempty"`
	// ClosesLoops lists words in the ids of models that refuse to continue a tool loop behind another model's calls: see closeLoops.
	ClosesLoops []string `json:"closes_loops,omitempty"`
}

// MessageForm is how messages are spelt.
type MessageForm struct {
	EmptyContentNoCalls   string `json:"empty_content_no_calls,omitempty"` // without effect: an answer that says nothing is left out
	EmptyContentWithCalls string `json:"empty_content_with_calls"`         // empty_string, null, omit
	SystemRole            string `json:"system_role"`                      // system, developer
	ToolID                string `json:"tool_id"`                          // any; alnum9: nine letters or digits
	StringContentOnly     bool   `json:"string_content_only,omitempty"`    // of what the model said; what users say is parts beside media
	Files                 bool   `json:"files,omitempty"`                  // documents are taken
	Audio                 string `json:"audio,omitempty"`                  // sounds are taken: base64, data_url; empty: none are
	Alternate             bool   `json:"alternate,omitempty"`              // users and the assistant take turns, or a template refuses them
}

// Listing says how the host lists its models. Model calls of this package do not use it.
type Listing struct {
	Path   string `json:"path,omitempty"` // empty: there is no list to depend on
	Parser string `json:"parser,omitempty"`
}

// object is a JSON object whose members are kept as they are. Nil and empty differ.
type object map[string]json.RawMessage

// form is how thinking is asked for on a model.
func (d *Dialect) form(model string) ThinkingForm {
	f, best := d.Request.ThinkingForm, -1
	for i, o := range d.Models {
		if len(model) >= len(o.Prefix) && strings.EqualFold(model[:len(o.Prefix)], o.Prefix) &&
			(best < 0 || len(o.Prefix) > len(d.Models[best].Prefix)) {
			best = i
		}
	}
	if best < 0 {
		return f
	}
	return d.Models[best].over(f)
}

func (o Overlay) over(f ThinkingForm) ThinkingForm {
	if o.Effort != nil {
		f.Effort = o.Effort
	}
	if o.On != nil {
		f.On = o.On
	}
	if o.Off != nil {
		f.Off = o.Off
	}
	if o.OffOmits != nil {
		f.OffOmits = o.OffOmits
	}
	if o.Budget != nil {
		f.Budget = o.Budget
	}
	if o.Show != nil {
		f.Show = o.Show
	}
	if o.Exclusive != nil {
		f.Exclusive = o.Exclusive
	}
	if o.NeverOff {
		f.Off = nil
	}
	return f
}

// Members names what a body for the dialect's host can have, as [exchange.Members] does.
func (d *Dialect) Members() []string {
	r := d.Request
	all := []string{"model", "messages", "stream", "stream_options.include_usage", "tools", "tool_choice", "parallel_tool_calls", "response_format",
		"service_tier", "stop", "verbosity", "temperature", "top_p", "top_k", cmp.Or(r.SeedField, "seed"), r.MaxTokensField}
	forms := []ThinkingForm{r.ThinkingForm}
	for _, o := range d.Models {
		forms = append(forms, o.ThinkingForm)
	}
	objects := []object{r.WithTools}
	for _, f := range forms {
		objects = append(objects, f.On, f.Off, f.Show)
		if f.Effort != nil {
			all = append(all, f.Effort.Path)
		}
		if f.Budget != nil {
			all = append(all, f.Budget.Path)
		}
	}
	for _, o := range objects {
		all = slices.AppendSeq(all, maps.Keys(o))
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// path is where a model is called. Google Cloud has another one for an answer that comes whole.
func (d *Dialect) path(model string, streamed bool) string {
	path := strings.ReplaceAll(d.ChatPath, "{model}", url.PathEscape(model))
	if !streamed {
		path = strings.Replace(path, ":streamRawPredict", ":rawPredict", 1)
	}
	return path
}
