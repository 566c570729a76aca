package vendors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

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

var _ provider.Outliner = router(nil)

func (r router) Outline(req *provider.Request) (provider.Outline, error) {
	api, err := r.of(req.Model)
	if err != nil {
		return provider.Outline{}, err
	}
	return provider.OutlineOf(api, req)
}

var _ provider.MediaTaker = router(nil)

func (r router) TakesMedia(m provider.Model) ([]string, bool) {
	api, err := r.of(m)
	if err != nil {
		return nil, false
	}
	return provider.TakesMedia(api, m)
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

var _ provider.Unloader = router(nil)

func (r router) Unload(ctx context.Context, m provider.Model) error {
	if u, ok := r[wayOf(m)].(provider.Unloader); ok {
		return u.Unload(ctx, m)
	}
	return nil
}

var _ provider.Cacher = router(nil)

func (r router) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	if api, err := r.of(req.Model); err == nil {
		return provider.CacheOf(api, before, req)
	}
	return provider.CacheUnknown, provider.CacheUndocumented
}

var _ provider.OptionsWirer = router(nil)

func (r router) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	api, err := r.of(req.Model)
	if err != nil {
		return nil, err
	}
	return provider.OptionsWireOf(api, req)
}

// ownLister is an adapter whose list may have only the models that it speaks to.
type ownLister interface {
	provider.Lister
	ListsOwn() bool
}

// split is a router whose host has a list of its own for the models of one way.
type split struct {
	router
	own   way
	wayOf func(id string) way
}

// Models are those of both lists: of the general one, those that go another way.
func (s split) Models(ctx context.Context) ([]provider.Model, error) {
	own, err := s.router[s.own].(provider.Lister).Models(ctx)
	if err != nil {
		return nil, err
	}
	rest := maps.Clone(s.router)
	delete(rest, s.own)
	all, err := rest.Models(ctx)
	if errors.Is(err, provider.ErrNoList) {
		return own, nil
	}
	for _, m := range all {
		if s.wayOf(m.ID) != s.own {
			own = append(own, m)
		}
	}
	return own, err
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
