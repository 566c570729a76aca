package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Level is how much thinking is asked for, in the one vocabulary that clients use on every provider.
type Level string

const (
	Off     Level = "off"  // no thinking
	Auto    Level = "auto" // no level on the wire: the vendor decides
	On      Level = "on"   // thinking without degrees
	Minimal Level = "minimal"
	Low     Level = "low"
	Medium  Level = "medium"
	High    Level = "high"
	XHigh   Level = "xhigh"
	Max     Level = "max"
)

// Levels lists all words, in ascending order of effort where they have one; Auto has none.
var levels = []Level{Off, Auto, On, Minimal, Low, Medium, High, XHigh, Max}

// AllLevels lists the vocabulary.
func AllLevels() []Level { return slices.Clone(levels) }

// Words lists all levels.
func (Level) Words() []string { return Words(levels...) }

// ParseLevel reads a client's word; "none" is another spelling of off. The error lists what there is.
func ParseLevel(word string) (Level, error) {
	if word == "none" {
		return Off, nil
	}
	if slices.Contains(levels, Level(word)) {
		return Level(word), nil
	}
	return "", &LevelError{Level: Level(word), Supported: AllLevels()}
}

// Rank orders levels by effort: off, on, minimal, … max. Auto has no place in the order and ranks below off.
func (l Level) Rank() int {
	if l == Auto {
		return -1
	}
	return slices.Index(levels, l)
}

// LevelError refuses a level and lists the levels that the model has.
type LevelError struct {
	Level     Level
	Model     string // empty: the word is none of the vocabulary
	Supported []Level
}

func (e *LevelError) Error() string {
	list := make([]string, len(e.Supported))
	for i, l := range e.Supported {
		list[i] = string(l)
	}
	if e.Model == "" {
		return fmt.Sprintf("unknown thinking level %q; known: %s", e.Level, strings.Join(list, ", "))
	}
	return fmt.Sprintf("model %s has no thinking level %q; it has: %s", e.Model, e.Level, strings.Join(list, ", "))
}

// Policy says what happens to a level that a model does not have.
type Policy string

const (
	Downgrade       Policy = "downgrade"        // nearest lower level, else the lowest real one; never off
	FallOff         Policy = "off"              // off; as Downgrade where the model cannot be off
	ProviderDefault Policy = "provider_default" // nothing on the wire
	Refuse          Policy = "error"            // a LevelError
)

// Words lists all policies.
func (Policy) Words() []string { return Words(Downgrade, FallOff, ProviderDefault, Refuse) }

