package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

func TestConfigDefaultFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("AppData", home)
	path := defaultConfigPath()
	if filepath.Base(path) != "config.toml" || filepath.Base(filepath.Dir(path)) != "thinkd" {
		t.Fatalf("default file %s", path)
	}
	if c, err := loadConfig("", proof.Environment()); err != nil || c.Path != "" {
		t.Errorf("without a file: %q, %v", c.Path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`model = "sim/claude"`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := loadConfig("", proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	if got.Path != path || got.Model != "sim/claude" {
		t.Errorf("got %+v", got)
	}
}

func TestConfigMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	_, err := loadConfig(path, proof.Environment())
	if err == nil || !strings.Contains(err.Error(), path) || !strings.HasPrefix(err.Error(), "config: ") {
		t.Errorf("a file that was asked for and is not there: %v", err)
	}
	if _, err := loadConfig(t.TempDir(), proof.Environment()); err == nil {
		t.Error("a directory was taken for a file")
	}
}

func TestDefaultDataDir(t *testing.T) {
	for _, tt := range []struct {
		goos string
		env  []string
		want string
	}{
		{"linux", []string{"HOME=/home/u"}, "/home/u/.local/share/thinkd"},
		{"linux", []string{"HOME=/home/u", "XDG_DATA_HOME=/data"}, "/data/thinkd"},
		{"linux", []string{"HOME=/home/u", "XDG_DATA_HOME=data"}, "/home/u/.local/share/thinkd"},
		{"freebsd", []string{"XDG_DATA_HOME=/data"}, "/data/thinkd"},
		{"linux", nil, "no data directory: HOME is not set; name one with --data"},
		{"darwin", []string{"HOME=/Users/u", "XDG_DATA_HOME=/data"}, "/Users/u/Library/Application Support/thinkd"},
		{"darwin", nil, "no data directory: HOME is not set; name one with --data"},
		{"windows", []string{"LocalAppData=/appdata"}, "/appdata/thinkd"},
		{"windows", nil, "no data directory: %LocalAppData% is not set; name one with --data"},
	} {
		got, err := defaultDataDir(tt.goos, proof.Environment(tt.env...))
		if err != nil {
			got = err.Error()
		}
		if filepath.ToSlash(got) != tt.want {
			t.Errorf("%s %v: got %s, want %s", tt.goos, tt.env, got, tt.want)
		}
	}
}

// loadConfig reads the config at path; with no path the default one.
func loadConfig(path string, getenv func(string) string) (config.Config, error) {
	return Options{ConfigPath: path, Getenv: getenv}.Config()
}
