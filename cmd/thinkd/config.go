package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// config is what the operator wants: the file, then the environment, then the catalog. It is checked as a whole, so
// that nothing starts half.
type config struct {
	Path          string // the file that was read; empty: there is none
	Inputs        inputs
	Model         string           // for new sessions; empty: the default model of the first provider that is there
	ThinkingLevel provider.Level   // empty: nobody said
	Providers     []providerConfig // in catalog order: the catalog's vendors, the operator's own by name, the simulator
	Agents        []registry.Agent // by name
	Serve         serveConfig
	Dialects      ownDialects // that the operator states
	ModelsDev     string      // where models.dev's database is asked for at a refresh; empty: it is not
	Limits        limits
	Tools         toolsConfig
	Servers       []tool.Server // of the Model Context Protocol, by name
	Telemetry     string        // the collector of OpenTelemetry; empty: as the environment says
}

// providerConfig is a model API at one address with one key. Both come from the operator alone.
type providerConfig struct {
	ID           string
	Vendor       string // who made the models, as far as the operator says; the id where nobody does
	API          string // the wire API, where a model's row names no other
	Dialect      string // whose quirks it has; empty: none known
	BaseURL      string // without a slash at the end; empty: inside this process (the simulator), or not known yet
	KeyEnv       string // the variable that Key was read from; empty: it needs none
	KeyEnvNow    string // the variable to set in place of KeyEnv; empty: KeyEnv is the right one
	Key          provider.Secret
	Login        *loginConfig // nil: there are keys alone
	Headers      map[string]string
	Defaults     registry.Defaults
	DefaultModel string // empty: none
	NumCtx       int    // tokens of the window to ask an Ollama for; 0: as its adapter does
	Cache        provider.CacheTime
	Context      json.RawMessage // how the vendor is to keep contexts short, in its own words; nil: not at all
	Rows         []registry.Row  // corrections and additions to the catalog
}

// limits guard a turn and a connection.
type limits struct {
	MaxModelCalls   int
	MaxTurnBytes    int64
	MaxTurnTime     time.Duration
	MaxToolTime     time.Duration
	MaxToolOutput   int64
	MaxMessageBytes int64
	SessionQueue    int64 // of prompts that wait, in bytes
	Queues          int64
	Loaded          int64        // of sessions in memory, in bytes
	Turn, Session   agent.Budget // zero members bound nothing
	CompactAt       float64      // share of a model's window; 0: never
}

var defaultLimits = limits{MaxModelCalls: 50, MaxTurnBytes: 64 << 20, MaxTurnTime: time.Hour, MaxToolTime: 10 * time.Minute,
	MaxToolOutput: 256 << 10, MaxMessageBytes: 8 << 20, SessionQueue: 16 << 20, Queues: 64 << 20, Loaded: 512 << 20, CompactAt: 0.8}

// simID is the provider inside this process. It stands last: it is used when there is nothing better.
const simID = "sim"

// loadConfig reads the file at path; with no path the default one, which may be missing. An error names file, line and
// key, and never a value that could be a secret.
func loadConfig(path string, getenv func(string) string) (config, error) {
	doc, path, err := readConfig(path)
	if err != nil {
		return config{}, err
	}
	src := &source{path: path, doc: doc}
	f, err := src.decode()
	if err != nil {
		return config{}, err
	}
	env := &recorder{getenv: getenv}
	c, err := src.config(f, env.get)
	c.Inputs = env.inputs(doc)
	return c, err
}