// ParsePolicy reads a client's word; the empty word is Downgrade.
func ParsePolicy(word string) (Policy, error) {
	if word == "" {
		return Downgrade, nil
	}
	if p := Policy(word); IsWord(p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown fallback %q; known: %s", word, strings.Join(Policy("").Words(), ", "))
}

// Display says how a vendor shows thinking.
type Display string

const (
	Summarized Display = "summarized" // the default
	Omitted    Display = "omitted"    // no text, only what must be sent back
	Updates    Display = "updates"    // short notes on progress
)

// Words lists all displays.
func (Display) Words() []string { return Words(Summarized, Omitted, Updates) }

// ParseDisplay reads a client's word; the empty word stays empty, which means nobody asked.
func ParseDisplay(word string) (Display, error) {
	if d := Display(word); word == "" || IsWord(d) {
		return d, nil
	}
	return "", fmt.Errorf("unknown display %q; known: %s", word, strings.Join(Display("").Words(), ", "))
}

// ThinkingStorage says what a session keeps of its models' thinking.
type ThinkingStorage string

const (
	StoreFull   ThinkingStorage = "full"   // all of it; the default
	StoreOpaque ThinkingStorage = "opaque" // what the vendor wants back, and no readable text
	StoreNone   ThinkingStorage = "none"   // nothing, and no vendor gets any back
)

// Words lists all choices.
func (ThinkingStorage) Words() []string { return Words(StoreFull, StoreOpaque, StoreNone) }

// ParseThinkingStorage reads a client's word; the empty word stays empty, which means full.
func ParseThinkingStorage(word string) (ThinkingStorage, error) {
	if s := ThinkingStorage(word); word == "" || IsWord(s) {
		return s, nil
	}
	return "", fmt.Errorf("unknown storage of thinking %q; known: %s", word, strings.Join(ThinkingStorage("").Words(), ", "))
}

// StorageError refuses a model in a session, because of what the session keeps of thinking.
type StorageError struct {
	Storage ThinkingStorage
	Model   string
	Valid   []ThinkingStorage // with the model
}

func (e *StorageError) Error() string {
	list := make([]string, len(e.Valid))
	for i, s := range e.Valid {
		list[i] = string(s)
	}
	return fmt.Sprintf("model %s cannot be used with %q; with it a session can have: %s", e.Model, e.Storage, strings.Join(list, ", "))
}

// ControlKind says how a model's thinking is controlled.
type ControlKind string

const (
	ControlEffort ControlKind = "effort" // by a word
	ControlBudget ControlKind = "budget" // by a number of tokens
	ControlToggle ControlKind = "toggle" // on or off
	ControlAlways ControlKind = "always" // thinks, and nothing can be said about it
	ControlNone   ControlKind = "none"   // does not think
)

// Words lists all kinds of control.
func (ControlKind) Words() []string {
	return Words(ControlEffort, ControlBudget, ControlToggle, ControlAlways, ControlNone)
}

// OffForm says how thinking is switched off on a model.
type OffForm string

const (
	OffNever   OffForm = ""         // it cannot be off
	OffFull    OffForm = "full"     // off is off
	OffUpFront OffForm = "up_front" // only thinking before the answer is off, not that between tool calls
	OffUnknown OffForm = "untold"   // of a [Lister] alone: the host does not say
)

// Capability has the facts of a model's row about thinking.
type Capability struct {
	Control ControlKind `json:"control"`
	Levels  []Level     `json:"levels"`            // ascending; off among them where the model can be off
	Default Level       `json:"default"`           // what the vendor does when nobody says anything: off, on or a level
	Off     OffForm     `json:"off,omitempty"`     // what off is
	Display []Display   `json:"display,omitempty"` // what can be asked for; empty where the vendor has no such parameter

	BudgetMin int           `json:"budget_min,omitempty"` // tokens; for ControlBudget
	BudgetMax int           `json:"budget_max,omitempty"`
	Budgets   map[Level]int `json:"budgets,omitempty"`    // tokens per level
	EffortToo bool          `json:"effort_too,omitempty"` // the level's word goes on the wire beside its budget

	AllTurns bool `json:"all_turns,omitempty"` // a request can make the vendor show the model its thinking of all earlier turns
	InPlace  bool `json:"in_place,omitempty"`  // the vendor takes a change of effort inside of the conversation
}

// CanDisable reports whether thinking can be switched off, at least the thinking before the answer.
func (c Capability) CanDisable() bool { return c.Off != OffNever }

// Thinks reports whether the model thinks at all.
func (c Capability) Thinks() bool { return c.Control != ControlNone && c.Control != "" }

// OnByDefault reports whether the model thinks when a request has no parameter for thinking.
func (c Capability) OnByDefault() bool { return c.Thinks() && c.Default != Off }

// SamplingRule says when temperature, top_p and top_k are refused.
type SamplingRule string

const (
	SamplingFree          SamplingRule = ""                // always taken
	SamplingNever         SamplingRule = "never"           // any value but the default is refused
	SamplingNotInThinking SamplingRule = "not_in_thinking" // refused while thinking is on
)

// PrefillRule says when a conversation may end with the beginning of the answer, which the model then continues.
type PrefillRule string

const (
	PrefillNever         PrefillRule = ""                // refused, or not documented to continue the text
	PrefillNotInThinking PrefillRule = "not_in_thinking" // taken while thinking is off
)

// Model is a row of the catalog: the known facts about a model at a provider.
type Model struct {
	Provider  string          `json:"provider"` // the configured provider's id
	ID        string          `json:"id"`       // as the vendor's API takes it
	Name      string          `json:"name"`
	API       string          `json:"api,omitempty"`     // the wire API that it is spoken to in: messages, responses, …
	Dialect   string          `json:"dialect,omitempty"` // the host's own way with that API; empty: none is known
	As        string          `json:"-"`                 // id of the vendor's model that answers under ID, where the vendor redirects it; empty: ID itself
	Known     bool            `json:"-"`                 // false: there is no row, and nothing below is known
	Thinking  Capability      `json:"thinking"`
	Window    int             `json:"context_window,omitempty"`    // tokens; 0: not known
	NumCtx    int             `json:"num_ctx,omitempty"`           // tokens of the window that the server is asked for, where it can be; 0: as the adapter does
	MaxOutput int             `json:"max_output_tokens,omitempty"` // tokens; 0: not known
	Input     []string        `json:"input,omitempty"`             // see [MediaKinds]
	Media     *MediaLimits    `json:"media,omitempty"`             // nil: not known
	Tools     bool            `json:"tools,omitempty"`
	Sampling  SamplingRule    `json:"sampling,omitempty"`
	Prefill   PrefillRule     `json:"prefill,omitempty"`
	Options   *Options        `json:"options,omitempty"`            // defaults, where no other place states an option; nil: none
	Price     *Price          `json:"price,omitempty"`              // nil: not known
	Premium   *float64        `json:"premium_multiplier,omitempty"` // premium requests that a prompt counts as on a plan that counts them; nil: not known
	Lifecycle *Lifecycle      `json:"lifecycle,omitempty"`          // nil: not known
	ExtraBody json.RawMessage `json:"-"`                            // the operator's: a JSON object that is merged into the body of each call; nil: nothing
	Facts     Facts           `json:"facts,omitzero"`               // who states what
	Source    RowSource       `json:"source"`
	AsOf      string          `json:"as_of,omitempty"` // YYYY-MM-DD
}

// Facts name the source of each group of a row's members. A group without a source has the zero Fact.
type Facts struct {
	Levels    Fact `json:"levels,omitzero"`    // the control, the levels and their budgets
	Default   Fact `json:"default,omitzero"`   // the level that holds where nobody names one
	Limits    Fact `json:"limits,omitzero"`    // the window and the limit on output
	Input     Fact `json:"input,omitzero"`     // the kinds of content
	Media     Fact `json:"media,omitzero"`     // the limits of media
	Price     Fact `json:"price,omitzero"`     // what it costs
	Lifecycle Fact `json:"lifecycle,omitzero"` // when it retires
}

// Fact says how certain a statement is, where it comes from, and from which day it is.
type Fact struct {
	State  FactState `json:"state"`
	Source string    `json:"source,omitempty"`
	AsOf   string    `json:"as_of,omitempty"` // YYYY-MM-DD; empty: as of now
}

// FactState says how certain a statement is.
type FactState string

const (
	FactConfirmed FactState = "confirmed" // a page or a list of the vendor says so, or the configuration does
	FactTable     FactState = "table"     // a public table says so
	FactFamily    FactState = "family"    // guessed from the name
	FactLearned   FactState = "learned"   // a refusal said so
)

// Words lists all states.
func (FactState) Words() []string { return Words(FactConfirmed, FactTable, FactFamily, FactLearned) }

// Each calls f with the name of each group and its Fact.
func (f *Facts) Each(visit func(name string, fact *Fact)) {
	visit("levels", &f.Levels)
	visit("default", &f.Default)
	visit("limits", &f.Limits)
	visit("input", &f.Input)
	visit("media", &f.Media)
	visit("price", &f.Price)
	visit("lifecycle", &f.Lifecycle)
}

// Learned has the facts about a model that the refusals of a host state. A zero member means that none did.
type Learned struct {
	Levels    []Level `json:"levels,omitempty"`            // those that it takes, in ascending order
	Window    int     `json:"context_window,omitempty"`    // tokens, at most
	MaxOutput int     `json:"max_output_tokens,omitempty"` // tokens, at most
	Retired   bool    `json:"retired,omitempty"`           // it is no longer served
}

// Lifecycle says in which state between release and retirement a model is.
type Lifecycle struct {
	State      LifecycleState `json:"state"`
	Retires    string         `json:"retires,omitempty"`     // the day from which it is not served, YYYY-MM-DD
	ReplacedBy string         `json:"replaced_by,omitempty"` // id of the vendor's successor; empty: not known
	Redirects  bool           `json:"redirects,omitempty"`   // from Retires on, ReplacedBy answers under this id, by its own rules
	Gone       bool           `json:"gone,omitempty"`        // the vendor's own list or a refusal says that it is retired: it is not called
}

// LifecycleState is a word of the vendors' lists.
type LifecycleState string

const (
	LifecyclePreview    LifecycleState = "preview"
	LifecycleCurrent    LifecycleState = "current"
	LifecycleDeprecated LifecycleState = "deprecated" // served, and no longer recommended
	LifecycleRetired    LifecycleState = "retired"    // no longer served
)

// Words lists all states.
func (LifecycleState) Words() []string {
	return Words(LifecyclePreview, LifecycleCurrent, LifecycleDeprecated, LifecycleRetired)
}

// Succession names the model that takes the place of one that retires, or says to choose one.
func (l Lifecycle) Succession() string {
	if l.ReplacedBy == "" {
		return "Choose another model."
	}
	return "Its successor is " + l.ReplacedBy + "."
}

// Rules returns the id of the model whose rules apply.
func (m Model) Rules() string { return cmp.Or(m.As, m.ID) }

// Ref returns the model's name in the protocol: provider/id.
func (m Model) Ref() string { return m.Provider + "/" + m.ID }

// RowSource says who stated a row.
type RowSource string

const (
	FromConfig    RowSource = "config"
	FromLive      RowSource = "live"
	FromRefreshed RowSource = "refreshed"
	FromCatalog   RowSource = "catalog"
	FromFamily    RowSource = "family" // a list names the model, and its thinking is guessed from the name
	FromNobody    RowSource = "unknown"
)

// Words lists all sources.
func (RowSource) Words() []string {
	return Words(FromConfig, FromLive, FromRefreshed, FromCatalog, FromFamily, FromNobody)
}

// Reason says why the effective level is what it is.
type Reason string

const (
	AsRequested       Reason = "as_requested"
	LevelNotSupported Reason = "level_not_supported"
	OffNotSupported   Reason = "off_not_supported"
	OffUpFrontOnly    Reason = "off_up_front_only"
	NoThinking        Reason = "no_thinking"
	UnknownModel      Reason = "unknown_model"
	ModelDefault      Reason = "model_default"
)

// Words lists all reasons.
func (Reason) Words() []string {
	return Words(AsRequested, LevelNotSupported, OffNotSupported, OffUpFrontOnly, NoThinking, UnknownModel, ModelDefault)
}

// Decision is the decision on thinking before a call, with its reason: `reasoning` in the protocol.
type Decision struct {
	Source              Source          `json:"source"`
	Requested           Level           `json:"requested_effort"`
	Effective           Level           `json:"effective_effort"`
	Fallback            Policy          `json:"fallback"`
	Reason              Reason          `json:"reason"`
	Supported           []Level         `json:"supported_levels"`
	UsedProviderDefault bool            `json:"used_provider_default"` // no level went out: the vendor's default rules
	KnownModel          bool            `json:"known_model"`
	Wire                json.RawMessage `json:"wire,omitempty"` // the part of the body that this decision puts there

	Control Control `json:"-"` // the same for the adapter
}

// LogValue returns the whole decision, as clients get it.
func (d Decision) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("source", string(d.Source)),
		slog.String("requested_effort", string(d.Requested)),
		slog.String("effective_effort", string(d.Effective)),
		slog.String("fallback", string(d.Fallback)),
		slog.String("reason", string(d.Reason)),
		slog.Any("supported_levels", d.Supported),
		slog.Bool("used_provider_default", d.UsedProviderDefault),
		slog.Bool("known_model", d.KnownModel),
		slog.String("wire", string(d.Wire)),
	)
}

