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
	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vault"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/cluster/node"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/ephemeral"
	"github.com/thinkd/thinkd/session/share"
)

// Files of the data directory.
const (
	KeysName     = "keys.json" // keys and logins
	settingsName = "settings.json"
	listingsName = "models.json"
	sharesName   = "shares.json"
	asidesName   = "asides.json" // of earlier builds; see importAsides
)

// openSettings are the agents and the providers' defaults: the config's, and over them what clients have set, which is kept. An
// error names the file.
func openSettings(c config.Config, value durable.Value, log *slog.Logger) (*registry.Settings, error) {
	return registry.OpenSettings(c.Agents, defaultsOf(c), keptSettings{value, log})
}

func defaultsOf(c config.Config) map[string]registry.Defaults {
	defaults := make(map[string]registry.Defaults)
	for _, p := range c.Providers {
		defaults[p.ID] = p.Defaults
	}
	return defaults
}

// settings are those of the daemon, or of the cluster.
func (k *kept) settings(c config.Config, log *slog.Logger) (*registry.Settings, error) {
	if k.node != nil {
		return registry.OpenTable(c.Agents, defaultsOf(c), sharedSettings{k.node.Table(settingsTable), log})
	}
	return openSettings(c, k.value(settingsName), log)
}

// sharedSettings does for a table what keptSettings does for a file.
type sharedSettings struct {
	durable.Table
	log *slog.Logger
}

