// Code generated from rpc.discover by `go generate ./web`. DO NOT EDIT.

package thinkd

import (
	"context"
	"encoding/json"
)

// About is an object of the protocol.
type About struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user"`
}

// Access is one of the constants below. A newer daemon may send others.
type Access string

const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
)

// Agent is an object of the protocol.
type Agent struct {
	Agent         string          `json:"agent"`
	ModelID       string          `json:"model_id,omitempty"`
	SystemPrompt  string          `json:"system_prompt,omitempty"`
	Reasoning     AgentReasoning  `json:"reasoning"`
	OnOtherModel  OtherModel      `json:"on_other_model,omitempty"`
	ThinkingLevel Level           `json:"thinking_level,omitempty"`
	Options       *Options        `json:"options,omitempty"`
	Fallbacks     []FallbackModel `json:"fallbacks,omitempty"`
	Egress        []string        `json:"egress,omitempty"`
	CompactModel  string          `json:"compact_model,omitempty"`
	AskAbove      *float64        `json:"ask_above,omitempty"`
}

// AgentReasoning is an object of the protocol.
type AgentReasoning struct {
	OverrideMode OverrideMode `json:"override_mode,omitempty"`
	Effort       Level        `json:"effort,omitempty"`
	Fallback     Fallback     `json:"fallback,omitempty"`
}

// Applies is one of the constants below. A newer daemon may send others.
type Applies string

const (
	AppliesNow      Applies = "now"
	AppliesNextTurn Applies = "next_turn"
)

// AskKind is one of the constants below. A newer daemon may send others.
type AskKind string

const (
	AskKindThinking AskKind = "thinking"
	AskKindText     AskKind = "text"
)

// AuditRecord is an object of the protocol.
type AuditRecord struct {
	Time         string `json:"time"`
	User         string `json:"user,omitempty"`
	Tenant       string `json:"tenant,omitempty"`
	From         string `json:"from,omitempty"`
	TokenID      string `json:"token_id,omitempty"`
	Node         string `json:"node,omitempty"`
	Method       string `json:"method"`
	SessionID    string `json:"session_id,omitempty"`
	NewSessionID string `json:"new_session_id,omitempty"`
	About        *About `json:"about,omitempty"`
	Code         int64  `json:"code"`
	Kind         string `json:"kind,omitempty"`
	Others       *int64 `json:"others,omitempty"`
	Lost         *int64 `json:"lost,omitempty"`
}

// AuthState is an object of the protocol.
type AuthState struct {
	Provider string      `json:"provider"`
	State    KeyState    `json:"state"`
	Source   KeySource   `json:"source,omitempty"`
	Login    *bool       `json:"login,omitempty"`
	Payer    *Payer      `json:"payer,omitempty"`
	EndsIn   string      `json:"ends_in,omitempty"`
	Keys     []NamedKey  `json:"keys,omitempty"`
	Egress   []string    `json:"egress,omitempty"`
	Limits   []RateLimit `json:"limits,omitempty"`
	Scope    KeyScope    `json:"scope,omitempty"`
}

// BlockContent is an object of the protocol.
type BlockContent struct {
	Text       string         `json:"text,omitempty"`
	JSON       map[string]any `json:"json,omitempty"`
	Sources    []Citation     `json:"sources,omitempty"`
	Type       string         `json:"type"`
	Block      *int64         `json:"block,omitempty"`
	Open       *bool          `json:"open,omitempty"`
	Truncated  *bool          `json:"truncated,omitempty"`
	MimeType   string         `json:"mime_type,omitempty"`
	Name       string         `json:"name,omitempty"`
	Data       string         `json:"data,omitempty"`
	Width      *int64         `json:"width,omitempty"`
	Height     *int64         `json:"height,omitempty"`
	DurationMS *int64         `json:"duration_ms,omitempty"`
}

// Block is an object of the protocol.
type Block struct {
	Text             string         `json:"text,omitempty"`
	JSON             map[string]any `json:"json,omitempty"`
	Sources          []Citation     `json:"sources,omitempty"`
	Type             string         `json:"type"`
	Block            *int64         `json:"block,omitempty"`
	Open             *bool          `json:"open,omitempty"`
	Truncated        *bool          `json:"truncated,omitempty"`
	Kind             ThinkingKind   `json:"kind,omitempty"`
	Signed           *bool          `json:"signed,omitempty"`
	Tokens           *int64         `json:"tokens,omitempty"`
	Estimated        *bool          `json:"estimated,omitempty"`
	DurationMS       *int64         `json:"duration_ms,omitempty"`
	CallID           string         `json:"call_id,omitempty"`
	Name             string         `json:"name,omitempty"`
	Arguments        map[string]any `json:"arguments,omitempty"`
	InvalidArguments string         `json:"invalid_arguments,omitempty"`
	Content          []BlockContent `json:"content,omitempty"`
	IsError          *bool          `json:"is_error,omitempty"`
	MimeType         string         `json:"mime_type,omitempty"`
	Data             string         `json:"data,omitempty"`
	Width            *int64         `json:"width,omitempty"`
	Height           *int64         `json:"height,omitempty"`
}

// CacheCause is one of the constants below. A newer daemon may send others.
type CacheCause string

const (
	CacheCauseModel   CacheCause = "model"
	CacheCauseLevel   CacheCause = "level"
	CacheCauseTools   CacheCause = "tools"
	CacheCauseSystem  CacheCause = "system"
	CacheCauseSummary CacheCause = "summary"
	CacheCauseMessage CacheCause = "message"
	CacheCauseExpired CacheCause = "expired"
	CacheCauseVendor  CacheCause = "vendor"
)

// CacheMiss is an object of the protocol.
type CacheMiss struct {
	Cause  CacheCause `json:"cause"`
	Why    string     `json:"why"`
	Tokens int64      `json:"tokens"`
	Cost   *Cost      `json:"cost,omitempty"`
}

// CacheMisses is an object of the protocol.
type CacheMisses struct {
	Cause  CacheCause `json:"cause"`
	Calls  int64      `json:"calls"`
	Tokens int64      `json:"tokens"`
	Cost   *Cost      `json:"cost,omitempty"`
}

// CacheState is one of the constants below. A newer daemon may send others.
type CacheState string

const (
	CacheStateKept    CacheState = "kept"
	CacheStateLost    CacheState = "lost"
	CacheStateCold    CacheState = "cold"
	CacheStateUnknown CacheState = "unknown"
)

// CacheTime is one of the constants below. A newer daemon may send others.
type CacheTime string

const (
	CacheTime5m  CacheTime = "5m"
	CacheTime1h  CacheTime = "1h"
	CacheTimeOff CacheTime = "off"
)

// CacheUse is an object of the protocol.
type CacheUse struct {
	ExpectedTokens int64       `json:"expected_tokens"`
	CachedTokens   int64       `json:"cached_tokens"`
	Misses         []CacheMiss `json:"misses,omitempty"`
}

// Capabilities is an object of the protocol.
type Capabilities struct {
	Tools        bool `json:"tools"`
	Confirm      bool `json:"confirm"`
	BuiltinTools bool `json:"builtin_tools"`
	MCPServers   bool `json:"mcp_servers"`
}

// Change is an object of the protocol.
type Change struct {
	Model string `json:"model"`
	Fact  string `json:"fact"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
	Was   *Fact  `json:"was,omitempty"`
	Is    *Fact  `json:"is,omitempty"`
}

// Citation is an object of the protocol.
type Citation struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Start *int64 `json:"start,omitempty"`
	End   *int64 `json:"end,omitempty"`
	Quote string `json:"quote,omitempty"`
}

// Cited is an object of the protocol.
type Cited struct {
	Block   int64      `json:"block"`
	Sources []Citation `json:"sources"`
}

// ClientCapabilities is an object of the protocol.
type ClientCapabilities struct {
	Tools   *bool `json:"tools,omitempty"`
	Confirm *bool `json:"confirm,omitempty"`
}

// ClientInfo is an object of the protocol.
type ClientInfo struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Attended *bool  `json:"attended,omitempty"`
}

// CompactFirst is an object of the protocol.
type CompactFirst struct {
	Messages    int64      `json:"messages"`
	Tokens      int64      `json:"tokens"`
	SummaryCost *CostRange `json:"summary_cost"`
	Cost        *CostRange `json:"cost"`
}

// Confirm is an object of the protocol.
type Confirm struct {
	ConfirmID string          `json:"confirm_id"`
	MessageID string          `json:"message_id"`
	Block     int64           `json:"block"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Title     string          `json:"title"`
	Message   string          `json:"message"`
	Origin    Origin          `json:"origin"`
	Parts     []Part          `json:"parts"`
	Actions   []ConfirmAction `json:"actions"`
	Grants    []Grant         `json:"grants"`
	Denials   []Grant         `json:"denials"`
	Limit     *int64          `json:"limit,omitempty"`
	Until     *int64          `json:"until,omitempty"`
	Truncated *bool           `json:"truncated,omitempty"`
}

// ConfirmAction is one of the constants below. A newer daemon may send others.
type ConfirmAction string

const (
	ConfirmActionAllow        ConfirmAction = "allow"
	ConfirmActionAllowSession ConfirmAction = "allow_session"
	ConfirmActionDeny         ConfirmAction = "deny"
)

// Context is an object of the protocol.
type Context struct {
	Used   int64 `json:"used"`
	Window int64 `json:"window"`
}

// ContinueAction is one of the constants below. A newer daemon may send others.
type ContinueAction string

const (
	ContinueActionKept           ContinueAction = "kept"
	ContinueActionPrefilled      ContinueAction = "prefilled"
	ContinueActionRequestedAgain ContinueAction = "requested_again"
	ContinueActionDropped        ContinueAction = "dropped"
)

// ContinuedPart is an object of the protocol.
type ContinuedPart struct {
	MessageID string         `json:"message_id"`
	Block     int64          `json:"block"`
	Type      string         `json:"type"`
	Action    ContinueAction `json:"action"`
}

// Cost is an object of the protocol.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
	Partial  *bool   `json:"partial,omitempty"`
}

// CostRange is an object of the protocol.
type CostRange struct {
	Low    Cost `json:"low"`
	Likely Cost `json:"likely"`
	High   Cost `json:"high"`
}

// Display is one of the constants below. A newer daemon may send others.
type Display string

const (
	DisplaySummarized Display = "summarized"
	DisplayOmitted    Display = "omitted"
	DisplayUpdates    Display = "updates"
)

// Disposition is one of the constants below. A newer daemon may send others.
type Disposition string

const (
	DispositionStarted  Disposition = "started"
	DispositionQueued   Disposition = "queued"
	DispositionSteered  Disposition = "steered"
	DispositionAppended Disposition = "appended"
)

// ErrorData is an object of the protocol.
type ErrorData struct {
	Kind           string            `json:"kind"`
	Field          string            `json:"field,omitempty"`
	Candidates     []string          `json:"candidates,omitempty"`
	Model          string            `json:"model,omitempty"`
	Valid          []string          `json:"valid,omitempty"`
	Ignored        []string          `json:"ignored,omitempty"`
	DidYouMean     map[string]string `json:"did_you_mean,omitempty"`
	ThinkingLevels []Level           `json:"thinking_levels,omitempty"`
	Limit          json.RawMessage   `json:"limit,omitempty"`
	Detail         string            `json:"detail,omitempty"`
	RetryAfterMS   *int64            `json:"retry_after_ms,omitempty"`
	Status         *int64            `json:"status,omitempty"`
	RequestID      string            `json:"request_id,omitempty"`
	Right          string            `json:"right,omitempty"`
	Ref            string            `json:"ref,omitempty"`
	ModelID        string            `json:"model_id,omitempty"`
	Media          string            `json:"media,omitempty"`
	Reason         string            `json:"reason,omitempty"`
	Block          *int64            `json:"block,omitempty"`
	Takes          []string          `json:"takes,omitempty"`
}

// Error is an object of the protocol.
type Error struct {
	Code    int64      `json:"code"`
	Message string     `json:"message"`
	Data    *ErrorData `json:"data,omitempty"`
}

// Excerpt is an object of the protocol.
type Excerpt struct {
	In        Place   `json:"in"`
	MessageID string  `json:"message_id,omitempty"`
	Block     *int64  `json:"block,omitempty"`
	Text      string  `json:"text"`
	Matches   []Match `json:"matches"`
}

// ExportFormat is one of the constants below. A newer daemon may send others.
type ExportFormat string

const (
	ExportFormatJSON     ExportFormat = "json"
	ExportFormatMarkdown ExportFormat = "markdown"
)

// Fact is an object of the protocol.
type Fact struct {
	State  FactState `json:"state"`
	Source string    `json:"source,omitempty"`
	AsOf   string    `json:"as_of,omitempty"`
}

// FactState is one of the constants below. A newer daemon may send others.
type FactState string

const (
	FactStateConfirmed FactState = "confirmed"
	FactStateTable     FactState = "table"
	FactStateFamily    FactState = "family"
	FactStateLearned   FactState = "learned"
)

// Facts is an object of the protocol.
type Facts struct {
	Levels    *Fact `json:"levels,omitempty"`
	Default   *Fact `json:"default,omitempty"`
	Limits    *Fact `json:"limits,omitempty"`
	Input     *Fact `json:"input,omitempty"`
	Media     *Fact `json:"media,omitempty"`
	Price     *Fact `json:"price,omitempty"`
	Lifecycle *Fact `json:"lifecycle,omitempty"`
}

// FailureKind is one of the constants below. A newer daemon may send others.
type FailureKind string

const (
	FailureKindAuth           FailureKind = "auth"
	FailureKindRateLimit      FailureKind = "rate_limit"
	FailureKindQuota          FailureKind = "quota"
	FailureKindOverloaded     FailureKind = "overloaded"
	FailureKindContextTooLong FailureKind = "context_too_long"
	FailureKindRefused        FailureKind = "refused"
	FailureKindBadRequest     FailureKind = "bad_request"
	FailureKindTransport      FailureKind = "transport"
	FailureKindStalled        FailureKind = "stalled"
	FailureKindEmptyAnswer    FailureKind = "empty_answer"
	FailureKindOtherModel     FailureKind = "other_model"
	FailureKindEgress         FailureKind = "egress"
)

// Fallback is one of the constants below. A newer daemon may send others.
type Fallback string

const (
	FallbackDowngrade       Fallback = "downgrade"
	FallbackOff             Fallback = "off"
	FallbackProviderDefault Fallback = "provider_default"
	FallbackError           Fallback = "error"
)

// FallbackModel is an object of the protocol.
type FallbackModel struct {
	ModelID       string `json:"model_id"`
	ThinkingLevel Level  `json:"thinking_level,omitempty"`
	Key           string `json:"key,omitempty"`
}

// FellBack is an object of the protocol.
type FellBack struct {
	From        ModelInForce    `json:"from"`
	To          ModelInForce    `json:"to"`
	Key         string          `json:"key,omitempty"`
	Why         SwitchReason    `json:"why"`
	Continues   *bool           `json:"continues,omitempty"`
	Thinking    *Thoughts       `json:"thinking,omitempty"`
	Cache       CacheState      `json:"cache,omitempty"`
	CacheWhy    string          `json:"cache_why,omitempty"`
	PriceFactor *float64        `json:"price_factor,omitempty"`
	Payer       *Payer          `json:"payer,omitempty"`
	Options     *OptionDecision `json:"options,omitempty"`
	Error       *Error          `json:"error,omitempty"`
}

// Found is an object of the protocol.
type Found struct {
	Session  SessionInfo `json:"session"`
	Hits     int64       `json:"hits"`
	Excerpts []Excerpt   `json:"excerpts"`
}

// Grant is an object of the protocol.
type Grant struct {
	ID         string     `json:"id"`
	Text       string     `json:"text"`
	Scope      GrantScope `json:"scope"`
	Deny       *bool      `json:"deny,omitempty"`
	Tool       string     `json:"tool"`
	Prefix     []string   `json:"prefix,omitempty"`
	Folder     string     `json:"folder,omitempty"`
	Definition string     `json:"definition,omitempty"`
}

// GrantScope is one of the constants below. A newer daemon may send others.
type GrantScope string