// Mode says what a request tells the model about thinking.
type Mode string

const (
	ModeOmit   Mode = "omit"   // say nothing
	ModeOff    Mode = "off"    // the row's off form
	ModeOn     Mode = "on"     // on, without a degree
	ModeEffort Mode = "effort" // on, with the word in Effort
	ModeBudget Mode = "budget" // on, with Budget tokens, and the word in Effort if that is set
)

// Control is the part of a Decision that an adapter turns into parameters of its API.
type Control struct {
	Mode    Mode
	Effort  Level
	Budget  int
	Display Display // empty: the vendor has none, or thinking is off
}

// Thinking reports whether this asks for thinking. It is false for ModeOmit, where the vendor decides.
func (c Control) Thinking() bool {
	return c.Mode == ModeOn || c.Mode == ModeEffort || c.Mode == ModeBudget
}

// ollamaWindow is the window that an Ollama is asked for where nobody names one, in tokens: an agent needs 64k at least,
// and what a model was trained for seldom fits into memory (docs: context-length).
const ollamaWindow = 65_536

// OllamaWindow returns the context window of a model of Ollama, in tokens. Requests ask the server for it, and the conversation has to
// fit into it. asked is the window in the provider's configuration; 0: none. The result is 0 for models of the cloud, which always have
// their full window.
func OllamaWindow(row Model, asked int) int {
	switch {
	case strings.HasSuffix(row.ID, ":cloud"), strings.HasSuffix(row.ID, "-cloud"):
		return 0
	case row.NumCtx > 0:
		return row.NumCtx
	case asked > 0:
		return asked
	case row.Window > 0:
		return min(row.Window, ollamaWindow)
	}
	return ollamaWindow
}
