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

// Keyed is a provider whose calls are each made with the credential of the moment. An adapter has one key for its life:
// where the key is another one, so is the adapter.
type Keyed struct {
	source *Source
	open   func(Credential) (provider.Provider, error)

	mu      sync.Mutex
	with    identity
	adapter provider.Provider
}

// identity is what makes one credential another.
type identity struct {
	key              provider.Secret
	account, baseURL string
}

var (
	_ provider.Provider = (*Keyed)(nil)
	_ provider.Lister   = (*Keyed)(nil)
)

// NewKeyed makes a provider of what open makes of a credential; the first one is without a key.
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

var _ provider.Cacher = (*Keyed)(nil)

// Cache is as the adapter of the moment says.
func (k *Keyed) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	k.mu.Lock()
	adapter := k.adapter
	k.mu.Unlock()
	return provider.CacheOf(adapter, before, req)
}

// Stream makes the call, and once more where a new token may help. A refusal for want of a right one comes before
// anything else, so nothing is told twice.
func (k *Keyed) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
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

// Models asks the host, where its adapter can.
func (k *Keyed) Models(ctx context.Context) ([]provider.Model, error) {
	cred, err := k.source.Credential(ctx)
	if err != nil {
		return nil, err
	}
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

// try makes the call with a credential. Unless it is the last try, a refusal of the credential is returned in place of
// being told.
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