const (
	GrantScopeTool   GrantScope = "tool"
	GrantScopePrefix GrantScope = "prefix"
	GrantScopeFolder GrantScope = "folder"
)

// Guest is an object of the protocol.
type Guest struct {
	User   string `json:"user"`
	Access Access `json:"access"`
}

// Identity is an object of the protocol.
type Identity struct {
	User      string   `json:"user"`
	Tenant    string   `json:"tenant,omitempty"`
	Rights    []string `json:"rights"`
	ExpiresAt *int64   `json:"expires_at,omitempty"`
}

// Incomplete is one of the constants below. A newer daemon may send others.
type Incomplete string

const (
	IncompleteCancelled   Incomplete = "cancelled"
	IncompleteInterrupted Incomplete = "interrupted"
	IncompleteError       Incomplete = "error"
	IncompleteMaxTokens   Incomplete = "max_tokens"
	IncompleteRefusal     Incomplete = "refusal"
	IncompleteRefused     Incomplete = "refused"
)

// InstructionFile is an object of the protocol.
type InstructionFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Cut   *bool  `json:"cut,omitempty"`
}

// Joined is an object of the protocol.
type Joined struct {
	MessageID string `json:"message_id"`
	Block     int64  `json:"block"`
}

// KeyScope is one of the constants below. A newer daemon may send others.
type KeyScope string

const (
	KeyScopeUser     KeyScope = "user"
	KeyScopeTenant   KeyScope = "tenant"
	KeyScopeOperator KeyScope = "operator"
)

// KeySource is one of the constants below. A newer daemon may send others.
type KeySource string

const (
	KeySourceEnvironment KeySource = "environment"
	KeySourceKeys        KeySource = "keys"
	KeySourceLogin       KeySource = "login"
	KeySourceIdentity    KeySource = "identity"
)

// KeyState is one of the constants below. A newer daemon may send others.
type KeyState string

const (
	KeyStateReady     KeyState = "ready"
	KeyStateMissing   KeyState = "missing"
	KeyStateRefused   KeyState = "refused"
	KeyStateNotNeeded KeyState = "not_needed"
)

// KindLimits is an object of the protocol.
type KindLimits struct {
	Types       []string   `json:"types,omitempty"`
	MaxBytes    *int64     `json:"max_bytes,omitempty"`
	MaxCount    *int64     `json:"max_count,omitempty"`
	MaxSide     *int64     `json:"max_side,omitempty"`
	MaxPixels   *int64     `json:"max_pixels,omitempty"`
	MaxPages    *int64     `json:"max_pages,omitempty"`
	Many        *int64     `json:"many,omitempty"`
	ManyMaxSide *int64     `json:"many_max_side,omitempty"`
	Tokens      *TokenRule `json:"tokens,omitempty"`
}

// Level is one of the constants below. A newer daemon may send others.
type Level string

const (
	LevelOff     Level = "off"
	LevelAuto    Level = "auto"
	LevelOn      Level = "on"
	LevelMinimal Level = "minimal"
	LevelLow     Level = "low"
	LevelMedium  Level = "medium"
	LevelHigh    Level = "high"
	LevelXhigh   Level = "xhigh"
	LevelMax     Level = "max"
)

// LevelReason is one of the constants below. A newer daemon may send others.
type LevelReason string

const (
	LevelReasonAsRequested       LevelReason = "as_requested"
	LevelReasonLevelNotSupported LevelReason = "level_not_supported"
	LevelReasonOffNotSupported   LevelReason = "off_not_supported"
	LevelReasonOffUpFrontOnly    LevelReason = "off_up_front_only"
	LevelReasonNoThinking        LevelReason = "no_thinking"
	LevelReasonUnknownModel      LevelReason = "unknown_model"
	LevelReasonModelDefault      LevelReason = "model_default"
)

// LevelSource is one of the constants below. A newer daemon may send others.
type LevelSource string

const (
	LevelSourceTurn     LevelSource = "turn"
	LevelSourceSession  LevelSource = "session"
	LevelSourceAgent    LevelSource = "agent"
	LevelSourceConfig   LevelSource = "config"
	LevelSourceProvider LevelSource = "provider"
	LevelSourceModel    LevelSource = "model"
	LevelSourceUnset    LevelSource = "unset"
)

// Lifecycle is an object of the protocol.
type Lifecycle struct {
	State      ModelLifecycle `json:"state"`
	Retires    string         `json:"retires,omitempty"`
	ReplacedBy string         `json:"replaced_by,omitempty"`
	Redirects  *bool          `json:"redirects,omitempty"`
	Gone       *bool          `json:"gone,omitempty"`
}

// Limits is an object of the protocol.
type Limits struct {
	MaxMessageBytes int64 `json:"max_message_bytes"`
	MaxDepth        int64 `json:"max_depth"`
	MaxMethodBytes  int64 `json:"max_method_bytes"`
	MaxIDBytes      int64 `json:"max_id_bytes"`
	MaxBatch        int64 `json:"max_batch"`
	MaxInFlight     int64 `json:"max_in_flight"`
}

// LoginState is one of the constants below. A newer daemon may send others.
type LoginState string

const (
	LoginStateStarted LoginState = "started"
	LoginStateWaiting LoginState = "waiting"
	LoginStateReady   LoginState = "ready"
	LoginStateFailed  LoginState = "failed"
)

// Match is an object of the protocol.
type Match struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// MediaBlock is an object of the protocol.
type MediaBlock struct {
	MimeType   string `json:"mime_type"`
	Name       string `json:"name,omitempty"`
	Data       string `json:"data,omitempty"`
	Width      *int64 `json:"width,omitempty"`
	Height     *int64 `json:"height,omitempty"`
	DurationMS *int64 `json:"duration_ms,omitempty"`
	Type       string `json:"type"`
	Block      *int64 `json:"block,omitempty"`
	Open       *bool  `json:"open,omitempty"`
	Truncated  *bool  `json:"truncated,omitempty"`
}

// MediaLimits is an object of the protocol.
type MediaLimits struct {
	MaxBytes *int64      `json:"max_bytes,omitempty"`
	Image    *KindLimits `json:"image,omitempty"`
	Pdf      *KindLimits `json:"pdf,omitempty"`
	Audio    *KindLimits `json:"audio,omitempty"`
}

// Message is an object of the protocol.
type Message struct {
	ID         string        `json:"id"`
	TurnID     string        `json:"turn_id"`
	Role       Role          `json:"role"`
	Ts         *int64        `json:"ts,omitempty"`
	Content    []Block       `json:"content"`
	Model      *ModelInForce `json:"model,omitempty"`
	Reasoning  *Reasoning    `json:"reasoning,omitempty"`
	Served     *ServedRecord `json:"served,omitempty"`
	Payer      *Payer        `json:"payer,omitempty"`
	Tier       string        `json:"tier,omitempty"`
	StopReason StopReason    `json:"stop_reason,omitempty"`
	Usage      *Usage        `json:"usage,omitempty"`
	Incomplete Incomplete    `json:"incomplete,omitempty"`
	Open       *bool         `json:"open,omitempty"`
	Queued     *bool         `json:"queued,omitempty"`
	Into       string        `json:"into,omitempty"`
	Continues  string        `json:"continues,omitempty"`
	Joins      *Joined       `json:"joins,omitempty"`
	Pinned     *bool         `json:"pinned,omitempty"`
	TurnEnd    *TurnEnded    `json:"turn_end,omitempty"`
}

// Model is an object of the protocol.
type Model struct {
	ID                   string            `json:"id"`
	Name                 string            `json:"name"`
	Provider             string            `json:"provider"`
	SupportsThinking     bool              `json:"supports_thinking"`
	ThinkingLevels       []Level           `json:"thinking_levels"`
	DefaultThinkingLevel Level             `json:"default_thinking_level"`
	Thinking             ModelThinking     `json:"thinking"`
	ContextWindow        *int64            `json:"context_window,omitempty"`
	MaxOutputTokens      *int64            `json:"max_output_tokens,omitempty"`
	Input                []string          `json:"input,omitempty"`
	Media                *MediaLimits      `json:"media,omitempty"`
	Tools                bool              `json:"tools"`
	Price                *Price            `json:"price,omitempty"`
	PremiumMultiplier    *float64          `json:"premium_multiplier,omitempty"`
	Lifecycle            *Lifecycle        `json:"lifecycle,omitempty"`
	Facts                *Facts            `json:"facts,omitempty"`
	ThinkingStorages     []ThinkingStorage `json:"thinking_storages"`
	Available            bool              `json:"available"`
	Why                  string            `json:"why,omitempty"`
}

// ModelInForce is an object of the protocol.
type ModelInForce struct {
	Provider      string `json:"provider"`
	ID            string `json:"id"`
	ThinkingLevel Level  `json:"thinking_level"`
}

// ModelLifecycle is one of the constants below. A newer daemon may send others.
type ModelLifecycle string

const (
	ModelLifecyclePreview    ModelLifecycle = "preview"
	ModelLifecycleCurrent    ModelLifecycle = "current"
	ModelLifecycleDeprecated ModelLifecycle = "deprecated"
	ModelLifecycleRetired    ModelLifecycle = "retired"
)

// ModelSource is one of the constants below. A newer daemon may send others.
type ModelSource string

const (
	ModelSourceConfig    ModelSource = "config"
	ModelSourceLive      ModelSource = "live"
	ModelSourceRefreshed ModelSource = "refreshed"
	ModelSourceCatalog   ModelSource = "catalog"
	ModelSourceFamily    ModelSource = "family"
	ModelSourceUnknown   ModelSource = "unknown"
)

// ModelThinking is an object of the protocol.
type ModelThinking struct {
	Control    ThinkingControl `json:"control,omitempty"`
	CanDisable bool            `json:"can_disable"`
	Display    []Display       `json:"display,omitempty"`
	Source     ModelSource     `json:"source"`
	AsOf       string          `json:"as_of,omitempty"`
}

// NamedKey is an object of the protocol.
type NamedKey struct {
	Name   string `json:"name"`
	EndsIn string `json:"ends_in,omitempty"`
}

// Need is one of the constants below. A newer daemon may send others.
type Need string

const (
	NeedApproval Need = "approval"
	NeedAnswer   Need = "answer"
	NeedParked   Need = "parked"
	NeedRead     Need = "read"
)

// NewTool is an object of the protocol.
type NewTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	InputSchema map[string]any `json:"input_schema,omitempty"`
	Title       string         `json:"title,omitempty"`
	Effect      ToolEffect     `json:"effect,omitempty"`
}

// OfferedServer is an object of the protocol.
type OfferedServer struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	CWD     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Tools   []string          `json:"tools,omitempty"`
}

// Omitted is an object of the protocol.
type Omitted struct {
	MessageID string      `json:"message_id"`
	Part      OmittedPart `json:"part"`
	Why       string      `json:"why"`
}

// OmittedPart is one of the constants below. A newer daemon may send others.
type OmittedPart string

const (
	OmittedPartAll             OmittedPart = "all"
	OmittedPartMediaAndResults OmittedPart = "media_and_results"
)

