package daemon

import (
	"cmp"
	"context"
	"encoding/json"
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

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/session"
)

const (
	listingsVersion = 1

	// refreshTime is how long a host may take for its list: nobody waits for a refresh but who asked for it.
	refreshTime = 20 * time.Second
)

// modelsDev is the name of the database of others in what clients are told.
const modelsDev = "models.dev"

// listings keep what hosts have told of their models, and the catalog that is made of it. They are asked when somebody
// wants it; start and turns go by what is there.
type listings struct {
	configs   []vendors.Config
	modelsDev string // where models.dev is asked; empty: it is not
	providers *providers
	value     durable.Value
	log       *slog.Logger
	client    *http.Client // for models.dev

	current *registry.Current
	turn    chan struct{} // one token: a refresh at a time

	mu   sync.Mutex
	kept keptListings // the maps in it are never changed, only replaced
}

// keptListings are all lists as they are stored.
type keptListings struct {
	Version   int                    `json:"version"`
	Providers map[string]keptListing `json:"providers,omitempty"`  // what a provider's host told, by provider
	ModelsDev map[string]keptListing `json:"models_dev,omitempty"` // what models.dev said, by vendor
	Learned   map[string]keptLessons `json:"learned,omitempty"`    // what refusals of a provider's host said, by provider
}

// keptLessons are what one address said in refusals.
type keptLessons struct {
	At     string            `json:"at"`
	Models []registry.Lesson `json:"models"`
}

const (
	lessonsFor  = 30 * 24 * time.Hour // how long a refusal counts: hosts change
	lessonsMost = 1000                // of one address
)

type keptListing struct {
	At     string           `json:"at"`    // whose list it is: at another address there are other models
	AsOf   string           `json:"as_of"` // YYYY-MM-DD
	Models []provider.Model `json:"models"`
}

