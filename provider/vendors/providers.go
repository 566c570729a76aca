package vendors

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/provider/sim"
	_ "github.com/thinkd/thinkd/provider/sim/faces"
	"github.com/thinkd/thinkd/provider/transport"
	"github.com/thinkd/thinkd/registry"
)

// demoPace is how fast the simulator inside the daemon writes, in deltas a second: as fast as one reads.
const demoPace = 40

// Providers are the configured model APIs. Who opens them closes them.
type Providers struct {
	list     []Config
	adapters map[string]func() provider.Provider // by provider; made at the first call
	ends     map[string]endpoint                 // by provider
	keys     *login.Keys
	catalog  *registry.Catalog
	sources  map[string]*login.Source // of keys, by provider
	meters   map[string]*quota.Meter  // of limits, by provider
	log      *slog.Logger

	mu   sync.Mutex           // guards what follows
	here map[string]*presence // of servers that may not run, by provider; nil: nobody has asked yet
	sim  *sim.Listener        // nil: nobody has called the simulator yet
	held map[heldBy]*held     // what calls with the keys of holders, as far as it was needed
}

// heldBy names a provider that is called with the key of a holder.
type heldBy struct {
	login.Holder
	provider string
}

// held is a provider with the key of one holder. It has adapters of its own, and no meter: the limits that clients see are those of the
// operator's account.
type held struct {
	source *login.Source
	api    provider.Provider
}

// Open knows the providers of a list; own are the dialects of the config. Their adapters are made when they are first called, with or without a key:
// a call without one says so. The simulator is served in memory, through the same HTTP as the others.
func Open(list []Config, own Dialects, keys *login.Keys, catalog *registry.Catalog, log *slog.Logger) *Providers {
	p := &Providers{list: list, keys: keys, catalog: catalog, held: make(map[heldBy]*held), ends: make(map[string]endpoint), adapters: make(map[string]func() provider.Provider), sources: make(map[string]*login.Source), meters: make(map[string]*quota.Meter), log: log}
	for _, pc := range list {
		e := endpoint{Config: pc, own: own, client: exchange.NewClient(connect(pc.Network)), meter: quota.NewMeter(nil), log: log}
		p.meters[pc.ID] = e.meter
		if pc.Amazon != nil {
			e.amazon = credentials(pc, e.client)
		}
		e.simulated = pc.BaseURL == "" && pc.ID == Simulator
		if pc.KeyEnvName {
			log.Warn("the variable of a key has its own name as its value, which is no key", "provider", pc.ID, "variable", pc.KeyEnv)
		}
		if replaced := pc.Replaced(own); len(replaced) > 0 {
			log.Warn("extra_body replaces what thinkd sends", "provider", pc.ID, "members", strings.Join(replaced, ", "))
		}
		if pc.KeyEnvNow != "" {
			log.Warn("the variable of a key is deprecated", "provider", pc.ID, "variable", pc.KeyEnv, "set", pc.KeyEnvNow)
		}
		p.ends[pc.ID] = e
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

// credentials are those of this machine for Amazon, asked for in the way in which the provider is reached if the operator says one.
func credentials(c Config, client *http.Client) *aws.Credentials {
	settings := *c.Amazon
	if !c.Network.IsZero() {
		settings.Client = client
	}
	return aws.NewCredentials(settings)
}

// connect is how a provider is reached. A setting that has become wrong since the config was read, such as a file that is gone, is the
// error of each call.
func connect(s transport.Settings) http.RoundTripper {
	rt, err := transport.New(s)
	if err != nil {
		return unreachable{err}
	}
	return rt
}

type unreachable struct{ err error }

func (u unreachable) RoundTrip(*http.Request) (*http.Response, error) { return nil, u.err }

// open makes a provider's adapters; without a source it needs no key.
func (p *Providers) open(e endpoint, source *login.Source, catalog *registry.Catalog) (provider.Provider, error) {
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
func (p *Providers) simulator() http.RoundTripper {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sim == nil {
		p.sim = sim.New(sim.Config{Pace: demoPace, NoJournal: true, Log: p.log}).Listen()
	}
	return p.sim.Transport()
}

// sourceOf is where the key comes from with which a holder calls a provider; nil: it needs none.
func (p *Providers) sourceOf(h login.Holder, id string) *login.Source {
	if own := p.heldFor(h, id); own != nil {
		return own.source
	}
	return p.sources[id]
}

// heldFor is a provider with a key that h or h's tenant has; nil: neither has one.
func (p *Providers) heldFor(h login.Holder, id string) *held {
	if p.sources[id] == nil {
		return nil
	}
	key, whose := p.keys.Of(h, id)
	if key.IsZero() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	by := heldBy{whose, id}
	own := p.held[by]
	if own == nil {
		own = p.hold(by)
		p.held[by] = own
	}
	return own
}

// hold prepares calls with the key of a holder.
func (p *Providers) hold(by heldBy) *held {
	e := p.ends[by.provider]
	e.meter = nil
	own := login.Config{Provider: e.ID, EnvVar: e.KeyEnv, Keys: p.keys, Holder: by.Holder, Flow: loginFlow(e.Login, e.ID, e.client), Log: p.log}
	source := login.NewSource(own)
	adapter, err := p.open(e, source, p.catalog)
	if err != nil {
		p.log.Error("a provider cannot be called", "provider", e.ID, "err", err)
		adapter = unusable{router{}, e.ID, err.Error()}
	}
	return &held{source, adapter}
}

// presence is that of a server that may not run; nil: it is none of these. The first call asks all such servers, so that a
// caller that needs several waits only once.
func (p *Providers) presence(c Config) *presence {
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
				lister, _ = p.Find(pc.ID).(provider.Lister) // not the simulator, which would want the lock
			}
			p.here[pc.ID] = seek(pc.BaseURL, lister, pc.Assumed(), p.log)
		}
	}
	return p.here[c.ID]
}