// OpenTool is an object of the protocol.
type OpenTool struct {
	MessageID        string          `json:"message_id"`
	Block            int64           `json:"block"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        json.RawMessage `json:"arguments,omitempty"`
	InvalidArguments string          `json:"invalid_arguments,omitempty"`
	Host             ToolHost        `json:"host,omitempty"`
	Title            string          `json:"title,omitempty"`
	Truncated        *bool           `json:"truncated,omitempty"`
	Output           string          `json:"output,omitempty"`
}

// OpenTurn is an object of the protocol.
type OpenTurn struct {
	TurnID    string          `json:"turn_id"`
	Model     ModelInForce    `json:"model"`
	Reasoning Reasoning       `json:"reasoning"`
	Payer     *Payer          `json:"payer,omitempty"`
	Options   *OptionDecision `json:"options,omitempty"`
	Messages  []Message       `json:"messages"`
	More      *bool           `json:"more,omitempty"`
	Confirms  []Confirm       `json:"confirms,omitempty"`
	Tools     []OpenTool      `json:"tools,omitempty"`
	Parked    *Parked         `json:"parked,omitempty"`
	Continues string          `json:"continues,omitempty"`
	Joins     *Joined         `json:"joins,omitempty"`
	Queue     []Queued        `json:"queue"`
	Held      bool            `json:"held"`
}

// OptionDecision is an object of the protocol.
type OptionDecision struct {
	Options    []OptionOutcome `json:"options"`
	OutputForm OutputForm      `json:"output_form,omitempty"`
	Wire       json.RawMessage `json:"wire,omitempty"`
}

// OptionOutcome is an object of the protocol.
type OptionOutcome struct {
	Option    string          `json:"option"`
	State     OptionState     `json:"state"`
	Source    LevelSource     `json:"source"`
	Requested json.RawMessage `json:"requested"`
	Effective json.RawMessage `json:"effective,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// OptionState is one of the constants below. A newer daemon may send others.
type OptionState string

const (
	OptionStateSent     OptionState = "sent"
	OptionStateAdjusted OptionState = "adjusted"
	OptionStateRefused  OptionState = "refused"
)

// Options is an object of the protocol.
type Options struct {
	OutputSchema     *OutputSchema     `json:"output_schema,omitempty"`
	Output           Output            `json:"output,omitempty"`
	ToolChoice       string            `json:"tool_choice,omitempty"`
	ParallelTools    *bool             `json:"parallel_tools,omitempty"`
	MaxOutputTokens  *int64            `json:"max_output_tokens,omitempty"`
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	TopK             *int64            `json:"top_k,omitempty"`
	Stop             []string          `json:"stop,omitempty"`
	Seed             *int64            `json:"seed,omitempty"`
	Verbosity        Verbosity         `json:"verbosity,omitempty"`
	ServiceTier      ServiceTier       `json:"service_tier,omitempty"`
	Cache            CacheTime         `json:"cache,omitempty"`
	ServerTools      []ServerToolName  `json:"server_tools,omitempty"`
	ServerToolLimits *ServerToolLimits `json:"server_tool_limits,omitempty"`
}

// Origin is an object of the protocol.
type Origin struct {
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Host     ToolHost   `json:"host"`
	Server   string     `json:"server,omitempty"`
	Effect   ToolEffect `json:"effect"`
	Folder   string     `json:"folder,omitempty"`
}

// OtherModel is one of the constants below. A newer daemon may send others.
type OtherModel string

const (
	OtherModelNotify OtherModel = "notify"
	OtherModelStop   OtherModel = "stop"
)

// Output is one of the constants below. A newer daemon may send others.
type Output string

const (
	OutputText Output = "text"
	OutputJSON Output = "json"
)

// OutputForm is one of the constants below. A newer daemon may send others.
type OutputForm string

const (
	OutputFormNative OutputForm = "native"
	OutputFormTool   OutputForm = "tool"
)

// OutputSchema is an object of the protocol.
type OutputSchema struct {
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict,omitempty"`
}

// OverrideMode is one of the constants below. A newer daemon may send others.
type OverrideMode string

const (
	OverrideModeInherit OverrideMode = "inherit"
	OverrideModeCustom  OverrideMode = "custom"
)

// ParkReason is one of the constants below. A newer daemon may send others.
type ParkReason string

const (
	ParkReasonQuota    ParkReason = "quota"
	ParkReasonApproval ParkReason = "approval"
	ParkReasonOutage   ParkReason = "outage"
	ParkReasonClient   ParkReason = "client"
	ParkReasonBudget   ParkReason = "budget"
)

// Parked is an object of the protocol.
type Parked struct {
	Why      ParkReason `json:"why"`
	Since    int64      `json:"since"`
	Until    *int64     `json:"until,omitempty"`
	Resumes  Resumption `json:"resumes"`
	Spending *Spending  `json:"spending,omitempty"`
	Error    *Error     `json:"error,omitempty"`
}

// Part is an object of the protocol.
type Part struct {
	Kind PartKind `json:"kind"`
	Name string   `json:"name,omitempty"`
	Text string   `json:"text"`
}

// PartKind is one of the constants below. A newer daemon may send others.
type PartKind string

const (
	PartKindCommand PartKind = "command"
	PartKindDiff    PartKind = "diff"
	PartKindContent PartKind = "content"
	PartKindValue   PartKind = "value"
)

// Payer is an object of the protocol.
type Payer struct {
	Kind PayerKind `json:"kind"`
	Name string    `json:"name"`
}

// PayerKind is one of the constants below. A newer daemon may send others.
type PayerKind string

const (
	PayerKindPlan  PayerKind = "plan"
	PayerKindKey   PayerKind = "key"
	PayerKindLocal PayerKind = "local"
)

// PeakHours is an object of the protocol.
type PeakHours struct {
	Factor    float64   `json:"factor"`
	UtcOffset int64     `json:"utc_offset"`
	Hours     [][]int64 `json:"hours"`
	Weekdays  *bool     `json:"weekdays,omitempty"`
}

// PinApplies is one of the constants below. A newer daemon may send others.
type PinApplies string

const (
	PinAppliesNow         PinApplies = "now"
	PinAppliesNextSummary PinApplies = "next_summary"
)

// Place is one of the constants below. A newer daemon may send others.
type Place string

const (
	PlaceTitle   Place = "title"
	PlacePrompt  Place = "prompt"
	PlaceThought Place = "thought"
	PlaceAnswer  Place = "answer"
	PlaceTool    Place = "tool"
)

// PlanItem is an object of the protocol.
type PlanItem struct {
	Content  string       `json:"content"`
	Status   PlanStatus   `json:"status"`
	Priority PlanPriority `json:"priority"`
}

// PlanPriority is one of the constants below. A newer daemon may send others.
type PlanPriority string

const (
	PlanPriorityHigh   PlanPriority = "high"
	PlanPriorityMedium PlanPriority = "medium"
	PlanPriorityLow    PlanPriority = "low"
)

// PlanStatus is one of the constants below. A newer daemon may send others.
type PlanStatus string

const (
	PlanStatusPending    PlanStatus = "pending"
	PlanStatusInProgress PlanStatus = "in_progress"
	PlanStatusCompleted  PlanStatus = "completed"
)

// Price is an object of the protocol.
type Price struct {
	Input        float64            `json:"input"`
	Output       float64            `json:"output"`
	CachedInput  *float64           `json:"cached_input,omitempty"`
	CacheWrite   *float64           `json:"cache_write,omitempty"`
	CacheWrite1h *float64           `json:"cache_write_1h,omitempty"`
	Tiers        []PriceTier        `json:"tiers,omitempty"`
	Changes      []PriceChange      `json:"changes,omitempty"`
	Peak         *PeakHours         `json:"peak,omitempty"`
	ServiceTiers map[string]float64 `json:"service_tiers,omitempty"`
	WebSearch    *float64           `json:"web_search,omitempty"`
}

// PriceChange is an object of the protocol.
type PriceChange struct {
	From         string      `json:"from"`
	Input        float64     `json:"input"`
	Output       float64     `json:"output"`
	CachedInput  *float64    `json:"cached_input,omitempty"`
	CacheWrite   *float64    `json:"cache_write,omitempty"`
	CacheWrite1h *float64    `json:"cache_write_1h,omitempty"`
	Tiers        []PriceTier `json:"tiers,omitempty"`
}

// PriceTier is an object of the protocol.
type PriceTier struct {
	Above        int64    `json:"above"`
	Input        float64  `json:"input"`
	Output       float64  `json:"output"`
	CachedInput  *float64 `json:"cached_input,omitempty"`
	CacheWrite   *float64 `json:"cache_write,omitempty"`
	CacheWrite1h *float64 `json:"cache_write_1h,omitempty"`
}

// PromptPart is one of the constants below. A newer daemon may send others.
type PromptPart string

const (
	PromptPartTools   PromptPart = "tools"
	PromptPartSystem  PromptPart = "system"
	PromptPartSummary PromptPart = "summary"
	PromptPartTurns   PromptPart = "turns"
	PromptPartMedia   PromptPart = "media"
)

// Provider is an object of the protocol.
type Provider struct {
	Provider          string             `json:"provider"`
	Available         bool               `json:"available"`
	Why               string             `json:"why,omitempty"`
	ReasoningDefaults *ReasoningDefaults `json:"reasoning_defaults"`
}

// Purpose is one of the constants below. A newer daemon may send others.
type Purpose string

const (
	PurposeTurn    Purpose = "turn"
	PurposeSummary Purpose = "summary"
	PurposeAside   Purpose = "aside"
)

// Queued is an object of the protocol.
type Queued struct {
	TurnID string `json:"turn_id"`
	Text   string `json:"text"`
}

// Quoted is an object of the protocol.
type Quoted struct {
	Prompt       *QuotedPrompt `json:"prompt"`
	Cost         *CostRange    `json:"cost"`
	CompactFirst *CompactFirst `json:"compact_first,omitempty"`
}

// QuotedPart is an object of the protocol.
type QuotedPart struct {
	Part    PromptPart `json:"part"`
	Tokens  int64      `json:"tokens"`
	Read    *int64     `json:"read"`
	Written *int64     `json:"written"`
	Paid    *int64     `json:"paid"`
}

// QuotedPrompt is an object of the protocol.
type QuotedPrompt struct {
	Tokens     int64        `json:"tokens"`
	TokensLow  int64        `json:"tokens_low"`
	TokensHigh int64        `json:"tokens_high"`
	Counted    bool         `json:"counted"`
	Read       *int64       `json:"read"`
	Written    *int64       `json:"written"`
	Paid       *int64       `json:"paid"`
	Parts      []QuotedPart `json:"parts"`
}

// RateLimit is an object of the protocol.
type RateLimit struct {
	Name        string   `json:"name"`
	Plan        *bool    `json:"plan,omitempty"`
	Limit       *float64 `json:"limit,omitempty"`
	Remaining   *float64 `json:"remaining,omitempty"`
	UsedPercent *float64 `json:"used_percent,omitempty"`
	Resets      *int64   `json:"resets,omitempty"`
	WindowMS    *int64   `json:"window_ms,omitempty"`
}

// Reasoning is an object of the protocol.
type Reasoning struct {
	Source              LevelSource     `json:"source"`
	RequestedEffort     Level           `json:"requested_effort"`
	EffectiveEffort     Level           `json:"effective_effort"`
	Fallback            Fallback        `json:"fallback"`
	Reason              LevelReason     `json:"reason"`
	SupportedLevels     []Level         `json:"supported_levels"`
	UsedProviderDefault bool            `json:"used_provider_default"`
	KnownModel          bool            `json:"known_model"`
	Wire                json.RawMessage `json:"wire,omitempty"`
}

// ReasoningDefaults is an object of the protocol.
type ReasoningDefaults struct {
	Effort   Level    `json:"effort,omitempty"`
	Fallback Fallback `json:"fallback,omitempty"`
}

// Reconnect is an object of the protocol.
type Reconnect struct {
	MinMS int64 `json:"min_ms"`
	MaxMS int64 `json:"max_ms"`
}

// Refreshed is an object of the protocol.
type Refreshed struct {
	Provider string   `json:"provider"`
	Models   int64    `json:"models"`
	AsOf     string   `json:"as_of,omitempty"`
	Error    string   `json:"error,omitempty"`
	Skipped  []string `json:"skipped,omitempty"`
}

// ResolvedBy is one of the constants below. A newer daemon may send others.
type ResolvedBy string

const (
	ResolvedByClient   ResolvedBy = "client"
	ResolvedByTimeout  ResolvedBy = "timeout"
	ResolvedByTurnEnd  ResolvedBy = "turn_end"
	ResolvedByToolMode ResolvedBy = "tool_mode"
)

// ResumedBy is one of the constants below. A newer daemon may send others.
type ResumedBy string

const (
	ResumedByTime   ResumedBy = "time"
	ResumedByClient ResumedBy = "client"
	ResumedByAnswer ResumedBy = "answer"
)

// Resumption is one of the constants below. A newer daemon may send others.
type Resumption string

const (
	ResumptionAutomatically Resumption = "automatically"
	ResumptionOnRequest     Resumption = "on_request"
)

// Role is one of the constants below. A newer daemon may send others.
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Served is an object of the protocol.
type Served struct {
	Model       string `json:"model,omitempty"`
	Host        string `json:"host,omitempty"`
	Substituted *bool  `json:"substituted,omitempty"`
}

// ServedRecord is an object of the protocol.
type ServedRecord struct {
	Requested   string `json:"requested,omitempty"`
	Sent        string `json:"sent,omitempty"`
	Model       string `json:"model,omitempty"`
	Host        string `json:"host,omitempty"`
	Substituted *bool  `json:"substituted,omitempty"`
}

// ServerInfo is an object of the protocol.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ServerStatus is one of the constants below. A newer daemon may send others.
type ServerStatus string

const (
	ServerStatusRunning ServerStatus = "running"
	ServerStatusDone    ServerStatus = "done"
	ServerStatusFailed  ServerStatus = "failed"
)

// ServerToolBlock is an object of the protocol.
type ServerToolBlock struct {
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Text      string         `json:"text,omitempty"`
	Sources   []Citation     `json:"sources,omitempty"`
	IsError   *bool          `json:"is_error,omitempty"`
	Type      string         `json:"type"`
	Block     *int64         `json:"block,omitempty"`
	Open      *bool          `json:"open,omitempty"`
	Truncated *bool          `json:"truncated,omitempty"`
}

// ServerToolLimits is an object of the protocol.
type ServerToolLimits struct {
	MaxUses        *int64   `json:"max_uses,omitempty"`
	AllowedDomains []string `json:"allowed_domains,omitempty"`
	BlockedDomains []string `json:"blocked_domains,omitempty"`
}

// ServerToolName is one of the constants below. A newer daemon may send others.
type ServerToolName string

const (
	ServerToolNameWebSearch     ServerToolName = "web_search"
	ServerToolNameWebFetch      ServerToolName = "web_fetch"
	ServerToolNameCodeExecution ServerToolName = "code_execution"
)

// ServiceTier is one of the constants below. A newer daemon may send others.
type ServiceTier string

const (
	ServiceTierAuto     ServiceTier = "auto"
	ServiceTierStandard ServiceTier = "standard"
	ServiceTierFlex     ServiceTier = "flex"
	ServiceTierPriority ServiceTier = "priority"
)

// SessionInfo is an object of the protocol.
type SessionInfo struct {
	SessionID              string            `json:"session_id"`
	Title                  string            `json:"title"`
	Status                 SessionStatus     `json:"status"`
	Model                  ModelInForce      `json:"model"`
	ThinkingLevel          Level             `json:"thinking_level"`
	PreferredThinkingLevel Level             `json:"preferred_thinking_level"`
	Agent                  string            `json:"agent,omitempty"`
	ToolMode               ToolMode          `json:"tool_mode,omitempty"`
	OnOtherModel           OtherModel        `json:"on_other_model,omitempty"`
	Fallbacks              []FallbackModel   `json:"fallbacks,omitempty"`
	Egress                 []string          `json:"egress,omitempty"`
	ThinkingStorage        ThinkingStorage   `json:"thinking_storage,omitempty"`
	Ephemeral              *bool             `json:"ephemeral,omitempty"`
	AskAbove               *float64          `json:"ask_above,omitempty"`
	CWD                    string            `json:"cwd"`
	Created                int64             `json:"created"`
	Updated                int64             `json:"updated"`
	Usage                  Usage             `json:"usage"`
	WarmUntil              *int64            `json:"warm_until,omitempty"`
	Metadata               map[string]any    `json:"metadata"`
	Grants                 []Grant           `json:"grants,omitempty"`
	Needs                  Need              `json:"needs,omitempty"`
	Owner                  string            `json:"owner,omitempty"`
	Access                 Access            `json:"access,omitempty"`
	Archived               *bool             `json:"archived,omitempty"`
	Pinned                 *bool             `json:"pinned,omitempty"`
	PinnedMessages         []string          `json:"pinned_messages,omitempty"`
	Options                *Options          `json:"options,omitempty"`
	Tools                  []SessionTool     `json:"tools,omitempty"`
	Plan                   []PlanItem        `json:"plan,omitempty"`
	ProjectInstructions    []InstructionFile `json:"project_instructions,omitempty"`
}

// SessionOptions is an object of the protocol.
type SessionOptions struct {
	OutputSchema     *OutputSchema     `json:"output_schema,omitempty"`
	Output           Output            `json:"output,omitempty"`
	ToolChoice       string            `json:"tool_choice,omitempty"`
	ParallelTools    *bool             `json:"parallel_tools,omitempty"`
	MaxOutputTokens  *int64            `json:"max_output_tokens,omitempty"`
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	TopK             *int64            `json:"top_k,omitempty"`
	Stop             []string          `json:"stop,omitempty"`
	Seed             *int64            `json:"seed,omitempty"`
	Verbosity        Verbosity         `json:"verbosity,omitempty"`
	ServiceTier      ServiceTier       `json:"service_tier,omitempty"`
	Cache            CacheTime         `json:"cache,omitempty"`
	ServerTools      []ServerToolName  `json:"server_tools,omitempty"`
	ServerToolLimits *ServerToolLimits `json:"server_tool_limits,omitempty"`
	KeepAlive        string            `json:"keep_alive,omitempty"`
	OnOtherModel     OtherModel        `json:"on_other_model,omitempty"`
	Fallbacks        []FallbackModel   `json:"fallbacks,omitempty"`
	Egress           []string          `json:"egress,omitempty"`
	AskAbove         *float64          `json:"ask_above,omitempty"`
}

// SessionStatus is one of the constants below. A newer daemon may send others.
type SessionStatus string

const (
	SessionStatusIdle    SessionStatus = "idle"
	SessionStatusRunning SessionStatus = "running"
	SessionStatusWaiting SessionStatus = "waiting"
	SessionStatusParked  SessionStatus = "parked"
	SessionStatusHeld    SessionStatus = "held"
	SessionStatusDamaged SessionStatus = "damaged"
)

// SessionTool is an object of the protocol.
type SessionTool struct {
	Name   string     `json:"name"`
	Host   ToolHost   `json:"host"`
	Source string     `json:"source,omitempty"`
	Effect ToolEffect `json:"effect"`
}

// Severity is one of the constants below. A newer daemon may send others.
type Severity string

const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
)

// ShareAccess is one of the constants below. A newer daemon may send others.
type ShareAccess string

const (
	ShareAccessRead  ShareAccess = "read"
	ShareAccessWrite ShareAccess = "write"
	ShareAccessNone  ShareAccess = "none"
)

// SharedSession is an object of the protocol.
type SharedSession struct {
	SessionID string `json:"session_id"`
	User      string `json:"user"`
	Access    Access `json:"access"`
	Title     string `json:"title,omitempty"`
	UpdatedAt int64  `json:"updated_at"`
}

// Spending is an object of the protocol.
type Spending struct {
	Limit SpendingLimit `json:"limit"`
	Used  float64       `json:"used"`
	Most  float64       `json:"most"`
	Next  float64       `json:"next"`
	Quote *Quoted       `json:"quote,omitempty"`
}

// SpendingLimit is one of the constants below. A newer daemon may send others.
type SpendingLimit string

const (
	SpendingLimitMaxDayCost        SpendingLimit = "max_day_cost"
	SpendingLimitMaxCostUnattended SpendingLimit = "max_cost_unattended"
	SpendingLimitAskAbove          SpendingLimit = "ask_above"
)

// Step is an object of the protocol.
type Step struct {
	TurnID   string    `json:"turn_id"`
	After    string    `json:"after,omitempty"`
	Ts       int64     `json:"ts"`
	FellBack *FellBack `json:"fell_back,omitempty"`
	Parked   *Parked   `json:"parked,omitempty"`
	By       ResumedBy `json:"by,omitempty"`
}

// StopReason is one of the constants below. A newer daemon may send others.
type StopReason string

const (
	StopReasonEndTurn        StopReason = "end_turn"
	StopReasonMaxTokens      StopReason = "max_tokens"
	StopReasonToolUse        StopReason = "tool_use"
	StopReasonRefusal        StopReason = "refusal"
	StopReasonPause          StopReason = "pause"
	StopReasonCancelled      StopReason = "cancelled"
	StopReasonInterrupted    StopReason = "interrupted"
	StopReasonError          StopReason = "error"
	StopReasonLimit          StopReason = "limit"
	StopReasonMaxModelCalls  StopReason = "max_model_calls"
	StopReasonOutputMismatch StopReason = "output_mismatch"
)

