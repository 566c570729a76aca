package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Options are what a client asks of model calls, in addition to a model and thinking. An absent member asks for nothing: the default of
// the model or its vendor applies. The zero value asks for nothing at all.
type Options struct {
	Schema        *OutputSchema `json:"output_schema,omitempty"`
	Output        Output        `json:"output,omitempty"`
	ToolChoice    ToolChoice    `json:"tool_choice,omitempty"`
	ParallelTools *bool         `json:"parallel_tools,omitempty"`
	MaxOutput     int           `json:"max_output_tokens,omitempty"` // of a call, thinking included
	Temperature   *float64      `json:"temperature,omitempty"`
	TopP          *float64      `json:"top_p,omitempty"`
	TopK          *int          `json:"top_k,omitempty"`
	Stop          []string      `json:"stop,omitzero"` // texts that end an answer; an empty list asks for none
	Seed          *int32        `json:"seed,omitempty"`
	Verbosity     Verbosity     `json:"verbosity,omitempty"`
	ServiceTier   ServiceTier   `json:"service_tier,omitempty"`
	Cache         CacheTime     `json:"cache,omitempty"`

	ServerTools  []ServerToolName  `json:"server_tools,omitzero"` // that the vendor may run; an empty list: none
	ServerLimits *ServerToolLimits `json:"server_tool_limits,omitempty"`
}

// OutputSchema is the JSON Schema of the answer.
type OutputSchema struct {
	Name   string          `json:"name,omitempty"` // some vendors want one; empty: answer
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict,omitempty"` // the vendor enforces the schema; nil: true
}

// IsStrict reports whether the vendor should enforce the schema.
func (s OutputSchema) IsStrict() bool { return s.Strict == nil || *s.Strict }

// Named returns the name of the schema, or the default name.
func (s OutputSchema) Named() string { return cmp.Or(s.Name, "answer") }

// Output is the form of the answer.
type Output string

const (
	OutputText Output = "text" // the default, and no schema of the session's
	OutputJSON Output = "json" // an object, without a schema
)

// Words lists both forms.
func (Output) Words() []string { return Words(OutputText, OutputJSON) }

// ToolChoice says which tools the model may or must call: one of the words here, or the name of the one tool that it must call. What
// must be called is called once: after the result, the choice is up to the model.
type ToolChoice string

const (
	ChooseAuto     ToolChoice = "auto"
	ChooseNone     ToolChoice = "none"
	ChooseRequired ToolChoice = "required" // some tool
)

// Tool is the name of the tool that must be called, empty if any or none must be.
func (c ToolChoice) Tool() string {
	switch c {
	case "", ChooseAuto, ChooseNone, ChooseRequired:
		return ""
	}
	return string(c)
}

// Forces reports whether a tool must be called.
func (c ToolChoice) Forces() bool { return c == ChooseRequired || c.Tool() != "" }

// MaxToolName is the number of characters that the name of a tool may have: 64 at OpenAI and Gemini, and 128 at Anthropic.
const MaxToolName = 64

