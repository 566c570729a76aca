package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/budget"
	"github.com/thinkd/thinkd/agent/gate"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/oidc"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// load parses a file.
func load(path string, getenv func(string) string) (Config, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	return Parse(path, doc, getenv)
}

// secrets are compared by what is in them.
var byValue = cmp.Comparer(func(a, b provider.Secret) bool { return a.Reveal() == b.Reveal() })

func builtIn() Config {
	c := Config{ModelsDev: modelsDevAddress, Limits: Limits{Limits: agent.DefaultLimits(), MessageBytes: 8_388_608, CompactAt: 0.8}}
	l := &c.Limits
	l.ModelCalls, l.TurnBytes, l.TurnTime, l.ToolTime, l.ToolOutput = 50, 67_108_864, 60*time.Minute, 10*time.Minute, 262_144
	l.SessionQueue, l.Queues, l.Loaded, l.ConfirmTime, l.ConfirmBytes = 16_777_216, 67_108_864, 536_870_912, 5*time.Minute, 1_048_576
	for _, v := range [][6]string{
		{"anthropic", "messages", "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-opus-5-5"},
		{"openai", "responses", "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-6.1-sol"},
		{"gemini", "gemini", "gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "gemini-3.8-flash"},
		{"deepseek", "chat", "deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek-flash"},
		{"xai", "responses", "xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.5"},
		{"openrouter", "chat", "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-5"},
		{"groq", "chat", "groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "openai/gpt-oss-120b"},
		{"mistral", "chat", "mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-medium-3-5"},
		{"moonshot", "chat", "kimi", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "kimi-k3"},
		{"zai", "chat", "zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "glm-5.3"},
		{"minimax", "chat", "minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY", "MiniMax-M3.1-Flash"},
		{"dashscope", "chat", "dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "qwen3.7-max"},
		{"cohere", "cohere", "cohere", "https://api.cohere.com", "CO_API_KEY", "command-a-plus-05-2026"},
		{"copilot", "chat", "copilot", "https://api.githubcopilot.com", "COPILOT_GITHUB_TOKEN", "claude-sonnet-5"},
		{"chatgpt", "responses", "chatgpt", "https://chatgpt.com/backend-api/codex", "CODEX_ACCESS_TOKEN", "gpt-5.6-sol"},
		{"azure", "responses", "azure", "", "AZURE_OPENAI_API_KEY", ""},
		{"vertex", "gemini", "cloud", "", "GOOGLE_OAUTH_ACCESS_TOKEN", "gemini-3.8-flash"},
		{"bedrock", "messages", "bedrock", "", "AWS_BEARER_TOKEN_BEDROCK", "global.anthropic.claude-opus-5-5"},
		{"ollama", "ollama", "ollama", "http://localhost:11434", "", ""},
		{"lmstudio", "chat", "lmstudio", "http://localhost:1234/v1", "", ""},
		{"llamacpp", "chat", "llamacpp", "http://localhost:8080/v1", "", ""},
		{"vllm", "chat", "vllm", "http://localhost:8000/v1", "", ""},
		{"sglang", "chat", "sglang", "http://localhost:30000/v1", "", ""},
		{"sim", "messages", "anthropic", "", "", "claude"},
	} {
		c.Providers = append(c.Providers, vendors.Config{ID: v[0], Vendor: v[0], API: v[1], Dialect: v[2], BaseURL: v[3], KeyEnv: v[4], DefaultModel: v[5]})
		if v[0] == "copilot" || v[0] == "chatgpt" {
			c.Providers[len(c.Providers)-1].Login = &vendors.Login{Kind: v[0]}
		}
	}
	return c
}

// at is a provider of a configuration.
func (c *Config) at(t *testing.T, id string) *vendors.Config {
	t.Helper()
	i := slices.IndexFunc(c.Providers, func(p vendors.Config) bool { return p.ID == id })
	if i < 0 {
		t.Fatalf("no provider %s", id)
	}
	return &c.Providers[i]
}

func TestConfigWithoutFile(t *testing.T) {
	got, err := Parse("", nil, proof.Environment("ANTHROPIC_API_KEY= sk-canary\n", "ANTHROPIC_BASE_URL=http://127.0.0.1:9000/"))
	if err != nil {
		t.Fatal(err)
	}
	want := builtIn()
	want.Inputs = got.Inputs
	anthropic := want.at(t, "anthropic")
	anthropic.Key, anthropic.BaseURL = provider.NewSecret("sk-canary"), "http://127.0.0.1:9000"
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(shown, "canary") {
		t.Errorf("a config prints its keys: %s", shown)
	}
	catalog, err := vendors.Catalog(got.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(registry.Default().Models(), catalog.Models()); diff != "" {
		t.Errorf("catalog (-want +got)\n%s", diff)
	}
}

func TestConfigGood(t *testing.T) {
	yes, no, free := true, false, provider.SamplingFree
	for _, tt := range []struct {
		name, doc string
		want      func(c *Config)
	}{
		{"empty", "", func(*Config) {}},
		{"comments", "# nothing\n\n", func(*Config) {}},
		{"top level", "model = \"claude-opus-5\"\nthinking_level = \"none\"\n", func(c *Config) {
			c.Model, c.ThinkingLevel = "claude-opus-5", provider.Off
		}},
		{"a price to ask above", "[limits]\nask_above = 2.5\nmax_cost_unattended = 3\n", func(c *Config) {
			c.Limits.AskAbove, c.Limits.Spending.Unattended = provider.MoneyOf(2.5), provider.MoneyOf(3)
		}},
		{"a model without a row", `model = "anthropic/claude-next"`, func(c *Config) { c.Model = "anthropic/claude-next" }},
		{"all of a known provider", `
[providers.anthropic]
api = "messages"
dialect = "anthropic"
base_url = "http://127.0.0.1:9000//"
api_key_env = "MY_KEY"
headers = { "x-team" = "a" }
reasoning_defaults = { effort = "high", fallback = "provider_default" }
`, func(c *Config) {
			p := c.at(t, "anthropic")
			p.BaseURL, p.KeyEnv, p.Key = "http://127.0.0.1:9000", "MY_KEY", provider.NewSecret("mine")
			p.Headers = map[string]string{"x-team": "a"}
			p.Defaults = registry.Defaults{Level: provider.High, Policy: provider.ProviderDefault}
		}},
		{"rows", `
[[providers.anthropic.models]]
id = "claude-next"
thinking = { control = "effort", levels = ["low", "high"], default = "high", can_disable = false }
context_window = 400000
max_output_tokens = 64000
options = { seed = 7, stop = ["END"] }

[[providers.anthropic.models]]
id = "claude-opus-5"
name = "Ours"
input = ["text"]
tools = false
sampling = "free"
price = { input = 1, output = 2.5 }
[providers.anthropic.models.thinking]
can_disable = true
levels = ["none", "low"]
default = "none"
display = ["omitted"]

[[providers.sim.models]]
id = "claude-budget"
thinking.budget_min = 2000
thinking.budget_max = 30_000
thinking.budgets.low = 3000
`, func(c *Config) {
			c.at(t, "anthropic").Rows = []registry.Row{
				{ID: "claude-next", Control: "effort", Levels: []provider.Level{"low", "high"}, Default: "high", CanDisable: &no, Window: 400_000, MaxOutput: 64_000,
					Options: provider.Options{Seed: new(int32(7)), Stop: []string{"END"}}},
				{ID: "claude-opus-5", Name: "Ours", Input: []string{"text"}, Tools: &no, Sampling: &free, Price: &provider.Price{Rates: provider.Rates{Input: 1, Output: 2.5}},
					CanDisable: &yes, Levels: []provider.Level{"off", "low"}, Default: "off", Display: []provider.Display{"omitted"}},
			}
			c.at(t, "sim").Rows = []registry.Row{
				{ID: "claude-budget", BudgetMin: 2000, BudgetMax: 30_000, Budgets: map[provider.Level]int{"low": 3000}},
			}
		}},
		{"own providers stand between the vendors and the simulator", `
[providers.zoo]
api = "messages"
base_url = "https://zoo.example.com/anthropic"
[providers."b.c"]
api = "messages"
dialect = "anthropic"
base_url = "http://localhost:1"
api_key_env = "NOT_SET"
`, func(c *Config) {
			c.Providers = slices.Insert(c.Providers, len(c.Providers)-1,
				vendors.Config{ID: "b.c", Vendor: "anthropic", API: "messages", Dialect: "anthropic", BaseURL: "http://localhost:1", KeyEnv: "NOT_SET"},
				vendors.Config{ID: "zoo", Vendor: "zoo", API: "messages", BaseURL: "https://zoo.example.com/anthropic"})
		}},
		{"APIs and dialects", `
[providers.openai]
dialect = "azure"
base_url = "https://me.openai.azure.com/openai/v1/"
[providers.xai]
api = "chat"
[providers.deepseek]
api = "messages"
base_url = "https://api.deepseek.com/anthropic"
[providers.router]
api = "chat"
dialect = "openrouter"
base_url = "https://router.example.com/v1"
[providers.here]
api = "chat"
base_url = "http://localhost:8000/v1"
[providers.cloud]
api = "gemini"
dialect = "cloud"
base_url = "https://aiplatform.googleapis.com/v1/projects/p/locations/global"
api_key_env = "GOOGLE_TOKEN"
[providers.both]
api = "chat"
dialect = "copilot"
base_url = "https://llm.example.com"
[[providers.both.models]]
id = "sol"
api = "responses"
dialect = "copilot"
thinking = { control = "none" }
`, func(c *Config) {
			azure := c.at(t, "openai")
			azure.Dialect, azure.BaseURL = "azure", "https://me.openai.azure.com/openai/v1"
			c.at(t, "xai").API = "chat" // its dialect is one of that API as well
			messages := c.at(t, "deepseek")
			messages.API, messages.BaseURL = "messages", "https://api.deepseek.com/anthropic"
			c.Providers = slices.Insert(c.Providers, len(c.Providers)-1,
				vendors.Config{ID: "both", Vendor: "copilot", API: "chat", Dialect: "copilot", BaseURL: "https://llm.example.com",
					Rows: []registry.Row{{ID: "sol", API: "responses", Dialect: "copilot", Control: "none"}}},
				vendors.Config{ID: "cloud", Vendor: "vertex", API: "gemini", Dialect: "cloud", KeyEnv: "GOOGLE_TOKEN",
					BaseURL: "https://aiplatform.googleapis.com/v1/projects/p/locations/global"},
				vendors.Config{ID: "here", Vendor: "here", API: "chat", BaseURL: "http://localhost:8000/v1"},
				vendors.Config{ID: "router", Vendor: "openrouter", API: "chat", Dialect: "openrouter", BaseURL: "https://router.example.com/v1"})
		}},
		{"identities in clouds", `
[providers.vertex.google]
project = "my-project"
location = "eu"
credentials_file = "service.json"
[providers.azure]
base_url = "https://me.openai.azure.com/openai/v1"
[providers.azure.entra]
tenant_id = "t"
client_id = "c"
client_certificate_file = "/etc/app.pem"
resource_id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.CognitiveServices/accounts/me/"
[providers.vertex-us]
api = "gemini"
dialect = "cloud"
[providers.vertex-us.google]
project = "other"
location = "us-east5"
`, func(c *Config) {
			service := filepath.Join(filepath.Dir(c.Path), "service.json")
			vertex := c.at(t, "vertex")
			vertex.BaseURL, vertex.Surcharge = "https://aiplatform.eu.rep.googleapis.com/v1/projects/my-project/locations/eu", map[string]float64{"messages": 1.1}
			vertex.Identity = identity.Google{Project: "my-project", File: service, Metadata: true}
			azure := c.at(t, "azure")
			azure.BaseURL = "https://me.openai.azure.com/openai/v1"
			azure.Identity = identity.Entra{Resource: azure.BaseURL, Tenant: "t", Client: "c", Certificate: "/etc/app.pem",
				ResourceID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.CognitiveServices/accounts/me"}
			c.Providers = slices.Insert(c.Providers, len(c.Providers)-1, vendors.Config{ID: "vertex-us", Vendor: "vertex", API: "gemini", Dialect: "cloud",
				BaseURL:   "https://us-east5-aiplatform.googleapis.com/v1/projects/other/locations/us-east5",
				Surcharge: map[string]float64{"messages": 1.1}, Identity: identity.Google{Project: "other", Metadata: true}})
			c.Tools.Files.Secret = []string{"/etc/app.pem", service}
		}},
		{"logins", `
[providers.copilot.login]
client_id = "Iv1.0123"
editor = true
address = "https://github.example.com/"
api_address = "http://127.0.0.1:9000"
[providers.chatgpt.login]
client_id = "app_1"
port = 1457
[providers.work]
api = "chat"
dialect = "copilot"
base_url = "https://copilot-api.example.com"
login = { client_id = "Ov23" }
`, func(c *Config) {
			c.at(t, "copilot").Login = &vendors.Login{Kind: "copilot", ClientID: "Iv1.0123", Editor: true, Address: "https://github.example.com/", API: "http://127.0.0.1:9000"}
			c.at(t, "chatgpt").Login = &vendors.Login{Kind: "chatgpt", ClientID: "app_1", Port: 1457}
			c.Providers = slices.Insert(c.Providers, len(c.Providers)-1, vendors.Config{ID: "work", Vendor: "copilot", API: "chat", Dialect: "copilot",
				BaseURL: "https://copilot-api.example.com", Login: &vendors.Login{Kind: "copilot", ClientID: "Ov23"}})
		}},
		{"limits", `
[limits]
max_model_calls = 3
max_turn_bytes = "512KiB"
max_turn_time = "1h30m"
max_tool_time = "30s"
park = "12h"
max_tool_output = "64KiB"
max_message_bytes = "1GiB"
max_session_queue_bytes = "2MiB"
max_queue_bytes = "4MiB"
max_loaded_bytes = "8MiB"
max_turn_tokens = 1000
max_turn_cost = 0.5
max_session_tokens = 2000
max_session_cost = 3
compact_at = 0.5
`, func(c *Config) {
			l := &c.Limits
			l.ModelCalls, l.TurnBytes, l.TurnTime, l.ToolTime, l.ToolOutput = 3, 524_288, 90*time.Minute, 30*time.Second, 65_536
			l.MessageBytes, l.SessionQueue, l.Queues, l.Loaded = 1_073_741_824, 2_097_152, 4_194_304, 8_388_608
			l.TurnBudget = budget.Limit{Tokens: 1000, Cost: 500_000_000}
			l.SessionBudget = budget.Limit{Tokens: 2000, Cost: 3_000_000_000}
			l.CompactAt = 0.5
			l.Park = 12 * time.Hour
		}},
		{"tools", `
[tools]
confirm_time = "90s"

[tools.names]
read_file = "allow"
bash = "ask"

[tools.effects]
run = "deny"
`, func(c *Config) {
			c.Limits.ConfirmTime = 90 * time.Second
			c.Tools = Tools{Rules: tool.Policy{
				Names:   map[string]tool.Rule{"read_file": tool.Allow, "bash": tool.Ask},
				Effects: map[tool.Effect]tool.Rule{tool.Run: tool.Deny}}}
		}},
		{"questions without a deadline", `
[tools]
confirm_time = "park"
`, func(c *Config) { c.Limits.ConfirmPark = true }},
		{"servers of tools", `
[tools]
project_instructions = "all"
builtin = true
pass_env = ["GOFLAGS"]

[serve]
mcp_from_clients = true

[mcp_servers.files]
command = ["server", "--all"]
env = { LOG = "quiet" }
cwd = "tools"
tools = ["read"]
trust_hints = true

[mcp_servers.all]
url = "https://tools.example.com/mcp"
headers = { "x-team" = "a" }

[mcp_servers.own]
command = ["./own", "./left.alone"]

[mcp_servers.deep]
command = ["tools/deep"]

[mcp_servers.up]
command = ["../up"]

[mcp_servers.full]
command = ["/opt/full"]
`, func(c *Config) {
			dir := filepath.Dir(c.Path)
			c.Tools = Tools{Builtin: true, PassEnv: []string{"GOFLAGS"}, Instructions: InstructAll}
			c.Serve = Serve{MCPFromClients: true}
			c.Servers = []toolhost.Server{{Name: "all", URL: "https://tools.example.com/mcp", Headers: map[string]string{"x-team": "a"}},
				{Name: "deep", Command: []string{filepath.Join(dir, "tools", "deep")}}, // a path is relative to the file, a name is looked up
				{Name: "files", Command: []string{"server", "--all"}, Env: map[string]string{"LOG": "quiet"},
					CWD: filepath.Join(dir, "tools"), Tools: []string{"read"}, TrustHints: true},
				{Name: "full", Command: []string{"/opt/full"}}, {Name: "own", Command: []string{filepath.Join(dir, "own"), "./left.alone"}},
				{Name: "up", Command: []string{filepath.Join(filepath.Dir(dir), "up")}}}
		}},
		{"serve", `
[serve]
hosts = ["thinkd.example.com", "box.lan:7717", "[fd00::1]:80"]
origins = ["https://app.example.com", "http://localhost:3000"]
tls_cert = "tls/cert.pem"
tls_key = "/etc/thinkd/key.pem"
behind_proxy = true
`, func(c *Config) {
			c.Serve = Serve{Hosts: []string{"thinkd.example.com", "box.lan:7717", "[fd00::1]:80"},
				Origins: []string{"https://app.example.com", "http://localhost:3000"}, BehindProxy: true,
				TLSCert: filepath.Join(filepath.Dir(c.Path), "tls", "cert.pem"), TLSKey: "/etc/thinkd/key.pem"}
		}},
		{"users", "[auth]\n", func(c *Config) { c.Auth = Auth{Users: true} }},
		{"a socket for users", "[auth]\nsocket = \"run/sock\"\n[auth.socket_users]\n1001 = \"ann\"\nroot = \"eve\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, Socket: filepath.Join(filepath.Dir(c.Path), "run", "sock"), SocketUsers: map[int]session.Owner{0: {User: "eve"}, 1001: {User: "ann"}}}
		}},
		{"quotas", "[auth.quota]\nmax_day_tokens = 500\nmax_month_cost = 2.5\nmax_requests_per_minute = 60\n[auth.quotas.ann]\nmax_day_tokens = 0\nmax_parallel_calls = 3\n[auth.quotas.\"acme/bob\"]\n", func(c *Config) {
			all := Quota{Quota: gate.Quota{DayTokens: 500, MonthCost: provider.MoneyOf(2.5)}, Requests: 60}
			ann := all
			ann.DayTokens, ann.Calls = 0, 3
			c.Auth = Auth{Users: true, Quota: all, Quotas: map[session.Owner]Quota{{User: "ann"}: ann, {Tenant: "acme", User: "bob"}: all}}
		}},
		{"an OpenID provider", "[auth.oidc]\nissuer = \"https://login.example.com\"\naudience = \"thinkd\"\nalgorithms = [\"ES256\"]\ntenant_claim = \"org\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, OIDC: &oidc.Config{Issuer: "https://login.example.com", Audience: "thinkd", Algorithms: []string{"ES256"}, TenantClaim: "org"}}
		}},
		{"an OpenID provider on this machine", "[auth.oidc]\nissuer = \"http://[::1]:8080/realm\"\naudience = \"a\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, OIDC: &oidc.Config{Issuer: "http://[::1]:8080/realm", Audience: "a"}}
		}},
		{"a key for keys", "[auth]\nkey_file = \"master\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, KeyFile: filepath.Join(filepath.Dir(c.Path), "master")}
			c.Tools.Files.Secret = []string{c.Auth.KeyFile}
		}},
		{"a client secret in a file", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_file = \"/etc/thinkd/secret\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, OIDC: &oidc.Config{Issuer: "https://a", Audience: "a"}, OIDCSecret: ClientSecret{File: "/etc/thinkd/secret"}}
			c.Tools.Files.Secret = []string{"/etc/thinkd/secret"}
		}},
		{"a client secret in a variable", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_env = \"MY_KEY\"\n", func(c *Config) {
			c.Auth = Auth{Users: true, OIDC: &oidc.Config{Issuer: "https://a", Audience: "a", Secret: provider.NewSecret("mine")}, OIDCSecret: ClientSecret{Env: "MY_KEY"}}
		}},
		{"a client secret of a program", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_command = [\"pass\", \"oidc\"]\n", func(c *Config) {
			c.Auth = Auth{Users: true, OIDC: &oidc.Config{Issuer: "https://a", Audience: "a"}, OIDCSecret: ClientSecret{Command: []string{"pass", "oidc"}}}
		}},
		{"a command for keys", "[auth]\nkey_command = [\"pass\", \"thinkd\"]\n", func(c *Config) { c.Auth = Auth{Users: true, KeyCommand: []string{"pass", "thinkd"}} }},
		{"users with a server", "[mcp_servers.docs]\nurl = \"https://docs.example.com/mcp\"\n[auth]\nmcp_servers = [\"docs\"]\n", func(c *Config) {
			c.Servers = []toolhost.Server{{Name: "docs", URL: "https://docs.example.com/mcp"}}
			c.Auth = Auth{Users: true, MCPServers: []string{"docs"}}
		}},
		{"users with a server inside", "[mcp_servers.docs]\nurl = \"https://docs.example.com/mcp\"\n[auth]\nmcp_servers = [\"docs\"]\nmcp_private_addresses = [\"10.0.8.5\", \"::ffff:127.0.0.1\", \"10.1.2.3/16\", \"fd00::/8\"]\n", func(c *Config) {
			c.Servers = []toolhost.Server{{Name: "docs", URL: "https://docs.example.com/mcp"}}
			c.Auth = Auth{Users: true, MCPServers: []string{"docs"}, MCPPrivate: []netip.Prefix{netip.MustParsePrefix("10.0.8.5/32"),
				netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
		}},
		{"no public table", "models_dev = \"\"\n", func(c *Config) { c.ModelsDev = "" }},
		{"bare sizes are bytes", "[limits]\nmax_turn_bytes = 70000\nmax_message_bytes = \"5000B\"\n", func(c *Config) {
			c.Limits.TurnBytes, c.Limits.MessageBytes, c.Limits.ConfirmBytes = 70_000, 5000, 1250
		}},
	} {
		path := proof.WriteConfig(t, tt.doc)
		got, err := load(path, proof.Environment("MY_KEY=mine", "ANTHROPIC_BASE_URL="))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		want := builtIn()
		want.Path, want.Inputs = path, got.Inputs
		tt.want(&want)
		if diff := cmp.Diff(want, got, byValue, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestConfigBeatsEnvironment(t *testing.T) {
	path := proof.WriteConfig(t, "[providers.anthropic]\nbase_url = \"https://a.example.com\"")
	got, err := load(path, proof.Environment("ANTHROPIC_BASE_URL=https://b.example.com"))
	if err != nil {
		t.Fatal(err)
	}
	if url := got.at(t, "anthropic").BaseURL; url != "https://a.example.com" {
		t.Errorf("got %s", url)
	}
}

func TestConfigCatalog(t *testing.T) {
	c, err := load(proof.WriteConfig(t, `
[providers.gateway]
api = "messages"
dialect = "anthropic"
base_url = "https://gateway.example.com"
[[providers.gateway.models]]
id = "claude-opus-5"
context_window = 9
[providers.local]
api = "messages"
base_url = "http://localhost:1"
`), proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := vendors.Catalog(c.Providers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := catalog.Providers(); !slices.Equal(got[len(got)-3:], []string{"gateway", "local", "sim"}) {
		t.Errorf("providers %v", got)
	}
	if m := catalog.Model("gateway", "claude-opus-5"); m.Window != 9 || m.Source != provider.FromConfig || len(m.Thinking.Levels) == 0 {
		t.Errorf("a corrected row at a gateway: %+v", m)
	}
	if m := catalog.Model("gateway", "claude-opus-5-5"); !m.Known {
		t.Error("a gateway with a vendor's dialect lacks the vendor's rows")
	}
	if m := catalog.Model("local", "claude-opus-5-5"); m.Known {
		t.Error("a provider without a dialect has rows from nowhere")
	}
}

func TestConfigBroken(t *testing.T) {
	for _, tt := range []struct {
		name, doc string
		want      string // FILE stands for the path
	}{
		{"no TOML", "model", `FILE:1: expected '=' after key`},
		{"open string", "\nmodel = \"a\nb\"", `FILE:2: basic strings cannot have new lines`},
		{"twice", "model = \"sim/a\"\nmodel = \"sim/b\"", `FILE:2: model: key model is already defined`},
		{"unknown key", "modle = \"x\"", `FILE:1: modle: unknown; here are known: model, thinking_level, on_other_model, fallbacks, egress, options, providers, dialects, models_dev, agents, serve, auth, limits, tools, mcp_servers, telemetry, retention, cluster, chat`},
		{"two unknown keys", "[limits]\nmax_turns = 1\n\nmax_time = 1",
			"FILE:2: limits.max_turns: unknown; here are known: max_model_calls, max_turn_bytes, max_turn_time, max_tool_time, park, max_tool_output, max_message_bytes, max_session_queue_bytes, max_queue_bytes, max_loaded_bytes, max_turn_tokens, max_turn_cost, max_session_tokens, max_session_cost, max_day_cost, max_cost_unattended, ask_above, compact_at\n" +
				"FILE:4: limits.max_time: unknown; here are known: max_model_calls, max_turn_bytes, max_turn_time, max_tool_time, park, max_tool_output, max_message_bytes, max_session_queue_bytes, max_queue_bytes, max_loaded_bytes, max_turn_tokens, max_turn_cost, max_session_tokens, max_session_cost, max_day_cost, max_cost_unattended, ask_above, compact_at"},
		{"unknown key of a provider", "[providers.anthropic]\nbase_uri = \"x\"",
			`FILE:2: providers.anthropic.base_uri: unknown; here are known: api, dialect, base_url, api_key_env, headers, login, google, entra, region, aws_profile, reasoning_defaults, num_ctx, cache, context_management, egress, extra_body, proxy, proxy_login_env, ca_file, client_cert_file, client_key_file, models`},
		{"Google Cloud elsewhere", "[providers.openai.google]\nproject = \"p\"", `FILE:1: providers.openai.google: only providers with the dialect "cloud" are on Google Cloud`},
		{"a project with a slash", "[providers.vertex.google]\nproject = \"p/q\"", `FILE:2: providers.vertex.google.project: "p/q" is not the id of a project`},
		{"a strange location", "[providers.vertex.google]\nproject = \"p\"\nlocation = \"us east\"", `FILE:3: providers.vertex.google.location: "us east" is not a location such as us-east5, eu or global`},
		{"a secret of Entra", "[providers.azure]\nbase_url = \"https://me/openai/v1\"\n[providers.azure.entra]\nclient_secret_env = \"a~b\"",
			`FILE:4: providers.azure.entra.client_secret_env: must be the name of an environment variable, not a secret`},
		{"an open authority", "[providers.azure]\nbase_url = \"https://me/openai/v1\"\n[providers.azure.entra]\nauthority = \"http://login.example.com\"",
			`FILE:4: providers.azure.entra.authority: is not encrypted: use https`},
		{"a resource that is none", "[providers.azure]\nbase_url = \"https://me/openai/v1\"\n[providers.azure.entra]\nresource_id = \"me\"",
			`FILE:4: providers.azure.entra.resource_id: must be the id of a resource: "/subscriptions/…/resourceGroups/…/providers/Microsoft.CognitiveServices/accounts/…"`},
		{"unknown key of a row", "[[providers.anthropic.models]]\nid = \"m\"\nthinking = { kind = \"effort\" }",
			`FILE:3: providers.anthropic.models.thinking.kind: unknown; here are known: control, levels, default, can_disable, display, budget_min, budget_max, budgets, enabled, budget_tokens`},
		{"a collector without a scheme", "[telemetry]\nendpoint = \"127.0.0.1:4318\"",
			`FILE:2: telemetry.endpoint: must be an address such as "http://127.0.0.1:4318", without a user name; keys go into OTEL_EXPORTER_OTLP_HEADERS`},
		{"a collector with a password", "[telemetry]\nendpoint = \"https://a:sesame@c\"",
			`FILE:2: telemetry.endpoint: must be an address such as "http://127.0.0.1:4318", without a user name; keys go into OTEL_EXPORTER_OTLP_HEADERS`},
		{"a key in the file", "[providers.anthropic]\napi_key = \"sk-canary\"",
			`FILE:2: providers.anthropic.api_key: keys have no place in this file; put the key in the environment and name the variable in api_key_env`},
		{"a key for its variable", "[providers.anthropic]\napi_key_env = \"sk-canary\"",
			`FILE:2: providers.anthropic.api_key_env: must be the name of an environment variable, not a key`},
		{"a program for users", "[mcp_servers.sh]\ncommand = [\"sh\"]\n[auth]\nmcp_servers = [\"sh\"]",
			`FILE:4: auth.mcp_servers: "sh" runs a program on this machine; only servers with a url can be for users`},
		{"a negative quota", "[auth.quota]\nmax_day_tokens = -1", `FILE:2: auth.quota.max_day_tokens: -1 is negative; 0 is any amount`},
		{"a quota of no amount", "[auth.quotas.ann]\nmax_day_cost = -0.5", `FILE:2: auth.quotas.ann.max_day_cost: -0.5 is not an amount of USD; 0 is any amount`},
		{"a quota of nobody", "[auth.quotas.\"acme/\"]\nmax_day_cost = 1.0", `FILE:1: auth.quotas.acme/: the name of the user is empty`},
		{"no issuer", "[auth.oidc]\naudience = \"a\"", `FILE:1: auth.oidc: issuer is missing: the address of the OpenID provider, as the claim iss has it`},
		{"no audience", "[auth.oidc]\nissuer = \"https://a\"", `FILE:1: auth.oidc: audience is missing: the id of the client that is registered at the OpenID provider for thinkd`},
		{"an issuer that is no address", "[auth.oidc]\nissuer = \"login.example.com\"\naudience = \"a\"", `FILE:2: auth.oidc.issuer: "login.example.com" is not an address such as https://login.example.com`},
		{"an open issuer", "[auth.oidc]\nissuer = \"http://login.example.com\"\naudience = \"a\"", `FILE:2: auth.oidc.issuer: is not encrypted: use https`},
		{"an algorithm with a secret", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nalgorithms = [\"HS256\"]",
			`FILE:4: auth.oidc.algorithms: "HS256" is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA`},
		{"two client secrets", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_env = \"A\"\nclient_secret_command = [\"b\"]", `FILE:1: auth.oidc: client_secret_file, client_secret_env and client_secret_command: the secret comes from one of them`},
		{"a client secret as it is", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_env = \"s3cret-\"", `FILE:4: auth.oidc.client_secret_env: must be the name of an environment variable, not a secret`},
		{"an empty command for a client secret", "[auth.oidc]\nissuer = \"https://a\"\naudience = \"a\"\nclient_secret_command = []", `FILE:4: auth.oidc.client_secret_command: must be a list of a program and its arguments`},
		{"two keys for keys", "[auth]\nkey_file = \"k\"\nkey_command = [\"k\"]", `FILE:3: auth.key_command: there is a key_file too: the key comes from one of them`},
		{"an empty command for keys", "[auth]\nkey_command = []", `FILE:2: auth.key_command: must be a list of a program and its arguments`},
		{"a socket for nobody", "[auth]\nsocket = \"/run/s\"", `FILE:2: auth.socket: lets nobody in without socket_users, which names the user of each account`},
		{"users without a socket", "[auth]\n[auth.socket_users]\n1 = \"a\"", `FILE:2: auth.socket_users: has no effect without socket`},
		{"an account twice", "[auth]\nsocket = \"/run/s\"\n[auth.socket_users]\n0 = \"a\"\nroot = \"b\"", `FILE:5: auth.socket_users.root: the account 0 is there twice, with two users`},
		{"an account that is many", "[auth]\nsocket = \"/run/s\"\n[auth.socket_users]\n65534 = \"a\"", `FILE:4: auth.socket_users.65534: the account 65534 stands for all accounts without a number`},
		{"no account", "[auth]\nsocket = \"/run/s\"\n[auth.socket_users]\nnobody-here = \"a\"", `FILE:4: auth.socket_users.nobody-here: there is no such account on this machine; give its number if the system looks it up elsewhere`},
		{"no user", "[auth]\nsocket = \"/run/s\"\n[auth.socket_users]\n1 = \"\"", `FILE:4: auth.socket_users.1: the name of the user is empty`},
		{"a server that is not there", "[auth]\nmcp_servers = [\"docs\"]", `FILE:2: auth.mcp_servers: "docs" is not one of mcp_servers`},
		{"addresses without a server", "[auth]\nmcp_private_addresses = [\"10.0.8.5\"]", `FILE:2: auth.mcp_private_addresses: has no effect without mcp_servers`},
		{"a name among addresses", "[mcp_servers.docs]\nurl = \"https://d\"\n[auth]\nmcp_servers = [\"docs\"]\nmcp_private_addresses = [\"db.internal\"]",
			`FILE:5: auth.mcp_private_addresses: "db.internal" is neither an address such as 10.0.8.5 nor a network such as 10.0.8.0/24`},
		{"an address of an interface", "[mcp_servers.docs]\nurl = \"https://d\"\n[auth]\nmcp_servers = [\"docs\"]\nmcp_private_addresses = [\"fe80::1%eth0\"]",
			`FILE:5: auth.mcp_private_addresses: "fe80::1%eth0" is neither an address such as 10.0.8.5 nor a network such as 10.0.8.0/24`},
		{"agent's name", "[agents.\"a b\"]\nmodel = \"sim/claude\"", `FILE:1: agents.a b: an agent's name has letters, digits, dots, dashes and underscores, at most 64`},
		{"agent's model", "[providers.gateway]\napi = \"messages\"\ndialect = \"anthropic\"\nbase_url = \"http://127.0.0.1:1\"\n[agents.reviewer]\nmodel = \"claude-mythos-5\"",
			`FILE:6: agents.reviewer.model: model "claude-mythos-5" is at several providers; say which: anthropic/claude-mythos-5, gateway/claude-mythos-5`},
		{"agent's old level", "[agents.reviewer]\nthinking_level = \"xhigh\"", `FILE:2: agents.reviewer.thinking_level: unknown thinking level "xhigh"; known: off, low, medium, high`},
		{"agent's effort", "[agents.reviewer]\nmodel = \"sim/claude\"\nreasoning = { effort = \"wild\" }",
			`FILE:3: agents.reviewer.reasoning.effort: unknown thinking level "wild"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"agent's mode", "[agents.reviewer.reasoning]\noverride_mode = \"mine\"", `FILE:2: agents.reviewer.reasoning.override_mode: unknown mode "mine"; known: inherit, custom`},
		{"a fallback's model", "model = \"sim/claude\"\nfallbacks = [\n  { model = \"sim/claude\" },\n  { model = \"nobody/x\" },\n]",
			`FILE:4: fallbacks.1.model: no model "nobody/x"; name it as provider/id, with one of these providers: anthropic, openai, gemini, deepseek, xai, openrouter, groq, mistral, moonshot, zai, minimax, dashscope, cohere, copilot, chatgpt, azure, vertex, bedrock, ollama, lmstudio, llamacpp, vllm, sglang, sim`},
		{"a fallback's level", "fallbacks = [{ model = \"sim/claude\", thinking_level = \"deep\" }]",
			`FILE:1: fallbacks.0.thinking_level: unknown thinking level "deep"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"a fallback without a model", "[[fallbacks]]\nkey = \"team\"", `FILE:1: fallbacks.0.model: is missing`},
		{"a key in place of its name", "[agents.a]\nfallbacks = [{ model = \"sim/claude\", key = \"sk canary\" }]",
			`FILE:2: agents.a.fallbacks.0.key: the name of a key has letters, digits, dots, dashes and underscores, at most 32, and is not a key`},
		{"a label", "egress = [\"EU\"]", `FILE:1: egress: "EU" is not a label: a label has 1 to 40 lower-case letters, digits, dots, dashes and underscores`},
		{"a provider's label", "[providers.anthropic]\negress = [\"\"]", `FILE:2: providers.anthropic.egress: "" is not a label: a label has 1 to 40 lower-case letters, digits, dots, dashes and underscores`},
		{"agent's member", "[agents.reviewer]\nprompt = \"x\"", `FILE:2: agents.reviewer.prompt: unknown; here are known: model, system_prompt, thinking_level, reasoning, on_other_model, fallbacks, egress, compact_model, ask_above, options`},
		{"server's name", "[mcp_servers.\"a b\"]\ncommand = [\"x\"]", `FILE:1: mcp_servers.a b: a server's name is 1 to 32 letters, digits, _ and -, and begins with a letter or _`},
		{"server without a place", "[mcp_servers.files]\ntools = [\"x\"]", `FILE:1: mcp_servers.files.command: missing; say which program the server is, or its url`},
		{"server with two places", "[mcp_servers.files]\ncommand = [\"x\"]\nurl = \"http://127.0.0.1:1\"", `FILE:3: mcp_servers.files.url: cannot be combined with command; give one of them`},
		{"server's url", "[mcp_servers.files]\nurl = \"files\"", `FILE:2: mcp_servers.files.url: must be an address such as "https://tools.example.com/mcp"`},
		{"server's header", "[mcp_servers.files]\nurl = \"http://127.0.0.1:1\"\nheaders = { host = \"x\" }", `FILE:3: mcp_servers.files.headers: host is set by the transport; leave it out`},
		{"server's member", "[mcp_servers.files]\ncommand = [\"x\"]\nargs = [\"y\"]", `FILE:3: mcp_servers.files.args: unknown; here are known: command, env, cwd, url, oauth_client_id, headers, tools, trust_hints`},
		{"variables to pass", "[tools]\npass_env = [\"GO=1\"]", `FILE:2: tools.pass_env: must be names of environment variables`},
		{"a host that is an address", "\n[serve]\nhosts = [\"a.example.com\", \"https://b.example.com\"]",
			`FILE:3: serve.hosts: "https://b.example.com": must be names such as "thinkd.example.com" or "box.lan:7717"`},
		{"a host for all", "serve.hosts = [\"*\"]", `FILE:1: serve.hosts: "*": must be names such as "thinkd.example.com" or "box.lan:7717"`},
		{"a host with a wrong port", "serve.hosts = [\"a:70000\"]", `FILE:1: serve.hosts: "a:70000": must be names such as "thinkd.example.com" or "box.lan:7717"`},
		{"an origin for all", "serve.origins = [\"null\"]", `FILE:1: serve.origins: "null": must be origins such as "https://app.example.com", without a path`},
		{"an origin with a path", "serve.origins = [\"https://a.example.com/\"]",
			`FILE:1: serve.origins: "https://a.example.com/": must be origins such as "https://app.example.com", without a path`},
		{"a certificate without its key", "[serve]\ntls_cert = \"a.pem\"", `FILE:2: serve.tls_cert: tls_cert and tls_key go together`},
		{"a key without its certificate", "[serve]\ntls_key = \"a.pem\"", `FILE:2: serve.tls_key: tls_cert and tls_key go together`},
		{"integer for hosts", "[serve]\nhosts = 5", `FILE:2: serve.hosts: must be a list of strings`},
		{"wrong API", "[providers.anthropic]\napi = \"soap\"", `FILE:2: providers.anthropic.api: "soap" is no wire API; this version serves messages, responses, chat, gemini, ollama, converse, cohere`},
		{"wrong API of a row", "[[providers.anthropic.models]]\nid = \"a\"\n[[providers.anthropic.models]]\nid = \"m\"\napi = \"soap\"",
			`FILE:5: providers.anthropic.models.1.api: "soap" is no wire API; this version serves messages, responses, chat, gemini, ollama, converse, cohere`},
		{"wrong dialect", "[providers.anthropic]\ndialect = \"klingon\"", `FILE:2: providers.anthropic.dialect: "klingon" is not a dialect of messages in this version; known: anthropic, bedrock, cloud, copilot, deepseek, mantle, minimax, unsigned`},
		{"a dialect of another API", "[providers.openai]\napi = \"responses\"\ndialect = \"deepseek\"",
			`FILE:3: providers.openai.dialect: "deepseek" is not a dialect of responses in this version; known: azure, chatgpt, copilot, openai, xai`},
		{"wrong dialect of a row", "[[providers.xai.models]]\nid = \"grok-4.5\"\napi = \"messages\"\ndialect = \"xai\"",
			`FILE:4: providers.xai.models.0.dialect: "xai" is not a dialect of messages in this version; known: anthropic, bedrock, cloud, copilot, deepseek, mantle, minimax, unsigned`},
		{"own provider without API", "[providers.mine]\nbase_url = \"http://localhost\"", `FILE:1: providers.mine.api: missing; this version serves messages, responses, chat, gemini, ollama, converse, cohere`},
		{"a login where there is none", "[providers.anthropic]\nlogin = { client_id = \"a\" }", `FILE:2: providers.anthropic.login: there is no login for this provider; it takes a key`},
		{"a login's client", "[providers.copilot.login]\nclient_id = \"https://a\"", `FILE:2: providers.copilot.login.client_id: must be the id of an application, not an address or a secret`},
		{"a login's address", "[providers.copilot.login]\naddress = \"http://github.example.com\"", `FILE:2: providers.copilot.login.address: is not encrypted: use https`},
		{"a login's port", "[providers.chatgpt.login]\nport = 70000", `FILE:2: providers.chatgpt.login.port: 70000 is not a port`},
		{"a port for nobody", "[providers.copilot.login]\nport = 7", `FILE:2: providers.copilot.login.port: no browser comes back from this login`},
		{"another's login", "[providers.chatgpt.login]\neditor = true", `FILE:1: providers.chatgpt.login: editor and api_address are for the login to GitHub`},
		{"own dialect, not a table", "dialects.x = 1", `FILE:1: dialects.x: must be a table`},
		{"own dialects, not a table", "dialects = 1", `FILE:1: dialects: must be a table, each of its members a table`},
		{"own dialect with a name that is taken", "\n[dialects.deepseek]\nchat_path = \"/x\"", `FILE:2: dialects.deepseek: thinkd has a dialect of this name; choose another one`},
		{"own dialect with an id", "[dialects.x]\nid = \"y\"", `FILE:2: dialects.x.id: leave it out: the table's name is the id`},
		{"own dialect, unknown member", "[dialects.x]\nquirk = true", `FILE:1: dialects.x: dialect "x": json: unknown field "quirk"`},
		{"own dialect, incomplete", "[dialects.x]\nchat_path = \"/chat/completions\"", `FILE:1: dialects.x: dialect "x": auth: "" is not one of bearer, api-key, none`},
		{"own provider without address", "\n[providers.mine]\napi = \"messages\"", `FILE:2: providers.mine.base_url: missing; say where the API is, such as "https://llm.example.com"`},
		{"a provider's name", "[providers.\"a/b\"]\napi = \"messages\"", `FILE:1: providers.a/b: a provider's name has letters, digits, dots, dashes and underscores`},
		{"integer for string", "model = 5", `FILE:1: model: must be a string`},
		{"string for integer", "[limits]\nmax_model_calls = \"many\"", `FILE:2: limits.max_model_calls: must be a whole number`},
		{"string for list", "[[providers.anthropic.models]]\nid = \"m\"\ninput = \"text\"", `FILE:3: providers.anthropic.models.input: must be a list of strings`},
		{"string for boolean", "[[providers.anthropic.models]]\nid = \"m\"\ntools = \"yes\"", `FILE:3: providers.anthropic.models.tools: must be true or false`},
		{"string for number", "[[providers.anthropic.models]]\nid = \"m\"\nprice = { input = \"1\" }", `FILE:3: providers.anthropic.models.price.input: must be a number`},
		{"integer for header", "[providers.anthropic]\nheaders = { a = 1 }", `FILE:2: providers.anthropic.headers.a: must be a string`},
		{"integer for headers", "[providers.anthropic]\nheaders = 5", `FILE:2: providers.anthropic.headers: must be a table, each of its members a string`},
		{"integer in a list", "[[providers.anthropic.models]]\nid = \"m\"\ninput = [\"text\", 5]", `FILE:3: providers.anthropic.models.input: must be a list of strings`},
		{"row of a number", "[providers.anthropic]\nmodels = [ 5 ]", `FILE:2: providers.anthropic.models: must be a list of tables`},
		{"string for provider", "[providers]\nanthropic = \"yes\"", `FILE:2: providers.anthropic: must be a table with api, dialect, base_url, api_key_env, headers, login, google, entra, region, aws_profile, reasoning_defaults, num_ctx, cache, context_management, egress, extra_body, proxy, proxy_login_env, ca_file, client_cert_file, client_key_file, models`},
		{"string for providers", "providers = \"all\"", `FILE:1: providers: must be a table, each of its members a table`},
		{"string for models", "[providers.anthropic]\nmodels = \"all\"", `FILE:2: providers.anthropic.models: must be a list of tables`},
		{"level", "\n\nthinking_level = \"ultra\"", `FILE:3: thinking_level: unknown thinking level "ultra"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"default level", "[providers.anthropic]\n\nreasoning_defaults = { fallback = \"off\", effort = \"some\" }",
			`FILE:3: providers.anthropic.reasoning_defaults.effort: unknown thinking level "some"; known: off, auto, on, minimal, low, medium, high, xhigh, max`},
		{"default fallback", "[providers.anthropic.reasoning_defaults]\neffort = \"low\"\nfallback = \"guess\"",
			`FILE:3: providers.anthropic.reasoning_defaults.fallback: unknown fallback "guess"; known: downgrade, off, provider_default, error`},
		{"no object to merge", "[providers.openai]\nextra_body = 7", `FILE:2: providers.openai.extra_body: must be a table`},
		{"too much to merge", "[providers.openai]\nextra_body = { a = \"" + strings.Repeat("x", 70000) + "\" }", `FILE:2: providers.openai.extra_body: has 70008 bytes of JSON; at most 65536 are allowed`},
		{"proxy with a password", "[providers.openai]\nproxy = \"http://me:secret@proxy.test\"", `FILE:2: providers.openai.proxy: must not hold a user or password: put user:password into an environment variable and name that in proxy_login_env`},
		{"login of a proxy in the file", "[providers.openai]\nproxy = \"http://proxy.test\"\nproxy_login_env = \"me:secret\"", `FILE:3: providers.openai.proxy_login_env: must be the name of an environment variable that holds user:password`},
		{"login of a proxy that is not set", "[providers.openai]\nproxy = \"http://proxy.test\"\nproxy_login_env = \"PROXY_LOGIN\"", `FILE:3: providers.openai.proxy_login_env: the variable PROXY_LOGIN is not set`},
		{"authorities that are not there", "[providers.openai]\nca_file = \"/no/such/ca.pem\"", `FILE:2: providers.openai.ca_file: open /no/such/ca.pem: no such file or directory`},
		{"certificate without a key", "[providers.openai]\nclient_cert_file = \"cert.pem\"", `FILE:1: providers.openai.client_key_file: missing: it holds the private key of client_cert_file`},
		{"window of another API", "[providers.openai]\nnum_ctx = 8192", `FILE:2: providers.openai.num_ctx: only Ollama's own API supports this setting; this provider uses responses`},
		{"window of another API's model", "[providers.openai]\n[[providers.openai.models]]\nid = \"gpt-5\"\nnum_ctx = 8192", `FILE:4: providers.openai.models.0.num_ctx: only Ollama's own API supports this setting; this provider uses responses`},
		{"window of less than nothing", "[providers.ollama]\nnum_ctx = -1", `FILE:2: providers.ollama.num_ctx: -1 is not a number of tokens`},
		{"cache of another API", "[providers.gemini]\ncache = \"1h\"", `FILE:2: providers.gemini.cache: only the APIs messages and chat have it, and this is gemini`},
		{"unknown cache", "[providers.anthropic]\ncache = \"2h\"", `FILE:2: providers.anthropic.cache: "2h" is not one of 5m, 1h, off`},
		{"context of another API", "[providers.gemini]\ncontext_management = { edits = [] }", `FILE:2: providers.gemini.context_management: only the APIs messages and responses have it, and this is gemini`},
		{"context as an array", "[providers.anthropic]\ncontext_management = [{ type = \"compact_20260112\" }]", `FILE:2: providers.anthropic.context_management: the Messages API wants a table such as { edits = [{ type = "clear_thinking_20251015" }] }`},
		{"context as a table", "[providers.openai]\ncontext_management = { compact_threshold = 1000 }", `FILE:2: providers.openai.context_management: must be an array of tables such as { type = "..." }`},
		{"context without a type", "[providers.openai]\ncontext_management = [{ compact_threshold = 1000 }]", `FILE:2: providers.openai.context_management: entry 0 has no type`},
		{"short form that contradicts itself", "[[providers.openai.models]]\nid = \"gpt-5\"\nreasoning = false\nthinking = { default = \"low\" }", `FILE:4: providers.openai.models.thinking.default: model "gpt-5": "low" is not one of the levels: off`},
		{"model at nobody", "# first\nmodel = \"llama-9\"", `FILE:2: model: no model "llama-9"; name it as provider/id, with one of these providers: anthropic, openai, gemini, deepseek, xai, openrouter, groq, mistral, moonshot, zai, minimax, dashscope, cohere, copilot, chatgpt, azure, vertex, bedrock, ollama, lmstudio, llamacpp, vllm, sglang, sim`},
		{"model at two", "model = \"claude-opus-5\"\n[providers.b]\napi = \"messages\"\ndialect = \"anthropic\"\nbase_url = \"http://localhost\"",
			`FILE:1: model: model "claude-opus-5" is at several providers; say which: anthropic/claude-opus-5, copilot/claude-opus-5, vertex/claude-opus-5, b/claude-opus-5`},
		{"size", "[limits]\nmax_turn_bytes = \"64 MB\"", `FILE:2: limits.max_turn_bytes: must be a size such as "64MiB"; the units are B, KiB, MiB and GiB`},
		{"size of another type", "[limits]\nmax_turn_bytes = true", `FILE:2: limits.max_turn_bytes: must be a size such as "64MiB"; the units are B, KiB, MiB and GiB`},
		{"size, too great", "[limits]\nmax_turn_bytes = \"999999999999999999GiB\"", `FILE:2: limits.max_turn_bytes: is more than can be counted`},
		{"no size", "[limits]\nmax_turn_bytes = 0", `FILE:2: limits.max_turn_bytes: must be more than 0`},
		{"size below nothing", "[limits]\nmax_turn_bytes = -5", `FILE:2: limits.max_turn_bytes: must be more than 0`},
		{"room for sessions", "[limits]\nmax_loaded_bytes = \"1KiB\"", `FILE:2: limits.max_loaded_bytes: must be 1MiB or more`},
		{"message size", "[limits]\nmax_message_bytes = \"1KiB\"", `FILE:2: limits.max_message_bytes: must be 4KiB or more: the protocol's own answers have to fit`},
		{"compaction", "[limits]\ncompact_at = 80", `FILE:2: limits.compact_at: must be a share of the context window from 0.1 to 1, or 0 for never`},
		{"time", "[limits]\nmax_turn_time = \"an hour\"", `FILE:2: limits.max_turn_time: must be a length of time such as "60m"; the units are s, m and h`},
		{"tool's time", "[limits]\nmax_tool_time = \"0s\"", `FILE:2: limits.max_tool_time: must be more than 0`},
		{"tool's output", "[limits]\nmax_tool_output = 3", `FILE:2: limits.max_tool_output: must be 1KiB to 16MiB`},
		{"rule", "[tools.names]\nbash = \"maybe\"", `FILE:2: tools.names.bash: "maybe" is not one of allow, ask, deny`},
		{"effect", "[tools.effects]\nburn = \"deny\"", `FILE:2: tools.effects.burn: "burn" is not one of read, edit, run, other`},
		{"rule of an effect", "[tools.effects]\nrun = \"\"", `FILE:2: tools.effects.run: "" is not one of allow, ask, deny`},
		{"time of parked turns", "[limits]\npark = \"0s\"", `FILE:2: limits.park: must be more than 0`},
		{"time of a question", "[tools]\nconfirm_time = \"0s\"", `FILE:2: tools.confirm_time: must be more than 0`},
		{"bare time", "[limits]\nmax_turn_time = 60", `FILE:2: limits.max_turn_time: must be a length of time such as "60m"; the units are s, m and h`},
		{"no time", "[limits]\nmax_turn_time = \"0s\"", `FILE:2: limits.max_turn_time: must be more than 0`},
		{"tokens of a turn", "[limits]\nmax_turn_tokens = 0", `FILE:2: limits.max_turn_tokens: must be 1 or more; leave it out for no limit`},
		{"tokens of a session", "[limits]\nmax_session_tokens = -1", `FILE:2: limits.max_session_tokens: must be 1 or more; leave it out for no limit`},
		{"cost of a turn", "[limits]\nmax_turn_cost = -0.5", `FILE:2: limits.max_turn_cost: must be an amount of USD above 0; leave it out for no limit`},
		{"cost of a day", "[limits]\nmax_day_cost = -1", `FILE:2: limits.max_day_cost: must be an amount of USD above 0; leave it out for no limit`},
		{"price to ask above", "[limits]\nask_above = -2", `FILE:2: limits.ask_above: must be an amount of USD above 0; leave it out for no limit`},
		{"cost of a session", "[limits]\nmax_session_cost = nan", `FILE:2: limits.max_session_cost: must be an amount of USD above 0; leave it out for no limit`},
		{"calls", "[limits]\nmax_model_calls = 0", `FILE:2: limits.max_model_calls: must be 1 or more`},
		{"header with a key", "[providers.anthropic]\n[providers.anthropic.headers]\nAuthorization = \"Bearer canary\"",
			`FILE:3: providers.anthropic.headers.Authorization: carries a key; name the variable with the key in api_key_env`},
		{"header of ours", "[providers.anthropic]\nheaders = { Host = \"x\" }", `FILE:2: providers.anthropic.headers.Host: is set by thinkd itself; leave it out`},
		{"header name", "[providers.anthropic]\nheaders = { \"a b\" = \"x\" }", `FILE:2: providers.anthropic.headers.a b: is not a header's name`},
		{"header value", "[providers.anthropic]\nheaders = { a = \"x\\r\\nb: canary\" }", `FILE:2: providers.anthropic.headers.a: has a control character in its value`},
		{"row without id", "[[providers.anthropic.models]]\nname = \"x\"", `FILE:1: providers.anthropic.models.id: model "": missing`},
		{"row twice", "[[providers.sim.models]]\nid = \"claude\"\n[[providers.sim.models]]\nid = \"claude\"",
			`FILE:4: providers.sim.models.id: model "claude": a second row for the same model`},
		{"row of a new model without a control", "[[providers.sim.models]]\nid = \"claude\"\n\n[[providers.sim.models]]\nid = \"new\"\nthinking = { levels = [\"low\"] }",
			`FILE:6: providers.sim.models.thinking.control: model "new": missing; it is one of effort, budget, toggle, always, none`},
		{"row's default", "[[providers.anthropic.models]]\nid = \"claude-opus-5\"\n[providers.anthropic.models.thinking]\nlevels = [\"low\"]\ndefault = \"high\"",
			`FILE:5: providers.anthropic.models.thinking.default: model "claude-opus-5": "high" is not one of the levels: off, low`},
		{"row's levels, in a list of tables", "[providers.anthropic]\nmodels = [\n  { id = \"claude-opus-5\" },\n  { id = \"claude-opus-4-8\", thinking = { levels = [\"low\", \"ultra\"] } },\n]",
			`FILE:4: providers.anthropic.models.thinking.levels: model "claude-opus-4-8": "ultra" is not a level; known: off, on, minimal, low, medium, high, xhigh, max`},
		{"row's budgets", "[[providers.sim.models]]\nid = \"claude-budget\"\nthinking.budget_min = 5\nthinking.budget_max = 4",
			`FILE:4: providers.sim.models.thinking.budget_max: model "claude-budget": 4 is below the least budget, 5`},
		{"row's options", "[[providers.sim.models]]\nid = \"claude\"\noptions = { seed = 1, temperature = 3 }", `FILE:3: providers.sim.models.0.options.temperature: must be a number from 0 to 2`},
		{"row's unknown option", "[[providers.sim.models]]\nid = \"claude\"\n[providers.sim.models.options]\ntemprature = 1", `FILE:4: providers.sim.models.0.options.temprature: is unknown; known: ` + strings.Join(provider.OptionNames(), ", ")},
		{"row's sampling", "[[providers.sim.models]]\nid = \"claude\"\nsampling = \"often\"", `FILE:3: providers.sim.models.sampling: model "claude": "often" is not one of free, never, not_in_thinking`},
	} {
		path := proof.WriteConfig(t, tt.doc)
		c, err := load(path, proof.Environment())
		if err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, c)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), path, "FILE"); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error tells a secret: %v", tt.name, err)
		}
	}
}

func TestConfigBaseURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.example.com":            "",
		"http://127.0.0.1:9000/anthropic/":   "",
		"http://[::1]:80":                    "",
		"https://v1.example.com/v1beta":      "",
		"api.example.com":                    `must be an address such as "https://llm.example.com"`,
		"localhost:9000":                     `must be an address such as "https://llm.example.com"`,
		"ftp://api.example.com":              `must be an address such as "https://llm.example.com"`,
		"https://":                           `must be an address such as "https://llm.example.com"`,
		"https://:80":                        `must be an address such as "https://llm.example.com"`,
		"https://a.example.com:port":         `must be an address such as "https://llm.example.com"`,
		"https://a\\u0000b":                  `must be an address such as "https://llm.example.com"`,
		"https://me:canary@example.com":      "has a user name or password in it; name the variable with the key in api_key_env",
		"https://api.example.com/?k=canary":  "has a query in it; leave out the ? and what follows",
		"https://api.example.com?":           "has a query in it; leave out the ? and what follows",
		"https://api.example.com#canary":     "has a fragment in it; leave out the # and what follows",
		"https://api.example.com#":           "has a fragment in it; leave out the # and what follows",
		"https://api.example.com/v1/":        "ends in /v1, which is added for each call; leave it out",
		"https://api.example.com/claude/v1":  "ends in /v1, which is added for each call; leave it out",
		"https://canary:x@api.example.com:z": `must be an address such as "https://llm.example.com"`,
	} {
		path := proof.WriteConfig(t, "\n[providers.anthropic]\nbase_url = \""+url+"\"")
		_, err := load(path, proof.Environment())
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), path+":3: providers.anthropic.base_url: ")
		}
		if got != want {
			t.Errorf("file, %s:\n got %s\nwant %s", url, got, want)
		}

		if strings.Contains(url, `\u0000`) {
			continue // an environment cannot hold this
		}
		_, err = load(proof.WriteConfig(t, ""), proof.Environment("ANTHROPIC_BASE_URL="+url))
		got = ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "environment: ANTHROPIC_BASE_URL: ")
		}
		if got != want {
			t.Errorf("environment, %s:\n got %s\nwant %s", url, got, want)
		}
	}
}

