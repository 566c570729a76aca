package vendors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/registry"
)

// refreshTime is how long a host may take for its list: only who asked for the refresh waits for it.
const refreshTime = 20 * time.Second

// modelsDev is the name of the public database, as clients see it.
const modelsDev = "models.dev"

// Listings keep what hosts have said of their models, and the catalog that is made of it. Hosts are asked only by Refresh; the start and
// the turns use what is there.
type Listings struct {
	configs   []Config
	modelsDev string // where models.dev is asked; empty: it is not
	providers *Providers
	value     durable.Value
	log       *slog.Logger
	client    *http.Client // for models.dev

	current *registry.Current
	turn    chan struct{} // one token, so that only one refresh runs

	mu   sync.Mutex
	kept Kept
}

// OpenListings makes the catalog of what is known; database is where models.dev is asked, nowhere if it is empty, and value where the
// lists are stored. Rows of kept lists that contradict themselves are left out with a warning.
func OpenListings(list []Config, database string, kept Kept, providers *Providers, value durable.Value, log *slog.Logger) (*Listings, error) {
	l := &Listings{configs: list, modelsDev: database, providers: providers, value: value, log: log, client: exchange.NewClient(nil), kept: kept, turn: make(chan struct{}, 1)}
	catalog, err := kept.Catalog(list, providers.Has)
	if err != nil {
		return nil, err
	}
	for _, err := range catalog.Skipped() {
		log.Warn("an entry of a stored model list is ignored", "file", value.Name(), "err", err)
	}
	l.current = registry.NewCurrent(catalog)
	return l, nil
}

// Current is the catalog, which Refresh and Learn replace.
func (l *Listings) Current() *registry.Current { return l.current }

// Refresh asks the hosts of all providers that can be called, or of one, in parallel. It replaces the catalog by one with their
// lists, stores the lists, and reports the result for each host and what has changed. If it returns an error, which is ctx's
// cause or that of a catalog that cannot be built, nothing has changed.
func (l *Listings) Refresh(ctx context.Context, providerID string) (registry.Refresh, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return registry.Refresh{}, context.Cause(ctx)
	}
	answers := l.ask(ctx, providerID)
	if ctx.Err() != nil {
		return registry.Refresh{}, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.current.Catalog()
	catalog, kept, err := l.replaceLocked(l.withLocked(answers))
	if err != nil {
		return registry.Refresh{}, err
	}
	var done registry.Refresh
	for _, a := range answers {
		r := registry.Refreshed{Provider: a.name, Models: len(a.list.Models), AsOf: a.list.AsOf}
		if a.err != nil {
			r.Error = named(a.name, a.err)
		}
		for _, err := range a.skipped {
			r.Skipped = append(r.Skipped, named(a.name, err))
		}
		for _, err := range catalog.Skipped() {
			if row, ok := errors.AsType[*registry.RowError](err); ok && row.Provider == a.name {
				r.Skipped = append(r.Skipped, err.Error())
			}
		}
		done.Lists = append(done.Lists, r)
	}
	if kept != nil {
		l.log.Error("the new model lists could not be stored; they apply until the daemon stops", "err", kept)
		done.Lists = append(done.Lists, registry.Refreshed{Error: "The lists could not be written to the data directory. They apply until the daemon ends."})
	}
	done.Changes = registry.Changes(before, catalog)
	return done, nil
}

// replaceLocked makes the kept catalog the current one; notKept is why it is not on disk.
func (l *Listings) replaceLocked(next Kept) (catalog *registry.Catalog, notKept, err error) {
	if catalog, err = next.Catalog(l.configs, l.providers.Has); err != nil {
		return nil, nil, err
	}
	l.kept = next
	l.current.Replace(catalog)
	return catalog, next.write(l.value), nil
}

