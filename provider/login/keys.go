package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
)

// Grant is what lasts: a key given by hand, or what a login gave.
type Grant struct {
	Token   provider.Secret
	Account string // whose it is, where the vendor tells: the id of a plan or an organisation
	ByLogin bool
}

// IsZero reports whether there is none.
func (g Grant) IsZero() bool { return g.Token.IsZero() }

// Keys are the grants in a file of the data directory, one for each provider. Only its owner may read the file. Safe for
// concurrent use; two processes must not have the same file open.
type Keys struct {
	path string // empty: in memory alone

	mu  sync.Mutex
	all map[string]entry // by provider
}

// entry is a grant in the file: a key or a login's token.
type entry struct {
	Key     string `json:"key,omitempty"`
	Token   string `json:"login,omitempty"`
	Account string `json:"account,omitempty"`
}

type keysFile struct {
	Version   int              `json:"version"`
	Providers map[string]entry `json:"providers"`
}

const keysVersion = 1

// ErrNotKept says that the file could not be written: the disk is full or failing.
var ErrNotKept = errors.New("the file cannot be written")

// OpenKeys reads the file, which may be missing: it is made when there is something to keep. A file that others can
// read, that is damaged or of a later version is an error that names it and says nothing of what is in it.
func OpenKeys(path string) (*Keys, error) {
	k := &Keys{path: path, all: map[string]entry{}}
	if path == "" {
		return k, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file, and links are not followed", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %o): the keys in it may be known; make it 600, or remove it", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f keysFile
	if err := json.Unmarshal(text, &f); err != nil { // whose text may quote a key
		return nil, fmt.Errorf("%s is damaged: it is not the JSON that thinkd wrote; restore it, or remove it and give the keys again", path)
	}
	if f.Version != keysVersion {
		return nil, fmt.Errorf("%s has version %d, and this build knows version %d", path, f.Version, keysVersion)
	}
	maps.Copy(k.all, f.Providers)
	return k, nil
}

// Grant is what there is for a provider.
func (k *Keys) Grant(providerID string) Grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.all[providerID]
	if e.Token != "" {
		return Grant{provider.NewSecret(e.Token), e.Account, true}
	}
	return Grant{Token: provider.NewSecret(e.Key), Account: e.Account}
}

// Set puts a grant in place of whatever there is for a provider; the zero one removes that. With an error, which is
// ErrNotKept, nothing has changed.
func (k *Keys) Set(providerID string, g Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.setLocked(providerID, g)
}

// Replace is Set if what there is for the provider is still old: who logged out meanwhile stays so. The new grant is in
// force even where it could not be written, since the old one is worth nothing any more.
func (k *Keys) Replace(providerID string, old, g Grant) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[providerID] != entryOf(old) {
		return nil
	}
	err := k.setLocked(providerID, g)
	if err != nil {
		k.all = maps.Clone(k.all)
		k.all[providerID] = entryOf(g)
	}
	return err
}

func (k *Keys) setLocked(providerID string, g Grant) error {
	next := maps.Clone(k.all)
	if g.IsZero() {
		delete(next, providerID)
	} else {
		next[providerID] = entryOf(g)
	}
	if maps.Equal(next, k.all) {
		return nil
	}
	if err := k.write(next); err != nil {
		return fmt.Errorf("keys: %w: %w", ErrNotKept, err)
	}
	k.all = next
	return nil
}

func entryOf(g Grant) entry {
	if g.ByLogin {
		return entry{Token: g.Token.Reveal(), Account: g.Account}
	}
	return entry{Key: g.Token.Reveal(), Account: g.Account}
}

// write puts a new file in place of the old one, whole or not at all.
func (k *Keys) write(all map[string]entry) error {
	if k.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(keysFile{keysVersion, all}, "", "  ")
	if err != nil {
		return err
	}
	dir, prefix := filepath.Dir(k.path), filepath.Base(k.path)+"."
	if err := sweep(dir, prefix); err != nil {
		return err
	}
	return durable.Replace(k.path, append(text, '\n'))
}

// sweep removes what a crash has left half written: a key that is removed must not stay in there.
func sweep(dir, prefix string) error {
	left, err := os.ReadDir(dir)
	for _, f := range left {
		if strings.HasPrefix(f.Name(), prefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return err
}
