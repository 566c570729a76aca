package vendors_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/vendors"
)

// configured is a provider of a config.
func configured(t *testing.T, c config.Config, id string) vendors.Config {
	t.Helper()
	i := slices.IndexFunc(c.Providers, func(p vendors.Config) bool { return p.ID == id })
	if i < 0 {
		t.Fatalf("no provider %s", id)
	}
	return c.Providers[i]
}

// A server that loads a model first is waited for: a vendor's row says so, and the place of any other.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		config, id string
		want       time.Duration
	}{
		{"", "ollama", 10 * time.Minute},
		{"", "vllm", 10 * time.Minute},
		{"", "anthropic", 0},
		{"", "sim", 0},
		{"[providers.box]\napi = \"chat\"\ndialect = \"llamacpp\"\nbase_url = \"https://llm.example.com\"", "box", 10 * time.Minute},
		{"[providers.box]\napi = \"chat\"\nbase_url = \"http://192.168.1.7:9000\"", "box", 10 * time.Minute},
		{"[providers.box]\napi = \"chat\"\nbase_url = \"https://llm.example.com\"", "box", 0},
	} {
		c, err := loadConfig(proof.WriteConfig(t, tt.config), proof.Environment())
		if err != nil {
			t.Fatal(err)
		}
		if got := configured(t, c, tt.id).Patience(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.id, got, tt.want)
		}
	}
}

func TestOllamaAddress(t *testing.T) {
	for host, want := range map[string]string{
		"":                        "",
		"127.0.0.1":               "http://127.0.0.1:11434",
		"box.lan:1234":            "http://box.lan:1234",
		":1234":                   "http://127.0.0.1:1234",
		"0.0.0.0":                 "http://127.0.0.1:11434",
		"0.0.0.0:1":               "http://127.0.0.1:1",
		"[::]:1":                  "http://127.0.0.1:1",
		"[::1]:1":                 "http://[::1]:1",
		"[::1]":                   "http://[::1]:11434",
		"http://box.lan":          "http://box.lan:80",
		"https://box.lan":         "https://box.lan:443",
		"https://box.lan/ollama/": "https://box.lan:443/ollama",
		"http://127.0.0.1:11434/": "http://127.0.0.1:11434",
		"http://0.0.0.0:11434":    "http://127.0.0.1:11434",
	} {
		if got := vendors.OllamaAddress(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// TestOllamaContext: a window that is named nowhere else is the one of OLLAMA_CONTEXT_LENGTH, for what is sent and for what
// the catalog says.
func TestOllamaContext(t *testing.T) {
	for _, test := range []struct {
		env, file string
		want      int
	}{
		{"", "", 65_536},
		{"OLLAMA_CONTEXT_LENGTH=16384", "", 16_384},
		{"OLLAMA_CONTEXT_LENGTH=16384", "[providers.ollama]\nnum_ctx = 8192\n", 8_192},
		{"OLLAMA_CONTEXT_LENGTH=much", "", 65_536},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := loadConfig(path, proof.Environment(test.env))
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := vendors.Catalog(c.Providers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := catalog.Model("ollama", "any").Window; got != test.want {
			t.Errorf("%q, %q: %d, want %d", test.env, test.file, got, test.want)
		}
	}
}
