package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/recall"
	"github.com/thinkd/thinkd/agent/retention"
	"github.com/thinkd/thinkd/agent/tool/builtin"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/telemetry"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/cluster/node"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/share"
)

// daemon is all that runs: a store, the agents over it, and the server that clients talk to.
type daemon struct {
	log     *slog.Logger
	store   session.Local
	file    *bolt.Store // see kept
	blobs   *blob.Dir   // nil: there is no data directory, or the logs have the media
	node    *node.Node  // nil: the daemon has its sessions to itself
	links   *nodeLinks  // nil: there are none
	models  *models
	hosts   *toolHosts
	agents  *agent.Group
	server  *rpc.Server
	records records
	shares  *share.Shares // of sessions with other users; nil: there are none

	serve       config.Serve
	auth        config.Auth
	url         atomic.Value // string: where browsers are served; empty: nowhere
	inputs      config.Inputs
	configPath  string // empty: there is no file
	telemetry   *telemetry.Telemetry
	readOnly    atomic.Bool   // the store takes nothing at the moment
	refuses     chan struct{} // has a token when it has just become so
	tokens      auth.Records  // of API tokens
	stopWatch   func()        // ends the goroutines of watch; nil: none runs
	stopTelling func()        // ends the goroutine that heeds refuses; nil: none runs
	stopSweep   func()        // nil: none runs

	stopRetention func()        // nil: none runs
	drainTime     time.Duration // of a node

	lost chan error // one fits: the store's file is not ours any more, and the daemon is to end
}

