package provider

import "errors"

// KeyState says whether a provider has the key or the login that it needs.
type KeyState string

const (
	KeyReady     KeyState = "ready"
	KeyMissing   KeyState = "missing" // there is no key and no login
	KeyRefused   KeyState = "refused" // the vendor did not take the login when it was last used
	KeyNotNeeded KeyState = "not_needed"
)

// Words lists all states.
func (KeyState) Words() []string { return Words(KeyReady, KeyMissing, KeyRefused, KeyNotNeeded) }

// ErrNoKeyNeeded says that there is no key and no login for a provider.
var ErrNoKeyNeeded = errors.New("the provider needs no key")

// ErrVariableName says that a key is only the name of the variable that should have it.
var ErrVariableName = errors.New("the name of a variable is no key")

// KeySource says where a provider's key is from; empty: there is none.
type KeySource string

const (
	KeyFromEnvironment KeySource = "environment"
	KeyFromPerson      KeySource = "keys" // given by hand
	KeyFromLogin       KeySource = "login"
)

// Words lists all sources.
func (KeySource) Words() []string { return Words(KeyFromEnvironment, KeyFromPerson, KeyFromLogin) }
