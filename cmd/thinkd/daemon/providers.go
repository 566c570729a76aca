package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// demoPace is how fast the simulator inside the daemon writes, in deltas a second: as fast as one reads.
const demoPace = 40

// providers are the configured model APIs.
type providers struct {
	list     []vendors.Config
	adapters map[string]func() provider.Provider // by provider; made at the first call
	sources  map[string]*login.Source            // of keys, by provider
	log      *slog.Logger

	mu   sync.Mutex           // guards what follows
	here map[string]*presence // of servers that may not run, by provider; nil: nobody has asked yet
	sim  *sim.Listener        // nil: nobody has called the simulator yet
}

// openProviders knows the configured providers. Their adapters are made when they are first called, with or without a key:
// a call without one says so. The simulator is served in memory, through the same HTTP as the others.
func openProviders(c config.Config, keys *login.Keys, catalog *registry.Catalog, log *slog.Logger) *providers {
	p := &providers{list: c.Providers, adapters: make(map[string]func() provider.Provider), sources: make(map[string]*login.Source), log: log}
	for _, pc := range c.Providers {
		e := endpoint{Config: pc, own: c.Dialects, client: exchange.NewClient(nil), log: log}
		e.simulated = pc.BaseURL == "" && pc.ID == vendors.Simulator
		if pc.KeyEnvNow != "" {
			log.Warn("the variable of a key is deprecated", "provider", pc.ID, "variable", pc.KeyEnv, "set", pc.KeyEnvNow)
		}
		var source *login.Source
		if !e.simulated && pc.NeedsKey() {
			source = keySource(pc, keys, e.client, log)
			p.sources[pc.ID] = source
		}
		p.adapters[pc.ID] = sync.OnceValue(func() provider.Provider {
			adapter, err := p.open(e, source, catalog)
			if err != nil { // a list of models that was kept names what this build does not speak
				log.Error("a provider cannot be called", "provider", e.ID, "err", err)
				return unusable{router{}, e.ID, err.Error()}
			}
			return adapter
		})
	}
	return p
}

// open makes a provider's adapters; without a source it needs no key.
func (p *providers) open(e endpoint, source *login.Source, catalog *registry.Catalog) (provider.Provider, error) {
	if source != nil {
		return login.NewKeyed(source, func(c login.Credential) (provider.Provider, error) { return e.with(c).open(catalog) })
	}
	if e.simulated {
		e.Key = provider.NewSecret("simulator")
		e.client = exchange.NewClient(p.simulator())
	}
	return e.open(catalog)
}

// simulator is the way to the simulator, which is there from the first call on.
func (p *providers) simulator() http.RoundTripper {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sim == nil {
		p.sim = sim.New(sim.Config{Pace: demoPace, NoJournal: true, Log: p.log}).Listen()
	}
	return p.sim.Transport()
}

// presence is that of a server that may not run; nil: it is none of these. The first to ask has all of them asked, so that
// whoever waits for several waits once.
func (p *providers) presence(c vendors.Config) *presence {
	if !c.Local() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.here == nil {
		p.here = make(map[string]*presence)
		for _, pc := range p.list {
			if !pc.Local() {
				continue
			}
			var lister provider.Lister
			if pc.Lists() {
				lister, _ = p.find(pc.ID).(provider.Lister) // not the simulator, which would want the lock
			}
			p.here[pc.ID] = seek(pc.BaseURL, lister, pc.Assumed(), p.log)
		}
	}
	return p.here[c.ID]
}

// close ends what was begun. Nobody calls a provider any more.
func (p *providers) close() error {
	for _, source := range p.sources {
		source.Close()
	}
	p.mu.Lock()
	here, simulator := p.here, p.sim
	p.mu.Unlock()
	for _, server := range here {
		server.close()
	}
	if simulator == nil {
		return nil
	}
	return simulator.Close()
}

// endpoint is a provider's address, as an adapter needs to know it.
type endpoint struct {
	vendors.Config
	own       vendors.Dialects
	account   string // of the key, where the vendor tells
	simulated bool   // the simulator's: the address follows from API and dialect
	client    *http.Client
	log       *slog.Logger
}

