package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
)

// Records has the records of API tokens: a [Folder] on one machine, and [Shared] in a cluster. What changes there applies within a second.
type Records interface {
	// Create stores the record of a new token, durably, and returns the token. Errors name what is wrong with r.
	Create(r Record) (Record, provider.Secret, error)

	// Revoke removes the record of a token, durably. Errors: ErrNoToken, and those of the disk or the servers.
	Revoke(id string) error

	// List returns all records, the oldest first. If some cannot be read, it returns an error in addition to all others.
	List() ([]Record, error)

	// look returns the state of the records. changed is false if List returns what it returned at the state before; the zero mark is before all.
	look(before mark, now time.Time) (at mark, changed bool)

	// fresh reports whether List knows what was revoked until a few seconds ago.
	fresh() bool
}

// mark is a state of records.
type mark struct {
	taken   time.Time // when the state was looked at; zero: never
	folder  time.Time // when the folder was changed; zero: it was not there
	version uint64    // of a table
}

// Folder has the records of API tokens, a file for each. So two programs that create and revoke tokens in parallel need no lock, and
// none of them brings back what the other has removed.
type Folder struct{ Path string }

// Create implements [Records].
func (f Folder) Create(r Record) (Record, provider.Secret, error) {
	r, token, err := Issue(r, time.Now())
	if err != nil {
		return r, token, err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = durable.MakeDir(f.Path)
	}
	if err == nil {
		err = durable.SyncDir(filepath.Dir(f.Path))
	}
	if err == nil {
		err = durable.Replace(f.file(r.ID), append(text, '\n'))
	}
	return r, token, err
}

// ErrNoToken says that no token has an id.
var ErrNoToken = errors.New("there is no such token")

// Revoke implements [Records].
func (f Folder) Revoke(id string) error {
	if !tokenID().MatchString(id) {
		return ErrNoToken
	}
	err := os.Remove(f.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoToken
	}
	return errors.Join(err, durable.SyncDir(f.Path))
}

// List implements [Records]. A file that is damaged, or that others can read, is an error.
func (f Folder) List() ([]Record, error) {
	files, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Record
	var errs []error
	for _, file := range files {
		id, isRecord := strings.CutSuffix(file.Name(), recordEnding)
		if !isRecord || !tokenID().MatchString(id) {
			continue // the rest of a write that a crash cut off
		}
		r, readErr := f.read(id)
		if errors.Is(readErr, fs.ErrNotExist) { // revoked meanwhile
			continue
		}
		if readErr != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.file(id), readErr))
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, byAge)
	return list, errors.Join(append(errs, err)...)
}

func byAge(a, b Record) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
}

func (f Folder) look(before mark, now time.Time) (at mark, changed bool) {
	at.taken = now
	if info, err := os.Stat(f.Path); err == nil {
		at.folder = info.ModTime()
	}
	if before.taken.IsZero() || !at.folder.Equal(before.folder) || now.Sub(at.folder).Abs() < coarse || before.taken.Sub(at.folder).Abs() < coarse {
		return at, true
	}
	return before, false
}

func (Folder) fresh() bool { return true }

func (f Folder) read(id string) (Record, error) {
	text, err := durable.SecretFile{Path: f.file(id)}.Get()
	if err == nil && text == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Record{}, err
	}
	return readRecord(text, id)
}

const recordEnding = ".json"

func (f Folder) file(id string) string { return filepath.Join(f.Path, id+recordEnding) }

