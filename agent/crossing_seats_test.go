package agent

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/gemini"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/ollama"
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/registry"
)

// seat is a model with a level, and what of its own stands on the wire when its thinking goes back; empty: its host
// takes none back, or none is made.
type seat struct {
	model   string // in the catalog, of the simulator's provider where it names none
	level   provider.Level
	mark    string
	api     string // where it is not the row's
	dialect string
}

// seats are models of each API and of each dialect, some twice: as they think and as they do not.
var seats = []seat{
	{model: "claude", level: provider.High, mark: `"signature":"`},
	{model: "claude", level: provider.Off},
	{model: "claude-always", level: provider.Low, mark: `"signature":"`},
	{model: "claude-budget", level: provider.Medium, mark: `"signature":"`},
	{model: "claude-between-tools", level: provider.Off, mark: `"signature":"`},
	{model: "copilot/claude-haiku-4.5", level: provider.High, mark: `"signature":"`},
	{model: "copilot/claude-opus-5.5", level: provider.Low, mark: `"signature":"`},
	{model: "gpt", level: provider.High, mark: `"encrypted_content":"gAAAAA`},
	{model: "gpt", level: provider.Off},
	{model: "gpt-always", level: provider.Medium, mark: `"encrypted_content":"gAAAAA`},
	{model: "gpt-silent", level: provider.Off},
	{model: "gpt-open", level: provider.Low, mark: `"type":"reasoning_text"`},
	{model: "grok", level: provider.Low, mark: `"encrypted_content":"gAAAAA`},
	{model: "openai/gpt-5.6", level: provider.High, mark: `"encrypted_content":"gAAAAA`, dialect: "azure"},
	{model: "openai/gpt-5.5", level: provider.High, mark: `"encrypted_content":"gAAAAA`, dialect: "chatgpt"},
	{model: "openai/gpt-5.4", level: provider.Low, mark: `"encrypted_content":"gAAAAA`, dialect: "copilot"},
	{model: "gemini", level: provider.High, mark: `"thoughtSignature":"`},
	{model: "gemini-continued", level: provider.Low, mark: `"thoughtSignature":"`},
	{model: "gemini-budget", level: provider.Medium, mark: `"thoughtSignature":"`},
	{model: "gemini-budget", level: provider.Off},
	{model: "ollama", level: provider.On, mark: `"thinking":"`},
	{model: "ollama", level: provider.Off},
	{model: "ollama-levels", level: provider.Low, mark: `"thinking":"`},
	{model: "ollama-plain", level: provider.Off},
	{model: "openai/gpt-5.5", level: provider.Low, api: "chat", dialect: "openai"},
	{model: "openai/gpt-4.1", level: provider.Off, api: "chat", dialect: "openai"},
	{model: "deepseek", level: provider.Max, mark: `"reasoning_content":"`},
	{model: "deepseek", level: provider.Off},
	{model: "qwen", level: provider.High, mark: `"reasoning_content":"`},
	{model: "anthropic/sim", level: provider.High, mark: `"signature":"`},
	{model: "openai/sim", level: provider.High, mark: `"reasoning.encrypted"`},
	{model: "google/sim", level: provider.High, mark: `"reasoning.encrypted"`},
	{model: "kimi", level: provider.High, mark: `"reasoning_content":"`},
	{model: "kimi-toggle", level: provider.On, mark: `"reasoning_content":"`},
	{model: "glm", level: provider.On, mark: `"reasoning_content":"`},
	{model: "glm-never-off", level: provider.On, mark: `"reasoning_content":"`},
	{model: "minimax", level: provider.On, mark: `"reasoning_details":[`},
	{model: "xai/grok-3-mini", level: provider.Low},
	{model: "qwen/sim", level: provider.On, mark: `"reasoning":"`},
	{model: "mistral", level: provider.High, mark: `"type":"thinking"`},
	{model: "mistral", level: provider.Off},
	{model: "gemini-sim", level: provider.High, mark: `"reasoning_opaque":"`},
	{model: "gemini/gemini-3.8-flash", level: provider.Low, mark: `"thought_signature":"`, api: "chat", dialect: "gemini"},
	{model: "vllm", level: provider.On, mark: `"reasoning":"`},
	{model: "sglang", level: provider.High, mark: `"reasoning_content":"`},
	{model: "llamacpp", level: provider.On, mark: `"reasoning_content":"`},
	{model: "lmstudio", level: provider.High},
	{model: "ollama-deaf", level: provider.High, mark: `"reasoning":"`},
	{model: "generic", level: provider.High, mark: `"reasoning_content":"`},
}

