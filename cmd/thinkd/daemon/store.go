package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/agent/aside"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/ephemeral"
)

// Files of the data directory.
const (
	KeysName     = "keys.json" // keys and logins
	settingsName = "settings.json"
	listingsName = "models.json"
	asidesName   = "asides.json" // of earlier builds; see importAsides
)

// openSettings are the agents and the providers' defaults: the config's, and over them what clients have set, which is kept. An
// error names the file.
func openSettings(c config.Config, value durable.Value, log *slog.Logger) (*registry.Settings, error) {
	defaults := make(map[string]registry.Defaults)
	for _, p := range c.Providers {
		defaults[p.ID] = p.Defaults
	}
	return registry.OpenSettings(c.Agents, defaults, keptSettings{value, log})
}

// keptSettings logs what is wrong with the disk, and returns the error that clients know.
type keptSettings struct {
	durable.Value
	log *slog.Logger
}

func (s keptSettings) Put(text []byte) error {
	if err := s.Value.Put(text); err != nil {
		s.log.Error("settings cannot be written", "err", err)
		return session.ErrReadOnly
	}
	return nil
}

// CheckSettings reads the settings of a data directory as a daemon would. path is their file; empty: there is none.
func CheckSettings(dir string) (path string, err error) {
	path = filepath.Join(dir, settingsName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	_, err = openSettings(config.Config{}, durable.File{Path: path}, slog.New(slog.DiscardHandler))
	return path, err
}

// OpenKeys reads the keys of a data directory.
func OpenKeys(dir string) (*login.Keys, error) {
	return login.OpenKeys(durable.SecretFile{Path: filepath.Join(dir, KeysName)})
}

// kept is what a daemon finds in its data directory. Without a directory nothing is kept, and the store is given.
type kept struct {
	dir   string
	store session.Local
	file  *bolt.Store // that store has all but ephemeral sessions in; nil: there is no directory
	blobs *blob.Dir   // nil: there is no directory
	keys  *login.Keys
}

// value is a file of the directory.
func (k *kept) value(name string) durable.Value {
	if k.dir == "" {
		return new(durable.Memory)
	}
	return durable.File{Path: filepath.Join(k.dir, name)}
}

// open opens what is in the directory. What has been opened when there is an error is for close.
func (k *kept) open(log *slog.Logger, state func(readOnly bool, why error)) (err error) {
	if k.dir == "" {
		k.keys, err = login.OpenKeys(new(durable.Memory))
		return err
	}
	store, err := bolt.Open(k.dir, bolt.Options{OnState: state, Upgraded: func(format int, kept string) {
		log.Info("the store was upgraded; the old file is kept, and can be removed", "format", format, "kept", kept)
	}})
	if err != nil {
		return dataError(err)
	}
	k.store, k.file = ephemeral.New(store), store
	if k.blobs, err = blob.Open(k.dir); err != nil {
		return dataError(err)
	}
	k.keys, err = OpenKeys(k.dir) // by the store's lock it is ours
	return err
}

// importAsides adds to the ledger what side questions used, which earlier builds kept in a file, and removes the file.
func (k *kept) importAsides(ctx context.Context) error {
	if k.dir == "" {
		return nil
	}
	value := durable.File{Path: filepath.Join(k.dir, asidesName)}
	book, err := aside.ReadBook(value)
	if err != nil || book == nil {
		return err
	}
	if err := k.store.Ledger().Import(ctx, asidesName, aside.Lines(book)...); err != nil {
		return err
	}
	return os.Remove(value.Path)
}

func (k *kept) close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// dataError says what to do about a directory that the system refuses. The store's own errors say so themselves.
func dataError(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); !ok || errors.Is(err, session.ErrDamaged) {
		return err
	}
	return fmt.Errorf("the data directory cannot be used: %w; name another one with --data", err)
}