// Summary is an object of the protocol.
type Summary struct {
	SummaryID    string   `json:"summary_id"`
	Includes     string   `json:"includes,omitempty"`
	From         string   `json:"from"`
	Upto         string   `json:"upto"`
	Messages     int64    `json:"messages"`
	After        string   `json:"after"`
	Pinned       []string `json:"pinned,omitempty"`
	Text         string   `json:"text"`
	ModelID      string   `json:"model_id"`
	TokensBefore *int64   `json:"tokens_before,omitempty"`
	TokensAfter  *int64   `json:"tokens_after,omitempty"`
	Usage        Usage    `json:"usage"`
	Truncated    *bool    `json:"truncated,omitempty"`
	TurnID       string   `json:"turn_id,omitempty"`
	Ts           int64    `json:"ts"`
	Undone       *bool    `json:"undone,omitempty"`
	Undoable     *bool    `json:"undoable,omitempty"`
}

// SwitchReason is one of the constants below. A newer daemon may send others.
type SwitchReason string

const (
	SwitchReasonAuth           SwitchReason = "auth"
	SwitchReasonRateLimit      SwitchReason = "rate_limit"
	SwitchReasonQuota          SwitchReason = "quota"
	SwitchReasonOverloaded     SwitchReason = "overloaded"
	SwitchReasonContextTooLong SwitchReason = "context_too_long"
	SwitchReasonRefused        SwitchReason = "refused"
	SwitchReasonBadRequest     SwitchReason = "bad_request"
	SwitchReasonTransport      SwitchReason = "transport"
	SwitchReasonStalled        SwitchReason = "stalled"
	SwitchReasonEmptyAnswer    SwitchReason = "empty_answer"
	SwitchReasonOtherModel     SwitchReason = "other_model"
	SwitchReasonEgress         SwitchReason = "egress"
	SwitchReasonReturned       SwitchReason = "returned"
)

// TextBlock is an object of the protocol.
type TextBlock struct {
	Text      string         `json:"text"`
	JSON      map[string]any `json:"json,omitempty"`
	Sources   []Citation     `json:"sources,omitempty"`
	Type      string         `json:"type"`
	Block     *int64         `json:"block,omitempty"`
	Open      *bool          `json:"open,omitempty"`
	Truncated *bool          `json:"truncated,omitempty"`
}

// ThinkingBlock is an object of the protocol.
type ThinkingBlock struct {
	Text       string       `json:"text"`
	Kind       ThinkingKind `json:"kind"`
	Signed     bool         `json:"signed"`
	Tokens     *int64       `json:"tokens,omitempty"`
	Estimated  *bool        `json:"estimated,omitempty"`
	DurationMS *int64       `json:"duration_ms,omitempty"`
	Type       string       `json:"type"`
	Block      *int64       `json:"block,omitempty"`
	Open       *bool        `json:"open,omitempty"`
	Truncated  *bool        `json:"truncated,omitempty"`
}

// ThinkingControl is one of the constants below. A newer daemon may send others.
type ThinkingControl string

const (
	ThinkingControlEffort ThinkingControl = "effort"
	ThinkingControlBudget ThinkingControl = "budget"
	ThinkingControlToggle ThinkingControl = "toggle"
	ThinkingControlAlways ThinkingControl = "always"
	ThinkingControlNone   ThinkingControl = "none"
)

// ThinkingKind is one of the constants below. A newer daemon may send others.
type ThinkingKind string

const (
	ThinkingKindFull     ThinkingKind = "full"
	ThinkingKindSummary  ThinkingKind = "summary"
	ThinkingKindRedacted ThinkingKind = "redacted"
	ThinkingKindOmitted  ThinkingKind = "omitted"
)

// ThinkingStorage is one of the constants below. A newer daemon may send others.
type ThinkingStorage string

const (
	ThinkingStorageFull   ThinkingStorage = "full"
	ThinkingStorageOpaque ThinkingStorage = "opaque"
	ThinkingStorageNone   ThinkingStorage = "none"
)

// Thoughts is an object of the protocol.
type Thoughts struct {
	Kept         int64    `json:"kept"`
	Converted    int64    `json:"converted"`
	Dropped      int64    `json:"dropped"`
	Why          []string `json:"why"`
	MediaLeftOut *int64   `json:"media_left_out,omitempty"`
}

// TokenRule is an object of the protocol.
type TokenRule struct {
	Tile      *int64   `json:"tile,omitempty"`
	Each      *int64   `json:"each,omitempty"`
	ShownSide *int64   `json:"shown_side,omitempty"`
	MaxTokens *int64   `json:"max_tokens,omitempty"`
	PerSecond *float64 `json:"per_second,omitempty"`
}

// ToolCallBlock is an object of the protocol.
type ToolCallBlock struct {
	CallID           string         `json:"call_id"`
	Name             string         `json:"name"`
	Arguments        map[string]any `json:"arguments,omitempty"`
	InvalidArguments string         `json:"invalid_arguments,omitempty"`
	Type             string         `json:"type"`
	Block            *int64         `json:"block,omitempty"`
	Open             *bool          `json:"open,omitempty"`
	Truncated        *bool          `json:"truncated,omitempty"`
}

// ToolEffect is one of the constants below. A newer daemon may send others.
type ToolEffect string

const (
	ToolEffectRead  ToolEffect = "read"
	ToolEffectEdit  ToolEffect = "edit"
	ToolEffectRun   ToolEffect = "run"
	ToolEffectOther ToolEffect = "other"
)

// ToolHost is one of the constants below. A newer daemon may send others.
type ToolHost string

const (
	ToolHostClient  ToolHost = "client"
	ToolHostMCP     ToolHost = "mcp"
	ToolHostBuiltin ToolHost = "builtin"
)

// ToolMode is one of the constants below. A newer daemon may send others.
type ToolMode string

const (
	ToolModeAsk  ToolMode = "ask"
	ToolModeEdit ToolMode = "edit"
	ToolModeRead ToolMode = "read"
)

// ToolPolicy is an object of the protocol.
type ToolPolicy struct {
	Names   map[string]ToolRule `json:"names,omitempty"`
	Effects map[string]ToolRule `json:"effects,omitempty"`
}

// ToolResultBlockContent is an object of the protocol.
type ToolResultBlockContent struct {
	Text       string         `json:"text,omitempty"`
	JSON       map[string]any `json:"json,omitempty"`
	Sources    []Citation     `json:"sources,omitempty"`
	Type       string         `json:"type"`
	Block      *int64         `json:"block,omitempty"`
	Open       *bool          `json:"open,omitempty"`
	Truncated  *bool          `json:"truncated,omitempty"`
	MimeType   string         `json:"mime_type,omitempty"`
	Name       string         `json:"name,omitempty"`
	Data       string         `json:"data,omitempty"`
	Width      *int64         `json:"width,omitempty"`
	Height     *int64         `json:"height,omitempty"`
	DurationMS *int64         `json:"duration_ms,omitempty"`
}

// ToolResultBlock is an object of the protocol.
type ToolResultBlock struct {
	CallID    string                   `json:"call_id"`
	Content   []ToolResultBlockContent `json:"content"`
	IsError   *bool                    `json:"is_error,omitempty"`
	Type      string                   `json:"type"`
	Block     *int64                   `json:"block,omitempty"`
	Open      *bool                    `json:"open,omitempty"`
	Truncated *bool                    `json:"truncated,omitempty"`
}

// ToolRule is one of the constants below. A newer daemon may send others.
type ToolRule string

const (
	ToolRuleAllow ToolRule = "allow"
	ToolRuleAsk   ToolRule = "ask"
	ToolRuleDeny  ToolRule = "deny"
)

// TurnEnded is an object of the protocol.
type TurnEnded struct {
	StopReason   StopReason    `json:"stop_reason"`
	Model        *ModelInForce `json:"model,omitempty"`
	Limit        string        `json:"limit,omitempty"`
	Error        *Error        `json:"error,omitempty"`
	OutputErrors []string      `json:"output_errors,omitempty"`
}

// Usage is an object of the protocol.
type Usage struct {
	InputTokens        int64    `json:"input_tokens"`
	OutputTokens       int64    `json:"output_tokens"`
	ReasoningTokens    *int64   `json:"reasoning_tokens"`
	CachedTokens       int64    `json:"cached_tokens"`
	CacheWriteTokens   int64    `json:"cache_write_tokens"`
	CacheWrite1hTokens *int64   `json:"cache_write_1h_tokens,omitempty"`
	Estimated          bool     `json:"estimated"`
	Cost               *Cost    `json:"cost,omitempty"`
	WebSearches        *int64   `json:"web_searches,omitempty"`
	PremiumRequests    *float64 `json:"premium_requests,omitempty"`
	Context            *Context `json:"context,omitempty"`
}

// UsageBy is one of the constants below. A newer daemon may send others.
type UsageBy string

const (
	UsageByDay      UsageBy = "day"
	UsageByModel    UsageBy = "model"
	UsageByLevel    UsageBy = "level"
	UsageBySession  UsageBy = "session"
	UsageByProvider UsageBy = "provider"
	UsageByPayer    UsageBy = "payer"
	UsageByPurpose  UsageBy = "purpose"
	UsageByUser     UsageBy = "user"
)

// UsageRow is an object of the protocol.
type UsageRow struct {
	Day           string        `json:"day,omitempty"`
	ModelID       string        `json:"model_id,omitempty"`
	ThinkingLevel Level         `json:"thinking_level,omitempty"`
	SessionID     string        `json:"session_id,omitempty"`
	Provider      string        `json:"provider,omitempty"`
	Payer         string        `json:"payer,omitempty"`
	Purpose       Purpose       `json:"purpose,omitempty"`
	User          string        `json:"user,omitempty"`
	Tenant        string        `json:"tenant,omitempty"`
	Title         string        `json:"title,omitempty"`
	Deleted       *bool         `json:"deleted,omitempty"`
	Calls         int64         `json:"calls"`
	Usage         Usage         `json:"usage"`
	CacheMisses   []CacheMisses `json:"cache_misses,omitempty"`
}

// Verbosity is one of the constants below. A newer daemon may send others.
type Verbosity string

const (
	VerbosityLow    Verbosity = "low"
	VerbosityMedium Verbosity = "medium"
	VerbosityHigh   Verbosity = "high"
)

// WaitOrReject is one of the constants below. A newer daemon may send others.
type WaitOrReject string

const (
	WaitOrRejectQueue  WaitOrReject = "queue"
	WaitOrRejectReject WaitOrReject = "reject"
)

// WhenBusy is one of the constants below. A newer daemon may send others.
type WhenBusy string

const (
	WhenBusyQueue  WhenBusy = "queue"
	WhenBusySteer  WhenBusy = "steer"
	WhenBusyReject WhenBusy = "reject"
)

// InitializeParams is an object of the protocol.
type InitializeParams struct {
	ProtocolVersion *int64              `json:"protocol_version,omitempty"`
	Client          *ClientInfo         `json:"client,omitempty"`
	Capabilities    *ClientCapabilities `json:"capabilities,omitempty"`
	Strict          *bool               `json:"strict,omitempty"`
	Notifications   []string            `json:"notifications,omitempty"`
}

// InitializeResult is an object of the protocol.
type InitializeResult struct {
	ProtocolVersion int64             `json:"protocol_version"`
	Server          ServerInfo        `json:"server"`
	Capabilities    Capabilities      `json:"capabilities"`
	Limits          Limits            `json:"limits"`
	Reconnect       Reconnect         `json:"reconnect"`
	Listen          string            `json:"listen,omitempty"`
	Identity        *Identity         `json:"identity,omitempty"`
	Durability      string            `json:"durability,omitempty"`
	Ignored         []string          `json:"ignored,omitempty"`
	DidYouMean      map[string]string `json:"did_you_mean,omitempty"`
}

// Initialize calls initialize. Tells the daemon who the client is, and returns what the daemon can do. Optional; at most once.
func (c *Client) Initialize(ctx context.Context, params InitializeParams) (result InitializeResult, err error) {
	err = c.Call(ctx, "initialize", params, &result)
	return result, err
}

// PingResult is an object of the protocol.
type PingResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// Ping calls ping. Returns an empty result.
func (c *Client) Ping(ctx context.Context) (result PingResult, err error) {
	err = c.Call(ctx, "ping", struct{}{}, &result)
	return result, err
}

// RPCDiscover calls rpc.discover. Returns this document.
func (c *Client) RPCDiscover(ctx context.Context) error {
	return c.Call(ctx, "rpc.discover", struct{}{}, nil)
}

// ModelsListParams is an object of the protocol.
type ModelsListParams struct {
	Provider string `json:"provider,omitempty"`
	Refresh  *bool  `json:"refresh,omitempty"`
}

// ModelsListResult is an object of the protocol.
type ModelsListResult struct {
	Models       []Model           `json:"models"`
	DefaultModel string            `json:"default_model,omitempty"`
	Refresh      []Refreshed       `json:"refresh,omitempty"`
	Changes      []Change          `json:"changes,omitempty"`
	More         *int64            `json:"more,omitempty"`
	Ignored      []string          `json:"ignored,omitempty"`
	DidYouMean   map[string]string `json:"did_you_mean,omitempty"`
}

// ModelsList calls models/list. Returns all models, or those of one provider. With refresh, the response is late.
func (c *Client) ModelsList(ctx context.Context, params ModelsListParams) (result ModelsListResult, err error) {
	err = c.Call(ctx, "models/list", params, &result)
	return result, err
}

// ModelSetParams is an object of the protocol.
type ModelSetParams struct {
	SessionID     string `json:"session_id"`
	ModelID       string `json:"model_id"`
	Provider      string `json:"provider,omitempty"`
	ThinkingLevel string `json:"thinking_level,omitempty"`
}

// ModelSetResult is an object of the protocol.
type ModelSetResult struct {
	Model                  ModelInForce      `json:"model"`
	ThinkingLevel          Level             `json:"thinking_level"`
	PreferredThinkingLevel Level             `json:"preferred_thinking_level"`
	Reasoning              Reasoning         `json:"reasoning"`
	ThinkingLevels         []Level           `json:"thinking_levels"`
	Applies                Applies           `json:"applies"`
	Ignored                []string          `json:"ignored,omitempty"`
	DidYouMean             map[string]string `json:"did_you_mean,omitempty"`
}

// ModelSet calls model/set. Sets the session's model from the next turn on.
func (c *Client) ModelSet(ctx context.Context, params ModelSetParams) (result ModelSetResult, err error) {
	err = c.Call(ctx, "model/set", params, &result)
	return result, err
}

// ThinkingSetParams is an object of the protocol.
type ThinkingSetParams struct {
	SessionID string   `json:"session_id"`
	Level     string   `json:"level"`
	Fallback  Fallback `json:"fallback,omitempty"`
	Display   Display  `json:"display,omitempty"`
}

// ThinkingSetResult is an object of the protocol.
type ThinkingSetResult struct {
	ThinkingLevel          Level             `json:"thinking_level"`
	PreferredThinkingLevel Level             `json:"preferred_thinking_level"`
	Reasoning              Reasoning         `json:"reasoning"`
	ThinkingLevels         []Level           `json:"thinking_levels"`
	Applies                Applies           `json:"applies"`
	Ignored                []string          `json:"ignored,omitempty"`
	DidYouMean             map[string]string `json:"did_you_mean,omitempty"`
}

// ThinkingSet calls thinking/set. Sets the preferred level from the next turn on.
func (c *Client) ThinkingSet(ctx context.Context, params ThinkingSetParams) (result ThinkingSetResult, err error) {
	err = c.Call(ctx, "thinking/set", params, &result)
	return result, err
}

// ThinkingExplainParams is an object of the protocol.
type ThinkingExplainParams struct {
	SessionID string   `json:"session_id"`
	ModelID   string   `json:"model_id,omitempty"`
	Level     string   `json:"level,omitempty"`
	Options   *Options `json:"options,omitempty"`
}