// config settles what the file says, together with the environment.
func (src *source) config(f file, getenv func(string) string) (config, error) {
	c := config{Path: src.path, Model: f.Model, Limits: defaultLimits}
	var err error
	if c.ThinkingLevel, err = parseLevel(f.ThinkingLevel); err != nil {
		return config{}, src.errorf("thinking_level", "%w", err)
	}
	if err := src.limits(f.Limits, &c.Limits); err != nil {
		return config{}, err
	}
	if c.Tools, err = src.tools(f.Tools); err != nil {
		return config{}, err
	}
	if c.Servers, err = src.servers(f.Servers); err != nil {
		return config{}, err
	}
	if c.Serve, err = src.serve(f.Serve); err != nil {
		return config{}, err
	}
	if c.Telemetry = f.Telemetry.Endpoint; c.Telemetry != "" {
		if _, err := telemetry.ParseEndpoint(c.Telemetry); err != nil {
			return config{}, src.errorf("telemetry.endpoint", "%w", err)
		}
	}
	if c.Dialects, err = src.dialects(f.Dialects); err != nil {
		return config{}, err
	}
	if c.ModelsDev = modelsDevAddress; f.ModelsDev != nil {
		c.ModelsDev = *f.ModelsDev
	}
	if c.ModelsDev != "" {
		if problem := checkBaseURL(c.ModelsDev, ""); problem != "" {
			return config{}, src.errorf("models_dev", "%s", problem)
		}
	}
	for _, id := range providerIDs(f) {
		p, err := src.provider(id, f.Providers[id], c.Dialects, getenv)
		if err != nil {
			return config{}, err
		}
		c.Providers = append(c.Providers, p)
	}
	catalog, err := c.catalog(nil)
	if row, ok := errors.AsType[*registry.RowError](err); ok {
		return config{}, src.rowError(row, c)
	}
	if err != nil {
		return config{}, err
	}
	if c.Model != "" {
		if _, err := catalog.Find(c.Model); err != nil {
			return config{}, src.errorf("model", "%w", err)
		}
	}
	c.Agents, err = src.agents(f.Agents, catalog)
	return c, err
}