// readListings reads what is kept. What cannot be read is logged and ignored: the catalog has rows without it.
func readListings(value durable.Value, log *slog.Logger) keptListings {
	kept := keptListings{Version: listingsVersion}
	text, err := value.Get()
	if err == nil && text == nil {
		return kept
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && kept.Version != listingsVersion {
		err = fmt.Errorf("version %d, and this is version %d", kept.Version, listingsVersion)
	}
	if err != nil {
		log.Warn("the stored model lists cannot be used; run thinkd models --refresh", "file", value.Name(), "err", err)
		return keptListings{Version: listingsVersion}
	}
	return kept
}

// newListings makes the catalog of what is known. Rows of kept lists that contradict themselves are told and left out.
func newListings(c config.Config, kept keptListings, providers *providers, value durable.Value, log *slog.Logger) (*listings, error) {
	l := &listings{configs: c.Providers, modelsDev: c.ModelsDev, providers: providers, value: value, log: log, client: exchange.NewClient(nil), kept: kept, turn: make(chan struct{}, 1)}
	catalog, err := catalogOf(c.Providers, providers.has, kept)
	if err != nil {
		return nil, err
	}
	for _, err := range catalog.Skipped() {
		log.Warn("an entry of a stored model list is ignored", "file", value.Name(), "err", err)
	}
	l.current = registry.NewCurrent(catalog)
	return l, nil
}

// catalogOf is the catalog of these providers with what is kept, and with what the local servers among them list: has
// returns that by the provider's id; nil: nobody asks.
func catalogOf(list []vendors.Config, has func(id string) []provider.Model, kept keptListings) (*registry.Catalog, error) {
	return vendors.Catalog(list, func(c vendors.Config, p *registry.Provider) {
		if has != nil && c.Lists() {
			p.Live = func() []provider.Model { return has(c.ID) }
		}
		kept.over(c, p)
	})
}

// over puts the kept lists of a provider under its configuration.
func (k keptListings) over(p vendors.Config, r *registry.Provider) {
	if list := k.Providers[p.ID]; list.At == p.BaseURL {
		r.Refreshed = list.Models
	}
	r.Noted = k.ModelsDev[p.Vendor].Models
	if list := k.Learned[p.ID]; list.At == p.BaseURL {
		since := time.Now().Add(-lessonsFor).UTC().Format(time.DateOnly)
		for _, l := range list.Models {
			if l.AsOf >= since {
				r.Lessons = append(r.Lessons, l)
			}
		}
	}
}

// Refresh asks the hosts of all providers that can be called, or of one, in parallel. It replaces the catalog by one with their
// lists, stores the lists, and reports the result for each host and what has changed. If it returns an error, which is ctx's
// cause or that of a catalog that cannot be built, nothing has changed.
func (l *listings) Refresh(ctx context.Context, providerID string) (rpc.Refresh, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return rpc.Refresh{}, context.Cause(ctx)
	}
	answers := l.ask(ctx, providerID)
	if ctx.Err() != nil {
		return rpc.Refresh{}, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.current.Catalog()
	catalog, kept, err := l.replaceLocked(l.withLocked(answers))
	if err != nil {
		return rpc.Refresh{}, err
	}
	var done rpc.Refresh
	for _, a := range answers {
		r := rpc.Refreshed{Provider: a.name, Models: len(a.list.Models), AsOf: a.list.AsOf}
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
		done.Lists = append(done.Lists, rpc.Refreshed{Error: "The lists could not be written to the data directory. They apply until the daemon ends."})
	}
	done.Changes = registry.Changes(before, catalog)
	return done, nil
}

// replaceLocked puts the catalog of what is kept in force; notKept is why it is not on disk.
func (l *listings) replaceLocked(next keptListings) (catalog *registry.Catalog, notKept, err error) {
	if catalog, err = catalogOf(l.configs, l.providers.has, next); err != nil {
		return nil, nil, err
	}
	l.kept = next
	l.current.Replace(catalog)
	return catalog, l.keep(next), nil
}

// Learn takes in what a refusal said of a model. It is called on sessions' goroutines: it writes a small file, seldom.
func (l *listings) Learn(model session.ModelRef, said provider.Learned) {
	at := slices.IndexFunc(l.configs, func(pc vendors.Config) bool { return pc.ID == model.Provider })
	if at < 0 || model.Provider == vendors.Simulator {
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
	lesson := registry.Lesson{Model: model.ID, AsOf: provider.Today(), Learned: said}
	if old := next.Learned[model.Provider]; old.At == list.At {
		for _, was := range old.Models {
			switch {
			case was.Model != model.ID:
				list.Models = append(list.Models, was)
			case was.AsOf == lesson.AsOf && reflect.DeepEqual(was.Learned, said):
				return // each call says it again
			default: // what is new adds to what was said
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
	next.Learned[model.Provider] = list
	if _, notKept, err := l.replaceLocked(next); err != nil || notKept != nil {
		l.log.Warn("a fact from a provider's refusal could not be stored", "model", model, "err", cmp.Or(err, notKept))
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
func (l *listings) ask(ctx context.Context, providerID string) []answer {
	ctx, cancel := context.WithTimeoutCause(ctx, refreshTime, fmt.Errorf("no list within %s", refreshTime))
	defer cancel()
	var asking sync.WaitGroup
	answers := make([]answer, len(l.configs)+1)
	for i, pc := range l.configs {
		if providerID != "" && providerID != pc.ID || pc.ID == vendors.Simulator {
			continue
		}
		lister, _ := l.providers.find(pc.ID).(provider.Lister)
		available, why := l.providers.available(pc)
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

func (l *listings) askModelsDev(ctx context.Context, address string) (map[string][]provider.Model, error) {
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

// withLocked is what is kept when the answers are in. A host that gave none keeps what it had told before. A list that
// names a model again undoes a refusal that called it retired.
func (l *listings) withLocked(answers []answer) keptListings {
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

func (l *listings) keep(kept keptListings) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return l.value.Put(text)
}

// named is an error that says whose it is. It is for clients: adapters' errors hold no secret.
func named(name string, err error) string {
	text := err.Error()
	if strings.HasPrefix(text, name+":") {
		return text
	}
	return name + ": " + text
}