// ValidToolName reports whether every vendor accepts the name of a tool. Gemini does not accept a digit or a dash in front
// (docs: tool use; function calling).
func ValidToolName(name string) bool {
	return len(name) <= MaxToolName && toolName().MatchString(name)
}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`) })

// Verbosity is how long answers are.
type Verbosity string

const (
	VerbosityLow    Verbosity = "low"
	VerbosityMedium Verbosity = "medium"
	VerbosityHigh   Verbosity = "high"
)

// Words lists all of them.
func (Verbosity) Words() []string { return Words(VerbosityLow, VerbosityMedium, VerbosityHigh) }

// ServiceTier is how a vendor treats a request, and what it charges.
type ServiceTier string

const (
	TierAuto     ServiceTier = "auto"     // as the account is set up
	TierStandard ServiceTier = "standard" // the list price
	TierFlex     ServiceTier = "flex"     // cheaper and slower
	TierPriority ServiceTier = "priority" // faster and dearer
)

// Words lists all tiers.
func (ServiceTier) Words() []string { return Words(TierAuto, TierStandard, TierFlex, TierPriority) }

// CacheTime says how long a vendor keeps what a request marks for its prompt cache, where marks are wanted.
type CacheTime string

const (
	CacheShort CacheTime = "5m" // the default
	CacheLong  CacheTime = "1h" // costs more to write
	CacheOff   CacheTime = "off"
)

// Words lists all times.
func (CacheTime) Words() []string { return Words(CacheShort, CacheLong, CacheOff) }

// ParseCacheTime reads a word of a client or a configuration; the empty word stays empty, which means nobody asked.
func ParseCacheTime(word string) (CacheTime, error) {
	if t := CacheTime(word); word == "" || IsWord(t) {
		return t, nil
	}
	return "", fmt.Errorf("unknown cache %q; known: %s", word, strings.Join(CacheTime("").Words(), ", "))
}

// IsZero reports whether nothing is asked for.
func (o Options) IsZero() bool { return reflect.ValueOf(o).IsZero() }

// Or returns the options; the zero Options for a nil pointer.
func (o *Options) Or() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// Plain returns o without the members of a schema that are set to their default. Two Options ask for the same if they are equal after Plain.
func (o Options) Plain() Options {
	if o.Schema != nil {
		plain := OutputSchema{Schema: o.Schema.Schema}
		if name := o.Schema.Named(); name != (OutputSchema{}).Named() {
			plain.Name = name
		}
		if !o.Schema.IsStrict() {
			plain.Strict = o.Schema.Strict
		}
		o.Schema = &plain
	}
	return o
}

// optionFields are found once: each call of a model reads them several times.
var optionFields = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[Options]()) })

// OptionNames lists the members of [Options].
func OptionNames() []string {
	var names []string
	for _, f := range optionFields() {
		names = append(names, optionName(f))
	}
	return names
}

func optionName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Each calls visit for each option that is asked for, in the order of OptionNames, with its value as JSON.
func (o Options) Each(visit func(name string, value json.RawMessage)) {
	v := reflect.ValueOf(o)
	for i, f := range optionFields() {
		if v.Field(i).IsZero() {
			continue
		}
		value, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			panic(err) // a schema is JSON from the start
		}
		visit(optionName(f), value)
	}
}

// Under adds to o the options that only below has, and returns their names. A schema and an output belong together: if o has either of
// them, those of below do not count.
func (o Options) Under(below Options) (_ Options, added []string) {
	if o.Schema != nil || o.Output != "" {
		below.Schema, below.Output = nil, ""
	}
	to, from := reflect.ValueOf(&o).Elem(), reflect.ValueOf(below)
	for i, f := range optionFields() {
		if to.Field(i).IsZero() && !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
			added = append(added, optionName(f))
		}
	}
	return o, added
}

// Source says who asked for a level or an option.
type Source string

const (
	SourceTurn     Source = "turn"
	SourceSession  Source = "session"
	SourceAgent    Source = "agent"
	SourceConfig   Source = "config"
	SourceProvider Source = "provider"
	SourceModel    Source = "model" // nobody: the default of the row
	SourceUnset    Source = "unset" // nobody, and there is no row
)

// Words lists all sources.
func (Source) Words() []string {
	return Words(SourceTurn, SourceSession, SourceAgent, SourceConfig, SourceProvider, SourceModel, SourceUnset)
}

// AskedOptions are the options of a call, with the place that asks for each.
type AskedOptions struct {
	Options
	Sources map[string]Source `json:"sources,omitempty"` // by the name of the option
}

// OptionState says whether an option is sent, adjusted or refused.
type OptionState string

const (
	OptionSent     OptionState = "sent"
	OptionAdjusted OptionState = "adjusted" // another value is sent, or it is asked for in another way
	OptionRefused  OptionState = "refused"  // nothing is sent: the model does not take it
)

// Words lists all states.
func (OptionState) Words() []string { return Words(OptionSent, OptionAdjusted, OptionRefused) }

// OptionOutcome is the decision on one option, with its reason.
type OptionOutcome struct {
	Option    string          `json:"option"`
	State     OptionState     `json:"state"`
	Source    Source          `json:"source"`
	Requested json.RawMessage `json:"requested"`           // of a schema: its name and strictness
	Effective json.RawMessage `json:"effective,omitempty"` // absent: nothing is sent
	Why       string          `json:"why,omitempty"`       // for people; empty if it is sent as requested
}

// OutputForm says how a call asks for structured output.
type OutputForm string

const (
	OutputNative OutputForm = "native" // by the vendor's parameter
	OutputTool   OutputForm = "tool"   // the model calls a tool whose arguments are the answer
)

// Words lists both forms.
func (OutputForm) Words() []string { return Words(OutputNative, OutputTool) }

// OptionDecision is the decision on the options of a call. The zero value is for a call without options.
type OptionDecision struct {
	Outcomes []OptionOutcome `json:"options"`
	Form     OutputForm      `json:"output_form,omitempty"` // empty: no structured output is asked for
	Wire     json.RawMessage `json:"wire,omitempty"`        // the part of the body that this decision puts there

	Effective Options `json:"-"` // what adapters send
	Force     bool    `json:"-"` // for OutputTool: the model can be made to call the tool
}

// OptionError refuses a member of options.
type OptionError struct {
	Member string // below options, such as temperature or output_schema.name; empty: all of it
	Text   string // what is wrong, and what is valid
}

func (e *OptionError) Error() string {
	if e.Member == "" {
		return "options " + e.Text
	}
	return "options." + e.Member + " " + e.Text
}

// Bounds of options. A vendor's own are narrower.
const (
	maxStops      = 16
	maxStopBytes  = 256
	maxSchemaSize = 64 << 10 // bytes: it travels with every call
	maxOutputMost = 1 << 30  // tokens
	maxTopK       = 1 << 20
)

// ParseOptions reads what a client or a configuration states. Unknown members are refused, since nobody would notice that they have no
// effect. A member that is null is absent. Errors are *[OptionError]. Whether a schema is valid is for the caller to find out.
func ParseOptions(data []byte) (Options, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return Options{}, &OptionError{"", "must be an object"}
	}
	var o Options
	v := reflect.ValueOf(&o).Elem()
	fields := optionFields()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool { return optionName(f) == name })
		switch {
		case i < 0:
			return Options{}, &OptionError{name, "is unknown; known: " + strings.Join(OptionNames(), ", ")}
		case string(members[name]) == "null":
			continue
		}
		if name == "output_schema" {
			schema, err := parseSchema(members[name])
			if err != nil {
				return Options{}, err
			}
			o.Schema = schema
			continue
		}
		if name == "server_tool_limits" {
			limits, err := parseServerLimits(members[name])
			if err != nil {
				return Options{}, err
			}
			o.ServerLimits = limits
			continue
		}
		if err := json.Unmarshal(members[name], v.Field(i).Addr().Interface()); err != nil {
			return Options{}, &OptionError{name, "must be " + optionForms[name]}
		}
		if word, ok := v.Field(i).Interface().(Worded); ok && !slices.Contains(word.Words(), v.Field(i).String()) {
			return Options{}, &OptionError{name, fmt.Sprintf("is %q, and must be one of %s", v.Field(i).String(), strings.Join(word.Words(), ", "))}
		}
	}
	return o, o.check(members)
}

// optionForms say what the JSON of each option must be.
var optionForms = map[string]string{
	"output": "one of text, json", "tool_choice": "auto, none, required or the name of a tool", "parallel_tools": "true or false",
	"max_output_tokens": "a whole number from 1", "temperature": "a number from 0 to 2", "top_p": "a number above 0, up to 1", "top_k": "a whole number from 1",
	"stop": "an array of strings", "seed": "a whole number of 32 bits", "verbosity": "one of low, medium, high",
	"service_tier": "one of auto, standard, flex, priority", "cache": "one of 5m, 1h, off", "server_tools": "an array of web_search, web_fetch and code_execution",
}

// check refuses values that no vendor takes. members has what was stated.
func (o Options) check(members map[string]json.RawMessage) error {
	wrong := func(name string) error { return &OptionError{name, "must be " + optionForms[name]} }
	within := func(n *float64, least, most float64) bool {
		return n == nil || !math.IsNaN(*n) && *n >= least && *n <= most
	}
	stated := func(name string) bool { m, ok := members[name]; return ok && string(m) != "null" }
	switch {
	case !within(o.Temperature, 0, 2):
		return wrong("temperature")
	case !within(o.TopP, 0, 1) || o.TopP != nil && *o.TopP == 0:
		return wrong("top_p")
	case o.TopK != nil && (*o.TopK < 1 || *o.TopK > maxTopK):
		return wrong("top_k")
	case stated("max_output_tokens") && (o.MaxOutput < 1 || o.MaxOutput > maxOutputMost):
		return wrong("max_output_tokens")
	case stated("tool_choice") && !ValidToolName(string(o.ToolChoice)):
		return wrong("tool_choice")
	case len(o.Stop) > maxStops:
		return &OptionError{"stop", fmt.Sprintf("has %d texts, and at most %d are taken", len(o.Stop), maxStops)}
	case slices.ContainsFunc(o.Stop, func(s string) bool { return s == "" || len(s) > maxStopBytes }):
		return &OptionError{"stop", fmt.Sprintf("has a text that is empty or longer than %d bytes", maxStopBytes)}
	case o.Schema != nil && o.Output != "":
		return &OptionError{"output", "cannot be combined with output_schema; give one of them"}
	}
	return o.checkServerTools()
}

var schemaName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

func parseSchema(data json.RawMessage) (*OutputSchema, error) {
	const member = "output_schema"
	var s OutputSchema
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, &OptionError{member, "must be an object with schema, and optionally name and strict: " + err.Error()}
	}
	var top struct {
		Type any `json:"type"`
	}
	switch {
	case s.Name != "" && !schemaName().MatchString(s.Name):
		return nil, &OptionError{member + ".name", "must have 1 to 64 letters, digits, underscores and dashes"}
	case len(s.Schema) > maxSchemaSize:
		return nil, &OptionError{member + ".schema", fmt.Sprintf("is larger than %d bytes", maxSchemaSize)}
	case json.Unmarshal(s.Schema, &top) != nil || top.Type != "object":
		return nil, &OptionError{member + ".schema", `must be the schema of an object, with "type": "object"`}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Schema); err != nil {
		return nil, &OptionError{member + ".schema", err.Error()}
	}
	s.Schema = compact.Bytes()
	return &s, nil
}

// ServerToolName is a tool that a vendor runs on its own servers, in one word for all vendors.
type ServerToolName string

const (
	WebSearch     ServerToolName = "web_search"
	WebFetch      ServerToolName = "web_fetch"      // reads pages
	CodeExecution ServerToolName = "code_execution" // in a sandbox of the vendor's
)

// Words lists all of them.
func (ServerToolName) Words() []string { return Words(WebSearch, WebFetch, CodeExecution) }

// ServerToolLimits bound what tools of a vendor do. A model whose API cannot keep a limit that is set gets no such tools.
type ServerToolLimits struct {
	MaxUses        int      `json:"max_uses,omitempty"`        // of each tool in a call of the model; 0: no limit
	AllowedDomains []string `json:"allowed_domains,omitempty"` // without a scheme; empty: all. Not together with BlockedDomains
	BlockedDomains []string `json:"blocked_domains,omitempty"`
}

// Stated lists the limits that are set, by their names in JSON.
func (l *ServerToolLimits) Stated() (names []string) {
	if l == nil {
		return nil
	}
	for _, limit := range []struct {
		name string
		set  bool
	}{{"max_uses", l.MaxUses > 0}, {"allowed_domains", len(l.AllowedDomains) > 0}, {"blocked_domains", len(l.BlockedDomains) > 0}} {
		if limit.set {
			names = append(names, limit.name)
		}
	}
	return names
}

// Bounds of ServerToolLimits: Anthropic and OpenAI take 100 domains.
const (
	maxServerUses = 1000
	maxDomains    = 100
)

func parseServerLimits(data json.RawMessage) (*ServerToolLimits, error) {
	const member = "server_tool_limits"
	var l ServerToolLimits
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, &OptionError{member, "must be an object with max_uses, allowed_domains or blocked_domains: " + err.Error()}
	}
	switch {
	case l.MaxUses < 0 || l.MaxUses > maxServerUses:
		return nil, &OptionError{member + ".max_uses", fmt.Sprintf("must be a whole number from 1 to %d", maxServerUses)}
	case len(l.AllowedDomains) > 0 && len(l.BlockedDomains) > 0:
		return nil, &OptionError{member + ".blocked_domains", "cannot be combined with allowed_domains; give one of them"}
	}
	for name, list := range map[string][]string{"allowed_domains": l.AllowedDomains, "blocked_domains": l.BlockedDomains} {
		if len(list) > maxDomains {
			return nil, &OptionError{member + "." + name, fmt.Sprintf("has %d domains, and at most %d are taken", len(list), maxDomains)}
		}
		for _, domain := range list {
			if domain == "" || len(domain) > 253 || strings.ContainsAny(domain, "/: \t\n") || !strings.Contains(domain, ".") {
				return nil, &OptionError{member + "." + name, fmt.Sprintf("has %q, and must have domains such as example.com, without a scheme and a path", domain)}
			}
		}
	}
	if len(l.Stated()) == 0 {
		return nil, nil
	}
	return &l, nil
}

// checkServerTools refuses names that there are not, and one that is there twice.
func (o Options) checkServerTools() error {
	words := ServerToolName("").Words()
	for i, name := range o.ServerTools {
		if !slices.Contains(words, string(name)) {
			return &OptionError{"server_tools", fmt.Sprintf("has %q, and each must be one of %s", name, strings.Join(words, ", "))}
		}
		if slices.Contains(o.ServerTools[:i], name) {
			return &OptionError{"server_tools", fmt.Sprintf("has %s twice", name)}
		}
	}
	return nil
}
