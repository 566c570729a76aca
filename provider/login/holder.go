package login

import "cmp"

// Holder has keys of their own, which come before the operator's: a user, or a tenant for all of its users. The zero Holder is nobody.
type Holder struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user,omitempty"` // empty: the tenant
}

// ForTenant is the holder of the keys for all users of h's tenant; zero: there is no tenant.
func (h Holder) ForTenant() Holder { return Holder{Tenant: h.Tenant} }

// ownedAs is a holder and the provider of a key.
type ownedAs struct {
	Holder
	Provider string `json:"provider"`
}

func (a ownedAs) compare(b ownedAs) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.User, b.User), cmp.Compare(a.Provider, b.Provider))
}

// ownedKey is a key as it is stored.
type ownedKey struct {
	ownedAs
	Key string `json:"key"`
}