// fingerprint is equal for equal configs, whatever file they are from. Of keys and of the values of headers it has only
// whether they are there.
func (c config) fingerprint() (string, error) {
	c.Path, c.Inputs = "", inputs{}
	c.Providers = slices.Clone(c.Providers)
	for i := range c.Providers {
		p := &c.Providers[i]
		if !p.Key.IsZero() {
			p.KeyEnv += " is set"
		}
		p.Key = provider.Secret{}
		p.Headers = maps.Clone(p.Headers)
		for name := range p.Headers {
			p.Headers[name] = ""
		}
	}
	c.Servers = slices.Clone(c.Servers)
	for i := range c.Servers {
		s := &c.Servers[i]
		s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
		for _, values := range []map[string]string{s.Env, s.Headers} {
			for name := range values {
				values[name] = ""
			}
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// catalog is what the registry knows with this configuration, and with what the servers that may be asked for it have:
// has tells that by the provider's id; nil: nobody asks.
func (c config) catalog(has func(id string) []provider.Model) (*registry.Catalog, error) {
	return c.catalogOf(has, keptListings{})
}

// catalogOf is the same with what hosts have told some time ago.
func (c config) catalogOf(has func(id string) []provider.Model, kept keptListings) (*registry.Catalog, error) {
	var list []registry.Provider
	for _, p := range c.Providers {
		vendor, _ := registry.VendorNamed(p.Vendor) // one that the catalog does not know has no rows there
		r := registry.Provider{ID: p.ID, Vendor: vendor.ID, API: p.API, Dialect: p.Dialect, Rows: p.Rows, NumCtx: p.NumCtx}
		if p.tells() {
			r.Live = func() []provider.Model {
				if has == nil {
					return nil
				}
				return has(p.ID)
			}
		}
		list = append(list, kept.over(p, r))
	}
	return registry.New(list)
}

// providerIDs lists the catalog's vendors, which need no configuration, and those that the file adds.
func providerIDs(f file) []string {
	var known, own []string
	for _, v := range registry.Vendors() {
		known = append(known, v.ID)
	}
	for id := range f.Providers {
		if !slices.Contains(known, id) {
			own = append(own, id)
		}
	}
	slices.Sort(own)
	last := len(known) - 1 // the simulator
	return slices.Concat(known[:last], own, known[last:])
}

var providerID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

func (src *source) provider(id string, f fileProvider, own ownDialects, getenv func(string) string) (providerConfig, error) {
	key := "providers." + id
	if !providerID().MatchString(id) {
		return providerConfig{}, src.errorf(key, "a provider's name has letters, digits, dots, dashes and underscores")
	}
	vendor, known := registry.VendorNamed(id)
	p := providerConfig{
		ID: id, Vendor: id, API: cmp.Or(f.API, vendor.API), Dialect: f.Dialect,
		KeyEnv: cmp.Or(f.KeyEnv, vendor.KeyEnv), Headers: f.Headers, DefaultModel: vendor.DefaultModel,
	}
	if problem := checkAPI(p.API); problem != "" {
		return providerConfig{}, src.errorf(key+".api", "%s", problem)
	}
	if p.Dialect != "" {
		if problem := checkDialect(p.API, p.Dialect, own); problem != "" {
			return providerConfig{}, src.errorf(key+".dialect", "%s", problem)
		}
	} else if p.API == vendor.API || checkDialect(p.API, vendor.Dialect, own) == "" {
		p.Dialect = vendor.Dialect // of the vendor's own API, which this build knows, or of another one by the same name
	}
	if !known {
		p.Vendor = makerOf(p)
	}
	var err error
	if p.BaseURL, err = src.baseURL(key, f.BaseURL, p.API, vendor, getenv); err != nil {
		return providerConfig{}, err
	}
	if p.NumCtx, err = src.numCtx(key, f.NumCtx, p.API); err != nil {
		return providerConfig{}, err
	}
	if p.NumCtx == 0 && p.API == "ollama" {
		p.NumCtx = ollamaContext(getenv)
	}
	if p.Cache, err = src.cache(key+".cache", f.Cache, p.API); err != nil {
		return providerConfig{}, err
	}
	if p.Context, err = src.managed(key+".context_management", f.Context, p.API); err != nil {
		return providerConfig{}, err
	}
	if !variableName().MatchString(p.KeyEnv) {
		return providerConfig{}, src.errorf(key+".api_key_env", "wants the name of an environment variable, not a key")
	}
	p.Key = provider.NewSecret(variable(getenv, p.KeyEnv))
	if before := vendor.KeyEnvBefore; p.Key.IsZero() && before != "" && f.KeyEnv == "" {
		if old := variable(getenv, before); old != "" {
			p.Key, p.KeyEnv, p.KeyEnvNow = provider.NewSecret(old), before, vendor.KeyEnv
		}
	}
	if p.Login, err = src.login(key, f.Login, p.Vendor, known); err != nil {
		return providerConfig{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		if problem := checkHeader(name, f.Headers[name]); problem != "" {
			return providerConfig{}, src.errorf(key+".headers."+name, "%s", problem)
		}
	}
	p.Defaults, err = registry.ReadDefaults(f.Defaults.Effort, f.Defaults.Fallback)
	if wrong, ok := errors.AsType[*registry.OverrideError](err); ok {
		return providerConfig{}, src.errorf(key+".reasoning_defaults."+wrong.Field, "%w", wrong.Err)
	}
	for i, m := range f.Models {
		if err := src.spoken(fmt.Sprintf("%s.models.%d", key, i), m, p.API, own); err != nil {
			return providerConfig{}, err
		}
		p.Rows = append(p.Rows, m.row())
	}
	return p, nil
}

// spoken checks how a row says that its model is spoken to.
func (src *source) spoken(key string, m fileModel, usual string, own ownDialects) error {
	if m.API != "" {
		if problem := checkAPI(m.API); problem != "" {
			return src.errorf(key+".api", "%s", problem)
		}
	}
	if problem := checkDialect(cmp.Or(m.API, usual), m.Dialect, own); problem != "" {
		return src.errorf(key+".dialect", "%s", problem)
	}
	_, err := src.numCtx(key, m.NumCtx, cmp.Or(m.API, usual))
	return err
}

// numCtx checks the window that an Ollama is asked for: no other API can be.
func (src *source) numCtx(key string, tokens int, api string) (int, error) {
	switch {
	case tokens < 0:
		return 0, src.errorf(key+".num_ctx", "%d is not a number of tokens", tokens)
	case tokens > 0 && api != "ollama":
		return 0, src.errorf(key+".num_ctx", "only Ollama's own API can be asked for a window, and this is %s", api)
	}
	return tokens, nil
}

// cache checks how long a vendor is to keep what is marked for its prompt cache: two APIs have marks.
func (src *source) cache(key, word, api string) (provider.CacheTime, error) {
	t, err := provider.ParseCacheTime(word)
	switch {
	case err != nil:
		return "", src.errorf(key, "%q is not one of 5m, 1h, off", word)
	case t != "" && api != "messages" && api != "chat":
		return "", src.errorf(key, "only the APIs messages and chat have it, and this is %s", api)
	}
	return t, nil
}

// makerOf is who made the models of a provider that is no vendor's own: a gateway that speaks a vendor's API in its
// dialect has its models, and the catalog's rows of them. Whoever serves Google's API has Google's models.
func makerOf(p providerConfig) string {
	for _, v := range registry.Vendors() {
		if v.ID != simID && v.API == p.API && (v.Dialect == p.Dialect || p.API == "gemini") {
			return v.ID
		}
	}
	return cmp.Or(p.Dialect, p.ID)
}

// baseURL is the file's, else the environment's, else the vendor's: the file is about this daemon, the variable about
// every program that talks to the vendor.
func (src *source) baseURL(key, stated, api string, v registry.Vendor, getenv func(string) string) (string, error) {
	fromEnv := variable(getenv, v.BaseURLEnv)
	switch v.ID {
	case "ollama":
		fromEnv = ollamaAddress(fromEnv)
	case "azure":
		fromEnv = azureAddress(fromEnv)
	}
	switch {
	case stated != "":
		if problem := checkBaseURL(stated, api); problem != "" {
			return "", src.errorf(key+".base_url", "%s", problem)
		}
	case fromEnv != "":
		if problem := checkBaseURL(fromEnv, api); problem != "" {
			return "", fmt.Errorf("environment: %s: %s", v.BaseURLEnv, problem)
		}
	case v.ID == "":
		return "", src.errorf(key+".base_url", `missing; say where the API is, such as "https://llm.example.com"`)
	}
	return strings.TrimRight(cmp.Or(stated, fromEnv, v.BaseURL), "/"), nil
}

// variableName takes the empty word, for a provider that needs no key.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)?$`) })

func variable(getenv func(string) string, name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimSpace(getenv(name))
}

// parseLevel takes the empty word, which says nothing.
func parseLevel(word string) (provider.Level, error) {
	if word == "" {
		return "", nil
	}
	return provider.ParseLevel(word)
}

// checkBaseURL says what is wrong with a base URL, and never quotes it: there may be a password in it.
func checkBaseURL(text, api string) string {
	u, err := url.Parse(text)
	spoken, _ := apiNamed(api) // checkAPI has found it
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return `wants an address such as "https://llm.example.com"`
	case u.User != nil:
		return "has a user name or password in it; name the variable with the key in api_key_env"
	case u.RawQuery != "" || u.ForceQuery:
		return "has a query in it; leave out the ? and what follows"
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "has a fragment in it; leave out the # and what follows"
	case spoken.added != "" && strings.HasSuffix(strings.TrimRight(u.Path, "/"), spoken.added):
		return fmt.Sprintf("ends in %s, which is added for each call; leave it out", spoken.added)
	}
	return ""
}

// RFC 9110, section 5.6.2
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

var (
	keyHeaders = []string{"authorization", "proxy-authorization", "x-api-key", "cookie"}
	ownHeaders = []string{"accept", "accept-encoding", "anthropic-beta", "anthropic-version", "connection", "content-length",
		"content-type", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)

// checkHeader says what is wrong with a header, and never quotes its value.
func checkHeader(name, value string) string {
	lower := strings.ToLower(name)
	switch {
	case !headerName().MatchString(name):
		return "is not a header's name"
	case slices.Contains(keyHeaders, lower):
		return "carries a key; name the variable with the key in api_key_env"
	case slices.Contains(ownHeaders, lower):
		return "is set by thinkd itself; leave it out"
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return "has a control character in its value"
	}
	return ""
}

func (src *source) limits(f fileLimits, l *limits) error {
	if f.MaxModelCalls != nil {
		l.MaxModelCalls = *f.MaxModelCalls
	}
	var err error
	if f.MaxTurnBytes != nil {
		if l.MaxTurnBytes, err = parseSize(f.MaxTurnBytes); err != nil {
			return src.errorf("limits.max_turn_bytes", "%w", err)
		}
	}
	if f.MaxTurnTime != nil {
		if l.MaxTurnTime, err = parseTime(f.MaxTurnTime); err != nil {
			return src.errorf("limits.max_turn_time", "%w", err)
		}
	}
	if f.MaxToolTime != nil {
		if l.MaxToolTime, err = parseTime(f.MaxToolTime); err != nil {
			return src.errorf("limits.max_tool_time", "%w", err)
		}
	}
	if f.MaxToolOutput != nil {
		if l.MaxToolOutput, err = parseSize(f.MaxToolOutput); err != nil {
			return src.errorf("limits.max_tool_output", "%w", err)
		}
	}
	if f.MaxMessageBytes != nil {
		if l.MaxMessageBytes, err = parseSize(f.MaxMessageBytes); err != nil {
			return src.errorf("limits.max_message_bytes", "%w", err)
		}
	}
	for _, b := range []struct {
		name string
		said any
		into *int64
	}{{"max_session_queue_bytes", f.SessionQueue, &l.SessionQueue}, {"max_queue_bytes", f.Queues, &l.Queues}, {"max_loaded_bytes", f.Loaded, &l.Loaded}} {
		if b.said == nil {
			continue
		}
		if *b.into, err = parseSize(b.said); err != nil {
			return src.errorf("limits."+b.name, "%w", err)
		}
		if *b.into < leastRoom {
			return src.errorf("limits."+b.name, "wants 1MiB or more")
		}
	}
	if f.CompactAt != nil {
		if l.CompactAt = *f.CompactAt; l.CompactAt != 0 && !(l.CompactAt >= 0.1 && l.CompactAt <= 1) {
			return src.errorf("limits.compact_at", "wants a share of the context window from 0.1 to 1, or 0 for never")
		}
	}
	for _, b := range []struct {
		name   string
		tokens *int
		cost   *float64
		into   *agent.Budget
	}{{"turn", f.MaxTurnTokens, f.MaxTurnCost, &l.Turn}, {"session", f.MaxSessionTokens, f.MaxSessionCost, &l.Session}} {
		if b.tokens != nil {
			if b.into.Tokens = *b.tokens; *b.tokens < 1 {
				return src.errorf("limits.max_"+b.name+"_tokens", "wants 1 or more; leave it out for no limit")
			}
		}
		if b.cost != nil {
			if b.into.Cost = provider.MoneyOf(*b.cost); b.into.Cost == 0 {
				return src.errorf("limits.max_"+b.name+"_cost", "wants an amount of USD above nothing; leave it out for no limit")
			}
		}
	}
	switch {
	case l.MaxModelCalls < 1:
		return src.errorf("limits.max_model_calls", "wants 1 or more")
	case l.MaxTurnBytes < 1:
		return src.errorf("limits.max_turn_bytes", "wants more than nothing")
	case l.MaxTurnTime <= 0:
		return src.errorf("limits.max_turn_time", "wants more than nothing")
	case l.MaxToolTime <= 0:
		return src.errorf("limits.max_tool_time", "wants more than nothing")
	case l.MaxToolOutput < leastOutput || l.MaxToolOutput > mostOutput:
		return src.errorf("limits.max_tool_output", "wants 1KiB to 16MiB")
	case l.MaxMessageBytes < leastMessage:
		return src.errorf("limits.max_message_bytes", "wants 4KiB or more: the protocol's own answers have to fit")
	}
	return nil
}

// leastRoom lets a few sessions and prompts be.
const leastRoom = 1 << 20

// A result that is shorter would say little more than that it was cut; a longer one fills any model's window.
const leastOutput, mostOutput = 1 << 10, 16 << 20

// leastMessage holds any answer to a request without content.
const leastMessage = 4 << 10