// Close ends what was begun: logins, questions to local servers, and the simulator. Nobody calls a provider any more.
func (p *Providers) Close() error {
	for _, source := range p.sources {
		source.Close()
	}
	p.mu.Lock()
	here, simulator, owned := p.here, p.sim, p.held
	p.mu.Unlock()
	for _, h := range owned {
		h.source.Close()
	}
	for _, server := range here {
		server.close()
	}
	if simulator == nil {
		return nil
	}
	return simulator.Close()
}

// Has returns the models that a provider's server lists, as far as is known; nil for all that are not on a local server.
func (p *Providers) Has(id string) []provider.Model {
	for _, c := range p.list {
		if c.ID == id {
			if here := p.presence(c); here != nil {
				return here.has()
			}
		}
	}
	return nil
}

// Available says whether a provider can be called with the operator's key, and if not, why.
func (p *Providers) Available(c Config) (bool, string) { return p.available(c, p.sources[c.ID]) }

// available is Available for the key of a source; nil: it needs none.
func (p *Providers) available(c Config, source *login.Source) (bool, string) {
	if c.BaseURL == "" && c.ID != Simulator {
		return false, noAddress(c)
	}
	if source != nil && c.Amazon == nil {
		if state, _ := source.Status(); state != provider.KeyReady {
			return false, source.Advice()
		}
	}
	if here := p.presence(c); here != nil && !here.here() {
		return false, "nothing answers at " + c.BaseURL
	}
	return true, ""
}

// Find returns a provider by its id, nil if there is none.
func (p *Providers) Find(id string) provider.Provider {
	if adapter := p.adapters[id]; adapter != nil {
		return adapter()
	}
	return nil
}

// Vendor returns the vendor of a configured provider.
func (p *Providers) Vendor(id string) (vendor string, ok bool) {
	i := slices.IndexFunc(p.list, func(c Config) bool { return c.ID == id })
	if i < 0 {
		return "", false
	}
	return p.list[i].Vendor, true
}

// Patience is how long a provider may be silent; 0: no longer than others.
func (p *Providers) Patience(id string) time.Duration {
	for _, c := range p.list {
		if c.ID == id {
			return c.Patience()
		}
	}
	return 0
}

// Address is a provider's base URL as the log may have it: without what could be a secret.
func (p *Providers) Address(id string) string {
	for _, c := range p.list {
		if u, err := url.Parse(c.BaseURL); c.ID == id && err == nil {
			return u.Host + u.Path
		}
	}
	return ""
}

// Egress are the labels of a provider that say where its data goes.
func (p *Providers) Egress(id string) []string {
	for _, c := range p.list {
		if c.ID == id {
			return c.Egress
		}
	}
	return nil
}

// Status is what clients may know of a provider's key, and whether it can be called.
type Status struct {
	ID        string
	Key       provider.KeyState
	KeySource provider.KeySource
	KeyEnding string        // the last characters of a long key, by which its owner knows it
	Login     bool          // there is a way to log in
	LoginSet  bool          // and the config names the application that one logs in to
	Available bool          // it can be called
	Why       string        // it cannot
	Limits    []quota.Limit // of the account, as the latest answers said
	Keys      []provider.NamedKey
	Whose     login.Holder // whose key applies; zero: the operator's
}