func TestConfigKnownKeys(t *testing.T) {
	// Each key of the file has a name in TOML, or it could be neither written nor listed in an error.
	for _, table := range []string{"", "providers.x", "providers.x.reasoning_defaults", "providers.x.models",
		"providers.x.models.thinking", "providers.x.models.price", "serve", "limits"} {
		var key []string
		if table != "" {
			key = strings.Split(table, ".")
		}
		typ := typeAt(key)
		if typ != nil && typ.Kind().String() == "slice" {
			typ = typ.Elem()
		}
		if typ == nil || typ.NumField() == 0 {
			t.Errorf("%q is no table", table)
			continue
		}
		for _, tag := range tags(typ) {
			if tag == "" || tag != strings.ToLower(tag) {
				t.Errorf("%q has a key named %q", table, tag)
			}
		}
	}
}

// Agents of the config, in each form that was ever written.
func TestConfigAgents(t *testing.T) {
	doc := `
[agents.full]
on_other_model = "stop"
model = "anthropic/claude-opus-5"
system_prompt = "Review."
reasoning = { override_mode = "custom", effort = "none", fallback = "off" }

[agents.level]
thinking_level = "medium"

[agents.bare]
reasoning = { effort = "max" }

[agents.both]
thinking_level = "low"
reasoning = { fallback = "error" }

[agents.inherits]
thinking_level = "low"
[agents.inherits.reasoning]
override_mode = "inherit"
effort = "max"

[agents.silent]
`
	c, err := load(proof.WriteConfig(t, doc), proof.Environment())
	if err != nil {
		t.Fatal(err)
	}
	custom := func(level provider.Level, policy provider.Policy) registry.Override {
		return registry.Override{Mode: registry.Custom, Level: level, Policy: policy}
	}
	want := []registry.Agent{
		{Name: "bare", Reasoning: custom(provider.Max, provider.Downgrade)},
		{Name: "both", Reasoning: custom(provider.Low, provider.Refuse)},
		{Name: "full", Model: "anthropic/claude-opus-5", System: "Review.", Reasoning: custom(provider.Off, provider.FallOff), OnOther: provider.OtherStop},
		{Name: "inherits", Reasoning: registry.Override{Mode: registry.Inherit}},
		{Name: "level", Reasoning: custom(provider.Medium, provider.Downgrade)},
		{Name: "silent", Reasoning: registry.Override{Mode: registry.Inherit}},
	}
	if diff := cmp.Diff(want, c.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}