// ThinkingExplainResult is an object of the protocol.
type ThinkingExplainResult struct {
	Reasoning  Reasoning         `json:"reasoning"`
	Options    *OptionDecision   `json:"options,omitempty"`
	Facts      *Facts            `json:"facts,omitempty"`
	Blocks     *Thoughts         `json:"blocks,omitempty"`
	Cache      CacheState        `json:"cache,omitempty"`
	CacheWhy   string            `json:"cache_why,omitempty"`
	LeftOut    []Omitted         `json:"left_out,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// ThinkingExplain calls thinking/explain. Returns the decision for another model or level, and what would happen to earlier thinking. It changes nothing.
func (c *Client) ThinkingExplain(ctx context.Context, params ThinkingExplainParams) (result ThinkingExplainResult, err error) {
	err = c.Call(ctx, "thinking/explain", params, &result)
	return result, err
}

// ProvidersListResult is an object of the protocol.
type ProvidersListResult struct {
	Providers  []Provider        `json:"providers"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// ProvidersList calls providers/list. Returns the configured providers and their defaults.
func (c *Client) ProvidersList(ctx context.Context) (result ProvidersListResult, err error) {
	err = c.Call(ctx, "providers/list", struct{}{}, &result)
	return result, err
}

// AgentsListResult is an object of the protocol.
type AgentsListResult struct {
	Agents     []Agent           `json:"agents"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AgentsList calls agents/list. Returns the agents: named settings for new sessions.
func (c *Client) AgentsList(ctx context.Context) (result AgentsListResult, err error) {
	err = c.Call(ctx, "agents/list", struct{}{}, &result)
	return result, err
}

// AgentsSetParams is an object of the protocol.
type AgentsSetParams struct {
	Agent         string          `json:"agent"`
	ModelID       string          `json:"model_id,omitempty"`
	SystemPrompt  string          `json:"system_prompt,omitempty"`
	Reasoning     *AgentReasoning `json:"reasoning,omitempty"`
	OnOtherModel  OtherModel      `json:"on_other_model,omitempty"`
	ThinkingLevel string          `json:"thinking_level,omitempty"`
	Options       *Options        `json:"options,omitempty"`
	Remove        *bool           `json:"remove,omitempty"`
	Fallbacks     []FallbackModel `json:"fallbacks,omitempty"`
	Egress        []string        `json:"egress,omitempty"`
	CompactModel  string          `json:"compact_model,omitempty"`
	AskAbove      *float64        `json:"ask_above,omitempty"`
}

// AgentsSetResult is an object of the protocol.
type AgentsSetResult struct {
	Agent      *Agent            `json:"agent"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AgentsSet calls agents/set. Creates, changes or removes an agent. The change applies to new sessions.
func (c *Client) AgentsSet(ctx context.Context, params AgentsSetParams) (result AgentsSetResult, err error) {
	err = c.Call(ctx, "agents/set", params, &result)
	return result, err
}

// ProvidersSetParams is an object of the protocol.
type ProvidersSetParams struct {
	Provider          string             `json:"provider"`
	ReasoningDefaults *ReasoningDefaults `json:"reasoning_defaults,omitempty"`
}

// ProvidersSetResult is an object of the protocol.
type ProvidersSetResult struct {
	Provider   Provider          `json:"provider"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// ProvidersSet calls providers/set. Sets a provider's defaults, from the next turn on.
func (c *Client) ProvidersSet(ctx context.Context, params ProvidersSetParams) (result ProvidersSetResult, err error) {
	err = c.Call(ctx, "providers/set", params, &result)
	return result, err
}

// AuthStatusResult is an object of the protocol.
type AuthStatusResult struct {
	Providers  []AuthState       `json:"providers"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AuthStatus calls auth/status. Returns which providers have the key or the login that they need.
func (c *Client) AuthStatus(ctx context.Context) (result AuthStatusResult, err error) {
	err = c.Call(ctx, "auth/status", struct{}{}, &result)
	return result, err
}

// AuthSetKeyParams is an object of the protocol.
type AuthSetKeyParams struct {
	Provider string   `json:"provider"`
	Key      string   `json:"key"`
	Name     string   `json:"name,omitempty"`
	Scope    KeyScope `json:"scope,omitempty"`
}

// AuthSetKeyResult is an object of the protocol.
type AuthSetKeyResult struct {
	Provider   string            `json:"provider"`
	State      KeyState          `json:"state"`
	Source     KeySource         `json:"source,omitempty"`
	Login      *bool             `json:"login,omitempty"`
	Payer      *Payer            `json:"payer,omitempty"`
	EndsIn     string            `json:"ends_in,omitempty"`
	Keys       []NamedKey        `json:"keys,omitempty"`
	Egress     []string          `json:"egress,omitempty"`
	Limits     []RateLimit       `json:"limits,omitempty"`
	Scope      KeyScope          `json:"scope,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AuthSetKey calls auth/set_key. Stores a key for a provider: one's own, or with the right keys that of the tenant or the operator. An empty key removes it.
func (c *Client) AuthSetKey(ctx context.Context, params AuthSetKeyParams) (result AuthSetKeyResult, err error) {
	err = c.Call(ctx, "auth/set_key", params, &result)
	return result, err
}

// AuthLoginParams is an object of the protocol.
type AuthLoginParams struct {
	Provider string `json:"provider"`
}

// AuthLoginResult is an object of the protocol.
type AuthLoginResult struct {
	Provider   string            `json:"provider"`
	State      LoginState        `json:"state"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AuthLogin calls auth/login. Starts a login at a provider. auth_update reports its progress.
func (c *Client) AuthLogin(ctx context.Context, params AuthLoginParams) (result AuthLoginResult, err error) {
	err = c.Call(ctx, "auth/login", params, &result)
	return result, err
}

// AuthRenewParams is an object of the protocol.
type AuthRenewParams struct {
	Token string `json:"token"`
}

// AuthRenewResult is an object of the protocol.
type AuthRenewResult struct {
	Identity   *Identity         `json:"identity"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AuthRenew calls auth/renew. Continues the connection with a new token of the same user, before its token expires. The response is late.
func (c *Client) AuthRenew(ctx context.Context, params AuthRenewParams) (result AuthRenewResult, err error) {
	err = c.Call(ctx, "auth/renew", params, &result)
	return result, err
}

// SessionNewParams is an object of the protocol.
type SessionNewParams struct {
	ModelID         string          `json:"model_id,omitempty"`
	ThinkingLevel   string          `json:"thinking_level,omitempty"`
	Fallback        Fallback        `json:"fallback,omitempty"`
	Display         Display         `json:"display,omitempty"`
	SystemPrompt    string          `json:"system_prompt,omitempty"`
	Agent           string          `json:"agent,omitempty"`
	CWD             string          `json:"cwd,omitempty"`
	Title           string          `json:"title,omitempty"`
	Tools           json.RawMessage `json:"tools,omitempty"`
	MCPServers      []OfferedServer `json:"mcp_servers,omitempty"`
	Options         *SessionOptions `json:"options,omitempty"`
	ToolPolicy      *ToolPolicy     `json:"tool_policy,omitempty"`
	ThinkingStorage ThinkingStorage `json:"thinking_storage,omitempty"`
	Ephemeral       *bool           `json:"ephemeral,omitempty"`
	ClientID        string          `json:"client_id,omitempty"`
}

// SessionNewResult is an object of the protocol.
type SessionNewResult struct {
	SessionID              string            `json:"session_id"`
	Model                  ModelInForce      `json:"model"`
	ThinkingLevel          Level             `json:"thinking_level"`
	PreferredThinkingLevel Level             `json:"preferred_thinking_level"`
	Reasoning              Reasoning         `json:"reasoning"`
	Seq                    *int64            `json:"seq,omitempty"`
	Deleted                *bool             `json:"deleted,omitempty"`
	ProjectInstructions    []InstructionFile `json:"project_instructions,omitempty"`
	Ignored                []string          `json:"ignored,omitempty"`
	DidYouMean             map[string]string `json:"did_you_mean,omitempty"`
}

// SessionNew calls session/new. Creates a session and subscribes this connection to it. If tool servers have to start, the response is late.
func (c *Client) SessionNew(ctx context.Context, params SessionNewParams) (result SessionNewResult, err error) {
	err = c.Call(ctx, "session/new", params, &result)
	return result, err
}

// SessionPromptParams is an object of the protocol.
type SessionPromptParams struct {
	SessionID     string          `json:"session_id"`
	Text          string          `json:"text,omitempty"`
	Content       []Block         `json:"content,omitempty"`
	ThinkingLevel string          `json:"thinking_level,omitempty"`
	ModelID       string          `json:"model_id,omitempty"`
	Display       Display         `json:"display,omitempty"`
	WhenBusy      WhenBusy        `json:"when_busy,omitempty"`
	ClientID      string          `json:"client_id,omitempty"`
	NotBefore     *int64          `json:"not_before,omitempty"`
	Deadline      *int64          `json:"deadline,omitempty"`
	Options       *Options        `json:"options,omitempty"`
	Fallbacks     []FallbackModel `json:"fallbacks,omitempty"`
}

// SessionPromptResult is an object of the protocol.
type SessionPromptResult struct {
	TurnID      string            `json:"turn_id"`
	MessageID   string            `json:"message_id"`
	Disposition Disposition       `json:"disposition"`
	Ignored     []string          `json:"ignored,omitempty"`
	DidYouMean  map[string]string `json:"did_you_mean,omitempty"`
}

// SessionPrompt calls session/prompt. Sends a prompt. The prompt is on disk when the daemon responds.
func (c *Client) SessionPrompt(ctx context.Context, params SessionPromptParams) (result SessionPromptResult, err error) {
	err = c.Call(ctx, "session/prompt", params, &result)
	return result, err
}

// SessionAppendParams is an object of the protocol.
type SessionAppendParams struct {
	SessionID string       `json:"session_id"`
	Text      string       `json:"text,omitempty"`
	Content   []Block      `json:"content,omitempty"`
	WhenBusy  WaitOrReject `json:"when_busy,omitempty"`
	ClientID  string       `json:"client_id,omitempty"`
}

// SessionAppendResult is an object of the protocol.
type SessionAppendResult struct {
	TurnID      string            `json:"turn_id"`
	MessageID   string            `json:"message_id"`
	Disposition Disposition       `json:"disposition"`
	Ignored     []string          `json:"ignored,omitempty"`
	DidYouMean  map[string]string `json:"did_you_mean,omitempty"`
}

// SessionAppend calls session/append. Adds a user message without a model call. The next prompt sends it to the model.
func (c *Client) SessionAppend(ctx context.Context, params SessionAppendParams) (result SessionAppendResult, err error) {
	err = c.Call(ctx, "session/append", params, &result)
	return result, err
}

// SessionQuoteParams is an object of the protocol.
type SessionQuoteParams struct {
	SessionID     string  `json:"session_id"`
	ModelID       string  `json:"model_id,omitempty"`
	ThinkingLevel string  `json:"thinking_level,omitempty"`
	Text          string  `json:"text,omitempty"`
	Content       []Block `json:"content,omitempty"`
}

// SessionQuoteResult is an object of the protocol.
type SessionQuoteResult struct {
	Model        ModelInForce      `json:"model"`
	Reasoning    Reasoning         `json:"reasoning"`
	Cache        CacheState        `json:"cache,omitempty"`
	CacheWhy     string            `json:"cache_why,omitempty"`
	WarmUntil    *int64            `json:"warm_until,omitempty"`
	Running      *bool             `json:"running,omitempty"`
	Prompt       *QuotedPrompt     `json:"prompt"`
	Cost         *CostRange        `json:"cost"`
	CompactFirst *CompactFirst     `json:"compact_first,omitempty"`
	Ignored      []string          `json:"ignored,omitempty"`
	DidYouMean   map[string]string `json:"did_you_mean,omitempty"`
}

// SessionQuote calls session/quote. Returns what the next prompt would cost. It changes nothing. The response is late.
func (c *Client) SessionQuote(ctx context.Context, params SessionQuoteParams) (result SessionQuoteResult, err error) {
	err = c.Call(ctx, "session/quote", params, &result)
	return result, err
}

// SessionContinueParams is an object of the protocol.
type SessionContinueParams struct {
	SessionID string `json:"session_id"`
	ClientID  string `json:"client_id,omitempty"`
	DryRun    *bool  `json:"dry_run,omitempty"`
}

// SessionContinueResult is an object of the protocol.
type SessionContinueResult struct {
	TurnID     string            `json:"turn_id,omitempty"`
	Continues  string            `json:"continues"`
	Parts      []ContinuedPart   `json:"parts"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionContinue calls session/continue. Continues a turn that was cut off, without a prompt. With dry_run, it only returns what would happen to its blocks.
func (c *Client) SessionContinue(ctx context.Context, params SessionContinueParams) (result SessionContinueResult, err error) {
	err = c.Call(ctx, "session/continue", params, &result)
	return result, err
}

// SessionAskParams is an object of the protocol.
type SessionAskParams struct {
	SessionID     string  `json:"session_id"`
	Text          string  `json:"text,omitempty"`
	Content       []Block `json:"content,omitempty"`
	ThinkingLevel string  `json:"thinking_level,omitempty"`
	ModelID       string  `json:"model_id,omitempty"`
	Keep          *bool   `json:"keep,omitempty"`
	AskID         string  `json:"ask_id,omitempty"`
	ClientID      string  `json:"client_id,omitempty"`
}

// SessionAskResult is an object of the protocol.
type SessionAskResult struct {
	Model      *ModelInForce     `json:"model,omitempty"`
	Reasoning  *Reasoning        `json:"reasoning,omitempty"`
	Cache      CacheState        `json:"cache,omitempty"`
	CacheWhy   string            `json:"cache_why,omitempty"`
	Thinking   string            `json:"thinking,omitempty"`
	Text       string            `json:"text,omitempty"`
	StopReason StopReason        `json:"stop_reason,omitempty"`
	Usage      *Usage            `json:"usage,omitempty"`
	DurationMS *int64            `json:"duration_ms,omitempty"`
	Error      *Error            `json:"error,omitempty"`
	SessionID  string            `json:"session_id,omitempty"`
	TurnID     string            `json:"turn_id,omitempty"`
	MessageID  string            `json:"message_id,omitempty"`
	Deleted    *bool             `json:"deleted,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionAsk calls session/ask. Asks a side question with the conversation so far. Question and answer are not recorded.
func (c *Client) SessionAsk(ctx context.Context, params SessionAskParams) (result SessionAskResult, err error) {
	err = c.Call(ctx, "session/ask", params, &result)
	return result, err
}

// TurnWaitParams is an object of the protocol.
type TurnWaitParams struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
}

// TurnWaitResult is an object of the protocol.
type TurnWaitResult struct {
	TurnID       string            `json:"turn_id"`
	StopReason   StopReason        `json:"stop_reason"`
	Limit        string            `json:"limit,omitempty"`
	Message      *Message          `json:"message,omitempty"`
	Usage        Usage             `json:"usage"`
	Reasoning    *Reasoning        `json:"reasoning,omitempty"`
	Error        *Error            `json:"error,omitempty"`
	OutputErrors []string          `json:"output_errors,omitempty"`
	Ignored      []string          `json:"ignored,omitempty"`
	DidYouMean   map[string]string `json:"did_you_mean,omitempty"`
}

// TurnWait calls turn/wait. Returns when the turn has ended.
func (c *Client) TurnWait(ctx context.Context, params TurnWaitParams) (result TurnWaitResult, err error) {
	err = c.Call(ctx, "turn/wait", params, &result)
	return result, err
}

// TurnResumeParams is an object of the protocol.
type TurnResumeParams struct {
	SessionID    string   `json:"session_id"`
	TurnID       string   `json:"turn_id"`
	ModelID      string   `json:"model_id,omitempty"`
	Raise        *float64 `json:"raise,omitempty"`
	CompactFirst *bool    `json:"compact_first,omitempty"`
}

// TurnResumeResult is an object of the protocol.
type TurnResumeResult struct {
	TurnID     string            `json:"turn_id"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// TurnResume calls turn/resume. Resumes a parked turn, also with another model.
func (c *Client) TurnResume(ctx context.Context, params TurnResumeParams) (result TurnResumeResult, err error) {
	err = c.Call(ctx, "turn/resume", params, &result)
	return result, err
}

// SessionCancelParams is an object of the protocol.
type SessionCancelParams struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id,omitempty"`
}

// SessionCancelResult is an object of the protocol.
type SessionCancelResult struct {
	Cancelled  bool              `json:"cancelled"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionCancel calls session/cancel. Ends the running turn, or removes a queued one.
func (c *Client) SessionCancel(ctx context.Context, params SessionCancelParams) (result SessionCancelResult, err error) {
	err = c.Call(ctx, "session/cancel", params, &result)
	return result, err
}

// QueueUpdateParams is an object of the protocol.
type QueueUpdateParams struct {
	SessionID     string          `json:"session_id"`
	TurnID        string          `json:"turn_id"`
	Text          string          `json:"text,omitempty"`
	Content       []Block         `json:"content,omitempty"`
	ThinkingLevel string          `json:"thinking_level,omitempty"`
	ModelID       string          `json:"model_id,omitempty"`
	Display       Display         `json:"display,omitempty"`
	Options       *Options        `json:"options,omitempty"`
	Fallbacks     []FallbackModel `json:"fallbacks,omitempty"`
}

// QueueUpdateResult is an object of the protocol.
type QueueUpdateResult struct {
	Queue      []Queued          `json:"queue"`
	Held       bool              `json:"held"`
	MoreQueued *bool             `json:"more_queued,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// QueueUpdate calls queue/update. Changes a pending prompt, or what its turn runs with.
func (c *Client) QueueUpdate(ctx context.Context, params QueueUpdateParams) (result QueueUpdateResult, err error) {
	err = c.Call(ctx, "queue/update", params, &result)
	return result, err
}

// QueueMoveParams is an object of the protocol.
type QueueMoveParams struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id"`
	Before    string `json:"before,omitempty"`
}

// QueueMoveResult is an object of the protocol.
type QueueMoveResult struct {
	Queue      []Queued          `json:"queue"`
	Held       bool              `json:"held"`
	MoreQueued *bool             `json:"more_queued,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// QueueMove calls queue/move. Moves a pending prompt to another place in the queue.
func (c *Client) QueueMove(ctx context.Context, params QueueMoveParams) (result QueueMoveResult, err error) {
	err = c.Call(ctx, "queue/move", params, &result)
	return result, err
}

// SessionQueueParams is an object of the protocol.
type SessionQueueParams struct {
	SessionID string   `json:"session_id"`
	Remove    []string `json:"remove,omitempty"`
	Resume    *bool    `json:"resume,omitempty"`
}

// SessionQueueResult is an object of the protocol.
type SessionQueueResult struct {
	Queue      []Queued          `json:"queue"`
	Held       bool              `json:"held"`
	MoreQueued *bool             `json:"more_queued,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionQueue calls session/queue. Returns the pending prompts, removes some of them, or resumes a held queue.
func (c *Client) SessionQueue(ctx context.Context, params SessionQueueParams) (result SessionQueueResult, err error) {
	err = c.Call(ctx, "session/queue", params, &result)
	return result, err
}

// SessionAttachParams is an object of the protocol.
type SessionAttachParams struct {
	SessionID     string   `json:"session_id"`
	AfterSeq      *int64   `json:"after_seq,omitempty"`
	Limit         *int64   `json:"limit,omitempty"`
	Notifications []string `json:"notifications,omitempty"`
}

// SessionAttachResultUpdates is an object of the protocol.
type SessionAttachResultUpdates struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
}

// SessionAttachResult is an object of the protocol.
type SessionAttachResult struct {
	Session    SessionInfo                  `json:"session"`
	Seq        int64                        `json:"seq"`
	Updates    []SessionAttachResultUpdates `json:"updates,omitempty"`
	Messages   []Message                    `json:"messages,omitempty"`
	Summaries  []Summary                    `json:"summaries,omitempty"`
	Steps      []Step                       `json:"steps,omitempty"`
	More       *bool                        `json:"more,omitempty"`
	Open       *OpenTurn                    `json:"open,omitempty"`
	Ignored    []string                     `json:"ignored,omitempty"`
	DidYouMean map[string]string            `json:"did_you_mean,omitempty"`
}

// SessionAttach calls session/attach. Subscribes this connection, and returns the current state or the updates that it missed.
func (c *Client) SessionAttach(ctx context.Context, params SessionAttachParams) (result SessionAttachResult, err error) {
	err = c.Call(ctx, "session/attach", params, &result)
	return result, err
}

// SessionDetachParams is an object of the protocol.
type SessionDetachParams struct {
	SessionID string `json:"session_id"`
}

// SessionDetachResult is an object of the protocol.
type SessionDetachResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionDetach calls session/detach. Ends this connection's subscription.
func (c *Client) SessionDetach(ctx context.Context, params SessionDetachParams) (result SessionDetachResult, err error) {
	err = c.Call(ctx, "session/detach", params, &result)
	return result, err
}

// SessionStateParams is an object of the protocol.
type SessionStateParams struct {
	SessionID string `json:"session_id"`
}

// SessionStateResult is an object of the protocol.
type SessionStateResult struct {
	Session    SessionInfo       `json:"session"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionState calls session/state. Returns the session.
func (c *Client) SessionState(ctx context.Context, params SessionStateParams) (result SessionStateResult, err error) {
	err = c.Call(ctx, "session/state", params, &result)
	return result, err
}

// SessionListParams is an object of the protocol.
type SessionListParams struct {
	Cursor   string `json:"cursor,omitempty"`
	Limit    *int64 `json:"limit,omitempty"`
	Query    string `json:"query,omitempty"`
	Shared   *bool  `json:"shared,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	ModelID  string `json:"model_id,omitempty"`
	Since    *int64 `json:"since,omitempty"`
	Until    *int64 `json:"until,omitempty"`
	Archived *bool  `json:"archived,omitempty"`
	Pinned   *bool  `json:"pinned,omitempty"`
}

// SessionListResult is an object of the protocol.
type SessionListResult struct {
	Sessions   []SessionInfo     `json:"sessions"`
	NextCursor string            `json:"next_cursor,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionList calls session/list. Returns a page of sessions: those that others share with the user, and then the user's own, the last changed first.
func (c *Client) SessionList(ctx context.Context, params SessionListParams) (result SessionListResult, err error) {
	err = c.Call(ctx, "session/list", params, &result)
	return result, err
}

// SessionSearchParams is an object of the protocol.
type SessionSearchParams struct {
	Text      string  `json:"text"`
	In        []Place `json:"in,omitempty"`
	SessionID string  `json:"session_id,omitempty"`
	Cursor    string  `json:"cursor,omitempty"`
	Limit     *int64  `json:"limit,omitempty"`
	CWD       string  `json:"cwd,omitempty"`
	ModelID   string  `json:"model_id,omitempty"`
	Since     *int64  `json:"since,omitempty"`
	Until     *int64  `json:"until,omitempty"`
	Archived  *bool   `json:"archived,omitempty"`
	Pinned    *bool   `json:"pinned,omitempty"`
}

// SessionSearchResult is an object of the protocol.
type SessionSearchResult struct {
	Found      []Found           `json:"found"`
	Read       int64             `json:"read"`
	Unreadable *int64            `json:"unreadable,omitempty"`
	NextCursor string            `json:"next_cursor,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionSearch calls session/search. Finds text in all sessions, or in one, the last changed first. One call reads a bounded amount; its cursor continues.
func (c *Client) SessionSearch(ctx context.Context, params SessionSearchParams) (result SessionSearchResult, err error) {
	err = c.Call(ctx, "session/search", params, &result)
	return result, err
}

// SessionWatchParams is an object of the protocol.
type SessionWatchParams struct {
	Limit *int64 `json:"limit,omitempty"`
}

// SessionWatchResult is an object of the protocol.
type SessionWatchResult struct {
	Sessions   []SessionInfo     `json:"sessions"`
	NextCursor string            `json:"next_cursor,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionWatch calls session/watch. Returns the first page of sessions, and subscribes this connection to the changes of the list.
func (c *Client) SessionWatch(ctx context.Context, params SessionWatchParams) (result SessionWatchResult, err error) {
	err = c.Call(ctx, "session/watch", params, &result)
	return result, err
}

// SessionUnwatchResult is an object of the protocol.
type SessionUnwatchResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionUnwatch calls session/unwatch. Ends the subscription to the list of sessions.
func (c *Client) SessionUnwatch(ctx context.Context) (result SessionUnwatchResult, err error) {
	err = c.Call(ctx, "session/unwatch", struct{}{}, &result)
	return result, err
}

// SessionReadParams is an object of the protocol.
type SessionReadParams struct {
	SessionID string `json:"session_id"`
	TurnID    string `json:"turn_id,omitempty"`
}

// SessionReadResult is an object of the protocol.
type SessionReadResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionRead calls session/read. Marks a session as read.
func (c *Client) SessionRead(ctx context.Context, params SessionReadParams) (result SessionReadResult, err error) {
	err = c.Call(ctx, "session/read", params, &result)
	return result, err
}

// SessionForkParams is an object of the protocol.
type SessionForkParams struct {
	SessionID       string `json:"session_id"`
	MessageID       string `json:"message_id,omitempty"`
	BeforeMessageID string `json:"before_message_id,omitempty"`
	SummaryID       string `json:"summary_id,omitempty"`
	ClientID        string `json:"client_id,omitempty"`
}

// SessionForkResult is an object of the protocol.
type SessionForkResult struct {
	SessionID  string            `json:"session_id"`
	Deleted    *bool             `json:"deleted,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionFork calls session/fork. Creates a session that continues from a message of this one. Both share the messages up to it.
func (c *Client) SessionFork(ctx context.Context, params SessionForkParams) (result SessionForkResult, err error) {
	err = c.Call(ctx, "session/fork", params, &result)
	return result, err
}

// SessionCompactParams is an object of the protocol.
type SessionCompactParams struct {
	SessionID string `json:"session_id"`
}

// SessionCompactResult is an object of the protocol.
type SessionCompactResult struct {
	Compacted  bool              `json:"compacted"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionCompact calls session/compact. Lets a model summarise the earlier turns, and returns when that is done.
func (c *Client) SessionCompact(ctx context.Context, params SessionCompactParams) (result SessionCompactResult, err error) {
	err = c.Call(ctx, "session/compact", params, &result)
	return result, err
}

// SessionUncompactParams is an object of the protocol.
type SessionUncompactParams struct {
	SessionID string `json:"session_id"`
	SummaryID string `json:"summary_id,omitempty"`
}

// SessionUncompactResult is an object of the protocol.
type SessionUncompactResult struct {
	SummaryID  string            `json:"summary_id"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionUncompact calls session/uncompact. Undoes the newest summary, until the next prompt.
func (c *Client) SessionUncompact(ctx context.Context, params SessionUncompactParams) (result SessionUncompactResult, err error) {
	err = c.Call(ctx, "session/uncompact", params, &result)
	return result, err
}

// SessionSummariesParams is an object of the protocol.
type SessionSummariesParams struct {
	SessionID string `json:"session_id"`
	Before    string `json:"before,omitempty"`
	Limit     *int64 `json:"limit,omitempty"`
}

// SessionSummariesResult is an object of the protocol.
type SessionSummariesResult struct {
	Summaries  []Summary         `json:"summaries"`
	More       bool              `json:"more"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionSummaries calls session/summaries. Returns a page of the session's summaries, in order.
func (c *Client) SessionSummaries(ctx context.Context, params SessionSummariesParams) (result SessionSummariesResult, err error) {
	err = c.Call(ctx, "session/summaries", params, &result)
	return result, err
}

// MessagePinParams is an object of the protocol.
type MessagePinParams struct {
	SessionID string `json:"session_id"`
	MessageID string `json:"message_id"`
}

// MessagePinResult is an object of the protocol.
type MessagePinResult struct {
	Pinned     []string          `json:"pinned"`
	Applies    PinApplies        `json:"applies"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// MessagePin calls message/pin. Keeps a message word for word beside all later summaries.
func (c *Client) MessagePin(ctx context.Context, params MessagePinParams) (result MessagePinResult, err error) {
	err = c.Call(ctx, "message/pin", params, &result)
	return result, err
}

// MessageUnpinParams is an object of the protocol.
type MessageUnpinParams struct {
	SessionID string `json:"session_id"`
	MessageID string `json:"message_id"`
}

// MessageUnpinResult is an object of the protocol.
type MessageUnpinResult struct {
	Pinned     []string          `json:"pinned"`
	Applies    PinApplies        `json:"applies"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// MessageUnpin calls message/unpin. Lets later summaries replace a message again.
func (c *Client) MessageUnpin(ctx context.Context, params MessageUnpinParams) (result MessageUnpinResult, err error) {
	err = c.Call(ctx, "message/unpin", params, &result)
	return result, err
}

// SessionUpdateParams is an object of the protocol.
type SessionUpdateParams struct {
	SessionID    string          `json:"session_id"`
	Title        string          `json:"title,omitempty"`
	Metadata     map[string]any  `json:"metadata,omitempty"`
	ToolMode     ToolMode        `json:"tool_mode,omitempty"`
	OnOtherModel OtherModel      `json:"on_other_model,omitempty"`
	Options      *Options        `json:"options,omitempty"`
	Fallbacks    []FallbackModel `json:"fallbacks,omitempty"`
	AskAbove     *float64        `json:"ask_above,omitempty"`
	Archived     *bool           `json:"archived,omitempty"`
	Pinned       *bool           `json:"pinned,omitempty"`
}

// SessionUpdateResult is an object of the protocol.
type SessionUpdateResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionUpdate calls session/update. Sets the title, the metadata, the tool mode, what happens if another model answers, or whether people archived or pinned the session.
func (c *Client) SessionUpdate(ctx context.Context, params SessionUpdateParams) (result SessionUpdateResult, err error) {
	err = c.Call(ctx, "session/update", params, &result)
	return result, err
}

// SessionDeleteParams is an object of the protocol.
type SessionDeleteParams struct {
	SessionID string `json:"session_id"`
}

// SessionDeleteResult is an object of the protocol.
type SessionDeleteResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionDelete calls session/delete. Cancels the running turn and deletes the session.
func (c *Client) SessionDelete(ctx context.Context, params SessionDeleteParams) (result SessionDeleteResult, err error) {
	err = c.Call(ctx, "session/delete", params, &result)
	return result, err
}

// SessionHistoryParams is an object of the protocol.
type SessionHistoryParams struct {
	SessionID string `json:"session_id"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Limit     *int64 `json:"limit,omitempty"`
}

// SessionHistoryResult is an object of the protocol.
type SessionHistoryResult struct {
	Messages   []Message         `json:"messages"`
	Summaries  []Summary         `json:"summaries,omitempty"`
	Steps      []Step            `json:"steps,omitempty"`
	More       bool              `json:"more"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionHistory calls session/history. Returns a page of messages, in order.
func (c *Client) SessionHistory(ctx context.Context, params SessionHistoryParams) (result SessionHistoryResult, err error) {
	err = c.Call(ctx, "session/history", params, &result)
	return result, err
}

// SessionExportParams is an object of the protocol.
type SessionExportParams struct {
	SessionID string       `json:"session_id"`
	Format    ExportFormat `json:"format"`
	Thinking  *bool        `json:"thinking,omitempty"`
	Cursor    string       `json:"cursor,omitempty"`
}

// SessionExportResult is an object of the protocol.
type SessionExportResult struct {
	Session    SessionInfo       `json:"session"`
	Messages   []Message         `json:"messages,omitempty"`
	Summaries  []Summary         `json:"summaries,omitempty"`
	Steps      []Step            `json:"steps,omitempty"`
	Text       string            `json:"text,omitempty"`
	NextCursor string            `json:"next_cursor,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionExport calls session/export. Returns the session in pages, as JSON or Markdown.
func (c *Client) SessionExport(ctx context.Context, params SessionExportParams) (result SessionExportResult, err error) {
	err = c.Call(ctx, "session/export", params, &result)
	return result, err
}

// ToolResultParams is an object of the protocol.
type ToolResultParams struct {
	SessionID string  `json:"session_id"`
	CallID    string  `json:"call_id"`
	Content   []Block `json:"content"`
	IsError   *bool   `json:"is_error,omitempty"`
}

// ToolResultResult is an object of the protocol.
type ToolResultResult struct {
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// ToolResult calls tool/result. Sends the result of a call that clients run. The first result counts.
func (c *Client) ToolResult(ctx context.Context, params ToolResultParams) (result ToolResultResult, err error) {
	err = c.Call(ctx, "tool/result", params, &result)
	return result, err
}

// ConfirmAnswerParams is an object of the protocol.
type ConfirmAnswerParams struct {
	SessionID string        `json:"session_id"`
	ConfirmID string        `json:"confirm_id"`
	Action    ConfirmAction `json:"action"`
	Grant     string        `json:"grant,omitempty"`
	Reason    string        `json:"reason,omitempty"`
}

// ConfirmAnswerResult is an object of the protocol.
type ConfirmAnswerResult struct {
	Accepted   bool              `json:"accepted"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// ConfirmAnswer calls confirm/answer. Answers whether a call may run. The first answer counts.
func (c *Client) ConfirmAnswer(ctx context.Context, params ConfirmAnswerParams) (result ConfirmAnswerResult, err error) {
	err = c.Call(ctx, "confirm/answer", params, &result)
	return result, err
}

// UsageReportParams is an object of the protocol.
type UsageReportParams struct {
	From      string  `json:"from,omitempty"`
	To        string  `json:"to,omitempty"`
	By        UsageBy `json:"by,omitempty"`
	Split     UsageBy `json:"split,omitempty"`
	SessionID string  `json:"session_id,omitempty"`
	ModelID   string  `json:"model_id,omitempty"`
}

// UsageReportResult is an object of the protocol.
type UsageReportResult struct {
	From       string            `json:"from"`
	To         string            `json:"to"`
	By         UsageBy           `json:"by"`
	Split      UsageBy           `json:"split,omitempty"`
	Rows       []UsageRow        `json:"rows"`
	More       *bool             `json:"more,omitempty"`
	Total      UsageRow          `json:"total"`
	Budgets    []Spending        `json:"budgets"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// UsageReport calls usage/report. Returns what model calls used and cost, by day, model, level or session.
func (c *Client) UsageReport(ctx context.Context, params UsageReportParams) (result UsageReportResult, err error) {
	err = c.Call(ctx, "usage/report", params, &result)
	return result, err
}

// AuditReadParams is an object of the protocol.
type AuditReadParams struct {
	From           string `json:"from,omitempty"`
	To             string `json:"to,omitempty"`
	User           string `json:"user,omitempty"`
	Tenant         string `json:"tenant,omitempty"`
	NamedSessionID string `json:"named_session_id,omitempty"`
	Cursor         string `json:"cursor,omitempty"`
	Limit          *int64 `json:"limit,omitempty"`
}

// AuditReadResult is an object of the protocol.
type AuditReadResult struct {
	Records    []AuditRecord     `json:"records"`
	Damaged    *int64            `json:"damaged,omitempty"`
	NextCursor string            `json:"next_cursor,omitempty"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// AuditRead calls audit/read. Returns a page of the audit: who called what, from where, with what result. The response is late.
func (c *Client) AuditRead(ctx context.Context, params AuditReadParams) (result AuditReadResult, err error) {
	err = c.Call(ctx, "audit/read", params, &result)
	return result, err
}

// SessionShareParams is an object of the protocol.
type SessionShareParams struct {
	SessionID string      `json:"session_id"`
	User      string      `json:"user,omitempty"`
	Access    ShareAccess `json:"access,omitempty"`
}

// SessionShareResult is an object of the protocol.
type SessionShareResult struct {
	Guests     []Guest           `json:"guests"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionShare calls session/share. Shares a session with a user of the same tenant, changes what the user may do, or ends that. Returns all guests.
func (c *Client) SessionShare(ctx context.Context, params SessionShareParams) (result SessionShareResult, err error) {
	err = c.Call(ctx, "session/share", params, &result)
	return result, err
}

// SessionSharedResult is an object of the protocol.
type SessionSharedResult struct {
	Sessions   []SharedSession   `json:"sessions"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionShared calls session/shared. Returns the sessions that other users share with the client's user.
func (c *Client) SessionShared(ctx context.Context) (result SessionSharedResult, err error) {
	err = c.Call(ctx, "session/shared", struct{}{}, &result)
	return result, err
}

// SessionGrantsParams is an object of the protocol.
type SessionGrantsParams struct {
	SessionID string   `json:"session_id"`
	Revoke    []string `json:"revoke,omitempty"`
}

// SessionGrantsResult is an object of the protocol.
type SessionGrantsResult struct {
	Grants     []Grant           `json:"grants"`
	Ignored    []string          `json:"ignored,omitempty"`
	DidYouMean map[string]string `json:"did_you_mean,omitempty"`
}

// SessionGrants calls session/grants. Lists the standing approvals and denials of a session, and revokes some of them.
func (c *Client) SessionGrants(ctx context.Context, params SessionGrantsParams) (result SessionGrantsResult, err error) {
	err = c.Call(ctx, "session/grants", params, &result)
	return result, err
}

// PromptEvent is an object of the protocol.
type PromptEvent struct {
	SessionID   string      `json:"session_id"`
	FirstSeq    *int64      `json:"first_seq,omitempty"`
	Seq         int64       `json:"seq"`
	Ts          int64       `json:"ts"`
	TurnID      string      `json:"turn_id,omitempty"`
	MessageID   string      `json:"message_id"`
	Content     []Block     `json:"content"`
	Disposition Disposition `json:"disposition"`
	Into        string      `json:"into,omitempty"`
	Replaces    *bool       `json:"replaces,omitempty"`
}

// TurnStartEvent is an object of the protocol.
type TurnStartEvent struct {
	SessionID string          `json:"session_id"`
	FirstSeq  *int64          `json:"first_seq,omitempty"`
	Seq       int64           `json:"seq"`
	Ts        int64           `json:"ts"`
	TurnID    string          `json:"turn_id,omitempty"`
	Model     ModelInForce    `json:"model"`
	Reasoning Reasoning       `json:"reasoning"`
	Payer     *Payer          `json:"payer,omitempty"`
	Options   *OptionDecision `json:"options,omitempty"`
	Cache     CacheState      `json:"cache,omitempty"`
	CacheWhy  string          `json:"cache_why,omitempty"`
	Continues string          `json:"continues,omitempty"`
	Joins     *Joined         `json:"joins,omitempty"`
	InsteadOf string          `json:"instead_of,omitempty"`
}

// MessageStartEvent is an object of the protocol.
type MessageStartEvent struct {
	SessionID string  `json:"session_id"`
	FirstSeq  *int64  `json:"first_seq,omitempty"`
	Seq       int64   `json:"seq"`
	Ts        int64   `json:"ts"`
	TurnID    string  `json:"turn_id,omitempty"`
	MessageID string  `json:"message_id"`
	Role      Role    `json:"role"`
	Served    *Served `json:"served,omitempty"`
}

// MessageEndEvent is an object of the protocol.
type MessageEndEvent struct {
	SessionID  string     `json:"session_id"`
	FirstSeq   *int64     `json:"first_seq,omitempty"`
	Seq        int64      `json:"seq"`
	Ts         int64      `json:"ts"`
	TurnID     string     `json:"turn_id,omitempty"`
	MessageID  string     `json:"message_id"`
	StopReason StopReason `json:"stop_reason"`
	Usage      Usage      `json:"usage"`
	Served     *Served    `json:"served,omitempty"`
	Tier       string     `json:"tier,omitempty"`
	Cited      []Cited    `json:"cited,omitempty"`
}

// ThinkingStartEvent is an object of the protocol.
type ThinkingStartEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	MessageID string `json:"message_id"`
	Block     int64  `json:"block"`
}

// ThinkingDeltaEvent is an object of the protocol.
type ThinkingDeltaEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	MessageID string `json:"message_id"`
	Block     int64  `json:"block"`
	Delta     string `json:"delta"`
}

// ThinkingEndEvent is an object of the protocol.
type ThinkingEndEvent struct {
	SessionID  string       `json:"session_id"`
	FirstSeq   *int64       `json:"first_seq,omitempty"`
	Seq        int64        `json:"seq"`
	Ts         int64        `json:"ts"`
	TurnID     string       `json:"turn_id,omitempty"`
	MessageID  string       `json:"message_id"`
	Block      int64        `json:"block"`
	Text       string       `json:"text"`
	Kind       ThinkingKind `json:"kind"`
	Signed     bool         `json:"signed"`
	Tokens     *int64       `json:"tokens,omitempty"`
	Estimated  *bool        `json:"estimated,omitempty"`
	DurationMS int64        `json:"duration_ms"`
	Truncated  *bool        `json:"truncated,omitempty"`
}

// MessageDeltaEvent is an object of the protocol.
type MessageDeltaEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	MessageID string `json:"message_id"`
	Block     int64  `json:"block"`
	Delta     string `json:"delta"`
}

// TextEndEvent is an object of the protocol.
type TextEndEvent struct {
	SessionID string          `json:"session_id"`
	FirstSeq  *int64          `json:"first_seq,omitempty"`
	Seq       int64           `json:"seq"`
	Ts        int64           `json:"ts"`
	TurnID    string          `json:"turn_id,omitempty"`
	MessageID string          `json:"message_id"`
	Block     int64           `json:"block"`
	Text      string          `json:"text"`
	JSON      json.RawMessage `json:"json,omitempty"`
	Sources   []Citation      `json:"sources,omitempty"`
	Truncated *bool           `json:"truncated,omitempty"`
}

// MediaEndEvent is an object of the protocol.
type MediaEndEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	MessageID string `json:"message_id"`
	Block     int64  `json:"block"`
	MimeType  string `json:"mime_type"`
	Size      int64  `json:"size"`
}

// ServerToolEvent is an object of the protocol.
type ServerToolEvent struct {
	SessionID string          `json:"session_id"`
	FirstSeq  *int64          `json:"first_seq,omitempty"`
	Seq       int64           `json:"seq"`
	Ts        int64           `json:"ts"`
	TurnID    string          `json:"turn_id,omitempty"`
	MessageID string          `json:"message_id"`
	Block     int64           `json:"block"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Status    ServerStatus    `json:"status"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Text      string          `json:"text,omitempty"`
	Sources   []Citation      `json:"sources,omitempty"`
	Truncated *bool           `json:"truncated,omitempty"`
}

// UsageEvent is an object of the protocol.
type UsageEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	Usage     Usage  `json:"usage"`
}

// RetryEvent is an object of the protocol.
type RetryEvent struct {
	SessionID string      `json:"session_id"`
	FirstSeq  *int64      `json:"first_seq,omitempty"`
	Seq       int64       `json:"seq"`
	Ts        int64       `json:"ts"`
	TurnID    string      `json:"turn_id,omitempty"`
	Attempt   int64       `json:"attempt"`
	AfterMS   int64       `json:"after_ms"`
	Kind      FailureKind `json:"kind"`
	Message   string      `json:"message"`
	Discarded []int64     `json:"discarded"`
}

// ThinkingConvertedEvent is an object of the protocol.
type ThinkingConvertedEvent struct {
	SessionID    string `json:"session_id"`
	FirstSeq     *int64 `json:"first_seq,omitempty"`
	Seq          int64  `json:"seq"`
	Ts           int64  `json:"ts"`
	TurnID       string `json:"turn_id,omitempty"`
	From         string `json:"from"`
	To           string `json:"to"`
	Kept         int64  `json:"kept"`
	Dropped      int64  `json:"dropped"`
	AsText       int64  `json:"as_text"`
	MediaLeftOut *int64 `json:"media_left_out,omitempty"`
}

// NoticeEvent is an object of the protocol.
type NoticeEvent struct {
	SessionID string   `json:"session_id"`
	FirstSeq  *int64   `json:"first_seq,omitempty"`
	Seq       int64    `json:"seq"`
	Ts        int64    `json:"ts"`
	TurnID    string   `json:"turn_id,omitempty"`
	Severity  Severity `json:"severity"`
	Kind      string   `json:"kind"`
	Message   string   `json:"message"`
	SummaryID string   `json:"summary_id,omitempty"`
}

// SessionUpdateEvent is an object of the protocol.
type SessionUpdateEvent struct {
	SessionID              string          `json:"session_id"`
	FirstSeq               *int64          `json:"first_seq,omitempty"`
	Seq                    int64           `json:"seq"`
	Ts                     int64           `json:"ts"`
	TurnID                 string          `json:"turn_id,omitempty"`
	Title                  string          `json:"title,omitempty"`
	Model                  *ModelInForce   `json:"model,omitempty"`
	ThinkingLevel          Level           `json:"thinking_level,omitempty"`
	PreferredThinkingLevel Level           `json:"preferred_thinking_level,omitempty"`
	ToolMode               ToolMode        `json:"tool_mode,omitempty"`
	OnOtherModel           OtherModel      `json:"on_other_model,omitempty"`
	Grants                 []Grant         `json:"grants,omitempty"`
	Archived               *bool           `json:"archived,omitempty"`
	Pinned                 *bool           `json:"pinned,omitempty"`
	PinnedMessages         []string        `json:"pinned_messages,omitempty"`
	Options                *Options        `json:"options,omitempty"`
	Status                 SessionStatus   `json:"status,omitempty"`
	Metadata               map[string]any  `json:"metadata,omitempty"`
	Deleted                *bool           `json:"deleted,omitempty"`
	AskAbove               *float64        `json:"ask_above,omitempty"`
	Fallbacks              []FallbackModel `json:"fallbacks,omitempty"`
}

// QueueUpdateEvent is an object of the protocol.
type QueueUpdateEvent struct {
	SessionID  string   `json:"session_id"`
	FirstSeq   *int64   `json:"first_seq,omitempty"`
	Seq        int64    `json:"seq"`
	Ts         int64    `json:"ts"`
	TurnID     string   `json:"turn_id,omitempty"`
	Queue      []Queued `json:"queue"`
	Held       bool     `json:"held"`
	MoreQueued *bool    `json:"more_queued,omitempty"`
}

// FellBackEvent is an object of the protocol.
type FellBackEvent struct {
	SessionID   string          `json:"session_id"`
	FirstSeq    *int64          `json:"first_seq,omitempty"`
	Seq         int64           `json:"seq"`
	Ts          int64           `json:"ts"`
	TurnID      string          `json:"turn_id,omitempty"`
	From        ModelInForce    `json:"from"`
	To          ModelInForce    `json:"to"`
	Key         string          `json:"key,omitempty"`
	Why         SwitchReason    `json:"why"`
	Continues   *bool           `json:"continues,omitempty"`
	Thinking    *Thoughts       `json:"thinking,omitempty"`
	Cache       CacheState      `json:"cache,omitempty"`
	CacheWhy    string          `json:"cache_why,omitempty"`
	PriceFactor *float64        `json:"price_factor,omitempty"`
	Payer       *Payer          `json:"payer,omitempty"`
	Options     *OptionDecision `json:"options,omitempty"`
	Error       *Error          `json:"error,omitempty"`
}

// TurnParkedEvent is an object of the protocol.
type TurnParkedEvent struct {
	SessionID string     `json:"session_id"`
	FirstSeq  *int64     `json:"first_seq,omitempty"`
	Seq       int64      `json:"seq"`
	Ts        int64      `json:"ts"`
	TurnID    string     `json:"turn_id,omitempty"`
	Why       ParkReason `json:"why"`
	Since     int64      `json:"since"`
	Until     *int64     `json:"until,omitempty"`
	Resumes   Resumption `json:"resumes"`
	Spending  *Spending  `json:"spending,omitempty"`
	Error     *Error     `json:"error,omitempty"`
}

// TurnResumedEvent is an object of the protocol.
type TurnResumedEvent struct {
	SessionID string    `json:"session_id"`
	FirstSeq  *int64    `json:"first_seq,omitempty"`
	Seq       int64     `json:"seq"`
	Ts        int64     `json:"ts"`
	TurnID    string    `json:"turn_id,omitempty"`
	By        ResumedBy `json:"by"`
}

// TurnEndEvent is an object of the protocol.
type TurnEndEvent struct {
	SessionID    string     `json:"session_id"`
	FirstSeq     *int64     `json:"first_seq,omitempty"`
	Seq          int64      `json:"seq"`
	Ts           int64      `json:"ts"`
	TurnID       string     `json:"turn_id,omitempty"`
	StopReason   StopReason `json:"stop_reason"`
	Limit        string     `json:"limit,omitempty"`
	Usage        Usage      `json:"usage"`
	DurationMS   int64      `json:"duration_ms"`
	OutputErrors []string   `json:"output_errors,omitempty"`
	CacheUse     *CacheUse  `json:"cache_use,omitempty"`
	Into         string     `json:"into,omitempty"`
	Error        *Error     `json:"error,omitempty"`
}

// SummaryEvent is an object of the protocol.
type SummaryEvent struct {
	SessionID    string   `json:"session_id"`
	FirstSeq     *int64   `json:"first_seq,omitempty"`
	Seq          int64    `json:"seq"`
	Ts           int64    `json:"ts"`
	TurnID       string   `json:"turn_id,omitempty"`
	SummaryID    string   `json:"summary_id"`
	Includes     string   `json:"includes,omitempty"`
	From         string   `json:"from"`
	Upto         string   `json:"upto"`
	Messages     int64    `json:"messages"`
	After        string   `json:"after"`
	Pinned       []string `json:"pinned,omitempty"`
	Text         string   `json:"text"`
	ModelID      string   `json:"model_id"`
	TokensBefore *int64   `json:"tokens_before,omitempty"`
	TokensAfter  *int64   `json:"tokens_after,omitempty"`
	Usage        Usage    `json:"usage"`
	Truncated    *bool    `json:"truncated,omitempty"`
}

// SummaryUndoneEvent is an object of the protocol.
type SummaryUndoneEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	SummaryID string `json:"summary_id"`
}

// ToolStartEvent is an object of the protocol.
type ToolStartEvent struct {
	SessionID        string          `json:"session_id"`
	FirstSeq         *int64          `json:"first_seq,omitempty"`
	Seq              int64           `json:"seq"`
	Ts               int64           `json:"ts"`
	TurnID           string          `json:"turn_id,omitempty"`
	MessageID        string          `json:"message_id"`
	Block            int64           `json:"block"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Arguments        json.RawMessage `json:"arguments,omitempty"`
	InvalidArguments string          `json:"invalid_arguments,omitempty"`
	Host             ToolHost        `json:"host,omitempty"`
	Title            string          `json:"title,omitempty"`
	Truncated        *bool           `json:"truncated,omitempty"`
}

// ToolOutputEvent is an object of the protocol.
type ToolOutputEvent struct {
	SessionID string `json:"session_id"`
	FirstSeq  *int64 `json:"first_seq,omitempty"`
	Seq       int64  `json:"seq"`
	Ts        int64  `json:"ts"`
	TurnID    string `json:"turn_id,omitempty"`
	CallID    string `json:"call_id"`
	Chunk     string `json:"chunk"`
}

// ToolEndEvent is an object of the protocol.
type ToolEndEvent struct {
	SessionID  string  `json:"session_id"`
	FirstSeq   *int64  `json:"first_seq,omitempty"`
	Seq        int64   `json:"seq"`
	Ts         int64   `json:"ts"`
	TurnID     string  `json:"turn_id,omitempty"`
	MessageID  string  `json:"message_id"`
	Block      int64   `json:"block"`
	CallID     string  `json:"call_id"`
	Content    []Block `json:"content"`
	IsError    bool    `json:"is_error"`
	DurationMS int64   `json:"duration_ms"`
}

// PlanEvent is an object of the protocol.
type PlanEvent struct {
	SessionID string     `json:"session_id"`
	FirstSeq  *int64     `json:"first_seq,omitempty"`
	Seq       int64      `json:"seq"`
	Ts        int64      `json:"ts"`
	TurnID    string     `json:"turn_id,omitempty"`
	Items     []PlanItem `json:"items"`
}

// ConfirmEvent is an object of the protocol.
type ConfirmEvent struct {
	SessionID string          `json:"session_id"`
	FirstSeq  *int64          `json:"first_seq,omitempty"`
	Seq       int64           `json:"seq"`
	Ts        int64           `json:"ts"`
	TurnID    string          `json:"turn_id,omitempty"`
	ConfirmID string          `json:"confirm_id"`
	MessageID string          `json:"message_id"`
	Block     int64           `json:"block"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Title     string          `json:"title"`
	Message   string          `json:"message"`
	Origin    Origin          `json:"origin"`
	Parts     []Part          `json:"parts"`
	Actions   []ConfirmAction `json:"actions"`
	Grants    []Grant         `json:"grants"`
	Denials   []Grant         `json:"denials"`
	Limit     *int64          `json:"limit,omitempty"`
	Until     *int64          `json:"until,omitempty"`
	Truncated *bool           `json:"truncated,omitempty"`
}

// ConfirmResolvedEvent is an object of the protocol.
type ConfirmResolvedEvent struct {
	SessionID string        `json:"session_id"`
	FirstSeq  *int64        `json:"first_seq,omitempty"`
	Seq       int64         `json:"seq"`
	Ts        int64         `json:"ts"`
	TurnID    string        `json:"turn_id,omitempty"`
	ConfirmID string        `json:"confirm_id"`
	Action    ConfirmAction `json:"action"`
	By        ResolvedBy    `json:"by"`
	Client    string        `json:"client,omitempty"`
	Grant     *Grant        `json:"grant,omitempty"`
}

// StaleEvent is an object of the protocol.
type StaleEvent struct {
	SessionID string `json:"session_id"`
	AfterSeq  int64  `json:"after_seq"`
}

// AuthUpdateEvent is an object of the protocol.
type AuthUpdateEvent struct {
	Provider    string     `json:"provider"`
	State       LoginState `json:"state"`
	URL         string     `json:"url,omitempty"`
	Code        string     `json:"code,omitempty"`
	ExpiresInMS *int64     `json:"expires_in_ms,omitempty"`
	Error       *Error     `json:"error,omitempty"`
}

// ListUpdateEvent is an object of the protocol.
type ListUpdateEvent struct {
	Created []SessionInfo `json:"created,omitempty"`
	Changed []SessionInfo `json:"changed,omitempty"`
	Removed []string      `json:"removed,omitempty"`
	Stale   *bool         `json:"stale,omitempty"`
}

// AskDeltaEvent is an object of the protocol.
type AskDeltaEvent struct {
	SessionID string  `json:"session_id"`
	AskID     string  `json:"ask_id"`
	Kind      AskKind `json:"kind"`
	Delta     string  `json:"delta"`
}

var events = map[string]func() Event{
	"prompt":             func() Event { return new(PromptEvent) },
	"turn_start":         func() Event { return new(TurnStartEvent) },
	"message_start":      func() Event { return new(MessageStartEvent) },
	"message_end":        func() Event { return new(MessageEndEvent) },
	"thinking_start":     func() Event { return new(ThinkingStartEvent) },
	"thinking_delta":     func() Event { return new(ThinkingDeltaEvent) },
	"thinking_end":       func() Event { return new(ThinkingEndEvent) },
	"message_delta":      func() Event { return new(MessageDeltaEvent) },
	"text_end":           func() Event { return new(TextEndEvent) },
	"media_end":          func() Event { return new(MediaEndEvent) },
	"server_tool":        func() Event { return new(ServerToolEvent) },
	"usage":              func() Event { return new(UsageEvent) },
	"retry":              func() Event { return new(RetryEvent) },
	"thinking_converted": func() Event { return new(ThinkingConvertedEvent) },
	"notice":             func() Event { return new(NoticeEvent) },
	"session_update":     func() Event { return new(SessionUpdateEvent) },
	"queue_update":       func() Event { return new(QueueUpdateEvent) },
	"fell_back":          func() Event { return new(FellBackEvent) },
	"turn_parked":        func() Event { return new(TurnParkedEvent) },
	"turn_resumed":       func() Event { return new(TurnResumedEvent) },
	"turn_end":           func() Event { return new(TurnEndEvent) },
	"summary":            func() Event { return new(SummaryEvent) },
	"summary_undone":     func() Event { return new(SummaryUndoneEvent) },
	"tool_start":         func() Event { return new(ToolStartEvent) },
	"tool_output":        func() Event { return new(ToolOutputEvent) },
	"tool_end":           func() Event { return new(ToolEndEvent) },
	"plan":               func() Event { return new(PlanEvent) },
	"confirm":            func() Event { return new(ConfirmEvent) },
	"confirm_resolved":   func() Event { return new(ConfirmResolvedEvent) },
	"stale":              func() Event { return new(StaleEvent) },
	"auth_update":        func() Event { return new(AuthUpdateEvent) },
	"list_update":        func() Event { return new(ListUpdateEvent) },
	"ask_delta":          func() Event { return new(AskDeltaEvent) },
}

// Method is "prompt".
func (*PromptEvent) Method() string { return "prompt" }

func (e *PromptEvent) seq() int64 { return e.Seq }

func (e *PromptEvent) turn() string { return e.TurnID }

// Method is "turn_start".
func (*TurnStartEvent) Method() string { return "turn_start" }

func (e *TurnStartEvent) seq() int64 { return e.Seq }

func (e *TurnStartEvent) turn() string { return e.TurnID }

// Method is "message_start".
func (*MessageStartEvent) Method() string { return "message_start" }

func (e *MessageStartEvent) seq() int64 { return e.Seq }

func (e *MessageStartEvent) turn() string { return e.TurnID }

// Method is "message_end".
func (*MessageEndEvent) Method() string { return "message_end" }

func (e *MessageEndEvent) seq() int64 { return e.Seq }

func (e *MessageEndEvent) turn() string { return e.TurnID }

// Method is "thinking_start".
func (*ThinkingStartEvent) Method() string { return "thinking_start" }

func (e *ThinkingStartEvent) seq() int64 { return e.Seq }

func (e *ThinkingStartEvent) turn() string { return e.TurnID }

// Method is "thinking_delta".
func (*ThinkingDeltaEvent) Method() string { return "thinking_delta" }

func (e *ThinkingDeltaEvent) seq() int64 { return e.Seq }

func (e *ThinkingDeltaEvent) turn() string { return e.TurnID }

// Method is "thinking_end".
func (*ThinkingEndEvent) Method() string { return "thinking_end" }

func (e *ThinkingEndEvent) seq() int64 { return e.Seq }

func (e *ThinkingEndEvent) turn() string { return e.TurnID }

// Method is "message_delta".
func (*MessageDeltaEvent) Method() string { return "message_delta" }

func (e *MessageDeltaEvent) seq() int64 { return e.Seq }

func (e *MessageDeltaEvent) turn() string { return e.TurnID }

// Method is "text_end".
func (*TextEndEvent) Method() string { return "text_end" }

func (e *TextEndEvent) seq() int64 { return e.Seq }

func (e *TextEndEvent) turn() string { return e.TurnID }

// Method is "media_end".
func (*MediaEndEvent) Method() string { return "media_end" }

func (e *MediaEndEvent) seq() int64 { return e.Seq }

func (e *MediaEndEvent) turn() string { return e.TurnID }

// Method is "server_tool".
func (*ServerToolEvent) Method() string { return "server_tool" }

func (e *ServerToolEvent) seq() int64 { return e.Seq }

func (e *ServerToolEvent) turn() string { return e.TurnID }

// Method is "usage".
func (*UsageEvent) Method() string { return "usage" }

func (e *UsageEvent) seq() int64 { return e.Seq }

func (e *UsageEvent) turn() string { return e.TurnID }

// Method is "retry".
func (*RetryEvent) Method() string { return "retry" }

func (e *RetryEvent) seq() int64 { return e.Seq }

func (e *RetryEvent) turn() string { return e.TurnID }

// Method is "thinking_converted".
func (*ThinkingConvertedEvent) Method() string { return "thinking_converted" }

func (e *ThinkingConvertedEvent) seq() int64 { return e.Seq }

func (e *ThinkingConvertedEvent) turn() string { return e.TurnID }

// Method is "notice".
func (*NoticeEvent) Method() string { return "notice" }

func (e *NoticeEvent) seq() int64 { return e.Seq }

func (e *NoticeEvent) turn() string { return e.TurnID }

// Method is "session_update".
func (*SessionUpdateEvent) Method() string { return "session_update" }

func (e *SessionUpdateEvent) seq() int64 { return e.Seq }

func (e *SessionUpdateEvent) turn() string { return e.TurnID }

// Method is "queue_update".
func (*QueueUpdateEvent) Method() string { return "queue_update" }

func (e *QueueUpdateEvent) seq() int64 { return e.Seq }

func (e *QueueUpdateEvent) turn() string { return e.TurnID }

// Method is "fell_back".
func (*FellBackEvent) Method() string { return "fell_back" }

func (e *FellBackEvent) seq() int64 { return e.Seq }

func (e *FellBackEvent) turn() string { return e.TurnID }

// Method is "turn_parked".
func (*TurnParkedEvent) Method() string { return "turn_parked" }

func (e *TurnParkedEvent) seq() int64 { return e.Seq }

func (e *TurnParkedEvent) turn() string { return e.TurnID }

// Method is "turn_resumed".
func (*TurnResumedEvent) Method() string { return "turn_resumed" }

func (e *TurnResumedEvent) seq() int64 { return e.Seq }

func (e *TurnResumedEvent) turn() string { return e.TurnID }

// Method is "turn_end".
func (*TurnEndEvent) Method() string { return "turn_end" }

func (e *TurnEndEvent) seq() int64 { return e.Seq }

func (e *TurnEndEvent) turn() string { return e.TurnID }

// Method is "summary".
func (*SummaryEvent) Method() string { return "summary" }

func (e *SummaryEvent) seq() int64 { return e.Seq }

func (e *SummaryEvent) turn() string { return e.TurnID }

// Method is "summary_undone".
func (*SummaryUndoneEvent) Method() string { return "summary_undone" }

func (e *SummaryUndoneEvent) seq() int64 { return e.Seq }

func (e *SummaryUndoneEvent) turn() string { return e.TurnID }

// Method is "tool_start".
func (*ToolStartEvent) Method() string { return "tool_start" }

func (e *ToolStartEvent) seq() int64 { return e.Seq }

func (e *ToolStartEvent) turn() string { return e.TurnID }

// Method is "tool_output".
func (*ToolOutputEvent) Method() string { return "tool_output" }

func (e *ToolOutputEvent) seq() int64 { return e.Seq }

func (e *ToolOutputEvent) turn() string { return e.TurnID }

// Method is "tool_end".
func (*ToolEndEvent) Method() string { return "tool_end" }

func (e *ToolEndEvent) seq() int64 { return e.Seq }

func (e *ToolEndEvent) turn() string { return e.TurnID }

// Method is "plan".
func (*PlanEvent) Method() string { return "plan" }

func (e *PlanEvent) seq() int64 { return e.Seq }

func (e *PlanEvent) turn() string { return e.TurnID }

// Method is "confirm".
func (*ConfirmEvent) Method() string { return "confirm" }

func (e *ConfirmEvent) seq() int64 { return e.Seq }

func (e *ConfirmEvent) turn() string { return e.TurnID }

// Method is "confirm_resolved".
func (*ConfirmResolvedEvent) Method() string { return "confirm_resolved" }

func (e *ConfirmResolvedEvent) seq() int64 { return e.Seq }

func (e *ConfirmResolvedEvent) turn() string { return e.TurnID }

// Method is "stale".
func (*StaleEvent) Method() string { return "stale" }

func (e *StaleEvent) seq() int64 { return 0 }

// Method is "auth_update".
func (*AuthUpdateEvent) Method() string { return "auth_update" }

func (e *AuthUpdateEvent) seq() int64 { return 0 }

// Method is "list_update".
func (*ListUpdateEvent) Method() string { return "list_update" }

func (e *ListUpdateEvent) seq() int64 { return 0 }

// Method is "ask_delta".
func (*AskDeltaEvent) Method() string { return "ask_delta" }

func (e *AskDeltaEvent) seq() int64 { return 0 }
