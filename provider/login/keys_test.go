package login_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/testgo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "sk-canary-7f3a9c51"

// open reads the keys of a file; empty: there is none.
func open(t *testing.T, path string) *login.Keys {
	t.Helper()
	var kept durable.Value = durable.SecretFile{Path: path}
	if path == "" {
		kept = new(durable.Memory)
	}
	keys, err := login.OpenKeys(kept)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// replace puts a grant of a in place of another, as a renewal does.
func replace(keys *login.Keys, old, next login.Grant) error {
	_, err := keys.Renew(context.Background(), "a", old, func(context.Context) (login.Grant, error) { return next, nil })
	return err
}

func set(t *testing.T, keys *login.Keys, id string, g login.Grant) {
	t.Helper()
	if err := keys.Set(id, g); err != nil {
		t.Fatal(err)
	}
}

func TestKeysLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys := open(t, path)
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file, and nothing to keep")
	}
	given := login.Grant{Token: provider.NewSecret(canary)}
	granted := login.Grant{Token: provider.NewSecret("gho_1"), Account: "acct", ByLogin: true}
	set(t, keys, "a", given)
	set(t, keys, "b", granted)
	set(t, keys, "c", given)
	set(t, keys, "c", login.Grant{})
	for _, again := range []*login.Keys{keys, open(t, path)} {
		if g := again.Grant("a"); g != given {
			t.Errorf("a has %+v", g)
		}
		if g := again.Grant("b"); g != granted {
			t.Errorf("b has %+v", g)
		}
		if g := again.Grant("c"); !g.IsZero() {
			t.Errorf("c has %+v after it was removed", g)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("beside the file are others: %v, %v", list, err)
	}
	if text := fmt.Sprintf("%v %+v %#v", given, granted, keys.Grant("a")); strings.Contains(text, canary) || strings.Contains(text, "gho_1") {
		t.Errorf("a grant prints itself: %s", text)
	}
}

// TestKeysSwept: what a crash left half written goes with the next change.
// TestNamedKeys keeps further keys of a provider, which change nothing of its first one.
func TestNamedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys := open(t, path)
	set(t, keys, "a", login.Grant{Token: provider.NewSecret("sk-first")})
	for name, key := range map[string]string{"team": "sk-team-0123456789-7f3a", "gone": "sk-gone"} {
		if err := keys.SetNamed("a", name, provider.NewSecret(key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := keys.SetNamed("a", "gone", provider.Secret{}); err != nil {
		t.Fatal(err)
	}
	for _, again := range []*login.Keys{keys, open(t, path)} {
		if got := again.Named("a", "team").Reveal(); got != "sk-team-0123456789-7f3a" {
			t.Errorf("the key is %q", got)
		}
		if list := again.NamedKeys("a"); len(list) != 1 || list[0] != (provider.NamedKey{Name: "team", Ending: "7f3a"}) {
			t.Errorf("the keys are %+v", list)
		}
		if !again.Named("a", "gone").IsZero() || !again.Named("b", "team").IsZero() || again.Grant("a").Token.Reveal() != "sk-first" {
			t.Error("other keys changed")
		}
	}
}

func TestKeysSwept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path+".123", []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	set(t, open(t, path), "a", login.Grant{Token: provider.NewSecret("k")})
	if _, err := os.Stat(path + ".123"); err == nil {
		t.Error("it is still there")
	}
}

// TestKeysReplaced: what a login's token was replaced by is kept, unless somebody has changed the grant meanwhile.
func TestKeysReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys := open(t, path)
	one := login.Grant{Token: provider.NewSecret("one"), ByLogin: true}
	two := login.Grant{Token: provider.NewSecret("two"), ByLogin: true}
	set(t, keys, "a", one)
	if err := replace(keys, one, two); err != nil || open(t, path).Grant("a") != two {
		t.Errorf("not replaced: %v", err)
	}
	if err := replace(keys, one, login.Grant{Token: provider.NewSecret("three")}); err != nil || keys.Grant("a") != two {
		t.Errorf("replaced, though it is another one: %v", err)
	}
	set(t, keys, "a", login.Grant{})
	if err := replace(keys, two, one); err != nil || !keys.Grant("a").IsZero() {
		t.Errorf("who logged out is logged in again: %v", err)
	}
}

