package network

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/auth"
)

const (
	tokenName  = "token"
	tokensName = "tokens"
	tokenBytes = 32
	// tokenLook is how often a listener looks whether its token was replaced, beside each time that it is shown one: who
	// came in with the old one has to be gone within a second.
	tokenLook = 250 * time.Millisecond
)

// TokenPath is the file of the token in a data directory.
func TokenPath(dir string) string { return filepath.Join(dir, tokenName) }

// Tokens is the folder of API tokens in a data directory.
func Tokens(dir string) auth.Folder { return auth.Folder{Path: filepath.Join(dir, tokensName)} }

// readToken is the token in the data directory, made if there is none.
func readToken(dir string) (provider.Secret, error) {
	token, _, err := loadToken(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := WriteToken(dir); err != nil {
			return provider.Secret{}, err
		}
		token, _, err = loadToken(dir)
	}
	return token, err
}

// errUnfit says that what is there cannot be a token.
var errUnfit = errors.New("make a new one with `thinkd serve --rotate-token`")

// loadToken reads the token and says which file it was. A file that others can read is no secret, and what is not as
// we wrote it may be guessed: both are errUnfit.
func loadToken(dir string) (provider.Secret, fs.FileInfo, error) {
	path := TokenPath(dir)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return provider.Secret{}, nil, err
	case !info.Mode().IsRegular():
		return provider.Secret{}, info, fmt.Errorf("%s is not a regular file, and links are not followed; %w", path, errUnfit)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return provider.Secret{}, info, fmt.Errorf("%s can be read by others (mode %o); %w", path, info.Mode().Perm(), errUnfit)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return provider.Secret{}, nil, err
	}
	token := provider.NewSecret(string(text))
	if raw, err := base64.RawURLEncoding.DecodeString(token.Reveal()); err != nil || len(raw) != tokenBytes {
		return provider.Secret{}, info, fmt.Errorf("%s is not %d random bytes in base64url; %w", path, tokenBytes, errUnfit)
	}
	return token, info, nil
}

// WriteToken puts a new token in place of any other, whole or not at all and durably: the old one stays void after a power
// cut. A listener that looks sees the new file.
func WriteToken(dir string) error {
	if err := durable.MakeDir(dir); err != nil {
		return err
	}
	random := make([]byte, tokenBytes)
	rand.Read(random) // never fails
	return durable.Replace(TokenPath(dir), []byte(base64.RawURLEncoding.EncodeToString(random)+"\n"))
}

// tokenFile tells of each token that replaces another, when it looks. Where it is gone or unfit, it is revoked: the empty
// one. An error while reading says nothing of the token; the next look may. It is safe for concurrent use.
type tokenFile struct {
	dir  string
	log  *slog.Logger
	told func(provider.Secret)

	mu   sync.Mutex
	seen fs.FileInfo
	said string
}

func (f *tokenFile) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Lstat(TokenPath(f.dir))
	if err == nil && sameFile(info, f.seen) {
		return
	}
	var token provider.Secret
	token, f.seen, err = loadToken(f.dir)
	if err == nil || errors.Is(err, errUnfit) || errors.Is(err, fs.ErrNotExist) {
		f.told(token)
	}
	if err != nil && err.Error() != f.said { // not at every look
		f.log.Error("token", "err", err)
	}
	f.said = fmt.Sprint(err)
}

// watch looks until ctx ends, for the sake of those who came in before.
func (f *tokenFile) watch(ctx context.Context) {
	ticks := time.NewTicker(tokenLook)
	defer ticks.Stop()
	for {
		f.look()
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

func sameFile(a, b fs.FileInfo) bool {
	return b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
