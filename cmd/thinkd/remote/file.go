package remote

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider/durable"
)

// fileName is the file of logins in a data directory.
const fileName = "remotes.json"

// ErrLogIn says that the person has to log in first. Its text says how.
var ErrLogIn = errors.New("log in first")

// Logins are the logins of a person to daemons of other machines.
type Logins struct{ file durable.SecretFile }

// Open names the logins of a data directory. Nothing is read yet.
func Open(dir string) Logins { return Logins{durable.SecretFile{Path: filepath.Join(dir, fileName)}} }

// login is what is kept for a daemon.
type login struct {
	Provider
	Token   string    `json:"token"`             // for the daemon
	Refresh string    `json:"refresh,omitempty"` // for the provider; empty: there is none
	Expires time.Time `json:"expires,omitzero"`  // of Token; zero: not known
}

type kept struct {
	Version int               `json:"version"`
	Logins  map[Address]login `json:"logins"`
}

const version = 1

func (l Logins) read() (map[Address]login, error) {
	text, err := l.file.Get()
	if err != nil || text == nil {
		return map[Address]login{}, err
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil || k.Version != version { // the error could quote a token
		return nil, fmt.Errorf("%s is damaged, or of another version: remove it and log in again", l.file.Name())
	}
	return k.Logins, nil
}

// set replaces the login to a daemon; nil removes it.
func (l Logins) set(a Address, to *login) error {
	all, err := l.read()
	if err != nil {
		return err
	}
	next := maps.Clone(all)
	if next == nil {
		next = map[Address]login{}
	}
	if delete(next, a); to != nil {
		next[a] = *to
	}
	text, err := json.MarshalIndent(kept{version, next}, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MakeDir(filepath.Dir(l.file.Path)); err != nil {
		return err
	}
	return l.file.Put(append(text, '\n'))
}

// List are the daemons that there is a login to, in order.
func (l Logins) List() ([]Address, error) {
	all, err := l.read()
	return slices.Sorted(maps.Keys(all)), err
}

// SetToken keeps an API token for a daemon.
func (l Logins) SetToken(a Address, token string) error { return l.set(a, &login{Token: token}) }

// expiryOf is when a JWT says that it expires; zero: it does not say so. Nothing is checked here.
func expiryOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var c struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(text, &c) != nil || c.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(c.Exp), 0)
}
