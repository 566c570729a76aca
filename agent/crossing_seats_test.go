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
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/provider/vendors"
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
	{model: "vertex/claude-opus-5-5", level: provider.Low, mark: `"signature":"`},
	{model: "vertex/claude-sonnet-4-5@20250929", level: provider.Medium, mark: `"signature":"`},
	{model: "bedrock/us.anthropic.claude-opus-5-5", level: provider.Low, mark: `"signature":"`},
	{model: "bedrock/global.anthropic.claude-sonnet-5-5", level: provider.High, mark: `"signature":"`, dialect: "mantle"},
	{model: "vertex/openai/gpt-oss-120b-maas", level: provider.On, mark: `"reasoning_content":"`},
	{model: "vertex/mistral-medium-3", level: provider.Off},
	{model: "vertex/gemini-3.8-flash", level: provider.High, mark: `"thoughtSignature":"`},
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
	{model: "bedrock/us.amazon.nova-2-lite-v1:0", level: provider.High, mark: `"reasoningText":{`},
	{model: "bedrock/amazon.nova-pro-v1:0", level: provider.Off},
	{model: "bedrock/deepseek.v3.2", level: provider.Low},
	{model: "bedrock/mistral.magistral-small-2509", level: provider.On, mark: `"reasoningText":{`},
	{model: "bedrock/openai.gpt-oss-120b-1:0", level: provider.Medium, mark: `"reasoningText":{`},
	{model: "bedrock/qwen.qwen3-32b-v1:0", level: provider.Off},
	{model: "amazon.nova", level: provider.Low, mark: `"reasoningText":{`},
	{model: "cohere", level: provider.Low, mark: `"type":"thinking"`},
	{model: "cohere/command-a-plus-05-2026", level: provider.High, mark: `"type":"thinking"`},
	{model: "cohere/command-a-reasoning-08-2025", level: provider.Off},
	{model: "cohere/command-a-03-2025", level: provider.Off},
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
	row := catalog.Model("sim", s.model)
	if !row.Known {
		var err error
		if row, err = catalog.Find(s.model); err != nil {
			t.Fatalf("%s: no row (%v)", s, err)
		}
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

// project is the address of a project on Google Cloud.
const project = "/v1/projects/p/locations/global"

// opener makes a model's adapter, each vendor at a host of its own.
func opener(t *testing.T, row provider.Model) func(http.RoundTripper) provider.Provider {
	key := provider.NewSecret("sk-of-the-test")
	at := func(path string) string { return "http://" + row.Dialect + "." + row.API + path }
	switch row.API {
	case "messages":
		return func(rt http.RoundTripper) provider.Provider {
			if row.Dialect == "cloud" {
				return messages.New(exchange.Config{Vendor: "vertex", BaseURL: at(project), Key: key, Client: exchange.NewClient(rt)}, messages.HostNamed("cloud"))
			}
			if row.Dialect == "bedrock" || row.Dialect == "mantle" {
				return messages.New(exchange.Config{Vendor: "bedrock", BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)}, messages.HostNamed(row.Dialect))
			}
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
			base := "/" + row.Dialect
			if row.Provider == "vertex" {
				base = project
			}
			return chat.New(exchange.Config{BaseURL: at(base), Key: key, Client: exchange.NewClient(rt)}, dialect)
		}
	case "gemini":
		return func(rt http.RoundTripper) provider.Provider {
			if row.Dialect == "cloud" {
				return gemini.New(exchange.Config{Vendor: "vertex", BaseURL: at(project), Key: key, Client: exchange.NewClient(rt)}, gemini.HostNamed("cloud"))
			}
			return gemini.New(exchange.Config{Vendor: "gemini", BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)}, gemini.Host{})
		}
	}
	api, ok := vendors.APINamed(row.API)
	if !ok {
		t.Fatalf("%s: no adapter for the API %q", row.Ref(), row.API)
	}
	return func(rt http.RoundTripper) provider.Provider {
		p, err := api.New(exchange.Config{Vendor: row.API, BaseURL: at(""), Key: key, Client: exchange.NewClient(rt)}, row.Dialect, nil)
		if err != nil {
			t.Error(err)
		}
		return p
	}
}

// sees reports whether the row says that the model takes images.
func (p placed) sees() bool { return slices.Contains(p.row.Input, "image") }

// thinks reports whether its answers are to have thinking.
func (p placed) thinks() bool {
	return p.row.Thinking.Thinks() && (p.level != provider.Off || p.row.Thinking.Off == provider.OffUpFront)
}
