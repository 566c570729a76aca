package config

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// file is the configuration as written.
type file struct {
	Model         string                        `toml:"model"`
	ThinkingLevel string                        `toml:"thinking_level"`
	OnOther       string                        `toml:"on_other_model"`
	Fallbacks     []registry.FallbackModel      `toml:"fallbacks"`
	Egress        []string                      `toml:"egress"`
	Options       any                           `toml:"options"` // see registry.ReadOptions
	Providers     map[string]fileProvider       `toml:"providers"`
	Dialects      map[string]any                `toml:"dialects"` // see dialects
	ModelsDev     *string                       `toml:"models_dev"`
	Agents        map[string]registry.AgentText `toml:"agents"`
	Serve         fileServe                     `toml:"serve"`
	Auth          *fileAuth                     `toml:"auth"` // nil: the daemon serves one person
	Limits        fileLimits                    `toml:"limits"`
	Tools         fileTools                     `toml:"tools"`
	Servers       map[string]toolhost.Server    `toml:"mcp_servers"`
	Telemetry     fileTelemetry                 `toml:"telemetry"`
	Retention     fileRetention                 `toml:"retention"`
	Cluster       *fileCluster                  `toml:"cluster"` // nil: the daemon has its sessions to itself
	Chat          fileChat                      `toml:"chat"`
}

type fileProvider struct {
	API      string                `toml:"api"`
	Dialect  string                `toml:"dialect"`
	BaseURL  string                `toml:"base_url"`
	KeyEnv   string                `toml:"api_key_env"`
	Headers  map[string]string     `toml:"headers"`
	Login    *vendors.Login        `toml:"login"`
	Google   *fileGoogle           `toml:"google"`
	Entra    *fileEntra            `toml:"entra"`
	Region   string                `toml:"region"`      // Amazon's
	Profile  string                `toml:"aws_profile"` // of Amazon's shared files
	Defaults registry.DefaultsText `toml:"reasoning_defaults"`
	NumCtx   int                   `toml:"num_ctx"`
	Cache    string                `toml:"cache"`
	Context  any                   `toml:"context_management"` // see managed
	Egress   []string              `toml:"egress"`
	Extra    object                `toml:"extra_body"`
	Proxy    string                `toml:"proxy"`
	ProxyEnv string                `toml:"proxy_login_env"`
	CAFile   string                `toml:"ca_file"`
	CertFile string                `toml:"client_cert_file"`
	KeyFile  string                `toml:"client_key_file"`
	Models   []fileModel           `toml:"models"`
}

// fileGoogle is an identity of Google Cloud, and where its models are.
type fileGoogle struct {
	Project     string `toml:"project"`
	Location    string `toml:"location"`         // a region, us, eu or global
	Credentials string `toml:"credentials_file"` // left out: application default credentials
}

// fileEntra is an identity of Microsoft Entra ID.
type fileEntra struct {
	Tenant      string `toml:"tenant_id"`
	Client      string `toml:"client_id"`
	SecretEnv   string `toml:"client_secret_env"`
	Certificate string `toml:"client_certificate_file"` // PEM, with its key
	TokenFile   string `toml:"token_file"`              // of a federated workload
	Managed     bool   `toml:"managed_identity"`        // the machine has an identity
	CLI         bool   `toml:"azure_cli"`               // the login of the command az
	Authority   string `toml:"authority"`               // of another cloud than the public one
	ResourceID  string `toml:"resource_id"`             // whose deployments are listed
	Management  string `toml:"management"`              // its address in another cloud than the public one
}

// fileCluster makes the daemon a node of a cluster.
type fileCluster struct {
	Servers   []string `toml:"servers"`
	Name      string   `toml:"name"`
	Prefix    string   `toml:"prefix"`
	Replicas  int      `toml:"replicas"`
	MaxBytes  int64    `toml:"max_bytes"`
	OpenBytes int64    `toml:"max_open_bytes"`
	DrainTime any      `toml:"drain_time"`
	AuditAge  string   `toml:"audit_age"`
	Creds     string   `toml:"creds_file"`
	CA        string   `toml:"ca_file"`
	Cert      string   `toml:"client_cert_file"`
	Key       string   `toml:"client_key_file"`

	LinkListen  string `toml:"link_listen"`
	LinkAddress string `toml:"link_address"`
	LinkCA      string `toml:"link_ca_file"`
	LinkCert    string `toml:"link_cert_file"`
	LinkKey     string `toml:"link_key_file"`
}