// config is what the adapter of an API needs to know. A vendor's own management of contexts is for the usual API of a provider that has
// several.
func (e endpoint) config(api string) exchange.Config {
	c := exchange.Config{Provider: e.ID, Vendor: e.Vendor, BaseURL: e.BaseURL, Key: e.Key, KeyVar: e.KeyEnv, Account: e.account,
		Headers: e.Headers, Cache: e.Cache, Window: e.NumCtx, Client: e.client, Log: e.log}
	if e.API == api {
		c.Context = e.Context
	}
	return c
}

// open makes an adapter for each way in which the provider's models are spoken to.
func (e endpoint) open(catalog *registry.Catalog) (provider.Provider, error) {
	all := router{}
	add := func(way way) error {
		if all[way] != nil {
			return nil
		}
		api, ok := vendors.APINamed(way.api)
		if !ok {
			return fmt.Errorf("api %q is not served by this version", way.api)
		}
		at := e
		if e.simulated {
			at.BaseURL = "http://simulator" + api.Simulated(way.dialect)
		}
		adapter, err := api.New(at.config(way.api), way.dialect, e.own)
		all[way] = adapter
		return err
	}
	if err := add(way{e.API, e.Dialect}); err != nil {
		return nil, err
	}
	for _, m := range catalog.ModelsOf(e.ID) {
		if err := add(wayOf(m)); err != nil {
			return nil, err
		}
	}
	if e.BaseURL == "" && !e.simulated {
		return unusable{all, e.ID, noAddress(e.Config)}, nil
	}
	if len(all) == 1 {
		return all[way{e.API, e.Dialect}], nil
	}
	return all, nil
}

// unusable is a provider that cannot be called: of most nobody has said where it is, since each customer's place has its
// own name.
type unusable struct {
	router
	id, why string
}

func (u unusable) Stream(context.Context, *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		yield(nil, &provider.Error{Provider: u.id, Kind: provider.KindBadRequest, Message: u.why})
	}
}

func noAddress(c vendors.Config) string {
	advice := "no address: set base_url under [providers." + c.ID + "] in the config"
	if v, _ := registry.VendorNamed(c.ID); v.BaseURLEnv != "" {
		advice += ", or " + v.BaseURLEnv
	}
	return advice
}

// way is how a model is spoken to.
type way struct{ api, dialect string }

func wayOf(m provider.Model) way { return way{m.API, m.Dialect} }

func (w way) compare(v way) int {
	return cmp.Or(cmp.Compare(w.api, v.api), cmp.Compare(w.dialect, v.dialect))
}

// router is a provider whose models are spoken to in several ways: a call goes the way of its model's row. It never
// changes.
type router map[way]provider.Provider

func (r router) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	api, err := r.of(req.Model)
	if err != nil {
		return func(yield func(provider.Event, error) bool) {
			yield(nil, &provider.Error{API: req.Model.API, Provider: req.Model.Provider, Kind: provider.KindBadRequest, Err: err})
		}
	}
	return api.Stream(ctx, req)
}

func (r router) Wire(req *provider.Request) (json.RawMessage, error) {
	api, err := r.of(req.Model)
	if err != nil {
		return nil, err
	}
	return api.Wire(req)
}

var _ provider.Converter = router(nil)

func (r router) Convert(req *provider.Request) (provider.Conversion, error) {
	api, err := r.of(req.Model)
	if err != nil {
		return provider.Conversion{}, err
	}
	if c, ok := api.(provider.Converter); ok {
		return c.Convert(req)
	}
	return provider.Conversion{}, fmt.Errorf("model %s, its API %q: %w", req.Model.Ref(), req.Model.API, provider.ErrNotKnownYet)
}

var _ provider.Returner = router(nil)

func (r router) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	api, err := r.of(req.Model)
	if err != nil {
		return false
	}
	returner, ok := api.(provider.Returner)
	return ok && returner.Returns(req, b, late, calls)
}

var _ provider.Cacher = router(nil)

func (r router) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	if api, err := r.of(req.Model); err == nil {
		return provider.CacheOf(api, before, req)
	}
	return provider.CacheUnknown, provider.CacheUndocumented
}

