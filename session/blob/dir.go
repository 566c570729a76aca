package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
)

// Dir is the blobs of a data directory. Open makes one; it has nothing to close.
//
// clearLook is how often Clear looks whether something is old enough to be removed.
const clearLook = time.Second

// Clear sweeps until nothing is left that no log refers to. What was kept within the last minute has to grow older first: a log may be
// about to refer to it.
func (b *Dir) Clear(ctx context.Context, store session.Local) (removed int, err error) {
	tick := time.NewTicker(clearLook)
	defer tick.Stop()
	for {
		n, err := b.Sweep(ctx, store)
		if removed += n; err != nil || !b.marked() {
			return removed, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return removed, context.Cause(ctx)
		}
	}
}

// Sweep removes what no log refers to, if a session was deleted since the last time. Tend sweeps after deletions.
type Dir struct {
	dir string
	due chan struct{} // a token: a session was deleted

	sweeping sync.Mutex // held by a sweep

	mu    sync.Mutex // held while a file is made sure of, and while one is removed: the two never cross
	named bool       // the names that were there are durable, and the directory's own; guarded by mu

	// fresh has the files that were stored since the current sweep began. The sweep does not remove them, even if they look old, because the
	// wall clock may have been set. Nil: there is no sweep. Guarded by mu.
	fresh map[string]bool
}

const (
	blobsName = "blobs"
	sweepName = "sweep" // in the directory: a session was deleted, so something may be there for nothing

	// youngest is how old a file has to be when a sweep begins, to be removed by it: one that was just kept is in no log yet.
	youngest = time.Minute

	// sweepPause bounds what sweeps cost: a twentieth of the time.
	sweepPause = 20
)

// Open opens the blobs of a data directory, and makes their directory if there is none. It syncs no name: Keep does that with the
// first file, since most starts keep none and should not wait for the disk.
func Open(dataDir string) (*Dir, error) {
	b := &Dir{dir: filepath.Join(dataDir, blobsName), due: make(chan struct{}, 1)}
	return b, durable.MakeDir(b.dir)
}

// Keep makes sure that data is there, durably, and returns its name. An error is ErrReadOnly.
func (b *Dir) Keep(data []byte) (hash string, err error) {
	sum := sha256.Sum256(data)
	hash = hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh != nil {
		b.fresh[hash] = true
	}
	if err := b.name(); err != nil {
		return "", fmt.Errorf("%w: %w", session.ErrReadOnly, err)
	}
	_, lost := b.Read(hash)
	if lost == nil {
		now := time.Now()
		if os.Chtimes(b.path(hash), now, now) == nil { // a sweep that has begun leaves it
			return hash, nil
		}
	}
	if err := b.write(hash, data); err != nil {
		// It may have its name and lose it in a power cut: nobody must find it there and take it for kept.
		if errors.Is(lost, fs.ErrNotExist) {
			if gone := os.Remove(b.path(hash)); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
		return "", fmt.Errorf("%w: %w", session.ErrReadOnly, err)
	}
	return hash, nil
}

// name makes the directory's own name durable, before anything is in it, and the names that are in it, before anything is
// found there: a file whose name or whose directory is lost is lost, however well it was synced (fsync(2)). The process
// that gave these names may have ended before it synced them.
func (b *Dir) name() error {
	if b.named {
		return nil
	}
	err := errors.Join(durable.SyncDir(filepath.Dir(b.dir)), durable.SyncDir(b.dir))
	b.named = err == nil
	return err
}

func (b *Dir) write(name string, data []byte) error {
	fresh := b.path(name) + ".new"
	f, err := durable.Open(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return durable.Publish(fresh, b.path(name))
}

func (b *Dir) path(hash string) string { return filepath.Join(b.dir, hash) }

// Read returns the blob with a name. An error is ErrBlob.
func (b *Dir) Read(hash string) ([]byte, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("%w: its name is no hash", session.ErrBlob)
	}
	data, err := os.ReadFile(b.path(hash))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", session.ErrBlob, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("%w: it is not what was kept", session.ErrBlob)
	}
	return data, nil
}

func isHash(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(name) == name
}

// Forget is called before a session is deleted: it makes the next Sweep look.
func (b *Dir) Forget() error {
	err := b.write(sweepName, nil)
	select {
	case b.due <- struct{}{}:
	default: // Tend knows
	}
	return err
}

// Tend sweeps at once and after each deletion, until ctx ends. It waits first, for more deletions and until what the session
// had kept last is old enough, and between two sweeps sweepPause times as long as a sweep takes. It calls swept after each.
func (b *Dir) Tend(ctx context.Context, store session.Local, swept func(removed int, err error)) {
	for {
		begun := time.Now()
		removed, err := b.Sweep(ctx, store)
		if ctx.Err() != nil {
			return
		}
		swept(removed, err)
		took := time.Since(begun)
		if !b.marked() {
			select {
			case <-b.due:
			case <-ctx.Done():
				return
			}
		}
		pause := time.NewTimer(max(youngest+time.Second, sweepPause*took))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		select { // the sweep sees to all that were deleted so far
		case <-b.due:
		default:
		}
	}
}

