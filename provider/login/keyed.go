package login

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Keyed is a provider that makes each call with the current credential. An adapter has one key, so a new credential needs a new
// adapter.
type Keyed struct {
	source *Source
	open   func(Credential) (provider.Provider, error)

	mu      sync.Mutex
	with    identity
	adapter provider.Provider
}

// identity is what distinguishes credentials.
type identity struct {
	key              provider.Secret
	account, baseURL string
}

var (
	_ provider.Provider = (*Keyed)(nil)
	_ provider.Lister   = (*Keyed)(nil)
)

// NewKeyed returns a provider. open makes an adapter for a credential; the first one has no key.
func NewKeyed(source *Source, open func(Credential) (provider.Provider, error)) (*Keyed, error) {
	adapter, err := open(Credential{})
	return &Keyed{source: source, open: open, adapter: adapter}, err
}

// Wire does not depend on the credential.
func (k *Keyed) Wire(req *provider.Request) (json.RawMessage, error) {
	k.mu.Lock()
	adapter := k.adapter
	k.mu.Unlock()
	return adapter.Wire(req)
}

var (
	_ provider.Cacher       = (*Keyed)(nil)
	_ provider.OptionsWirer = (*Keyed)(nil)
)

// OptionsWire asks the current adapter.
func (k *Keyed) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	k.mu.Lock()
	adapter := k.adapter
	k.mu.Unlock()
	return provider.OptionsWireOf(adapter, req)
}

// Cache asks the current adapter.
func (k *Keyed) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	k.mu.Lock()
	adapter := k.adapter
	k.mu.Unlock()
	return provider.CacheOf(adapter, before, req)
}

// Stream makes the call, and repeats it once if a new token may help. A vendor refuses a token before it sends any event, so no event
// is repeated.
func (k *Keyed) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if req.Key != "" { // there is no other token for it
			cred, err := k.source.named(req.Key)
			if err != nil {
				yield(nil, err)
				return
			}
			k.try(ctx, cred, req, yield, true)
			return
		}
		cred, err := k.source.Credential(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		refused := k.try(ctx, cred, req, yield, false)
		if refused == nil {
			return
		}
		cred, ok, err := k.source.Renew(ctx, cred.Key)
		switch {
		case err != nil:
			yield(nil, err)
		case !ok:
			yield(nil, k.source.refuse(refused))
		default:
			k.try(ctx, cred, req, yield, true)
		}
	}
}

// Models asks the host, if the adapter can. It asks once more if a new token may help.
func (k *Keyed) Models(ctx context.Context) ([]provider.Model, error) {
	cred, err := k.source.Credential(ctx)
	if err != nil {
		return nil, err
	}
	list, err := k.list(ctx, cred)
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Status != http.StatusUnauthorized {
		return list, err
	}
	refused := err
	switch cred, ok, err := k.source.Renew(ctx, cred.Key); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, k.source.refuse(refused)
	default:
		return k.list(ctx, cred)
	}
}

func (k *Keyed) list(ctx context.Context, cred Credential) ([]provider.Model, error) {
	adapter, err := k.at(cred)
	if err != nil {
		return nil, err
	}
	lister, ok := adapter.(provider.Lister)
	if !ok {
		return nil, provider.ErrNoList
	}
	return lister.Models(ctx)
}

// try makes the call with a credential. Except for the last try, it returns a refusal of the credential instead of yielding it.
func (k *Keyed) try(ctx context.Context, cred Credential, req *provider.Request, yield func(provider.Event, error) bool, last bool) error {
	adapter, err := k.at(cred)
	if err != nil {
		yield(nil, &provider.Error{API: req.Model.API, Provider: req.Model.Provider, Kind: provider.KindBadRequest, Err: err})
		return nil
	}
	first := true
	for event, err := range adapter.Stream(ctx, req) {
		if e, ok := errors.AsType[*provider.Error](err); ok && first && !last && e.Status == http.StatusUnauthorized {
			return err
		}
		first = false
		if !yield(event, err) {
			return nil
		}
	}
	return nil
}

func (k *Keyed) at(cred Credential) (provider.Provider, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := identity{cred.Key, cred.Account, cred.BaseURL}
	if id == k.with {
		return k.adapter, nil
	}
	adapter, err := k.open(cred)
	if err == nil {
		k.with, k.adapter = id, adapter
	}
	return adapter, err
}
