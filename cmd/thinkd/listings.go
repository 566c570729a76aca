package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
)

const (
	listingsName    = "models.json"
	listingsVersion = 1

	// refreshTime is how long a host may take for its list: nobody waits for a refresh but who asked for it.
	refreshTime = 20 * time.Second
)

// modelsDev is the name of the database of others in what clients are told.
const modelsDev = "models.dev"

// listings keep what hosts have told of their models, and the catalog that is made of it. They are asked when somebody
// wants it; start and turns go by what is there.
type listings struct {
	config    config
	providers *providers
	dir       string // where they are kept; empty: nowhere
	log       *slog.Logger
	client    *http.Client // for models.dev

	current *registry.Current
	turn    chan struct{} // one token: a refresh at a time

	mu   sync.Mutex
	kept keptListings // the maps in it are never changed, only replaced
}

// keptListings are the file.
type keptListings struct {
	Version   int                    `json:"version"`
	Providers map[string]keptListing `json:"providers,omitempty"`  // what a provider's host told, by provider
	ModelsDev map[string]keptListing `json:"models_dev,omitempty"` // what models.dev said, by vendor
}

type keptListing struct {
	At     string           `json:"at"`    // whose list it is: at another address there are other models
	AsOf   string           `json:"as_of"` // YYYY-MM-DD
	Models []provider.Model `json:"models"`
}

// readListings reads what is kept. A file that cannot be read is as none, and is told: the catalog has rows without it.
func readListings(dir string, log *slog.Logger) keptListings {
	kept := keptListings{Version: listingsVersion}
	if dir == "" {
		return kept
	}
	path := filepath.Join(dir, listingsName)
	text, err := durable.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Version != listingsVersion {
		err = fmt.Errorf("version %d, and this is version %d", kept.Version, listingsVersion)
	}
	if err != nil {
		log.Warn("the lists of models that were kept are not used; thinkd models --refresh makes new ones", "file", path, "err", err)
		return keptListings{Version: listingsVersion}
	}
	return kept
}

// newListings makes the catalog of what is known. Rows of kept lists that contradict themselves are told and left out.
func newListings(c config, kept keptListings, providers *providers, dir string, log *slog.Logger) (*listings, error) {
	l := &listings{config: c, providers: providers, dir: dir, log: log, client: provider.NewClient(nil), kept: kept, turn: make(chan struct{}, 1)}
	catalog, err := c.catalogOf(providers.has, kept)
	if err != nil {
		return nil, err
	}
	for _, err := range catalog.Skipped() {
		log.Warn("a row of a kept list is left out", "file", listingsName, "err", err)
	}
	l.current = registry.NewCurrent(catalog)
	return l, nil
}

// over puts the kept lists of a provider under its configuration.
func (k keptListings) over(p providerConfig, r registry.Provider) registry.Provider {
	if list := k.Providers[p.ID]; list.At == p.BaseURL {
		r.Refreshed = list.Models
	}
	r.Noted = k.ModelsDev[p.Vendor].Models
	return r
}

// Refresh asks the hosts of all providers that can be called, or of one, side by side. It puts the catalog of what they
// told in force, keeps it on disk, and tells what became of each. The error is ctx's cause; then nothing has changed.
func (l *listings) Refresh(ctx context.Context, providerID string) ([]rpc.Refreshed, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	answers := l.ask(ctx, providerID)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	next := l.with(answers)
	catalog, err := l.config.catalogOf(l.providers.has, next)
	if err != nil {
		return nil, err
	}
	var done []rpc.Refreshed
	for _, a := range answers {
		r := rpc.Refreshed{Provider: a.name, Models: len(a.list.Models), AsOf: a.list.AsOf}
		if a.err != nil {
			r.Error = named(a.name, a.err)
		}
		for _, err := range catalog.Skipped() {
			if row, ok := errors.AsType[*registry.RowError](err); ok && row.Provider == a.name {
				r.Skipped = append(r.Skipped, err.Error())
			}
		}
		done = append(done, r)
	}
	l.mu.Lock()
	l.kept = next
	l.mu.Unlock()
	l.current.Replace(catalog)
	if err := l.keep(next); err != nil {
		l.log.Error("the lists of models are in force, and cannot be kept", "err", err)
		done = append(done, rpc.Refreshed{Error: "the lists are in force until the daemon ends: they could not be written to its data directory"})
	}
	return done, nil
}

