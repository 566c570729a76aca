package main

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

const goos = runtime.GOOS

// demoPace is how fast the simulator inside the daemon writes, in deltas a second: as fast as one reads.
const demoPace = 40

// apis makes an adapter for each wire API.
var apis = map[string]func(messages.Config) provider.Provider{
	"messages": func(c messages.Config) provider.Provider { return messages.New(c) },
}

// openProviders makes an adapter for each configured provider, with or without a key: a call without one says so. The
// simulator is served in memory, through the same HTTP as the others.
func openProviders(c config, log *slog.Logger) (*providers, error) {
	simulator := sim.New(sim.Config{Pace: demoPace, NoJournal: true, Log: log}).Listen()
	p := &providers{list: c.Providers, byID: make(map[string]provider.Provider), close: simulator.Close}
	for _, pc := range c.Providers {
		newAPI, ok := apis[pc.API]
		if !ok {
			return nil, errors.Join(fmt.Errorf("provider %s: api %q is not served by this version", pc.ID, pc.API), simulator.Close())
		}
		mc := messages.Config{Provider: pc.ID, Vendor: pc.Vendor, BaseURL: pc.BaseURL, Key: pc.Key, KeyVar: pc.KeyEnv,
			Headers: pc.Headers, Client: provider.NewClient(nil), Log: log}
		if pc.BaseURL == "" {
			mc.BaseURL, mc.Key = "http://simulator", provider.NewSecret("simulator")
			mc.Client = provider.NewClient(simulator.Transport())
		}
		p.byID[pc.ID] = newAPI(mc)
	}
	return p, nil
}

// defaultModel is what a new session gets if its client names none: the config's, else that of the first provider
// that has its key, else the simulator's.
func (p *providers) defaultModel(c config, catalog *registry.Catalog) (session.ModelRef, error) {
	if c.Model != "" {
		m, err := catalog.Find(c.Model)
		return session.ModelRef{Provider: m.Provider, ID: m.ID}, err
	}
	for _, pc := range c.Providers {
		if pc.DefaultModel != "" && (pc.KeyEnv == "" || !pc.Key.IsZero()) {
			return session.ModelRef{Provider: pc.ID, ID: pc.DefaultModel}, nil
		}
	}
	return session.ModelRef{}, fmt.Errorf("config: no model for new sessions; set model")
}
