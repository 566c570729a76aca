package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// Settings are written whole and for this user alone; where they cannot be, nothing has changed.
func TestSettingsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := openSettings(config.Config{}, (&kept{dir: dir}).value(settingsName), discard)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, settingsName)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file before anything was set: %v", err)
	}
	brief := func(a *registry.Agent) error { a.System += "Be brief."; return nil }
	for range 3 {
		if err := s.SetAgent("a", brief); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); goos != "windows" && mode != 0o600 {
		t.Errorf("the mode is %o", mode)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the directory has %v (%v), want the file alone", list, err)
	}
	if again, err := openSettings(config.Config{}, (&kept{dir: dir}).value(settingsName), discard); err != nil || again.Agents()[0].System != strings.Repeat("Be brief.", 3) {
		t.Errorf("read again: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.SetAgent("a", brief); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("without its directory: %v", err)
	}
	if a, _ := s.Agent("a"); a.System != strings.Repeat("Be brief.", 3) {
		t.Errorf("a change that could not be stored applies: %q", a.System)
	}
}

// Settings are read from a file of ours, and from no place that a link names.
func TestSettingsFollowNoLink(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.json")
	s, err := openSettings(config.Config{}, (&kept{dir: dir}).value(settingsName), discard)
	if err == nil {
		err = s.SetAgent("a", func(a *registry.Agent) error { a.System = "Be evil."; return nil })
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, settingsName), elsewhere)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, settingsName)); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	if s, err := openSettings(config.Config{}, (&kept{dir: dir}).value(settingsName), discard); err == nil || !strings.Contains(err.Error(), "links are not followed") {
		t.Errorf("read through a link: %v, %v", s, err)
	}
}

// If a key cannot be stored because the disk is full, the error is the one that clients know for a full disk.
func TestKeyOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := &kept{dir: dir}
	if err := k.openKeys(t.Context(), config.Auth{}, discard); err != nil {
		t.Fatal(err)
	}
	keys := k.keys
	m := &models{log: discard, providers: vendors.Open([]vendors.Config{{ID: "a", KeyEnv: "A_KEY"}}, nil, keys, nil, discard)}
	defer func(sync func(*os.File) error) { durable.Sync = sync }(durable.Sync)
	durable.Sync = func(*os.File) error { return syscall.ENOSPC }
	if err := m.setKey("a", "", provider.NewSecret("sk-1")); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("set: %v", err)
	}
	if err := network.WriteToken(dir); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a token that is not synced: %v", err)
	}
	if err := m.setKey("none", "", provider.Secret{}); !errors.Is(err, provider.ErrNoKeyNeeded) {
		t.Errorf("of no provider: %v", err)
	}
}
