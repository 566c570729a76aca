package doctor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vendors"
)

// Provider calls a model of a provider and makes a finding of each step, so that one sees where a call fails. name is a provider, whose default
// model is called, or PROVIDER/MODEL. It reports whether the model answered. The end of ctx ends the call.
//
// It uses no running daemon: it reads the same config and keys, and its environment may have other proxies than the daemon's.
func (d *Doctor) Provider(ctx context.Context, name string) (bool, error) {
	c, err := d.Options.Config()
	if err != nil {
		return false, err
	}
	dir, err := d.Options.Data()
	if err != nil {
		return false, err
	}
	keys, err := daemon.ReadKeys(ctx, dir, c.Auth)
	if err != nil {
		return false, err
	}
	m, providers, err := find(c, keys, name)
	if err != nil {
		return false, err
	}
	defer providers.Close() // of what ends with the process at the latest
	d.Add("provider "+m.Provider, nil, fmt.Sprintf("%s at %s", m.ID, cmp.Or(providers.Address(m.Provider), "no address: it is inside thinkd")))
	for _, pc := range c.Providers {
		if available, why := providers.Available(pc); pc.ID == m.Provider && !available {
			return d.Add("credentials", fmt.Errorf("%s", why), ""), nil
		}
	}
	well := true
	for _, f := range providers.Probe(ctx, m) {
		text := f.Text
		if f.Took > 0 {
			text += fmt.Sprintf(" (%v)", f.Took.Round(100*time.Microsecond))
		}
		well = d.Add(f.What, f.Err, text) && well
	}
	return well, nil
}

// find is the model that is called, and the providers that call it.
func find(c config.Config, keys *login.Keys, name string) (provider.Model, *vendors.Providers, error) {
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		return provider.Model{}, nil, err
	}
	id, model, _ := strings.Cut(name, "/")
	var ids []string
	for _, pc := range c.Providers {
		if ids = append(ids, pc.ID); pc.ID != id {
			continue
		}
		if model == "" {
			if model = pc.DefaultModel; model == "" {
				if rows := catalog.ModelsOf(id); len(rows) > 0 {
					model = rows[0].ID
				}
			}
		}
		if model == "" {
			return provider.Model{}, nil, fmt.Errorf("no model of %s is known; name one: --provider %s/MODEL", id, id)
		}
		return catalog.Model(id, model), vendors.Open(c.Providers, c.Dialects, keys, catalog, slog.New(slog.DiscardHandler)), nil
	}
	return provider.Model{}, nil, fmt.Errorf("there is no provider %q; there are: %s", id, strings.Join(ids, ", "))
}