// Models is what the host lists, where one of its APIs has a list that tells more than names.
func (r router) Models(ctx context.Context) ([]provider.Model, error) {
	for _, way := range slices.SortedFunc(maps.Keys(r), way.compare) {
		lister, ok := r[way].(provider.Lister)
		if !ok {
			continue
		}
		if list, err := lister.Models(ctx); !errors.Is(err, provider.ErrNoList) {
			return list, err
		}
	}
	return nil, provider.ErrNoList
}

func (r router) of(m provider.Model) (provider.Provider, error) {
	if api := r[wayOf(m)]; api != nil {
		return api, nil
	}
	return nil, fmt.Errorf("model %s: nothing here speaks the API %q in the dialect %q", m.Ref(), m.API, m.Dialect)
}

// defaultModel is what a new session gets if its client names none: the config's, which [loadConfig] has found, else
// that of the first provider that is there: the catalog's, or the first that its server lists. The simulator always is.
func (p *providers) defaultModel(c config.Config, catalog agent.Catalog) session.ModelRef {
	if c.Model != "" {
		if m, err := catalog.Find(c.Model); err == nil {
			return session.ModelRef{Provider: m.Provider, ID: m.ID}
		}
	}
	for _, pc := range c.Providers {
		model := pc.DefaultModel
		if model == "" {
			if list := p.has(pc.ID); len(list) > 0 {
				model = list[0].ID
			}
		}
		if available, _ := p.available(pc); available && model != "" {
			return session.ModelRef{Provider: pc.ID, ID: model}
		}
	}
	panic("the simulator is not among the providers") // providerIDs put it there
}

// has is what models a provider's server has, as far as it tells.
func (p *providers) has(id string) []provider.Model {
	for _, c := range p.list {
		if c.ID == id {
			if here := p.presence(c); here != nil {
				return here.has()
			}
		}
	}
	return nil
}

// available says whether a provider can be called, and if not, why.
func (p *providers) available(c vendors.Config) (bool, string) {
	if c.BaseURL == "" && c.ID != vendors.Simulator {
		return false, noAddress(c)
	}
	if source := p.sources[c.ID]; source != nil {
		if state, _ := source.Status(); state != provider.KeyReady {
			return false, source.Advice()
		}
	}
	if here := p.presence(c); here != nil && !here.here() {
		return false, "nothing answers at " + c.BaseURL
	}
	return true, ""
}

// find is a provider by its id, nil if there is none.
func (p *providers) find(id string) provider.Provider {
	if adapter := p.adapters[id]; adapter != nil {
		return adapter()
	}
	return nil
}

// vendor is that of a configured provider.
func (p *providers) vendor(id string) (vendor string, ok bool) {
	i := slices.IndexFunc(p.list, func(c vendors.Config) bool { return c.ID == id })
	if i < 0 {
		return "", false
	}
	return p.list[i].Vendor, true
}

func (p *providers) patience(id string) time.Duration {
	for _, c := range p.list {
		if c.ID == id {
			return c.Patience()
		}
	}
	return 0
}

// address is a provider's base URL as the log may have it: without what could be a secret.
func (p *providers) address(id string) string {
	for _, c := range p.list {
		if u, err := url.Parse(c.BaseURL); c.ID == id && err == nil {
			return u.Host + u.Path
		}
	}
	return ""
}

func (p *providers) status(settings *registry.Settings) []rpc.ProviderStatus {
	var list []rpc.ProviderStatus
	for _, c := range p.list {
		s := rpc.ProviderStatus{ID: c.ID, Auth: provider.KeyNotNeeded, Defaults: settings.Defaults(c.ID)}
		if source := p.sources[c.ID]; source != nil {
			s.Auth, s.AuthSource = source.Status()
			s.Login = source.HasLogin()
			if s.AuthSource != provider.KeyFromLogin {
				_, s.KeyEnding = source.Owner()
			}
		}
		if by := p.payer(c.ID); by != nil {
			s.Payer = &by.Payer
		}
		s.Available, s.Why = p.available(c)
		list = append(list, s)
	}
	return list
}
