package oidc

import (
	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/thinkd/thinkd/provider"
)

// Config says whose tokens are admitted.
type Config struct {
	Issuer      string   // as the claim iss has it
	Audience    string   // that the claim aud must have
	Algorithms  []string // of [Algorithms]; empty: all of them
	UserClaim   string   // empty: sub
	TenantClaim string   // empty: users have no tenant
	RightsClaim string   // a list of rights, or words in a string; empty: each user has the right use

	Secret provider.Secret `json:"-"` // of the client whose id is Audience; zero: it is public
}

// Algorithms lists the signatures that a config can allow. All are asymmetric: the key that checks a token cannot sign one.
func Algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
}