// Status returns the state of all providers, in the order of the config.
func (p *Providers) Status() []Status {
	var list []Status
	for _, c := range p.list {
		s := Status{ID: c.ID, Key: provider.KeyNotNeeded}
		if source := p.sources[c.ID]; source != nil {
			s.Key, s.KeySource = source.Status()
			s.Login, s.Keys = source.HasLogin(), source.Named()
			s.LoginSet = s.Login && c.Login != nil && c.Login.ClientID != ""
			if s.KeySource != provider.KeyFromLogin {
				_, s.KeyEnding = source.Owner()
			}
		}
		if s.Key == provider.KeyMissing && c.Amazon != nil { // requests are signed instead, which only a call can try
			s.Key = provider.KeyNotNeeded
		}
		s.Available, s.Why = p.Available(c)
		s.Limits = p.meters[c.ID].Limits()
		list = append(list, s)
	}
	return list
}

// DefaultModel returns a model of the first provider that can be called: its default model, or the first that the configuration
// names, or the first of its list. h is who calls it. rows has what is known of a provider's models. The simulator can always be called; it comes last.
func (p *Providers) DefaultModel(h login.Holder, rows func(providerID string) []provider.Model) (providerID, model string) {
	for _, c := range p.list {
		if available, _ := p.available(c, p.sourceOf(h, c.ID)); !available {
			continue
		}
		if model := p.firstModel(c, rows); model != "" {
			return c.ID, model
		}
	}
	panic("the simulator is not among the providers") // the config puts it there
}

// firstModel is what a session of a provider gets if nobody names a model; empty: none is known.
func (p *Providers) firstModel(c Config, rows func(providerID string) []provider.Model) string {
	if c.DefaultModel != "" {
		return c.DefaultModel
	}
	if list := p.Has(c.ID); len(list) > 0 {
		return list[0].ID
	}
	if len(c.Rows) > 0 {
		return c.Rows[0].ID
	}
	for _, m := range rows(c.ID) {
		if l := m.Lifecycle; l == nil || !l.Gone && l.State != provider.LifecycleRetired {
			return m.ID
		}
	}
	return ""
}

// SetKey keeps a key for a provider; the zero one removes what there is, a login too. name is that of a further key; empty: the first.
// Errors are [provider.ErrNoKeyNeeded], [provider.ErrVariableName] and those of [login.Source.SetKey].
func (p *Providers) SetKey(id, name string, key provider.Secret) error {
	source := p.sources[id]
	if source == nil {
		return provider.ErrNoKeyNeeded
	}
	if slices.ContainsFunc(p.list, func(c Config) bool { return c.ID == id && provider.NamesVariable(key.Reveal(), c.KeyEnv) }) {
		return provider.ErrVariableName
	}
	if name == "" {
		p.meters[id].Forget()
	}
	return source.SetKey(name, key)
}

// Login leads a user through the login to a provider. Errors are [provider.ErrNoKeyNeeded] and those of [login.Source.Login].
func (p *Providers) Login(ctx context.Context, id string, show func(login.Prompt)) error {
	source := p.sources[id]
	if source == nil {
		return provider.ErrNoKeyNeeded
	}
	err := source.Login(ctx, show)
	if err == nil {
		p.meters[id].Forget()
	}
	return err
}

// Payer is who pays for a provider's calls from now on, and the account of its credential, without anything of a key. key is the name of
// a further key; empty: the first.
func (p *Providers) Payer(id, key string) (by provider.Payer, account string, known bool) {
	i := slices.IndexFunc(p.list, func(c Config) bool { return c.ID == id })
	if i < 0 {
		return by, "", false
	}
	c := p.list[i]
	source := p.sources[id]
	switch {
	case source == nil && (c.Local() || id == Simulator):
		return provider.Payer{Kind: provider.PaidLocally, Name: id}, "", true
	case source == nil: // it needs no key that thinkd knows of
		return by, "", false
	}
	if key != "" {
		account, known = source.NamedOwner(key)
		return provider.Payer{Kind: provider.PaidByKey, Name: "keys.json: " + key}, account, known
	}
	_, from := source.Status()
	by = provider.Payer{Kind: provider.PaidByKey, Name: c.KeyEnv}
	switch {
	case from == "" && c.Amazon != nil:
		return provider.Payer{Kind: provider.PaidByKey, Name: "AWS credentials"}, "", true
	case from == "":
		return provider.Payer{}, "", false
	case from == provider.KeyFromPerson:
		by.Name = "keys.json"
	case from == provider.KeyFromIdentity:
		by.Name = planName(c)
	}
	if c.Login != nil || strings.Contains(c.BaseURL, "/coding") { // a token of a subscription, wherever it is kept
		by.Kind, by.Name = provider.PaidByPlan, planName(c)
	}
	account, _ = source.Owner()
	return by, account, true
}

// planName is what a vendor's subscription is called.
func planName(c Config) string {
	if v, ok := registry.VendorNamed(c.Vendor); ok {
		return v.Name
	}
	return c.ID
}
