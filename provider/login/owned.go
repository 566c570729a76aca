package login

import (
	"fmt"
	"maps"

	"github.com/thinkd/thinkd/provider"
)

// Of returns the key with which a holder calls a provider, and whose it is: the user's, or otherwise the tenant's. It is zero if
// neither has one.
func (k *Keys) Of(h Holder, providerID string) (key provider.Secret, whose Holder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, whose = range []Holder{h, h.ForTenant()} {
		if own, ok := k.owned[ownedAs{whose, providerID}]; ok && whose != (Holder{}) {
			return provider.NewSecret(own.Key), whose
		}
	}
	return provider.Secret{}, Holder{}
}

// held is the grant that a holder has stored.
func (k *Keys) held(h Holder, providerID string) Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Grant{Token: provider.NewSecret(k.owned[ownedAs{h, providerID}].Key)}
}

// SetOf replaces a holder's key of a provider; the zero one removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) SetOf(h Holder, providerID string, key provider.Secret) error {
	as := ownedAs{h, providerID}
	return k.changeOwned(func(next map[ownedAs]ownedKey) {
		if key.IsZero() {
			delete(next, as)
		} else {
			next[as] = ownedKey{as, key.Reveal()}
		}
	})
}

// ForgetAllOf removes all keys of a holder. n is how many there were. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) ForgetAllOf(h Holder) (n int, err error) {
	err = k.changeOwned(func(next map[ownedAs]ownedKey) {
		before := len(next)
		maps.DeleteFunc(next, func(as ownedAs, _ ownedKey) bool { return as.Holder == h })
		n = before - len(next)
	})
	return n, err
}

func (k *Keys) changeOwned(change func(map[ownedAs]ownedKey)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := maps.Clone(k.owned)
	change(next)
	if maps.Equal(next, k.owned) {
		return nil
	}
	if err := k.write(k.all, k.named, next); err != nil {
		return fmt.Errorf("keys: %w: %w", ErrNotKept, err)
	}
	k.owned = next
	return nil
}
