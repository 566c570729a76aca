package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

// daemon is all that runs: a store, the agents over it, and the server that clients talk to.
type daemon struct {
	log       *slog.Logger
	store     session.Store
	providers *providers
	agents    *agent.Group
	server    *rpc.Server
}

// open reads the config and makes what runs. A store that is nil is the one in the data directory.
func (p *program) open(ctx context.Context, store session.Store) (*daemon, error) {
	log, err := p.logger()
	if err != nil {
		return nil, err
	}
	c, err := loadConfig(p.configPath, p.getenv)
	if err != nil {
		return nil, err
	}
	catalog, err := c.catalog()
	if err != nil {
		return nil, err
	}
	if store == nil {
		dir, err := p.data()
		if err != nil {
			return nil, err
		}
		if store, err = session.OpenBolt(dir, session.BoltOptions{OnState: func(readOnly bool, why error) {
			log.Warn("store", "read_only", readOnly, "err", why)
		}}); err != nil {
			return nil, dataError(err)
		}
	}
	d := &daemon{log: log, store: store}
	if d.providers, err = openProviders(c, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	d.agents, err = agent.NewGroup(context.WithoutCancel(ctx), agent.Config{
		Store: store, Catalog: catalog, Provider: d.providers.find, Level: c.ThinkingLevel, Defaults: d.providers.defaults,
		Simulator: simID, Log: log,
		Limits: agent.Limits{ModelCalls: c.Limits.MaxModelCalls, TurnBytes: int(c.Limits.MaxTurnBytes), TurnTime: c.Limits.MaxTurnTime},
	})
	if err != nil {
		return nil, errors.Join(err, d.providers.close(), store.Close())
	}
	model, err := d.providers.defaultModel(c, catalog)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.server = rpc.NewServer(rpc.Config{
		Log: log, Version: version, MessageBytes: int(c.Limits.MaxMessageBytes),
		Sessions: d.agents, Providers: d.providers.status, DefaultModel: func() session.ModelRef { return model },
	})
	return d, nil
}

// dataError says what to do about a directory that the system refuses. The store's own errors say so themselves.
func dataError(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); !ok || errors.Is(err, session.ErrDamaged) {
		return err
	}
	return fmt.Errorf("the data directory cannot be used: %w; name another one with --data", err)
}

// data is the data directory.
func (p *program) data() (string, error) {
	if p.dataDir != "" {
		return p.dataDir, nil
	}
	return defaultDataDir(goos, p.getenv)
}

// close interrupts what runs, waits for it, and closes the store.
func (d *daemon) close() error {
	var errs []error
	if d.agents != nil {
		errs = append(errs, d.agents.Close())
	}
	return errors.Join(append(errs, d.providers.close(), d.store.Close())...)
}

// serve serves one client until it goes or ctx ends. Then the agents end first, so that the client is told how.
func (d *daemon) serve(ctx context.Context, conn io.ReadWriteCloser) error {
	serving, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ending := make(chan struct{})
	ended := context.AfterFunc(ctx, func() { // ends with the agents; awaited below
		defer close(ending)
		d.agents.Close()
		drain, cancel := context.WithTimeout(serving, drainTime)
		defer cancel()
		if err := d.server.Drain(drain); err != nil {
			d.log.Warn("a client does not read; it is not told how its turns ended", "err", err)
		}
		stop(errEnded)
	})
	err := d.server.Serve(serving, conn)
	if !ended() {
		<-ending
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// drainTime is how long the end waits for clients that are slow. Some time to write comes on top, and all has to be
// over in 10 s.
const drainTime = 3 * time.Second

var errEnded = errors.New("the daemon was asked to end")

// connect is a client of this daemon inside the process; closing it ends the server's side too.
func (d *daemon) connect(ctx context.Context) *client {
	ours, theirs := net.Pipe()
	c := newClient(ours)
	c.serving.Go(func() { c.served = d.serve(ctx, theirs) }) // ends when the client closes; client.close waits
	return c
}

// providers are the configured model APIs.
type providers struct {
	list  []providerConfig
	byID  map[string]provider.Provider
	close func() error
}

func (p *providers) find(id string) provider.Provider { return p.byID[id] }

func (p *providers) defaults(id string) agent.Defaults {
	for _, c := range p.list {
		if c.ID == id {
			return agent.Defaults{Level: c.Defaults.Effort, Policy: c.Defaults.Fallback}
		}
	}
	return agent.Defaults{}
}

func (p *providers) status() []rpc.ProviderStatus {
	var list []rpc.ProviderStatus
	for _, c := range p.list {
		s := rpc.ProviderStatus{ID: c.ID, Available: true, NeedsKey: c.KeyEnv != "", Defaults: p.defaults(c.ID)}
		if c.KeyEnv != "" && c.Key.IsZero() {
			s.Available, s.Why = false, fmt.Sprintf("no key: set %s", c.KeyEnv)
		}
		list = append(list, s)
	}
	return list
}