// marked reports whether a session was deleted since the last sweep, or something was too young for that.
func (b *Dir) marked() bool {
	_, err := os.Stat(b.path(sweepName))
	return err == nil
}

// Copy writes all that is kept to a new directory, durably, each file held against its name. Nothing there is no
// directory. Of what is lost or damaged there is no copy; damaged counts it.
func (b *Dir) Copy(ctx context.Context, dir string) (copied, damaged int, err error) {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return 0, 0, err
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool { return !isHash(f.Name()) })
	if len(files) == 0 {
		return 0, 0, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, 0, err
	}
	to := &Dir{dir: dir}
	for _, f := range files {
		if err := context.Cause(ctx); err != nil {
			return copied, damaged, err
		}
		data, err := b.Read(f.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist): // swept meanwhile: nothing refers to it
			continue
		case err != nil:
			damaged++
			continue
		}
		if err := to.write(f.Name(), data); err != nil {
			return copied, damaged, err
		}
		copied++
	}
	return copied, damaged, durable.SyncDir(filepath.Dir(dir))
}

// searcher is a store that can look for names in what it cannot read as logs.
type searcher interface {
	// Occurring returns those of the names that occur anywhere in the store's data: all that a log has, and maybe others.
	Occurring(ctx context.Context, names []string) (map[string]bool, error)
}

// Sweep removes what no log of any owner refers to, if one may have been removed since the last time. It reads all logs, so it
// may take a while; sessions may be created, used and deleted meanwhile. Where a session is damaged, the store's
// file is searched for names instead: what occurs in it stays.
func (b *Dir) Sweep(ctx context.Context, store session.Local) (removed int, err error) {
	b.sweeping.Lock()
	defer b.sweeping.Unlock()
	if !b.marked() {
		return 0, nil
	}
	begun := time.Now()
	b.swept(make(map[string]bool))
	defer b.swept(nil)
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return 0, err
	}
	if err := os.Remove(b.path(sweepName)); err != nil { // first: a session that is deleted from here on creates it again
		return 0, err
	}
	used := make(map[string]bool)
	var hashes []string
	for _, f := range files {
		if isHash(f.Name()) {
			hashes = append(hashes, f.Name())
		}
	}
	if len(hashes) > 0 {
		used, err = references(ctx, store)
		if raw, ok := store.(searcher); ok && errors.Is(err, session.ErrDamaged) {
			used, err = raw.Occurring(ctx, hashes)
		}
	}
	if err != nil {
		return 0, errors.Join(err, b.write(sweepName, nil))
	}
	left := false
	for _, f := range files {
		name := f.Name()
		if used[name] || !isHash(strings.TrimSuffix(name, ".new")) {
			continue
		}
		gone, err := b.remove(name, begun.Add(-youngest))
		if err != nil {
			return removed, errors.Join(err, b.write(sweepName, nil))
		}
		if gone {
			removed++
		} else {
			left = true
		}
	}
	if left {
		return removed, b.write(sweepName, nil)
	}
	return removed, nil
}

func (b *Dir) swept(fresh map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh = fresh
}

// remove removes a file that is older.
func (b *Dir) remove(name string, than time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh[name] {
		return false, nil
	}
	info, err := os.Stat(b.path(name))
	if err != nil || info.ModTime().After(than) {
		return false, err
	}
	return true, os.Remove(b.path(name))
}

// references lists the blobs that logs of all owners refer to. An owner without sessions when it begins has no blobs that are old
// enough to be removed.
func references(ctx context.Context, store session.Local) (map[string]bool, error) {
	owners, err := store.Owners(ctx)
	if err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	for _, owner := range owners {
		if err := referencesOf(ctx, store.For(owner), used); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// referencesOf adds the blobs that logs of one owner refer to, those too that are kept for forks alone.
func referencesOf(ctx context.Context, sessions session.Sessions, used map[string]bool) error {
	read := make(map[session.ID]bool)
	take := func(id session.ID) error {
		if read[id] {
			return nil
		}
		read[id] = true
		return session.Replay(ctx, sessions, id, session.WholeLog, func(e session.Entry) error {
			switch b := e.Body.(type) {
			case session.Prompt:
				refer(b.Content, used)
			case session.ToolEnd:
				refer(b.Content, used)
			case session.Sealed:
				refer(provider.Blocks{b.Block}, used)
			}
			return nil
		})
	}
	for q := (session.Query{Limit: 1000}); ; {
		page, next, err := sessions.List(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range page {
			if s.Status == session.Damaged {
				return fmt.Errorf("session %s: %w", s.ID, session.ErrDamaged)
			}
			whole, err := sessions.Get(ctx, s.ID)
			if errors.Is(err, session.ErrNotFound) { // deleted meanwhile
				continue
			}
			if err != nil {
				return err
			}
			for _, span := range whole.Shared {
				if err := take(span.Session); err != nil {
					return err
				}
			}
			if err := take(s.ID); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

func refer(content provider.Blocks, used map[string]bool) {
	for _, b := range content {
		switch b := b.(type) {
		case provider.Media:
			used[b.Hash] = true
		case provider.ToolResult:
			refer(b.Blocks, used)
		}
	}
}
