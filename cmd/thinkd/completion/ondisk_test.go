package completion

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

// Without a daemon the values come from the files, no daemon starts, and nothing is written.
func TestStored(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "[providers.house]\napi = \"chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n[[providers.house.models]]\nid = \"big\"\nname = \"Big\"\nthinking = { control = \"none\" }\n[agents.reviewer]\nmodel = \"house/big\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	options := daemon.Options{ConfigPath: config, DataDir: data, Getenv: func(string) string { return "" }}
	if list, err := List(t.Context(), Sessions, options); len(list) > 0 {
		t.Errorf("sessions of no store: %q, %v", list, err)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the data directory was made")
	}
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := session.NewID()
	if err := store.For(session.Operator).Create(t.Context(), session.Session{ID: id, Title: "Dates"}); err != nil {
		t.Fatal(err)
	}
	if list, err := List(t.Context(), Sessions, options); err == nil {
		t.Errorf("sessions of a store in use: %q", list)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[Kind]string{Models: "house/big\tBig", Sessions: string(id) + "\tDates", Agents: "reviewer\thouse/big", Providers: "house"} {
		list, err := List(t.Context(), kind, options)
		if err != nil || !strings.Contains("\n"+strings.Join(list, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%s: %q, %v", kind, list, err)
		}
	}
}
