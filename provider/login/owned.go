package login

import (
	"maps"

	"github.com/thinkd/thinkd/provider"
)

// Of returns the key with which a holder calls a provider, and whose it is: the user's, or otherwise the tenant's. It is zero if
// neither has one.
func (k *Keys) Of(h Holder, providerID string) (key provider.Secret, whose Holder) {
	for _, whose = range []Holder{h, h.ForTenant()} {
		if whose == (Holder{}) {
			continue
		}
		if own := k.entry(keyOf{Holder: whose, Provider: providerID}); own.Key != "" {
			return provider.NewSecret(own.Key), whose
		}
	}
	return provider.Secret{}, Holder{}
}

// held is the grant that a holder has stored.
func (k *Keys) held(h Holder, providerID string) Grant {
	return k.entry(keyOf{Holder: h, Provider: providerID}).grant()
}

// SetOf replaces a holder's key of a provider; the zero one removes it. After an error, which is ErrNotKept, nothing has changed.
func (k *Keys) SetOf(h Holder, providerID string, key provider.Secret) error {
	return k.set(keyOf{Holder: h, Provider: providerID}, entry{Key: key.Reveal()})
}

// ForgetAllOf removes all keys of a holder. n is how many there were. An error is ErrNotKept; the keys are there then, or in a cluster some of them.
func (k *Keys) ForgetAllOf(h Holder) (n int, err error) {
	of := k.list(func(of keyOf) bool { return of.Holder == h })
	err = k.kept.change(k, of, func(next map[keyOf]entry) {
		maps.DeleteFunc(next, func(of keyOf, _ entry) bool { return of.Holder == h })
	})
	return len(of), err
}
