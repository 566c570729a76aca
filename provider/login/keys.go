package login

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// Grant is a long-lived secret: a key that somebody set, or the token of a login.
type Grant struct {
	Token   provider.Secret
	Account string // the id of a plan or an organisation, if the vendor names it
	ByLogin bool

	identity bool // no secret: the token names an Identity
}

// IsZero reports whether there is no grant.
func (g Grant) IsZero() bool { return g.Token.IsZero() }

// Keys are the grants of a daemon: one for each provider, further keys that have names, and the keys of holders. They are safe for
// concurrent use.
type Keys struct {
	kept durable.Value

	mu    sync.Mutex
	all   map[string]entry     // by provider
	named map[namedAs]namedKey // further keys
	owned map[ownedAs]ownedKey // of holders
}

// namedKey is a further key of a provider.
type namedKey struct {
	namedAs
	Key string `json:"key"`
}

// namedAs is the provider and the name of a further key.
type namedAs struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
}

func (a namedAs) compare(b namedAs) int {
	return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
}

// entry is a stored grant: a key or the token of a login.
type entry struct {
	Key     string `json:"key,omitempty"`
	Token   string `json:"login,omitempty"`
	Account string `json:"account,omitempty"`
}

type keptKeys struct {
	Version   int              `json:"version"`
	Providers map[string]entry `json:"providers"`
	Named     []namedKey       `json:"keys,omitempty"`    // sorted
	Owned     []ownedKey       `json:"holders,omitempty"` // sorted
}

const keysVersion = 1

// ErrNotKept says that the keys could not be written: the disk is full or failing.
var ErrNotKept = errors.New("the file cannot be written")

// OpenKeys reads the keys. Two processes must not have the same keys open. A text that is damaged or of a later version is an error,
// which does not quote the text.
func OpenKeys(kept durable.Value) (*Keys, error) {
	k := &Keys{kept: kept, all: map[string]entry{}, named: map[namedAs]namedKey{}, owned: map[ownedAs]ownedKey{}}
	text, err := kept.Get()
	if err != nil {
		return nil, err
	}
	if text == nil {
		return k, nil
	}
	var read keptKeys
	if err := json.Unmarshal(text, &read); err != nil { // the error could quote a key
		return nil, fmt.Errorf("%s is damaged: it is not the JSON that thinkd wrote; restore it, or remove it and give the keys again", kept.Name())
	}
	if read.Version != keysVersion {
		return nil, fmt.Errorf("%s has version %d, and this build knows version %d", kept.Name(), read.Version, keysVersion)
	}
	maps.Copy(k.all, read.Providers)
	for _, further := range read.Named {
		k.named[further.namedAs] = further
	}
	for _, own := range read.Owned {
		k.owned[own.ownedAs] = own
	}
	return k, nil
}

// Grant returns the grant of a provider.
func (k *Keys) Grant(providerID string) Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[providerID]
	if e.Token != "" {
		return Grant{Token: provider.NewSecret(e.Token), Account: e.Account, ByLogin: true}
	}
	return Grant{Token: provider.NewSecret(e.Key), Account: e.Account}
}

// Providers lists those that have a grant, in order.
func (k *Keys) Providers() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.all))
}

// Set replaces the grant of a provider; the zero Grant removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) Set(providerID string, g Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.setLocked(providerID, g)
}

// Replace is Set if the grant of the provider is still old, so that a logout meanwhile has its effect. The new grant applies even if
// it could not be written, because the old one is not valid any more.
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
	if err := k.write(next, k.named, k.owned); err != nil {
		return fmt.Errorf("keys: %w: %w", ErrNotKept, err)
	}
	k.all = next
	return nil
}

// Named returns a further key of a provider; zero: there is none of that name.
func (k *Keys) Named(providerID, name string) provider.Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	return provider.NewSecret(k.named[namedAs{providerID, name}].Key)
}

// NamedKeys lists the further keys of a provider, by name.
func (k *Keys) NamedKeys(providerID string) (list []provider.NamedKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for as, further := range k.named {
		if as.Provider == providerID {
			list = append(list, provider.NamedKey{Name: as.Name, Ending: provider.NewSecret(further.Key).Ending()})
		}
	}
	slices.SortFunc(list, func(a, b provider.NamedKey) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SetNamed replaces a further key of a provider; the zero one removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) SetNamed(providerID, name string, key provider.Secret) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next, as := maps.Clone(k.named), namedAs{providerID, name}
	if key.IsZero() {
		delete(next, as)
	} else {
		next[as] = namedKey{as, key.Reveal()}
	}
	if maps.Equal(next, k.named) {
		return nil
	}
	if err := k.write(k.all, next, k.owned); err != nil {
		return fmt.Errorf("keys: %w: %w", ErrNotKept, err)
	}
	k.named = next
	return nil
}

func entryOf(g Grant) entry {
	if g.ByLogin {
		return entry{Token: g.Token.Reveal(), Account: g.Account}
	}
	return entry{Key: g.Token.Reveal(), Account: g.Account}
}

func (k *Keys) write(all map[string]entry, named map[namedAs]namedKey, owned map[ownedAs]ownedKey) error {
	further := slices.SortedFunc(maps.Values(named), func(a, b namedKey) int { return a.compare(b.namedAs) })
	own := slices.SortedFunc(maps.Values(owned), func(a, b ownedKey) int { return a.compare(b.ownedAs) })
	text, err := json.MarshalIndent(keptKeys{keysVersion, all, further, own}, "", "  ")
	if err != nil {
		return err
	}
	return k.kept.Put(append(text, '\n'))
}