type fileChat struct {
	Theme string `toml:"theme"`
}

// object is a table of any form.
type object map[string]any

type fileModel struct {
	ID        string       `toml:"id"`
	Name      string       `toml:"name"`
	API       string       `toml:"api"`
	Dialect   string       `toml:"dialect"`
	Reasoning *bool        `toml:"reasoning"` // the short form: it thinks
	Thinking  fileThinking `toml:"thinking"`
	Window    int          `toml:"context_window"`
	NumCtx    int          `toml:"num_ctx"`
	MaxOutput int          `toml:"max_output_tokens"`
	Input     []string     `toml:"input"`
	Tools     *bool        `toml:"tools"`
	Sampling  string       `toml:"sampling"` // free, never, not_in_thinking
	Price     *filePrice   `toml:"price"`
	Extra     object       `toml:"extra_body"`
	ServedAs  []string     `toml:"served_as"` // other names that answers may have for it
	Options   any          `toml:"options"`   // defaults, see registry.ReadOptions
}

type fileThinking struct {
	Control    provider.ControlKind   `toml:"control"`
	Levels     []provider.Level       `toml:"levels"`
	Default    provider.Level         `toml:"default"`
	CanDisable *bool                  `toml:"can_disable"`
	Display    []provider.Display     `toml:"display"`
	BudgetMin  int                    `toml:"budget_min"`
	BudgetMax  int                    `toml:"budget_max"`
	Budgets    map[provider.Level]int `toml:"budgets"`

	// The short form: thinks by default, with so many tokens.
	Enabled      *bool `toml:"enabled"`
	BudgetTokens int   `toml:"budget_tokens"`
}

// The members of rates stand in each of these tables: the reports of wrong keys know no embedded tables.
type filePrice struct {
	Input          float64 `toml:"input"` // USD per million tokens
	Output         float64 `toml:"output"`
	CachedInput    float64 `toml:"cached_input"`
	CacheWrite     float64 `toml:"cache_write"`
	CacheWriteLong float64 `toml:"cache_write_1h"`

	Tiers   []fileTier   `toml:"tiers"`
	Changes []fileChange `toml:"changes"`
	Peak    *filePeak    `toml:"peak"`

	ServiceTiers map[string]float64 `toml:"service_tiers"` // factors
	WebSearch    float64            `toml:"web_search"`    // per thousand searches
}

type fileTier struct {
	Above int `toml:"above"` // tokens of the whole prompt

	Input          float64 `toml:"input"` // USD per million tokens
	Output         float64 `toml:"output"`
	CachedInput    float64 `toml:"cached_input"`
	CacheWrite     float64 `toml:"cache_write"`
	CacheWriteLong float64 `toml:"cache_write_1h"`
}

type fileChange struct {
	From string `toml:"from"` // YYYY-MM-DD

	Input          float64 `toml:"input"` // USD per million tokens
	Output         float64 `toml:"output"`
	CachedInput    float64 `toml:"cached_input"`
	CacheWrite     float64 `toml:"cache_write"`
	CacheWriteLong float64 `toml:"cache_write_1h"`

	Tiers []fileTier `toml:"tiers"`
}

type filePeak struct {
	Factor    float64  `toml:"factor"`
	UTCOffset int      `toml:"utc_offset"` // hours
	Hours     [][2]int `toml:"hours"`
	Weekdays  bool     `toml:"weekdays"`
}

