package login

// Holder has keys of their own, which come before the operator's: a user, or a tenant for all of its users. The zero Holder is nobody.
type Holder struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user,omitempty"` // empty: the tenant
}

// ForTenant is the holder of the keys for all users of h's tenant; zero: there is no tenant.
func (h Holder) ForTenant() Holder { return Holder{Tenant: h.Tenant} }
