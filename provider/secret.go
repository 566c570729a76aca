package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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
