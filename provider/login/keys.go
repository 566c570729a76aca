package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// Grant is what lasts: a key given by hand, or what a login gave.
type Grant struct {
	Token   provider.Secret
	Account string // whose it is, where the vendor tells: the id of a plan or an organisation
	ByLogin bool
}

// IsZero reports whether there is none.
func (g Grant) IsZero() bool { return g.Token.IsZero() }

// Keys are the grants of a daemon, one for each provider. They are safe for concurrent use.
type Keys struct {
	kept durable.Value

	mu  sync.Mutex
	all map[string]entry // by provider
}

// entry is a grant as it is kept: a key or a login's token.
type entry struct {
	Key     string `json:"key,omitempty"`
	Token   string `json:"login,omitempty"`
	Account string `json:"account,omitempty"`
}

type keptKeys struct {
	Version   int              `json:"version"`
	Providers map[string]entry `json:"providers"`
}

const keysVersion = 1

// ErrNotKept says that the keys could not be written: the disk is full or failing.
var ErrNotKept = errors.New("the file cannot be written")

// OpenKeys reads the keys; two processes must not have the same ones open. A text that is damaged or of a later version is an error
// that says nothing of what is in it.
func OpenKeys(kept durable.Value) (*Keys, error) {
	k := &Keys{kept: kept, all: map[string]entry{}}
	text, err := kept.Get()
	if err != nil {
		return nil, err
	}
	if text == nil {
		return k, nil
	}
	var read keptKeys
	if err := json.Unmarshal(text, &read); err != nil { // whose text may quote a key
		return nil, fmt.Errorf("%s is damaged: it is not the JSON that thinkd wrote; restore it, or remove it and give the keys again", kept.Name())
	}
	if read.Version != keysVersion {
		return nil, fmt.Errorf("%s has version %d, and this build knows version %d", kept.Name(), read.Version, keysVersion)
	}
	maps.Copy(k.all, read.Providers)
	return k, nil
}

// Grant is what there is for a provider.
func (k *Keys) Grant(providerID string) Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[providerID]
	if e.Token != "" {
		return Grant{provider.NewSecret(e.Token), e.Account, true}
	}
	return Grant{Token: provider.NewSecret(e.Key), Account: e.Account}
}

// Set puts a grant in place of whatever there is for a provider; the zero one removes that. With an error, which is
// ErrNotKept, nothing has changed.
func (k *Keys) Set(providerID string, g Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.setLocked(providerID, g)
}

// Replace is Set if what there is for the provider is still old: who logged out meanwhile stays so. The new grant is in
// force even where it could not be written, since the old one is worth nothing any more.
func (k *Keys) Replace(providerID string, old, g Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[providerID] != entryOf(old) {
		return nil
	}
	err := k.setLocked(providerID, g)
	if err != nil {
		k.all = maps.Clone(k.all)
		k.all[providerID] = entryOf(g)
	}
	return err
}

func (k *Keys) setLocked(providerID string, g Grant) error {
	next := maps.Clone(k.all)
	if g.IsZero() {
		delete(next, providerID)
	} else {
		next[providerID] = entryOf(g)
	}
	if maps.Equal(next, k.all) {
		return nil
	}
	if err := k.write(next); err != nil {
		return fmt.Errorf("keys: %w: %w", ErrNotKept, err)
	}
	k.all = next
	return nil
}

func entryOf(g Grant) entry {
	if g.ByLogin {
		return entry{Token: g.Token.Reveal(), Account: g.Account}
	}
	return entry{Key: g.Token.Reveal(), Account: g.Account}
}

func (k *Keys) write(all map[string]entry) error {
	text, err := json.MarshalIndent(keptKeys{keysVersion, all}, "", "  ")
	if err != nil {
		return err
	}
	return k.kept.Put(append(text, '\n'))
}
