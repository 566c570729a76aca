package config

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/agent/egress"
	"github.com/thinkd/thinkd/agent/retention"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// Config is what the operator wants: the file, then the environment, then the catalog. It is checked as a whole.
type Config struct {
	Path          string // the file that was read; empty: there is none
	Inputs        Inputs
	Model         string                   // for new sessions; empty: the default model of the first provider that is available
	ThinkingLevel provider.Level           // empty: not set
	OnOther       provider.OtherModel      // what happens when another model answers; empty: a notice
	Options       provider.Options         // of all model calls, unless a turn, a session or an agent states others; before the default options of a model
	Fallbacks     []registry.FallbackModel // of sessions that have none; the models as provider/id
	Egress        []string                 // labels of the providers that sessions may reach; none: all
	Providers     []vendors.Config         // in catalog order: the catalog's vendors, the operator's own by name, the simulator
	Agents        []registry.Agent         // by name
	Serve         Serve
	Auth          Auth
	Dialects      vendors.Dialects // the operator's own
	ModelsDev     string           // where a refresh asks for models.dev's database; empty: nowhere
	Limits        Limits
	Tools         Tools
	Servers       []toolhost.Server // of the Model Context Protocol, by name
	Retention     retention.Rules   // which sessions are deleted; none: the daemon deletes none
	Cluster       *Cluster          // nil: the daemon has its sessions to itself
	Theme         string            // of the chat in a terminal; empty: that of the terminal
	Telemetry     string            // the collector of OpenTelemetry; empty: as the environment says
}

// modelsDevAddress is where a refresh asks for that database, unless the configuration says otherwise.
const modelsDevAddress = "https://models.dev/api.json"

// Parse makes a config of a document and the environment. path is the document's file, for errors and relative paths; empty:
// there is none.
func Parse(path string, doc []byte, getenv func(string) string) (Config, error) {
	src := &source{path: path, doc: doc}
	f, err := src.decode()
	if err != nil {
		return Config{}, err
	}
	env := &recorder{getenv: getenv}
	c, err := src.config(f, env.get)
	c.Inputs = env.inputs(doc, c.keyVariables())
	return c, err
}

// keepFromTools adds files that tools of the daemon must not read.
func (c *Config) keepFromTools(paths ...string) {
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			c.Tools.Files.Secret = append(slices.Clip(c.Tools.Files.Secret), abs)
		}
	}
}

// keyVariables are the variables that hold keys.
func (c Config) keyVariables() (names []string) {
	for _, p := range c.Providers {
		vendor, _ := registry.VendorNamed(p.ID)
		names = append(names, p.KeyEnv, p.KeyEnvNow, vendor.KeyEnv, vendor.KeyEnvBefore, vendor.KeyEnvOther)
	}
	return append(names, c.Auth.OIDCSecret.Env)
}

// config settles what the file says, together with the environment.
func (src *source) config(f file, getenv func(string) string) (Config, error) {
	c := Config{Path: src.path, Model: f.Model}
	var err error
	if c.ThinkingLevel, err = parseLevel(f.ThinkingLevel); err != nil {
		return Config{}, src.errorf("thinking_level", "%w", err)
	}
	if c.OnOther, err = provider.ParseOtherModel(f.OnOther); err != nil {
		return Config{}, src.errorf("on_other_model", "%w", err)
	}
	if c.Egress = f.Egress; egress.CheckLabels(c.Egress) != nil {
		return Config{}, src.errorf("egress", "%w", egress.CheckLabels(c.Egress))
	}
	if c.Theme = f.Chat.Theme; c.Theme != "" && !slices.Contains([]string{"dark", "light", "plain"}, c.Theme) {
		return Config{}, src.errorf("chat.theme", "must be dark, light or plain")
	}
	if c.Options, err = registry.ReadOptions(f.Options); err != nil {
		return Config{}, src.overrideError("", err)
	}
	if c.Limits, err = src.limits(f.Limits); err != nil {
		return Config{}, err
	}
	if c.Tools, err = src.tools(f.Tools); err != nil {
		return Config{}, err
	}
	if f.Tools.ConfirmTime == "park" {
		c.Limits.ConfirmPark = true
	} else if err := src.duration("tools.confirm_time", f.Tools.ConfirmTime, &c.Limits.ConfirmTime); err != nil {
		return Config{}, err
	}
	if c.Servers, err = src.servers(f.Servers); err != nil {
		return Config{}, err
	}
	if c.Serve, err = src.serve(f.Serve); err != nil {
		return Config{}, err
	}
	if c.Auth, err = src.auth(f.Auth, c.Servers, getenv); err != nil {
		return Config{}, err
	}
	if c.Retention, err = src.retention(f.Retention); err != nil {
		return Config{}, err
	}
	if c.Cluster, err = src.cluster(f.Cluster); err != nil {
		return Config{}, err
	}
	if c.Telemetry = f.Telemetry.Endpoint; c.Telemetry != "" {
		if _, err := telemetry.ParseEndpoint(c.Telemetry); err != nil {
			return Config{}, src.errorf("telemetry.endpoint", "%w", err)
		}
	}
	if c.Dialects, err = src.dialects(f.Dialects); err != nil {
		return Config{}, err
	}
	if c.ModelsDev = modelsDevAddress; f.ModelsDev != nil {
		c.ModelsDev = *f.ModelsDev
	}
	if c.ModelsDev != "" {
		if problem := checkBaseURL(c.ModelsDev, ""); problem != "" {
			return Config{}, src.errorf("models_dev", "%s", problem)
		}
	}
	for _, id := range providerIDs(f) {
		p, err := src.provider(id, f.Providers[id], c.Dialects, getenv)
		if err != nil {
			return Config{}, err
		}
		c.Providers = append(c.Providers, p)
		c.keepFromTools(p.SecretFiles()...)
	}
	c.keepFromTools(c.Auth.secretFiles()...)
	catalog, err := vendors.Catalog(c.Providers, nil)
	if row, ok := errors.AsType[*registry.RowError](err); ok {
		i := slices.IndexFunc(c.Providers, func(p vendors.Config) bool { return p.ID == row.Provider })
		return Config{}, src.rowError(row, c.Providers[i].Rows)
	}
	if err != nil {
		return Config{}, err
	}
	if c.Model != "" {
		if _, err := catalog.Find(c.Model); err != nil {
			return Config{}, src.errorf("model", "%w", err)
		}
	}
	if c.Fallbacks, err = src.fallbacks("fallbacks", f.Fallbacks, catalog); err != nil {
		return Config{}, err
	}
	c.Agents, err = src.agents(f.Agents, catalog)
	return c, err
}

// parseLevel takes the empty word, which says nothing.
func parseLevel(word string) (provider.Level, error) {
	if word == "" {
		return "", nil
	}
	return provider.ParseLevel(word)
}
