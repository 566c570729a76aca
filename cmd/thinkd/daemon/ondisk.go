package daemon

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// OnDisk is what the config and the data directory say without a daemon. Reading it starts nothing, writes nothing and calls nobody.
type OnDisk struct {
	dir    string
	config config.Config
}

// ReadDisk reads the config. The rest is read when it is asked for.
func (o Options) ReadDisk() (d OnDisk, err error) {
	if d.dir, err = o.Data(); err != nil {
		return OnDisk{}, err
	}
	d.config, err = o.Config()
	return d, err
}

// Providers are the ids of the configured providers.
func (d OnDisk) Providers() (list []string) {
	for _, p := range d.config.Providers {
		list = append(list, p.ID)
	}
	return list
}

// Models are those of the catalog, the config and the kept lists of hosts. The models of a local server are known to a daemon only.
func (d OnDisk) Models() ([]provider.Model, error) {
	kept := vendors.ReadKept(d.file(listingsName), slog.New(slog.DiscardHandler))
	catalog, err := kept.Catalog(d.config.Providers, nil)
	if err != nil {
		return nil, err
	}
	return catalog.Models(), nil
}

// Agents are those of the config, and those that clients have set.
func (d OnDisk) Agents() ([]registry.Agent, error) {
	settings, err := openSettings(d.config, d.file(settingsName), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return settings.Agents(), nil
}

// Sessions are the sessions that changed last. The error is that of [bolt.ListDir], *bolt.LockedError while a daemon runs.
func (d OnDisk) Sessions(ctx context.Context, most int) ([]session.Session, error) {
	return bolt.ListDir(ctx, d.dir, session.Query{Limit: most})
}

func (d OnDisk) file(name string) durable.Value {
	return durable.File{Path: filepath.Join(d.dir, name)}
}