func (s seat) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.model, s.level, s.dialect))
}

// placed is a seat with its row, its decision and its adapter.
type placed struct {
	seat
	row      provider.Model
	decision provider.Decision
	open     func(http.RoundTripper) provider.Provider
}

func (s seat) place(t *testing.T, catalog *registry.Catalog) placed {
	t.Helper()
	row, err := catalog.Find(s.model)
	if sim := catalog.Model("sim", s.model); sim.Known {
		row, err = sim, nil
	}
	if err != nil || !row.Known {
		t.Fatalf("%s: no row (%v)", s, err)
	}
	if s.api != "" {
		row.API = s.api
	}
	if s.dialect != "" {
		row.Dialect = s.dialect
	}
	d, err := registry.Resolve(registry.Ask{Level: s.level, Source: provider.SourceSession}, row)
	if err != nil {
		t.Fatal(err)
	}
	return placed{s, row, d, opener(t, row)}
}

// opener makes a model's adapter, each vendor at a host of its own.
func opener(t *testing.T, row provider.Model) func(http.RoundTripper) provider.Provider {
	key := provider.NewSecret("sk-of-the-test")
	at := func(path string) string { return "http://" + row.Dialect + "." + row.API + path }
	switch row.API {
	case "messages":
		return func(rt http.RoundTripper) provider.Provider {
			if row.Dialect == "copilot" {
				return messages.New(exchange.Config{Vendor: "copilot", BaseURL: at("/copilot"), Key: key, Client: exchange.NewClient(rt)}, messages.HostNamed("copilot"))
			}
			return messages.New(exchange.Config{Vendor: "anthropic", BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)}, messages.Host{})
		}
	case "responses":
		path := map[string]string{"azure": "/openai/v1", "chatgpt": "/backend-api/codex", "copilot": ""}
		base, special := path[row.Dialect]
		if !special {
			base = "/v1"
		}
		return func(rt http.RoundTripper) provider.Provider {
			return responses.New(exchange.Config{Vendor: "openai", BaseURL: at(base), Account: "a", Key: key, Client: exchange.NewClient(rt)}, responses.HostNamed(row.Dialect))
		}
	case "chat":
		dialect, err := chat.Named(row.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		return func(rt http.RoundTripper) provider.Provider {
			return chat.New(exchange.Config{BaseURL: at("/" + row.Dialect), Key: key, Client: exchange.NewClient(rt)}, dialect)
		}
	case "gemini":
		return func(rt http.RoundTripper) provider.Provider {
			return gemini.New(exchange.Config{Vendor: "gemini", BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)}, gemini.Host{})
		}
	case "ollama":
		return func(rt http.RoundTripper) provider.Provider {
			return ollama.New(exchange.Config{Vendor: "ollama", BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)})
		}
	}
	t.Fatalf("%s: no adapter for the API %q", row.Ref(), row.API)
	return nil
}

// sees reports whether the row says that the model takes images.
func (p placed) sees() bool { return slices.Contains(p.row.Input, "image") }

// thinks reports whether its answers are to have thinking.
func (p placed) thinks() bool {
	return p.row.Thinking.Thinks() && (p.level != provider.Off || p.row.Thinking.Off == provider.OffUpFront)
}