func (p filePrice) price() *provider.Price {
	price := &provider.Price{Rates: provider.Rates{Input: p.Input, Output: p.Output, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite, CacheWriteLong: p.CacheWriteLong},
		Tiers: priceTiers(p.Tiers), ServiceTiers: p.ServiceTiers, WebSearch: p.WebSearch}
	for _, c := range p.Changes {
		price.Changes = append(price.Changes, provider.PriceChange{From: c.From, Tiers: priceTiers(c.Tiers),
			Rates: provider.Rates{Input: c.Input, Output: c.Output, CachedInput: c.CachedInput, CacheWrite: c.CacheWrite, CacheWriteLong: c.CacheWriteLong}})
	}
	if p.Peak != nil {
		peak := provider.PeakHours(*p.Peak)
		price.Peak = &peak
	}
	return price
}

func priceTiers(list []fileTier) []provider.PriceTier {
	var tiers []provider.PriceTier
	for _, t := range list {
		tiers = append(tiers, provider.PriceTier{Above: t.Above,
			Rates: provider.Rates{Input: t.Input, Output: t.Output, CachedInput: t.CachedInput, CacheWrite: t.CacheWrite, CacheWriteLong: t.CacheWriteLong}})
	}
	return tiers
}

type fileServe struct {
	Hosts       []string `toml:"hosts"`
	Origins     []string `toml:"origins"`
	TLSCert     string   `toml:"tls_cert"`
	TLSKey      string   `toml:"tls_key"`
	BehindProxy bool     `toml:"behind_proxy"`

	MCPFromClients bool `toml:"mcp_from_clients"`
}

// fileAuth is [auth] as written.
type fileAuth struct {
	MCPServers  []string          `toml:"mcp_servers"`
	MCPPrivate  []string          `toml:"mcp_private_addresses"` // networks that are not public, in which these may be
	Socket      string            `toml:"socket"`
	SocketUsers map[string]string `toml:"socket_users"` // users by the number or the name of an account
	OIDC        *fileOIDC         `toml:"oidc"`
	KeyFile     string            `toml:"key_file"`    // that encrypts the stored keys of providers
	KeyCommand  []string          `toml:"key_command"` // that prints it

	Quota  fileQuota            `toml:"quota"`  // of each user
	Quotas map[string]fileQuota `toml:"quotas"` // of some users, in place of members of quota
}

// fileOIDC is an OpenID provider whose tokens let users in.
type fileOIDC struct {
	Issuer      string   `toml:"issuer"`
	Audience    string   `toml:"audience"`
	Algorithms  []string `toml:"algorithms"`
	UserClaim   string   `toml:"user_claim"`
	TenantClaim string   `toml:"tenant_claim"`
	RightsClaim string   `toml:"rights_claim"`

	// The secret of the client, from one of these. Without one, the client is public.
	SecretFile    string   `toml:"client_secret_file"`
	SecretEnv     string   `toml:"client_secret_env"`
	SecretCommand []string `toml:"client_secret_command"`
}

// fileQuota is what a user may use, as written. 0 is any amount.
type fileQuota struct {
	DayTokens   *int     `toml:"max_day_tokens"`
	MonthTokens *int     `toml:"max_month_tokens"`
	DayCost     *float64 `toml:"max_day_cost"` // USD
	MonthCost   *float64 `toml:"max_month_cost"`
	Calls       *int     `toml:"max_parallel_calls"`
	Requests    *int     `toml:"max_requests_per_minute"`
	Stored      *int     `toml:"max_stored_bytes"`
}

type fileRetention struct {
	OlderThan  string              `toml:"older_than"`
	KeepPinned *bool               `toml:"keep_pinned"` // left out: true
	Rules      []fileRetentionRule `toml:"rules"`       // before the one above
}

type fileRetentionRule struct {
	CWD        string `toml:"cwd"`
	Agent      string `toml:"agent"`
	OlderThan  string `toml:"older_than"`
	KeepPinned *bool  `toml:"keep_pinned"` // left out: as above
}

type fileTelemetry struct {
	Endpoint string `toml:"endpoint"`
}

// Files are the operator's additions to the built-in lists of package guard.
type Files struct {
	Protected []string `toml:"protected"`
	Secret    []string `toml:"secret"`
	Program   []string `toml:"program"`
	Open      []string `toml:"open"`
}