// open reads the config and makes what runs. A store that is nil is the one in the data directory.
func (o Options) open(ctx context.Context, store session.Local) (*daemon, error) {
	log, err := o.Logger()
	if err != nil {
		return nil, err
	}
	d := &daemon{log: log, lost: make(chan error, 1), refuses: make(chan struct{}, 1)}
	kept := kept{store: store}
	if store == nil {
		if kept.dir, err = o.Data(); err != nil {
			return nil, err
		}
	}
	c, err := o.configure(func() error { return kept.open(log, d.storeState) }, kept.dir == "" || bolt.Kept(kept.dir))
	if err != nil {
		return nil, errors.Join(err, kept.close())
	}
	d.serve, d.auth, d.inputs, d.configPath = c.Serve, c.Auth, c.Inputs, c.Path
	if c.Cluster != nil && kept.dir != "" {
		if err := kept.join(ctx, *c.Cluster, log); err != nil {
			return nil, errors.Join(err, kept.close())
		}
		d.node, d.links, d.drainTime = kept.node, kept.links, c.Cluster.DrainTime
	}
	store = kept.store
	if err := kept.openKeys(ctx, c.Auth, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	d.store, d.file, d.blobs, d.tokens = store, kept.file, kept.blobs, kept.tokens()
	settings, err := kept.settings(c, log)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if d.models, err = openModels(c, kept.keys, kept.value(listingsName), log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	d.hosts = openToolHosts(c, o, kept.dir, kept.keys, log, d.editors, d.recall)
	d.telemetry = telemetry.Open(telemetry.Config{Version: o.Version, Endpoint: c.Telemetry, Getenv: o.Getenv, Log: log,
		Vendor: d.models.providers.Vendor,
		State: telemetry.State{ReadOnly: d.readOnly.Load, Running: func() int { return d.agents.Running() },
			Clients: func() int { return d.server.Clients() }}})
	if err := kept.importAsides(ctx); err != nil {
		log.Warn("asides", "err", err)
	}
	ac := agent.Config{
		Store: store, Left: store.OpenTurns, Shared: d.node != nil, Catalog: d.models.lists.Current(), Provider: d.models.providers.Find, Level: c.ThinkingLevel, Defaults: settings.Defaults,
		Patience:  d.models.providers.Patience,
		Address:   d.models.providers.Address,
		Payer:     d.models.payer,
		Fallbacks: links(c.Fallbacks), Egress: d.models.providers.Egress,
		OnOther:   c.OnOther,
		Options:   c.Options,
		Simulator: vendors.Simulator, Log: log,
		CompactAt: c.Limits.CompactAt,
		Limits:    c.Limits.Limits,
		Rules:     c.Tools.Rules, Hosts: d.hosts.of, Rest: d.hosts.rest, Deleted: d.deleted,
		Ended: d.telemetry.Turn, Learned: d.models.learn,
	}
	if d.node != nil { // a nil *node.Node would be a cluster
		ac.Cluster = d.node
	}
	if c.Auth.Users {
		if d.shares, err = kept.shares(); err != nil {
			return nil, errors.Join(err, d.close())
		}
		ac.Guests = d.shares.Guests
		ac.Own = d.models.ownKeys()
		ac.Stored = func(o session.Owner) int64 { return int64(c.Auth.QuotaOf(o).Stored) }
		ac.Quota = func(o session.Owner) gate.Quota { return c.Auth.QuotaOf(o).Quota }
	}
	if d.blobs != nil { // a nil *blob.Dir would be blobs that are no nil
		ac.Blobs = d.blobs
	}
	if d.telemetry.Exports() {
		ac.Called, ac.Ran = d.telemetry.Call, d.telemetry.Tool
	}
	if d.agents, err = agent.NewGroup(context.WithoutCancel(ctx), ac); err != nil {
		return nil, errors.Join(err, d.close())
	}
	var meter dispatch.Meter
	if c.Auth.Users {
		meter = auth.NewRates(func(o session.Owner) int { return d.portion(c.Auth.QuotaOf(o).Requests) })
	}
	var auditor dispatch.Auditor
	if c.Auth.Users && kept.dir != "" {
		if d.records, err = openRecords(ctx, AuditDir(kept.dir), d.node, log); err != nil {
			return nil, errors.Join(err, d.close())
		}
		auditor = d.records.audit
	}
	var ownKeys func(session.Owner) []service.ProviderStatus
	var setOwnKey func(session.Owner, service.KeyScope, string, provider.Secret) error
	if c.Auth.Users {
		ownKeys = func(o session.Owner) []service.ProviderStatus { return d.models.status(settings, o) }
		if c.Auth.Encrypts() {
			setOwnKey = d.models.setOwnKey
		}
	}
	sessions := service.SharedAgentsOf(d.agents, d.shares)
	var router dispatch.Router
	if d.links != nil {
		router = d.links.route(d.node, d.agents, sessions, c.Limits.MessageBytes)
	}
	d.server = rpc.NewServer(rpc.Config{
		Router: router, Meter: meter, Auditor: auditor, Audited: d.records.read, Shares: d.shares,
		Config: service.Config{
			Log: log, Sessions: sessions, Catalog: ac.Catalog, Settings: settings, Tools: d.hosts.tools(c), Egress: c.Egress,
			Providers:    func() []service.ProviderStatus { return d.models.status(settings, session.Operator) },
			OwnKeys:      ownKeys,
			Servers:      d.hosts.accounts,
			Server:       d.hosts.account,
			DefaultModel: func(o session.Owner) session.ModelRef { return d.models.defaultModel(c, o) },
		},
		Version: o.Version, MessageBytes: c.Limits.MessageBytes, Listening: d.listening, Durability: d.durability(), Blobs: ac.Blobs,
		SetKey: d.setKey, SetOwnKey: setOwnKey, Login: d.login, Refresh: d.models.lists.Refresh, DefaultsChanged: d.agents.DefaultsChanged,
	})
	if d.node != nil {
		if err := d.node.Serve(d.agents); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	if d.links != nil {
		d.links.serve(d.server, d.tokens)
	}
	d.watch(settings)
	if d.blobs != nil {
		d.sweep()
	}
	if d.file != nil && len(c.Retention) > 0 {
		d.retain(c.Retention)
	}
	d.tellTrouble()
	return d, nil
}

// portion is what this node has of a number that all nodes of a cluster share. It is at least 1, and 0 says that there is no limit.
func (d *daemon) portion(n int) int {
	if d.node == nil || n == 0 {
		return n
	}
	return max(n/d.node.Nodes(), 1)
}

// refused records the address of a client that is not let in; nil: nothing is recorded.
func (d *daemon) refused() func(from string) {
	if d.records.audit == nil {
		return nil
	}
	return d.records.audit.Refused
}

// deleted is called after a session was deleted.
func (d *daemon) deleted(ref session.Ref) {
	d.hosts.deleted(ref)
	if d.shares == nil {
		return
	}
	if err := d.shares.Forget(ref); err != nil { // nobody can use it: its session is gone
		d.log.Warn("the shares of a deleted session", "session", ref.ID, "err", err)
	}
}

// forget removes what a user has besides tokens and sessions: keys, and shares.
func (d *daemon) forget(o session.Owner) (keys int, err error) {
	keys, err = d.models.forget(o)
	if d.shares != nil {
		err = errors.Join(err, d.shares.ForgetUser(o))
	}
	return keys, err
}

// setKey stores or removes the key of a provider, or removes the login to an MCP server.
func (d *daemon) setKey(id, name string, key provider.Secret) error {
	to := d.hosts.login(id)
	switch {
	case to == nil:
		return d.models.setKey(id, name, key)
	case !key.IsZero():
		return provider.ErrNoKeyNeeded
	}
	return d.models.notKept(to.Logout())
}

// login logs in to a provider or an MCP server.
func (d *daemon) login(ctx context.Context, id string, show func(rpc.LoginPrompt)) error {
	to := d.hosts.login(id)
	if to == nil {
		return d.models.login(ctx, id, show)
	}
	return d.models.notKept(to.Login(ctx, func(said login.Prompt) { show(rpc.LoginPrompt(said)) }))
}

// configure reads the config and opens the store. If there is a store already, it does both in parallel: neither depends on
// the other, and the command that started the daemon waits. For a wrong config it creates no store, and for a node of a cluster none either; the
// config's error is reported first.
func (o Options) configure(open func() error, already bool) (c config.Config, err error) {
	var reading sync.WaitGroup
	reading.Go(func() { c, err = o.Config() }) // awaited here
	if already {
		openErr := open()
		reading.Wait()
		return c, cmp.Or(err, openErr)
	}
	reading.Wait()
	if err != nil || c.Cluster != nil {
		return c, err
	}
	return c, open()
}

// watch heeds what other nodes change; close ends it and waits.
func (d *daemon) watch(settings *registry.Settings) {
	if d.node == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	d.stopWatch = func() { stop(); running.Wait() }
	running.Go(func() { settings.Watch(ctx, d.agents.DefaultsChanged) })
	if d.shares != nil {
		running.Go(func() {
			d.shares.Watch(ctx, func(before, after share.Share) { d.server.ShareChanged(ctx, before, after) })
		})
	}
}

// tellTrouble lets all clients know when the store takes nothing any more; close ends it and waits. It has a goroutine
// of its own, since the store's writer must not wait for sessions, which may be waiting for it.
func (d *daemon) tellTrouble() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	d.stopTelling = func() { stop(); <-done }
	go func() {
		defer close(done)
		for {
			select {
			case <-d.refuses:
				d.agents.TellReadOnly(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// sweep removes media that no session has any more, at the start and after deletions; close ends it and waits.
func (d *daemon) sweep() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	d.stopSweep = func() { stop(); <-done }
	go func() {
		defer close(done)
		d.blobs.Tend(ctx, d.file, func(removed int, err error) {
			switch {
			case err != nil:
				d.log.Warn("unused media were not removed", "err", err)
			case removed > 0:
				d.log.Info("unused media were removed", "files", removed)
			}
		})
	}()
}

// retain deletes old sessions by rules; close ends it and waits.
func (d *daemon) retain(rules retention.Rules) {
	k := &retention.Keeper{Rules: rules, Owners: d.file.Owners, Due: d.file.Deletions,
		List: func(ctx context.Context, owner session.Owner, q session.Query) ([]session.Session, string, error) {
			return d.file.For(owner).List(ctx, q)
		},
		Delete: func(ctx context.Context, ref session.Ref, expired func(session.Session) bool) (bool, error) {
			return d.agents.For(ref.Owner).DeleteUnused(ctx, ref.ID, expired)
		},
		Rewrite: func(ctx context.Context) error {
			_, _, err := d.file.Compact(ctx)
			return err
		},
		Idle: func() bool { return d.agents.Running() == 0 },
		Told: func(r retention.Round) {
			d.log.Info("retention", "deleted", r.Deleted, "rewritten", r.Rewritten, "err", r.Err)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	d.stopRetention = func() { stop(); <-done }
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
}

// storeState is called when the store becomes read-only or writable.
func (d *daemon) storeState(readOnly bool, why error) {
	d.readOnly.Store(readOnly)
	d.log.Warn("store", "read_only", readOnly, "err", why)
	if readOnly {
		select {
		case d.refuses <- struct{}{}:
		default: // a signal is pending already
		}
	}
	if errors.Is(why, session.ErrReplaced) {
		select {
		case d.lost <- why:
		default:
		}
	}
}

var errReadOnly = errors.New("the store cannot be written; the daemon's log says why")

// ready is why a client that came now could read, and do nothing else; nil: it could.
func (d *daemon) ready() error {
	switch {
	case d.readOnly.Load():
		return errReadOnly
	case d.node != nil:
		return d.node.Ready()
	}
	return nil
}

// durability says whether what the store servers acknowledge is on their disks; nil: there are none.
func (d *daemon) durability() func() string {
	if d.node == nil {
		return nil
	}
	return func() string { return string(d.node.Durability()) }
}

// listening is where browsers find the page, without the token; empty: nowhere.
func (d *daemon) listening() string {
	url, _ := d.url.Load().(string)
	return url
}

// editors is what the editors on a session lend to its built-in tools; nil: nothing.
func (d *daemon) editors(id session.ID) (files builtin.Files, terminal builtin.Terminal) {
	if f := d.server.Editors().Files(id); f != nil {
		files = f
	}
	if t := d.server.Editors().Terminal(id); t != nil {
		terminal = editorTerminal{t}
	}
	return files, terminal
}

// recall searches what a summary replaces in a session.
func (d *daemon) recall(ctx context.Context, id session.ID, q recall.Query) (answer string, err error) {
	err = d.agents.For(session.Operator).Do(ctx, id, func(a *agent.Agent) (err error) {
		answer, err = a.Recall(ctx, q)
		return err
	})
	return answer, err
}

// close interrupts what runs, waits for it, and closes the store.
func (d *daemon) close() error {
	var errs []error
	if d.links != nil {
		errs = append(errs, d.links.close())
	}
	if d.stopRetention != nil {
		d.stopRetention()
	}
	if d.stopWatch != nil {
		d.stopWatch()
	}
	if d.stopSweep != nil {
		d.stopSweep()
	}
	if d.stopTelling != nil {
		d.stopTelling()
	}
	if d.agents != nil {
		errs = append(errs, d.agents.Close())
	}
	errs = append(errs, d.records.close(d.log))
	d.telemetry.Close()
	return errors.Join(append(errs, d.hosts.close(), d.models.providers.Close(), d.store.Close())...)
}
