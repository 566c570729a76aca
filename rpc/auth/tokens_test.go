package auth

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

var ann = Record{User: "ann", Tenant: "acme", Rights: []string{"use"}}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open is a folder with a token for each record, and what admits them.
func open(t *testing.T, records ...Record) (f Folder, tokens *Tokens, words []string) {
	t.Helper()
	f = Folder{filepath.Join(t.TempDir(), "tokens")}
	for _, r := range records {
		_, token, err := f.Create(r)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, token.Reveal())
	}
	return f, NewTokens(f, discard()), words
}

func admit(t *testing.T, tokens *Tokens, token string) (Grant, bool) {
	t.Helper()
	g, ok, err := tokens.Admit(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return g, ok
}

// A token grants what its record says, and nothing else does.
func TestAdmit(t *testing.T) {
	f, tokens, words := open(t, ann, Record{Rights: []string{"use", "admin", "use"}, Note: "backup"})
	g, ok := admit(t, tokens, words[0])
	if !ok || g.Principal.Owner != (session.Owner{Tenant: "acme", User: "ann"}) || len(g.Principal.Rights) != 1 || g.Principal.Rights[0] != method.Use || !g.Expires.IsZero() {
		t.Errorf("%+v, %v", g, ok)
	}
	if g, ok := admit(t, tokens, words[1]); !ok || !g.Principal.OwnsMachine() || len(g.Principal.Rights) != 2 {
		t.Errorf("%+v, %v", g, ok)
	}
	if !strings.HasPrefix(words[0], "thd_") || len(words[0]) != len("thd_")+43 || words[0] == words[1] {
		t.Errorf("tokens %q", words)
	}
	list, err := f.List()
	if err != nil || len(list) != 2 || list[0].ID != g.ID && list[1].ID != g.ID { // in any order: both may be of one millisecond
		t.Fatal(list, err)
	}
	for _, wrong := range []string{"", "thd_", words[0] + "x", words[0][:len(words[0])-1], strings.ToUpper(words[0]), " " + words[0], words[0][4:], list[0].ID, list[0].Digest, "thd_" + list[0].Digest} {
		if _, ok := admit(t, tokens, wrong); ok {
			t.Errorf("%q is admitted", wrong)
		}
	}
	err = filepath.WalkDir(f.Path, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), words[0][4:]) || strings.Contains(string(text), words[1][4:]) {
			t.Errorf("%s has a token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRecordsAreChecked(t *testing.T) {
	f := Folder{filepath.Join(t.TempDir(), "tokens")}
	for what, r := range map[string]Record{
		"no rights":           {User: "ann"},
		"an unknown right":    {User: "ann", Rights: []string{"use", "root"}},
		"a tenant alone":      {Tenant: "acme", Rights: []string{"use"}},
		"a control character": {User: "ann\n", Rights: []string{"use"}},
		"a long name":         {User: strings.Repeat("a", 256), Rights: []string{"use"}},
		"not UTF-8":           {User: "\xff", Rights: []string{"use"}},
		"expired":             {User: "ann", Rights: []string{"use"}, Expires: 1},
		"a note of two lines": {User: "ann", Rights: []string{"use"}, Note: "a\nb"},
	} {
		if _, token, err := f.Create(r); err == nil {
			t.Errorf("%s: %v", what, token)
		}
	}
	if list, err := f.List(); len(list) > 0 || err != nil {
		t.Error(list, err)
	}
}

// Names of files are ids of tokens, and no paths.
func TestRevokeTakesIDs(t *testing.T) {
	f, _, _ := open(t, ann)
	outside := filepath.Join(filepath.Dir(f.Path), "aaaaaaaaaaaa.json")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "../aaaaaaaaaaaa", "aaaaaaaaaaaa", "..", "AAAAAAAAAAAA"} {
		if err := f.Revoke(id); !errors.Is(err, ErrNoToken) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// Files that others could write or read, that are damaged, or that are another token's record grant nothing. The others count.
func TestDamagedRecords(t *testing.T) {
	f, tokens, words := open(t, ann, ann, ann, ann)
	list, err := f.List()
	if err != nil {
		t.Fatal(err)
	}
	damage := []func(path string) error{
		func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		func(path string) error {
			if runtime.GOOS == "windows" {
				return os.WriteFile(path, nil, 0o600)
			}
			return os.Chmod(path, 0o644)
		},
		func(path string) error { return os.Rename(path, f.file("aaaaaaaaaaaa")) },
	}
	byToken := map[string]string{} // ids
	for _, word := range words {
		g, _ := admit(t, tokens, word)
		byToken[word] = g.ID
	}
	damaged := map[string]bool{}
	for i, do := range damage {
		if err := do(f.file(list[i].ID)); err != nil {
			t.Fatal(err)
		}
		damaged[list[i].ID] = true
	}
	for _, word := range words {
		if _, ok := admit(t, tokens, word); ok == damaged[byToken[word]] {
			t.Errorf("%s: admitted %v", byToken[word], ok)
		}
	}
	if list, err := f.List(); len(list) != 1 || err == nil {
		t.Error(list, err)
	}
}

// Whoever holds a grant loses it within a second after its token is revoked.
func TestRevoked(t *testing.T) {
	f, tokens, words := open(t, ann, ann)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	testgo.Go(t, func() { // stop ends it; awaited below
		defer close(done)
		tokens.Watch(ctx)
	})
	kept, _ := admit(t, tokens, words[1])
	g, ok := admit(t, tokens, words[0])
	if !ok {
		t.Fatal("not admitted")
	}
	if err := f.Revoke(g.ID); err != nil {
		t.Fatal(err)
	}
	<-g.Valid.Done()
	if cause := context.Cause(g.Valid); !errors.Is(cause, conn.ErrRevoked) || errors.Is(cause, conn.ErrExpired) {
		t.Error(cause)
	}
	if _, ok := admit(t, tokens, words[0]); ok {
		t.Error("a revoked token is admitted")
	}
	if _, ok := tokens.ByID(g.ID); ok {
		t.Error("a revoked token is found by its id")
	}
	if err := f.Revoke(g.ID); !errors.Is(err, ErrNoToken) {
		t.Error(err)
	}
	stop()
	<-done
	if kept.Valid.Err() != nil {
		t.Error("the other grant has ended")
	}
}

// The wall clock decides: a machine that slept has no timers that ran.
func TestExpired(t *testing.T) {
	r := ann
	r.Expires = time.Now().Add(time.Hour).UnixMilli()
	_, tokens, words := open(t, r)
	now := time.Now()
	tokens.now = func() time.Time { return now }
	g, ok := admit(t, tokens, words[0])
	if !ok || g.Expires.UnixMilli() != r.Expires {
		t.Fatalf("%+v %v", g, ok)
	}
	now = time.UnixMilli(r.Expires).Add(-time.Millisecond)
	if g, ok := admit(t, tokens, words[0]); !ok || g.Valid.Err() != nil {
		t.Error("it expires early")
	}
	now = time.UnixMilli(r.Expires)
	if _, ok := admit(t, tokens, words[0]); ok {
		t.Error("an expired token is admitted")
	}
	if cause := context.Cause(g.Valid); !errors.Is(cause, conn.ErrExpired) {
		t.Error(cause)
	}
	now = now.Add(-2 * time.Hour)
	if _, ok := admit(t, NewTokens(tokens.records, discard()), words[0]); !ok {
		t.Error("a clock that was wrong has ended a token for ever")
	}
}

// Programs that create and revoke in parallel need no lock, and bring nothing back.
func TestTokensInParallel(t *testing.T) {
	f, tokens, _ := open(t)
	var working sync.WaitGroup
	var mu sync.Mutex
	kept, gone := map[string]bool{}, map[string]bool{}
	for range 8 {
		working.Add(1)
		testgo.Go(t, func() { // awaited below
			defer working.Done()
			for i := range 8 {
				r, token, err := f.Create(ann)
				if err != nil {
					t.Error(err)
					return
				}
				if i%2 == 0 {
					if err := f.Revoke(r.ID); err != nil {
						t.Error(err)
					}
				}
				mu.Lock()
				map[bool]map[string]bool{true: gone, false: kept}[i%2 == 0][token.Reveal()] = true
				mu.Unlock()
			}
		})
	}
	working.Wait()
	for token := range kept {
		if _, ok := admit(t, tokens, token); !ok {
			t.Error("a token is lost")
		}
	}
	for token := range gone {
		if _, ok := admit(t, tokens, token); ok {
			t.Error("a revoked token is back")
		}
	}
}

// lease is one with a grant of an owner, and what admits its new tokens.
func lease(t *testing.T, p method.Principal, next map[string]Grant) (*Lease, context.CancelCauseFunc) {
	valid, end := context.WithCancelCause(t.Context())
	l := NewLease(t.Context(), Grant{Principal: p, Valid: valid}, func(token string) (Grant, error) {
		g, ok := next[token]
		if !ok {
			return g, &Refusal{Status: 401, Reason: "no"}
		}
		return g, nil
	})
	t.Cleanup(l.Close)
	return l, end
}

func principal(t *testing.T, user string, rights ...string) method.Principal {
	t.Helper()
	p, err := NewPrincipal(session.Owner{User: user}, rights)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A connection lasts as long as the newest of its grants, and has its rights.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, endSecond := context.WithCancelCause(t.Context())
		p := principal(t, "ann", "use", "settings")
		l, endFirst := lease(t, p, map[string]Grant{
			"new":   {Principal: principal(t, "ann", "use"), Valid: second, Expires: time.Unix(9, 0)},
			"bob":   {Principal: principal(t, "bob", "use"), Valid: second},
			"owner": {Principal: method.Operator(), Valid: second},
		})
		for token, want := range map[string]error{"bob": ErrOtherOwner, "owner": ErrOtherOwner} {
			if _, err := l.Renew(token); !errors.Is(err, want) {
				t.Errorf("%s: %v", token, err)
			}
		}
		if _, err := l.Renew("wrong"); err == nil {
			t.Error("a wrong token renews")
		}
		if len(l.Principal().Rights) != 2 || !l.Expires().IsZero() {
			t.Error("a token that was refused has changed the lease")
		}
		if g, err := l.Renew("new"); err != nil || len(g.Principal.Rights) != 1 {
			t.Fatal(g, err)
		}
		endFirst(conn.ErrExpired)
		synctest.Wait()
		if l.Context().Err() != nil || len(l.Principal().Rights) != 1 || !l.Expires().Equal(time.Unix(9, 0)) {
			t.Error("the first grant still counts")
		}
		endSecond(conn.ErrRevoked)
		synctest.Wait()
		if cause := context.Cause(l.Context()); !errors.Is(cause, conn.ErrRevoked) {
			t.Error(cause)
		}
		if _, err := l.Renew("new"); !errors.Is(err, conn.ErrRevoked) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// A lease without tokens says that there is nothing to renew.
func TestLeaseOfOperator(t *testing.T) {
	var none *Lease
	if _, err := none.Renew("x"); !errors.Is(err, ErrNotRenewable) {
		t.Error(err)
	}
}