// Learn takes in what a refusal said of a provider's model. It is called on sessions' goroutines: it writes a small file, seldom.
func (l *Listings) Learn(providerID, model string, said provider.Learned) {
	at := slices.IndexFunc(l.configs, func(pc Config) bool { return pc.ID == providerID })
	if at < 0 || providerID == Simulator {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.kept
	next.Learned = maps.Clone(l.kept.Learned)
	if next.Learned == nil {
		next.Learned = make(map[string]keptLessons)
	}
	list := keptLessons{At: l.configs[at].BaseURL}
	lesson := registry.Lesson{Model: model, AsOf: provider.Today(), Learned: said}
	if old := next.Learned[providerID]; old.At == list.At {
		for _, was := range old.Models {
			switch {
			case was.Model != model:
				list.Models = append(list.Models, was)
			case was.AsOf == lesson.AsOf && reflect.DeepEqual(was.Learned, said):
				return // each call says it again
			default: // new facts add to earlier ones
				lesson.Levels = orLevels(said.Levels, was.Levels)
				lesson.Window, lesson.MaxOutput = cmp.Or(said.Window, was.Window), cmp.Or(said.MaxOutput, was.MaxOutput)
				lesson.Retired = said.Retired || was.Retired
				if lesson.AsOf == was.AsOf && reflect.DeepEqual(lesson.Learned, was.Learned) {
					return
				}
			}
		}
	}
	if len(list.Models) >= lessonsMost {
		list.Models = list.Models[1:]
	}
	list.Models = append(list.Models, lesson)
	next.Learned[providerID] = list
	if _, notKept, err := l.replaceLocked(next); err != nil || notKept != nil {
		l.log.Warn("a fact from a provider's refusal could not be stored", "model", providerID+"/"+model, "err", cmp.Or(err, notKept))
	}
}

func orLevels(a, b []provider.Level) []provider.Level {
	if len(a) > 0 {
		return a
	}
	return b
}

// answer is a host's, or models.dev's.
type answer struct {
	name   string
	list   keptListing
	vendor map[string][]provider.Model // of models.dev
	err    error

	skipped []error // why rows were left out
}

// ask asks all at once and returns when the last has answered, after refreshTime at the latest. What tells nothing by
// its nature is no answer, unless it was asked for by name.
func (l *Listings) ask(ctx context.Context, providerID string) []answer {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, fmt.Errorf("no list within %s", refreshTime))
	defer cancel()
	var asking sync.WaitGroup
	answers := make([]answer, len(l.configs)+1)
	for i, pc := range l.configs {
		if providerID != "" && providerID != pc.ID || pc.ID == Simulator {
			continue
		}
		lister, _ := l.providers.Find(pc.ID).(provider.Lister)
		if entra, ok := pc.Identity.(identity.Entra); ok && entra.ResourceID != "" {
			lister = deployments{pc, l.current.Catalog()}
		}
		available, why := l.providers.Available(pc)
		switch {
		case available && lister != nil:
			asking.Go(func() { // ends with ctx; waited for below
				models, err := lister.Models(ctx)
				if !errors.Is(err, provider.ErrNoList) || providerID != "" {
					rows, skipped := registry.Bounded(models)
					answers[i] = answer{name: pc.ID, list: keptListing{pc.BaseURL, provider.Today(), rows}, err: err, skipped: skipped}
				}
			})
		case providerID != "":
			answers[i] = answer{name: pc.ID, err: errors.New(cmp.Or(why, provider.ErrNoList.Error()))}
		}
	}
	if address := l.modelsDev; address != "" && providerID == "" {
		asking.Go(func() { // as above
			rows, err := l.askModelsDev(ctx, address)
			a := answer{name: modelsDev, list: keptListing{At: address, AsOf: provider.Today()}, vendor: rows, err: err}
			for vendor, list := range rows {
				list, skipped := registry.Bounded(list)
				rows[vendor], a.skipped = list, append(a.skipped, skipped...)
				a.list.Models = append(a.list.Models, list...)
			}
			answers[len(answers)-1] = a
		})
	}
	asking.Wait()
	return slices.DeleteFunc(answers, func(a answer) bool { return a.name == "" })
}

func (l *Listings) askModelsDev(ctx context.Context, address string) (map[string][]provider.Model, error) {
	caller := exchange.NewCaller("", exchange.Config{Provider: modelsDev, Client: l.client})
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

// withLocked returns what to keep after these answers. A host without an answer keeps its earlier list. If a list
// names a model again, it undoes a refusal that called the model retired.
func (l *Listings) withLocked(answers []answer) Kept {
	next := l.kept
	next.Version, next.Providers, next.Learned = listingsVersion, map[string]keptListing{}, maps.Clone(l.kept.Learned)
	maps.Copy(next.Providers, l.kept.Providers)
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
			if list, ok := next.Learned[a.name]; ok {
				list.Models = slices.Clone(list.Models)
				for i, lesson := range list.Models {
					if slices.ContainsFunc(a.list.Models, func(m provider.Model) bool { return m.ID == lesson.Model }) {
						list.Models[i].Retired = false
					}
				}
				next.Learned[a.name] = list
			}
		}
	}
	return next
}

// named is an error that says whose it is. It is for clients: adapters' errors hold no secret.
func named(name string, err error) string {
	text := err.Error()
	if strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}