func (s sharedSettings) Change(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	var refused error
	err := s.Table.Change(ctx, key, func(old []byte) (text []byte, err error) {
		text, refused = change(old)
		return text, refused
	})
	if err != nil && refused == nil {
		s.log.Error("settings cannot be written", "err", err)
		return session.ErrReadOnly
	}
	return refused
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

// masters are the keys that encrypt those of providers; none: they are not encrypted.
func masters(ctx context.Context, a config.Auth) (m vault.Masters, err error) {
	switch {
	case a.KeyFile != "":
		m, err = vault.FromFile(a.KeyFile)
	case a.KeyCommand != nil:
		m, err = vault.FromCommand(ctx, a.KeyCommand)
	}
	if err != nil {
		return m, fmt.Errorf("the key under [auth] that encrypts %s: %w", KeysName, err)
	}
	return m, nil
}

func keysFile(dir string) durable.Value {
	return durable.SecretFile{Path: filepath.Join(dir, KeysName)}
}

// ReadKeys reads the keys of a data directory, which a daemon may have open. What is set in them is not kept.
func ReadKeys(ctx context.Context, dir string, a config.Auth) (*login.Keys, error) {
	m, err := masters(ctx, a)
	if err != nil {
		return nil, err
	}
	text, err := vault.Read(keysFile(dir), KeysName, m)
	if err != nil {
		return nil, err
	}
	return login.OpenKeys(namedMemory{durable.NewMemory(text), filepath.Join(dir, KeysName)})
}

// namedMemory has the name of the file that its text is from.
type namedMemory struct {
	*durable.Memory
	name string
}

func (m namedMemory) Name() string { return m.name }

// openKeys opens the keys of the directory, which is ours by the store's lock. It encrypts them if the config has a key for that.
func (k *kept) openKeys(ctx context.Context, a config.Auth, log *slog.Logger) (err error) {
	if k.dir == "" {
		k.keys, err = login.OpenKeys(new(durable.Memory))
		return err
	}
	file := keysFile(k.dir)
	m, err := masters(ctx, a)
	if err != nil {
		return err
	}
	switch {
	case k.node != nil && !m.None():
		return k.openSharedKeys(ctx, m, log)
	case k.node != nil:
		if err := k.ownKeys(log); err != nil {
			return err
		}
	}
	if m.None() {
		text, err := vault.Read(file, KeysName, m) // an error if they are encrypted
		if err != nil {
			return err
		}
		if a.Users && text != nil {
			log.Warn("the stored keys of providers are not encrypted: key_file under [auth] would change that", "file", KeysName)
		}
		k.keys, err = login.OpenKeys(file)
		return err
	}
	sealed, rotated, err := vault.Seal(file, KeysName, m)
	if err != nil {
		return err
	}
	log.Warn("the stored keys of providers are encrypted; without the key under [auth] they are lost", "file", KeysName, "key", m.String(), "encrypted_anew", rotated)
	k.keys, err = login.OpenKeys(sealed)
	return err
}

// openSharedKeys opens the keys that the nodes of a cluster share. Rows that no key of m encrypts are an error.
func (k *kept) openSharedKeys(ctx context.Context, m vault.Masters, log *slog.Logger) error {
	sealed, rotated, err := vault.OpenTable(ctx, k.node.Table(keysTable), KeysName, m, log)
	if err != nil {
		return fmt.Errorf("the keys of providers that the nodes share: %w", err)
	}
	log.Warn("the keys of providers that the nodes share are encrypted; without the key under [auth] they are lost", "key", m.String(), "encrypted_anew", rotated)
	if left, err := keysFile(k.dir).Get(); left != nil || err != nil {
		log.Warn("the keys in the data directory are not used: this node has those of the cluster", "file", KeysName, "err", err)
	}
	k.keys, err = login.OpenTable(sealed)
	return err
}

// ownKeys lets a node without a key that encrypts have the keys of its directory: nothing that is not encrypted is sent to the store servers. But then no
// other node may have shared any.
func (k *kept) ownKeys(log *slog.Logger) error {
	if rows, _ := k.node.Table(keysTable).Rows(); len(rows) > 0 {
		return errors.New("the nodes of this cluster share the keys of providers, which are encrypted: set key_file or key_command under [auth] in the config, with the key that the other nodes have")
	}
	log.Warn("this node does not share the keys of providers with the other nodes: key_file under [auth] would change that", "file", KeysName)
	return nil
}

// kept is what a daemon finds in its data directory. Without a directory nothing is kept, and the store is given.
type kept struct {
	dir   string
	store session.Local
	file  *bolt.Store // that store has all but ephemeral sessions in; nil: there is no directory, or the store is that of a cluster
	blobs *blob.Dir   // nil: as file
	keys  *login.Keys
	node  *node.Node // store is that of a cluster; nil: it is not
	links *nodeLinks // nil: there are none
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
		return nil
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
	return nil
}

// clusterOf is a cluster as package node knows it, without links.
func clusterOf(c config.Cluster, log *slog.Logger) node.Config {
	return node.Config{Name: c.Name, Servers: c.Servers, Prefix: c.Prefix, Replicas: c.Replicas, MaxBytes: c.MaxBytes, OpenBytes: c.OpenBytes,
		AuditAge: c.AuditAge, Creds: c.Creds, CA: c.CA, Cert: c.Cert, Key: c.Key, Log: log}
}

// Tables that all nodes of a cluster have.
const (
	tokensTable = "tokens"
	sharesTable = "shares"
	keysTable   = "keys"

	settingsTable = "settings"
)

// tokens are the records of API tokens.
func (k *kept) tokens() auth.Records {
	if k.node != nil {
		return auth.Shared{Table: k.node.Table(tokensTable)}
	}
	return network.Tokens(k.dir)
}

// OpenTokens opens the records of API tokens of a data directory, or of the cluster that the config names. The caller must call end.
func OpenTokens(ctx context.Context, dir string, c config.Config) (records auth.Records, end func(), err error) {
	if c.Cluster == nil {
		return network.Tokens(dir), func() {}, nil
	}
	tables, err := node.OpenTables(ctx, clusterOf(*c.Cluster, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, nil, err
	}
	return auth.Shared{Table: tables.Table(tokensTable)}, tables.Close, nil
}

// shares are those of sessions.
func (k *kept) shares() (*share.Shares, error) {
	if k.node != nil {
		return share.OpenTable(k.node.Table(sharesTable))
	}
	return share.Open(k.value(sharesName))
}

// join opens the store of a cluster in place of the file. Other sessions that are in the file stay there. The directory stays locked.
func (k *kept) join(ctx context.Context, c config.Cluster, log *slog.Logger) (err error) {
	var unlock func() error
	if k.file != nil {
		unlock = k.store.Close
	} else if unlock, err = bolt.Lock(k.dir); err != nil {
		return dataError(err)
	}
	k.store, k.file, k.blobs = nil, nil, nil
	address := ""
	if c.Link != nil {
		if k.links, err = listen(c, log); err != nil {
			return errors.Join(err, unlock())
		}
		address = k.links.address
	}
	config := clusterOf(c, log)
	config.Link = address
	k.node, err = node.Open(ctx, config)
	if err != nil && k.links != nil {
		err = errors.Join(err, k.links.close())
	}
	if err != nil {
		return errors.Join(err, unlock())
	}
	k.store = ephemeral.New(sharedStore{k.node.Store(), unlock})
	return nil
}

// sharedStore is the store of a cluster. Its end unlocks the data directory.
type sharedStore struct {
	node.Store
	unlock func() error
}

func (s sharedStore) Close() error { return errors.Join(s.Store.Close(), s.unlock()) }

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