// fileTools is [tools] as written.
type fileTools struct {
	Builtin     bool              `toml:"builtin"`
	PassEnv     []string          `toml:"pass_env"`
	ConfirmTime any               `toml:"confirm_time"` // see parseTime
	Names       map[string]string `toml:"names"`
	Effects     map[string]string `toml:"effects"`
	Files       Files             `toml:"files"`
	Sandbox     string            `toml:"sandbox"`
	Network     bool              `toml:"sandbox_network"`

	Instructions string `toml:"project_instructions"`
}

type fileLimits struct {
	MaxModelCalls   *int `toml:"max_model_calls"`
	MaxTurnBytes    any  `toml:"max_turn_bytes"` // see parseSize
	MaxTurnTime     any  `toml:"max_turn_time"`  // see parseTime
	MaxToolTime     any  `toml:"max_tool_time"`
	Park            any  `toml:"park"` // a length of time, see parseTime
	MaxToolOutput   any  `toml:"max_tool_output"`
	MaxMessageBytes any  `toml:"max_message_bytes"`
	SessionQueue    any  `toml:"max_session_queue_bytes"`
	Queues          any  `toml:"max_queue_bytes"`
	Loaded          any  `toml:"max_loaded_bytes"`

	MaxTurnTokens    *int     `toml:"max_turn_tokens"`
	MaxTurnCost      *float64 `toml:"max_turn_cost"` // USD
	MaxSessionTokens *int     `toml:"max_session_tokens"`
	MaxSessionCost   *float64 `toml:"max_session_cost"`
	MaxDayCost       *float64 `toml:"max_day_cost"`
	MaxUnattended    *float64 `toml:"max_cost_unattended"`

	AskAbove *float64 `toml:"ask_above"`

	CompactAt *float64 `toml:"compact_at"`
}

func (m fileModel) row() registry.Row {
	t := m.Thinking
	r := registry.Row{
		ID: m.ID, Name: m.Name, API: m.API, Dialect: m.Dialect, Control: t.Control, Levels: spelled(t.Levels), Default: spelled([]provider.Level{t.Default})[0],
		CanDisable: t.CanDisable, Display: t.Display, BudgetMin: t.BudgetMin, BudgetMax: t.BudgetMax, Budgets: t.Budgets,
		Reasoning: m.Reasoning, Enabled: t.Enabled, BudgetTokens: t.BudgetTokens,
		Window: m.Window, NumCtx: m.NumCtx, MaxOutput: m.MaxOutput, Input: m.Input, Tools: m.Tools, ServedAs: m.ServedAs,
	}
	if m.Sampling != "" {
		rule := provider.SamplingRule(m.Sampling)
		if m.Sampling == "free" {
			rule = provider.SamplingFree
		}
		r.Sampling = &rule
	}
	if m.Price != nil {
		r.Price = m.Price.price()
	}
	return r
}

// spelled takes none for off, as clients may write it.
func spelled(levels []provider.Level) []provider.Level {
	list := slices.Clone(levels)
	for i, l := range list {
		if l == "none" {
			list[i] = provider.Off
		}
	}
	return list
}

var sizePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,18})(B|KiB|MiB|GiB)?$`) })

// parseSize reads a number of bytes: "64MiB", "512KiB", or a bare number. It takes what the decoder found, since the
// decoder tells no place for what a type of ours refuses.
func parseSize(v any) (int64, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	text, _ := v.(string)
	parts := sizePattern().FindStringSubmatch(text)
	if parts == nil {
		return 0, errors.New(`must be a size such as "64MiB"; the units are B, KiB, MiB and GiB`)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, err
	}
	unit := map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[parts[2]]
	if n > math.MaxInt64/unit {
		return 0, errors.New("is more than can be counted")
	}
	return n * unit, nil
}

// parseTime reads a length of time: "60m", "1h30m", "90s". A bare number is refused: of what?
func parseTime(v any) (time.Duration, error) {
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New(`must be a length of time such as "60m"; the units are s, m and h`)
	}
	return d, nil
}
