package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vault"
)

// Keys that an earlier start stored in plain text are encrypted with the first start that has a key for them. From then on they are read
// with that key only, by the daemon and by commands, and the log says what is lost without it.
func TestKeysAreEncrypted(t *testing.T) {
	dir, master := t.TempDir(), filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(master, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, sealed := config.Auth{Users: true}, config.Auth{Users: true, KeyFile: master}
	start := func(a config.Auth) (*login.Keys, string, error) {
		var said bytes.Buffer
		k := &kept{dir: dir}
		err := k.openKeys(t.Context(), a, slog.New(slog.NewTextHandler(&said, nil)))
		return k.keys, said.String(), err
	}
	key := login.Grant{Token: provider.NewSecret("sk-of-the-test")}
	keys, _, err := start(plain)
	if err == nil {
		err = keys.Set("anthropic", key)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, said, err := start(plain); err != nil || !strings.Contains(said, "are not encrypted") {
		t.Errorf("%s, %v", said, err)
	}
	for round := range 2 {
		keys, said, err := start(sealed)
		if err != nil || keys.Grant("anthropic").Token != key.Token || !strings.Contains(said, "they are lost") || strings.Contains(said, "encrypted_anew=true") != (round == 0) {
			t.Fatalf("start %d: %v: %s", round, err, said)
		}
		if err := keys.SetNamed("anthropic", "other", provider.NewSecret("sk-another-of-the-test")); err != nil {
			t.Fatal(err)
		}
		stored, err := os.ReadFile(filepath.Join(dir, KeysName))
		if err != nil || bytes.Contains(stored, []byte("sk-")) || !vault.Sealed(stored) {
			t.Errorf("start %d: %s, %v", round, stored, err)
		}
	}
	if read, err := ReadKeys(context.Background(), dir, sealed); err != nil || read.Grant("anthropic").Token != key.Token {
		t.Error(err)
	}
	for name, open := range map[string]func() error{
		"daemon":  func() error { _, _, err := start(plain); return err },
		"command": func() error { _, err := ReadKeys(t.Context(), dir, plain); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "set key_file or key_command under [auth]") {
			t.Errorf("%s without the key: %v", name, err)
		}
	}
	if err := os.Chmod(master, 0o604); err != nil {
		t.Fatal(err)
	}
	if _, _, err := start(sealed); err == nil || !strings.Contains(err.Error(), "the key under [auth] that encrypts keys.json: ") {
		t.Error(err)
	}
}