var tokenID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z2-7]{12}$`) })

// Tokens is an [Admitter] of API tokens. It reads the records again when they have changed: before each token that it decides on,
// and four times in a second while Watch runs. While the records are not fresh, no token grants anything: it may have been revoked.
type Tokens struct {
	records Records
	log     *slog.Logger
	now     func() time.Time

	mu     sync.Mutex
	loaded mark
	byID   map[string]*issued
	said   string // the last error in the log
}

// issued is a token that is there.
type issued struct {
	record    Record
	digest    [sha256.Size]byte
	principal method.Principal
	valid     context.Context
	end       context.CancelCauseFunc
}

// NewTokens reads nothing yet.
func NewTokens(r Records, log *slog.Logger) *Tokens {
	return &Tokens{records: r, log: log, now: time.Now, byID: make(map[string]*issued)}
}

// look is how often Watch compares the clock and the records with the tokens. A connection has to end within a second.
const look = 250 * time.Millisecond

// coarse is more than the times of any file system are apart. A folder that has changed so recently is read again: it may have changed
// once more since, at what is the same time to the file system.
const coarse = 3 * time.Second

// Watch ends the grants of tokens that are revoked or expire, until ctx ends.
func (t *Tokens) Watch(ctx context.Context) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		t.refresh()
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// Admit is that of [Admitter]. All tokens that begin with [TokenPrefix] are API tokens.
func (t *Tokens) Admit(_ context.Context, token string) (Grant, bool, error) {
	if !strings.HasPrefix(token, TokenPrefix) {
		return Grant{}, false, nil
	}
	t.refresh()
	t.mu.Lock()
	defer t.mu.Unlock()
	digest := sha256.Sum256([]byte(token))
	var found *issued
	for _, i := range t.byID { // all of them, so that the time says nothing
		if subtle.ConstantTimeCompare(digest[:], i.digest[:]) == 1 {
			found = i
		}
	}
	if found == nil {
		return Grant{}, false, t.Unconfirmed()
	}
	return found.grant(), true, nil
}

// errUnconfirmed is for clients of a node that has no contact with the store servers.
var errUnconfirmed = &Refusal{Status: http.StatusServiceUnavailable, Reason: conn.ErrUnconfirmed.Error(), RetryAfter: 5 * time.Second}

func (i *issued) grant() Grant {
	g := Grant{Principal: i.principal, Valid: i.valid, ID: i.record.ID}
	if i.record.Expires != 0 {
		g.Expires = time.UnixMilli(i.record.Expires)
	}
	return g
}

// ByID returns the grant of the token with an id, for a login that was made with it.
func (t *Tokens) ByID(id string) (Grant, bool) {
	t.refresh()
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.byID[id]
	if !ok {
		return Grant{}, false
	}
	return i.grant(), true
}

// Unconfirmed is a *[Refusal] while it is not known which tokens are valid, and nil otherwise.
func (t *Tokens) Unconfirmed() error {
	if t.records.fresh() {
		return nil
	}
	return errUnconfirmed
}

// refresh makes the tokens those of the records, and ends the grants of the others.
func (t *Tokens) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if !t.records.fresh() {
		for id, i := range t.byID {
			i.end(conn.ErrUnconfirmed)
			delete(t.byID, id)
		}
		t.loaded = mark{}
		return
	}
	if at, changed := t.records.look(t.loaded, now); changed {
		t.loaded = at
		t.load()
	}
	for id, i := range t.byID {
		if i.record.Expired(now) {
			i.end(conn.ErrExpired)
			delete(t.byID, id)
		}
	}
}

// load reads the records. One that cannot be read grants nothing.
func (t *Tokens) load() {
	list, err := t.records.List()
	if err != nil && err.Error() != t.said {
		t.log.Error("API tokens", "err", err)
	}
	t.said = fmt.Sprint(err)
	there := make(map[string]bool)
	now := t.now()
	for _, r := range list {
		digest, p, err := r.read()
		if err != nil || r.Expired(now) && t.byID[r.ID] == nil {
			continue
		}
		if old := t.byID[r.ID]; old != nil && sameRecord(old.record, r) {
			there[r.ID] = true
			continue
		}
		if old := t.byID[r.ID]; old != nil {
			old.end(conn.ErrRevoked)
		}
		i := &issued{record: r, digest: digest, principal: p}
		i.valid, i.end = context.WithCancelCause(context.Background())
		t.byID[r.ID], there[r.ID] = i, true
	}
	for id, i := range t.byID {
		if !there[id] {
			i.end(conn.ErrRevoked)
			delete(t.byID, id)
		}
	}
}

func sameRecord(a, b Record) bool {
	return slices.Equal(a.Rights, b.Rights) && a.ID == b.ID && a.Digest == b.Digest && a.Owner() == b.Owner() && a.Expires == b.Expires
}
