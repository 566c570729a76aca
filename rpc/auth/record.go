package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// TokenPrefix begins each API token, so that people and scanners for leaked secrets know one.
const TokenPrefix = "thd_"

const (
	tokenBytes = 32
	maxName    = 255 // bytes of a user's or a tenant's name
)

// Record is an API token as it is stored: everything except the token.
type Record struct {
	ID      string   `json:"id"`
	Digest  string   `json:"digest,omitempty"` // SHA-256 of the token, hexadecimal
	User    string   `json:"user,omitempty"`
	Tenant  string   `json:"tenant,omitempty"`
	Note    string   `json:"note,omitempty"`
	Rights  []string `json:"rights"`
	Created int64    `json:"created"`           // Unix milliseconds
	Expires int64    `json:"expires,omitempty"` // Unix milliseconds; 0: never
}

// Owner is whose sessions the bearer has. A token without a user is the operator's.
func (r Record) Owner() session.Owner { return session.Owner{Tenant: r.Tenant, User: r.User} }

// Expired reports whether the token has expired at now.
func (r Record) Expired(now time.Time) bool { return r.Expires != 0 && now.UnixMilli() >= r.Expires }

// Issue makes a new token for what r says. It sets ID, Digest and Created. Errors name what is wrong with r.
func Issue(r Record, now time.Time) (Record, provider.Secret, error) {
	random := make([]byte, tokenBytes)
	rand.Read(random) // never fails
	token := TokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	digest := sha256.Sum256([]byte(token))
	r.ID, r.Digest, r.Created = strings.ToLower(rand.Text()[:12]), hex.EncodeToString(digest[:]), now.UnixMilli()
	_, _, err := r.read()
	if err == nil && r.Expired(now) {
		err = errors.New("the token would be expired at once")
	}
	return r, provider.NewSecret(token), err
}

// read checks a record, and returns what is compared with tokens, and whose requests their bearers make.
func (r Record) read() (digest [sha256.Size]byte, p method.Principal, err error) {
	if p, err = NewPrincipal(r.Owner(), r.Rights); err != nil {
		return digest, p, err
	}
	raw, err := hex.DecodeString(r.Digest)
	if err != nil || len(raw) != sha256.Size {
		return digest, p, errors.New("the digest of the token is not a SHA-256")
	}
	if len(r.Note) > maxName || strings.ContainsFunc(r.Note, unicode.IsControl) {
		return digest, p, fmt.Errorf("the note is longer than %d bytes, or has control characters", maxName)
	}
	return [sha256.Size]byte(raw), p, nil
}

// NewPrincipal is the principal of an owner with these rights. Errors name what is wrong.
func NewPrincipal(o session.Owner, rights []string) (method.Principal, error) {
	p := method.Principal{Owner: o, Name: method.Operator().Name}
	if o != session.Operator {
		if err := CheckOwner(o); err != nil {
			return p, err
		}
		p.Name = o.String()
	}
	if len(rights) == 0 {
		return p, errors.New("a token needs a right: " + rightWords())
	}
	for _, word := range rights {
		right, ok := method.RightNamed(word)
		if !ok {
			return p, fmt.Errorf("there is no right %q: use %s", word, rightWords())
		}
		if !slices.Contains(p.Rights, right) {
			p.Rights = append(p.Rights, right)
		}
	}
	return p, nil
}

func rightWords() string {
	var words []string
	for _, r := range method.Rights() {
		words = append(words, r.String())
	}
	return strings.Join(words, ", ")
}

// CheckOwner reports what is wrong with the names of a user and a tenant. A user has a name; a tenant may have none.
func CheckOwner(o session.Owner) error {
	for what, name := range map[string]string{"user": o.User, "tenant": o.Tenant} {
		switch {
		case name == "" && what == "user":
			return errors.New("the name of the user is empty")
		case len(name) > maxName, !utf8.ValidString(name), strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
			return fmt.Errorf("the name of a %s has at most %d bytes of printable characters", what, maxName)
		}
	}
	return nil
}

// readRecord reads the record of the token with an id.
func readRecord(text []byte, id string) (r Record, err error) {
	if err = json.Unmarshal(text, &r); err == nil && r.ID != id {
		err = errors.New("the record is of another token")
	}
	if err == nil {
		_, _, err = r.read()
	}
	return r, err
}