// TestKeysNotWritten: if Set returns an error, nothing has changed. If Replace returns one, the new token is used all the same.
func TestKeysNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	keys := open(t, filepath.Join(dir, "keys.json"))
	if err := keys.Set("a", login.Grant{Token: provider.NewSecret(canary)}); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("set without a directory: %v", err)
	}
	if !keys.Grant("a").IsZero() {
		t.Error("the key is used, and is not on disk")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	one := login.Grant{Token: provider.NewSecret("one"), ByLogin: true}
	two := login.Grant{Token: provider.NewSecret("two"), ByLogin: true}
	set(t, keys, "a", one)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := replace(keys, one, two); err == nil || keys.Grant("a") != two {
		t.Errorf("replace without a directory: %v", err)
	}
}

func TestKeysRefused(t *testing.T) {
	good := `{"version":1,"providers":{"a":{"key":"` + canary + `"}}}`
	for _, tt := range []struct {
		name, text, says string
		mode             os.FileMode
	}{
		{"damaged", good[:len(good)-3], "is damaged", 0o600},
		{"empty", "", "is damaged", 0o600},
		{"of another type", `{"version":1,"providers":{"a":{"key":["` + canary + `"]}}}`, "is damaged", 0o600},
		{"of a later version", `{"version":2,"providers":{"a":{"sealed":"` + canary + `"}}}`, "has version 2", 0o600},
		{"open to all", good, "can be read by others (mode 644)", 0o644},
		{"open to the group", good, "can be read by others (mode 640)", 0o640},
	} {
		if runtime.GOOS == "windows" && tt.mode != 0o600 {
			continue
		}
		path := filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := login.OpenKeys(durable.SecretFile{Path: path})
		if err == nil || !strings.Contains(err.Error(), path+" "+tt.says) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestKeysTogether writes from many sides: nothing is lost, and the file is whole at any time.
func TestKeysTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys := open(t, path)
	set(t, keys, "first", login.Grant{Token: provider.NewSecret("k")})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(testgo.Guard(t, func() {
			if err := keys.Set(fmt.Sprint("p", i), login.Grant{Token: provider.NewSecret("k")}); err != nil {
				t.Error(err)
			}
			if _, err := login.OpenKeys(durable.SecretFile{Path: path}); err != nil {
				t.Errorf("while others write: %v", err)
			}
		}))
	}
	all.Wait()
	for i := range 8 {
		if open(t, path).Grant(fmt.Sprint("p", i)).IsZero() {
			t.Errorf("p%d is lost", i)
		}
	}
}

// A key is on disk when Set returns: the new file is synced before it is renamed, and the directory after that. On a full disk, Set
// returns an error and changes nothing.
func TestKeysAreSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys := open(t, path)
	set(t, keys, "a", login.Grant{Token: provider.NewSecret(canary)})
	var synced []string
	var fails error
	sync := durable.Sync
	defer func() { durable.Sync = sync }()
	durable.Sync = func(f *os.File) error {
		if fails != nil {
			return fails
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		synced = append(synced, fmt.Sprintf("%s: new %v", filepath.Dir(f.Name()), strings.Contains(string(kept), `"b"`)))
		return f.Sync()
	}
	set(t, keys, "b", login.Grant{Token: provider.NewSecret(canary)})
	want := []string{filepath.Dir(path) + ": new false", filepath.Dir(filepath.Dir(path)) + ": new true"}
	if runtime.GOOS == "windows" {
		want = want[:1]
	}
	if !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	fails = syscall.ENOSPC
	if err := keys.Set("c", login.Grant{Token: provider.NewSecret(canary)}); !errors.Is(err, login.ErrNotKept) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	for _, keys := range []*login.Keys{keys, open(t, path)} {
		if g := keys.Grant("c"); !g.IsZero() {
			t.Errorf("c has %+v", g)
		}
	}
}
