package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
)

// Secret is a key or a token. It cannot print itself: fmt, slog and JSON all show [secret].
type Secret struct {
	value string
	owner string // whom Account names; empty: the value stands for its owner
}

const redacted = "[secret]"

// NewSecret wraps a key as read from the environment or a file; surrounding white space is not part of it.
func NewSecret(value string) Secret { return Secret{value: strings.TrimSpace(value)} }

// Passing is a secret that will be replaced soon, such as a token that was got for this lasting one. They have the same
// Account.
func (s Secret) Passing(value string) Secret { return Secret{strings.TrimSpace(value), s.identity()} }

func (s Secret) identity() string {
	if s.owner != "" {
		return s.owner
	}
	return s.value
}

// Reveal is the secret itself. Only the code that puts it into a request header calls this.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is none.
func (s Secret) IsZero() bool { return s.value == "" }

// Account is a name for the key's owner that says nothing about the key.
func (s Secret) Account() string {
	if s.IsZero() {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(s.identity()))
	mac.Write([]byte("thinkd account"))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// Ending is the last four characters, by which a person knows a key. It is empty for what is too short to tell four.
func (s Secret) Ending() string {
	if len(s.value) < 20 {
		return ""
	}
	return s.value[len(s.value)-4:]
}

// Scrub replaces the secret wherever it stands in text.
func (s Secret) Scrub(text string) string {
	if len(s.value) < 4 {
		return text
	}
	return strings.ReplaceAll(text, s.value, redacted)
}

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// NamedKey is a further key of a provider, as people know it.
type NamedKey struct {
	Name   string `json:"name"`
	Ending string `json:"ends_in,omitempty"` // the last four characters; absent: the key is too short for that
}

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

// NamesVariable reports whether a text is the name of a variable and not its value: NAME, $NAME or ${NAME}. Programs that do not replace
// such a reference pass it on.
func NamesVariable(text, variable string) bool {
	name := strings.TrimPrefix(text, "$")
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		name = strings.TrimSuffix(inner, "}")
	}
	return variable != "" && name == variable
}

// KeySource says where a provider's key is from; empty: there is none.
type KeySource string

const (
	KeyFromEnvironment KeySource = "environment"
	KeyFromPerson      KeySource = "keys" // given by hand
	KeyFromLogin       KeySource = "login"
	KeyFromIdentity    KeySource = "identity" // of a cloud: a service account, or that of the machine
)

// Words lists all sources.
func (KeySource) Words() []string {
	return Words(KeyFromEnvironment, KeyFromPerson, KeyFromLogin, KeyFromIdentity)
}