// answer is a host's, or models.dev's.
type answer struct {
	name   string
	list   keptListing
	vendor map[string][]provider.Model // of models.dev
	err    error
}

// ask asks all at once and returns when the last has answered, after refreshTime at the latest. What tells nothing by
// its nature is no answer, unless it was asked for by name.
func (l *listings) ask(ctx context.Context, providerID string) []answer {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, fmt.Errorf("no list within %s", refreshTime))
	defer cancel()
	var asking sync.WaitGroup
	answers := make([]answer, len(l.config.Providers)+1)
	for i, pc := range l.config.Providers {
		if providerID != "" && providerID != pc.ID || pc.ID == simID {
			continue
		}
		lister, _ := l.providers.find(pc.ID).(provider.Lister)
		available, why := l.providers.available(pc)
		switch {
		case available && lister != nil:
			asking.Go(func() { // ends with ctx; waited for below
				models, err := lister.Models(ctx)
				if !errors.Is(err, provider.ErrTellsNothing) || providerID != "" {
					answers[i] = answer{name: pc.ID, list: keptListing{pc.BaseURL, provider.Today(), models}, err: err}
				}
			})
		case providerID != "":
			answers[i] = answer{name: pc.ID, err: errors.New(cmp.Or(why, provider.ErrTellsNothing.Error()))}
		}
	}
	if address := l.config.ModelsDev; address != "" && providerID == "" {
		asking.Go(func() { // as above
			rows, err := l.askModelsDev(ctx, address)
			a := answer{name: modelsDev, list: keptListing{At: address, AsOf: provider.Today()}, vendor: rows, err: err}
			for _, list := range rows {
				a.list.Models = append(a.list.Models, list...)
			}
			answers[len(answers)-1] = a
		})
	}
	asking.Wait()
	return slices.DeleteFunc(answers, func(a answer) bool { return a.name == "" })
}

func (l *listings) askModelsDev(ctx context.Context, address string) (map[string][]provider.Model, error) {
	caller := provider.Caller{Provider: modelsDev, Client: l.client}
	resp, err := caller.Get(ctx, address, http.Header{"Accept": {"application/json"}, "User-Agent": {"thinkd"}})
	if err != nil {
		return nil, err
	}
	doc, err := caller.JSON(ctx, resp)
	if err != nil {
		return nil, err
	}
	rows, ok := registry.ModelsDev(doc, provider.Today())
	if !ok {
		return nil, caller.NoAnswer(resp, "the answer is JSON, but not that database")
	}
	return rows, nil
}

// with is what is kept when the answers are in. A host that gave none keeps what it had told before.
func (l *listings) with(answers []answer) keptListings {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := keptListings{Version: listingsVersion, Providers: map[string]keptListing{}, ModelsDev: l.kept.ModelsDev}
	for id, list := range l.kept.Providers {
		next.Providers[id] = list
	}
	for _, a := range answers {
		switch {
		case a.err != nil:
		case a.name == modelsDev:
			next.ModelsDev = map[string]keptListing{}
			for vendor, rows := range a.vendor {
				next.ModelsDev[vendor] = keptListing{a.list.At, a.list.AsOf, rows}
			}
		default:
			next.Providers[a.name] = a.list
		}
	}
	return next
}

func (l *listings) keep(kept keptListings) error {
	if l.dir == "" {
		return nil
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(l.dir, listingsName), text)
}

// named is an error that says whose it is. It is for clients: adapters' errors hold no secret.
func named(name string, err error) string {
	text := err.Error()
	if strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}
