package login

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// Grant is a long-lived secret: a key that somebody set, or the token of a login.
type Grant struct {
	Token   provider.Secret
	Account string // the id of a plan or an organisation, if the vendor names it
	ByLogin bool

	identity bool   // no secret: the token names an Identity
	access   string // what the last exchange got, for other nodes of a cluster; see [Credential]
}

// IsZero reports whether there is no grant.
func (g Grant) IsZero() bool { return g.Token.IsZero() }

// Keys are the grants of a daemon, or of the nodes of a cluster: one for each provider, further keys that have names, and the keys of holders. They
// are safe for concurrent use.
type Keys struct {
	kept keeper

	mu  sync.Mutex
	all map[keyOf]entry // replaced as a whole
}

// keeper keeps the entries of Keys.
type keeper interface {
	// newest makes all what the keeper has. The caller holds mu.
	newest(k *Keys)

	// change changes entries, and no other than those that are named. to may be called several times. After an error nothing has changed, as far
	// as that is known.
	change(k *Keys, of []keyOf, to func(map[keyOf]entry)) error

	// renew is that of [Keys.Renew].
	renew(ctx context.Context, k *Keys, of keyOf, old Grant, use func(context.Context) (Grant, error)) (Grant, error)
}

// keyOf names an entry: the grant of a provider, a further key of it, which has a name, or the key of a holder.
type keyOf struct {
	Holder
	Provider string
	Name     string
}

func (a keyOf) compare(b keyOf) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.User, b.User), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name))
}

// entry is a stored grant: a key or the token of a login.
type entry struct {
	Key     string `json:"key,omitempty"`
	Token   string `json:"login,omitempty"`
	Account string `json:"account,omitempty"`

	// Of a cluster alone:
	Access string `json:"access,omitempty"` // see [Grant]
	Claim  string `json:"claim,omitempty"`  // of the node that renews the login
	Void   bool   `json:"void,omitempty"`   // that node has used the token, and its answer is lost
}

func (e entry) grant() Grant {
	if e.Token != "" {
		return Grant{Token: provider.NewSecret(e.Token), Account: e.Account, ByLogin: true, access: e.Access}
	}
	return Grant{Token: provider.NewSecret(e.Key), Account: e.Account}
}

func entryOf(g Grant) entry {
	if g.ByLogin {
		return entry{Token: g.Token.Reveal(), Account: g.Account, Access: g.access}
	}
	return entry{Key: g.Token.Reveal(), Account: g.Account}
}

// ErrNotKept says that the keys could not be written: the disk is full or failing, or the store of the cluster does not answer.
var ErrNotKept = errors.New("they cannot be written")

// entry returns one; zero: there is none.
func (k *Keys) entry(of keyOf) entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.newest(k)
	return k.all[of]
}

// set replaces an entry; the zero one removes it.
func (k *Keys) set(of keyOf, to entry) error {
	return k.kept.change(k, []keyOf{of}, func(next map[keyOf]entry) {
		if next[of] = to; to == (entry{}) {
			delete(next, of)
		}
	})
}

// list returns what f selects, in order.
func (k *Keys) list(f func(keyOf) bool) (list []keyOf) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.newest(k)
	for of := range k.all {
		if f(of) {
			list = append(list, of)
		}
	}
	slices.SortFunc(list, keyOf.compare)
	return list
}

// Grant returns the grant of a provider.
func (k *Keys) Grant(providerID string) Grant { return k.entry(keyOf{Provider: providerID}).grant() }

// Providers lists those that have a grant, in order.
func (k *Keys) Providers() (list []string) {
	for _, of := range k.list(func(of keyOf) bool { return of.Holder == (Holder{}) && of.Name == "" }) {
		list = append(list, of.Provider)
	}
	return list
}

// Set replaces the grant of a provider; the zero Grant removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) Set(providerID string, g Grant) error {
	return k.set(keyOf{Provider: providerID}, entryOf(g))
}

// Renew uses a grant up, and keeps the one that replaces it. use gets the new one, which may be the same; it ends with its context. Renew returns the
// grant that is stored afterwards: that of use, or that of a login in the meantime, or the zero Grant after a logout.
//
// In a cluster, one node calls use, for at most claimTime. Renew waits on the other nodes, and returns the grant that this node stores. It returns
// ErrUsedUp if the node stores none in time: the vendor may reject the old grant, and a person has to log in.
//
// Further errors are those of use, and ErrNotKept. After that the new grant applies in this process all the same, because the old one is not valid any
// more.
func (k *Keys) Renew(ctx context.Context, providerID string, old Grant, use func(context.Context) (Grant, error)) (Grant, error) {
	return k.kept.renew(ctx, k, keyOf{Provider: providerID}, old, use)
}

// ErrUsedUp says that a grant was used by a node that died or lost its connection before it could keep the next one.
var ErrUsedUp = errors.New("a node used the login and lost the answer")

// Named returns a further key of a provider; zero: there is none of that name.
func (k *Keys) Named(providerID, name string) provider.Secret {
	return provider.NewSecret(k.entry(keyOf{Provider: providerID, Name: name}).Key)
}

// NamedKeys lists the further keys of a provider, by name.
func (k *Keys) NamedKeys(providerID string) (list []provider.NamedKey) {
	for _, of := range k.list(func(of keyOf) bool { return of.Provider == providerID && of.Name != "" }) {
		list = append(list, provider.NamedKey{Name: of.Name, Ending: provider.NewSecret(k.entry(of).Key).Ending()})
	}
	return list
}

// SetNamed replaces a further key of a provider; the zero one removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) SetNamed(providerID, name string, key provider.Secret) error {
	return k.set(keyOf{Provider: providerID, Name: name}, entry{Key: key.Reveal()})
}

// override puts an entry in place of another in memory alone, until the next change of a row.
func (k *Keys) override(of keyOf, with entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept.newest(k)
	k.all = maps.Clone(k.all)
	k.all[of] = with
}
